"""Run a plan under the store's lock, and again if the branch moved (docs/architecture.md, "Order of writes").

An attempt repairs what a killed process left, runs the plan on the tip, stages the files, moves the branch by
compare-and-swap, publishes the files and updates the index. Once the branch moved, the next command can do the rest.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping

from gitmem.document.ids import FACTS, FORMAT
from gitmem.errors import BusyError, CopyError, GitmemError, RefusedError, UnfinishedPurgeError
from gitmem.git.fast_import import CRASH_REPORT, TipLockedError, TipMovedError, Writer
from gitmem.git.index import DRAFT, IndexUpdate, clear_left_lock
from gitmem.git.left_behind import LEFT_BEHIND_SECONDS, clear_left_behind
from gitmem.git.lock import Lock
from gitmem.git.root import seed_branch
from gitmem.git.worktree import Staged
from gitmem.platform.safe_open import drop_file, read_text
from gitmem.store.store import PURGING, Store
from gitmem.store.tip_files import drop_copies
from gitmem.store.transaction import LineRule, Transaction
from gitmem.values import Generic, TypeVar, Value

T = TypeVar("T")


class TransactResult(Value, Generic[T]):
    """The result of a transaction.

    `value` is the return value of the plan, `commits` the ids of all commits, oldest first, including edits by hand,
    `notices` are sentences for the user.
    """

    value: T
    commits: tuple[str, ...]
    notices: tuple[str, ...]

    @property
    def commit(self) -> str | None:
        """The last commit, None if the plan returned a false value: it had nothing to do."""
        return self.commits[-1] if self.value else None


def attempt(
    store: Store, plan: Callable[[Transaction], T], lock: Lock, repaired: list[str], *, scan: bool
) -> TransactResult[T]:
    """Run a plan on the present tip and make its commits; see `transact`.

    Notices of repairs are added to `repaired`, as they remain true if the attempt fails. Raises TipMovedError or
    TipLockedError if another git command moved or locked the branch; nothing was committed.
    """
    # Doors finish a purge that was interrupted where they open a store.
    if os.path.exists(os.path.join(store.private, PURGING)):
        why = " ".join(store.notices) or "The next gitmem command finishes it."
        raise UnfinishedPurgeError("A purge of this store was interrupted.", why)
    branch = store.repository.branch()
    tip = store.repository.tip(branch) or _create_branch(store, branch)
    with Writer(store.repository.git, branch, tip, listed_in=store.packs_file) as writer, store.files.look(tip) as look:
        if scan and store.recorded_checkout() == tip:  # otherwise a repair may add files
            look.start()
        remove_litter(store, branch)  # while git starts

        blob = writer.read(FORMAT, store.format_document)  # a newer gitmem may have changed it meanwhile
        store.check_format(b"" if blob is None else blob.data)
        transaction = _repaired(store, writer, tip, repaired)
        if scan:
            look.start()
        value = plan(transaction)  # while git looks
        edited = look.edited() if scan else []
        writer.know(look.at_tip)  # else git walks through a folder for each
        # The entries of unchanged files are renewed in the index, so that they are not read again each time.
        scanned = [*_read_edited(transaction, edited), *look.unchanged] if scan else []
        _follow_edited_facts(transaction, store.private)
        lock.heartbeat()
        paths = {*(path for path, _, _ in transaction.files()), *transaction.touched(), *scanned}
        if not paths:
            return TransactResult(value, (), tuple(transaction.notices))
        for commit in transaction.commits(store.identity().result()):
            writer.commit(commit)
        writer.seal()
        commits, notices = _land(store, writer, transaction, lock, tip=tip, paths=paths)
    return TransactResult(value, commits, tuple(notices))


def _create_branch(store: Store, branch: str) -> str:
    """Create the branch at the root commit of every store, and return that commit."""
    seed_branch(store.repository.git, branch)
    tip = store.repository.tip(branch)
    if tip is None:
        raise TipMovedError
    return tip


def _repaired(store: Store, writer: Writer, tip: str, repaired: list[str]) -> Transaction:
    """Bring the files up to the tip, edits by hand aside, and return a transaction."""
    rule = LineRule(_complete, _read_edits_of_lines)
    marked = store.recorded_checkout()
    if marked == tip:
        return Transaction(store, writer, rule)
    # Another program moved the branch, perhaps by a plain git merge, or a save was killed. Late: few saves need it.
    from gitmem.store.foreign_commits import find_marked, reconcile_moved, resolve
    from gitmem.store.recovery import recover

    repaired += recover(store, tip)
    transaction = Transaction(store, writer, rule)
    resolve(transaction, find_marked(store, marked, tip))
    if marked:
        reconcile_moved(transaction, store, marked, tip)
    return transaction


# Late imports: a save without facts needs none of these modules.
def _complete(transaction: Transaction, changes: Mapping[str, bytes | None]) -> Mapping[str, bytes | None]:
    from gitmem.store.fact_lines import with_memory_lines

    return with_memory_lines(transaction, changes)


def _read_edits_of_lines(transaction: Transaction) -> None:
    from gitmem.store.fact_lines import apply_line_edits

    apply_line_edits(transaction)


def _read_edited(transaction: Transaction, edited: Iterable[str]) -> list[str]:
    """Read every file that a user changed or staged into a transaction, and return their paths.

    A file that cannot be kept becomes a notice; the others are saved.
    """
    paths = []
    for path in edited:
        if path.endswith("/"):
            transaction.notices.append(f"{path} is a git repository of its own and is not kept in the store.")
            continue
        try:
            transaction.read(path)
        except CopyError:
            continue  # `doctor` and `review` name it
        except RefusedError as error:
            transaction.notices.append(f"Not kept: {error.sentences}")
        except OSError as error:
            transaction.notices.append(f"Not kept: {path} cannot be read: {error.strerror}.")
        else:
            if path in transaction.broken:
                transaction.notices.append(f"Not kept: {path}, not a fact; the version committed last stays in force.")
            else:
                paths.append(path)
    return paths


def _follow_edited_facts(transaction: Transaction, private: str) -> None:
    """Bring lines of facts up to date with the files of facts that a user edited."""
    if facts := [path for path in transaction.edits() if path.startswith(f"{FACTS}/")]:
        from gitmem.store.fact_lines import apply_file_edits
        from gitmem.store.known_facts import expire_headers

        apply_file_edits(transaction, facts)
        expire_headers(private)


def _land(
    store: Store, writer: Writer, transaction: Transaction, lock: Lock, *, tip: str, paths: set[str]
) -> tuple[tuple[str, ...], list[str]]:
    """Move the branch, bring files and index entries of `paths` up to it, and return commits and notices."""
    staged: list[Staged] = []
    with store.files.open_index() as index:
        try:  # git syncs its pack while the files are staged
            for path, content, executable in transaction.files():
                staged.append(store.files.stage(path, content, executable=executable))
            lock.check()
            commits = writer.finish(index.start)  # git starts while the branch is synced
        except BaseException:
            store.files.discard(staged)
            raise
        notices = list(transaction.notices)
        new = commits[-1] if commits else tip
        try:
            notices += _publish(store, new, staged, index, paths)
        except (OSError, GitmemError) as error:
            notices.append(
                f"The save is committed ({new[:10]}), but the work tree could not be updated: {error}. "
                "The next gitmem command repairs that."
            )
    return commits, notices


def _publish(store: Store, tip: str, staged: list[Staged], index: IndexUpdate, paths: Iterable[str]) -> tuple[str, ...]:
    """Bring work tree, index and `checkout` up to the tip; merge files that a user edited meanwhile."""
    edited = store.files.publish(staged)
    index.finish(sorted({*paths}.difference(edited)))
    if edited:
        from gitmem.store.recovery import recover

        return recover(store, tip)
    store.record_checkout(tip)
    if any(path.startswith(f"{FACTS}/") for path in paths):
        from gitmem.store.forbids import note_forbidden

        note_forbidden(store, paths)
    return ()


def remove_litter(store: Store, branch: str) -> None:
    """Remove stale locks and temporary files of killed processes, under the store's lock."""
    store.files.clean_temporary()
    layout = store.repository.layout
    clear_left_lock(layout.git_dir)
    clear_left_behind(os.path.join(layout.git_dir, "HEAD.lock"))
    clear_left_behind(os.path.join(layout.common_dir, f"{branch}.lock"))
    names = [name for name in os.listdir(layout.git_dir) if name.startswith((CRASH_REPORT, DRAFT))]
    for path in [*(os.path.join(layout.git_dir, name) for name in names), *_stale_keeps(store)]:
        drop_file(path)
    drop_copies(store.private)


