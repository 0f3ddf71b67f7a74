"""One attempt of a transaction, under the store's lock (docs/format.md, "Order of writes").

What an earlier process left half done is repaired, the plan runs on the tip, all files are staged, the branch moves by
compare-and-swap, the files are put into place, and the index follows. Before the branch has moved nothing has happened;
after it, the next command can do the rest.
"""

from __future__ import annotations

import os

from gitmem.errors import BusyError, GitmemError, RefusedError
from gitmem.git.commit.fast_import import TipMovedError, Writer
from gitmem.model.paths import FORMAT
from gitmem.store.store import PURGING
from gitmem.store.transaction.outcome import Outcome
from gitmem.store.upkeep.recovery import recover, remove_litter

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from gitmem.git.identity import IdentityLookup
    from gitmem.git.locks.choose import Lock
    from gitmem.git.worktree.files import Staged
    from gitmem.git.worktree.index import IndexUpdate
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

    T = TypeVar("T")


def attempt(
    store: Store,
    plan: Callable[[Transaction], T],
    lock: Lock,
    identity: IdentityLookup,
    repaired: list[str],
    *,
    scan: bool,
    meanwhile: Callable[[], object] | None,
) -> Outcome[T]:
    """Run a plan on the present tip and commit what it asks for; see `transact`.

    What was repaired before is told in `repaired`, which stays true whatever becomes of the attempt.

    Raises:
        TipMovedError, TipLockedError: another git command moves the branch; nothing was done.

    """
    if os.path.exists(os.path.join(store.private, PURGING)):
        repaired += _finish_purge(store, lock)
    branch = store.repository.branch()
    tip = store.repository.tip(branch) or _begin(store, branch)
    with (
        Writer(store.repository.git, branch, tip, listed_in=store.packs_file, first=FORMAT) as writer,
        store.files.look() as look,
    ):
        if scan and store.marked() == tip:  # else a repair may make what is to be found
            look.start()
        remove_litter(store, branch)  # while git starts
        if meanwhile is not None:
            meanwhile()
        # While this one waited for the lock, a newer gitmem may have migrated the store.
        blob = writer.read(FORMAT, store.format_document)
        store.check_format(b"" if blob is None else blob.data)
        transaction = _repaired(store, writer, tip, repaired)
        if scan:
            look.start()
        value = plan(transaction)  # while git looks
        # The index learns the times of files that are no edits: they are not to be read again each time.
        scanned = [*_read_edited(transaction, look.edited()), *look.unchanged] if scan else []
        lock.heartbeat()
        paths = {*transaction.files(), *transaction.touched(), *scanned}
        if not paths:
            return Outcome(value, (), tuple(transaction.notices))
        for commit in transaction.commits(identity.result()):
            writer.commit(commit)
        writer.seal()
        commits, notices = _land(store, writer, transaction, lock, tip=tip, paths=paths)
    return Outcome(value, commits, tuple(notices))


def _begin(store: Store, branch: str) -> str:
    """Have the branch begin with the commit that all stores begin with."""
    from gitmem.git.setup import seed_branch

    seed_branch(store.repository.git, branch)
    tip = store.repository.tip(branch)
    if tip is None:
        raise TipMovedError
    return tip


def _finish_purge(store: Store, lock: Lock) -> Iterable[str]:
    from gitmem.store.rewrite.apply import resume

    done = resume(store, lock)
    return () if done is None else ("A purge that had been cut off is finished.", *done.notices)


def _repaired(store: Store, writer: Writer, tip: str, repaired: list[str]) -> Transaction:
    """Return a transaction on a store whose files are those of the tip, but for edits by hand."""
    from gitmem.store.transaction.transaction import Transaction  # while git starts

    marked = store.marked()
    repaired += recover(store, tip)
    context = store.context
    transaction = Transaction(
        writer, store.files, now=context.clock(), machine=context.machine, allow=store.config.redaction.allow
    )
    if marked != tip:  # moved by others, perhaps by a plain git merge
        from gitmem.store.transaction.markers import marked_documents, mend

        mend(transaction, marked_documents(store, marked, tip))
    return transaction


def _read_edited(transaction: Transaction, edited: Iterable[str]) -> list[str]:
    """Have a transaction read every file that a person changed or staged; returns their paths.

    What cannot be kept is noted, and does not keep the others from being saved.
    """
    paths = []
    for path in edited:
        if path.endswith("/"):
            transaction.notices.append(f"{path} is a git repository of its own and is not kept in the store.")
            continue
        try:
            transaction.read(path)
        except RefusedError as error:
            transaction.notices.append(f"Not kept: {error.message} {error.remedy}".strip())
        except OSError as error:
            transaction.notices.append(f"Not kept: {path} cannot be read: {error.strerror}.")
        else:
            paths.append(path)
    return paths


def _land(
    store: Store, writer: Writer, transaction: Transaction, lock: Lock, *, tip: str, paths: set[str]
) -> tuple[tuple[str, ...], list[str]]:
    """Move the branch and bring up what the paths stand for; returns the commits and what the user should be told."""
    with store.files.open_index() as index:
        commits, staged = _commit(store, writer, transaction, lock)
        notices = list(transaction.notices)
        new = commits[-1] if commits else tip
        try:
            notices += publish(store, new, staged, index, paths)
        except (OSError, GitmemError) as error:
            notices.append(
                f"What was saved is committed ({new[:10]}), but the files of the work tree are not in step with it: "
                f"{error}. The next gitmem command repairs that."
            )
    return commits, notices


def _commit(store: Store, writer: Writer, transaction: Transaction, lock: Lock) -> tuple[tuple[str, ...], list[Staged]]:
    """Move the branch, with all files ready to be put into place; or nothing at all."""
    staged: list[Staged] = []
    try:  # both sides sync at the same time
        for path, content in transaction.files().items():
            staged.append(store.files.stage(path, content, executable=transaction.is_executable(path)))
        check_held(lock)
        commits = writer.finish()
    except BaseException:
        store.files.discard(staged)
        raise
    return commits, staged


def check_held(lock: Lock) -> None:
    """Raise BusyError if another process has taken the lock over."""
    if not lock.held():
        raise BusyError("Another process took the lock over while this one stood still.", "Try again.")


def publish(store: Store, tip: str, staged: list[Staged], index: IndexUpdate, paths: Iterable[str]) -> tuple[str, ...]:
    """Bring work tree, index and mark up to the tip; what a person changed in these milliseconds is merged."""
    left = store.files.publish(staged)
    index.finish(sorted({*paths}.difference(left)))
    if left:
        return recover(store, tip)
    store.mark(tip)
    return ()