_MARK = "fast-import"  # fast-import writes its name into a `.keep`


def _stale_keeps(store: Store) -> list[str]:
    """Return stale `.keep` files of fast-import: git never joins or replaces a pack that has one.

    fast-import writes its name into the file, or nothing if the disk is full, and then puts pack and index in place. In
    a project's repository the user may be running a fast-import: there the file is stale only if the list has its pack,
    or if it is old and its pack has no index or only commits of gitmem, whose fast-import was killed before it could
    list the pack.
    """
    folder = os.path.join(store.repository.layout.common_dir, "objects", "pack")
    stale: list[str] = []
    with contextlib.suppress(OSError):
        names = os.listdir(folder)
        locks = [name.removesuffix(".keep") for name in names if name.endswith(".keep")]
        own = store.has_separate_repository
        if locks and not own:
            from gitmem.store.maintenance import holds_only_ours, listed_packs

            listed = listed_packs(store)
        for pack in locks:
            path = os.path.join(folder, f"{pack}.keep")
            content = read_text(path)
            is_old = own or time.time() - os.lstat(path).st_mtime > LEFT_BEHIND_SECONDS
            if f"{pack}.idx" not in names:
                is_stale = is_old and content in {"", _MARK}
            else:
                is_stale = content == _MARK and (own or pack in listed or (is_old and holds_only_ours(store, pack)))
            stale += [path] if is_stale else []
    return stale


ATTEMPTS = 50  # under the lock, only a user's git command can move the branch
_LONGEST_PAUSE = 0.2  # seconds between attempts; all pauses together outlast a burst of commits


def transact(store: Store, plan: Callable[[Transaction], T], *, purpose: str, scan: bool = False) -> TransactResult[T]:
    """Run `plan` on the present tip, make its commits, and return once they are synced to disk.

    The plan may run again from a new tip, so it must change nothing but its transaction. With `scan`, commit every edit
    by hand in the store, not only those in files that the plan reads.

    Raises:
        BusyError: another process kept the lock for longer than `lock.wait_seconds`.
        NotSavedError: the store cannot be written; nothing was committed.
        UnfinishedError: the user has a git operation in progress in the store.
        UnfinishedPurgeError: a purge was interrupted.
        NotAcceptedError: the store came from elsewhere, and the user did not say yes.
    """
    store.check_writes()
    busy = BusyError(f"Another git command moved the branch {ATTEMPTS} times.", "Nothing was lost; try again.")
    with store.saving(), contextlib.ExitStack() as stack:
        store.repository.branch()  # raises UnfinishedError before waiting for the lock
        lock = store.lock(purpose)
        lock.acquire(store.config.lock.wait_seconds)
        stack.callback(lock.release)
        stack.callback(store.identity().result)  # waits for its git, also if nothing is committed
        repaired, store.notices = store.notices, []
        for number in range(ATTEMPTS):
            try:
                outcome = attempt(store, plan, lock, repaired, scan=scan)
            except TipLockedError as error:
                clear_left_behind(error.lock)
                busy = BusyError(f"Another git command holds {error.lock}.", "Try again when it is done.")
            except TipMovedError:
                time.sleep(min(0.001 * 2.0**number, _LONGEST_PAUSE) * (0.5 + os.urandom(1)[0] / 255))  # with jitter
            else:
                return outcome._replace(notices=(*repaired, *outcome.notices))
    raise busy


class _PreviewedError(Exception):
    """Ends the transaction of a preview."""


def preview(store: Store, plan: Callable[[Transaction], T], *, purpose: str) -> T:
    """Run a plan as `transact` does and return its value; nothing is committed. Raises as `transact`."""
    values: list[T] = []

    def stop(transaction: Transaction) -> None:
        values.append(plan(transaction))
        raise _PreviewedError

    with contextlib.suppress(_PreviewedError):
        transact(store, stop, purpose=purpose)
    return values[-1]
