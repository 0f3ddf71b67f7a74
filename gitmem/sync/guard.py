"""Refuse unsafe or surprising states of a remote before a merge (docs/security.md, "Trust").

`gitmem.sync.losses` counts how much a merge would lose.

Where memory is signed (docs/sync.md, "Signed memory"), refuse commits that no trusted key signed, and sign those to
push. A signature covers all the history of its commit. Tested also through `tests/store/test_signed.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum

from gitmem.document.ids import FORMAT
from gitmem.document.message import Op, op_message
from gitmem.errors import RefusedError
from gitmem.git.address import Remote
from gitmem.git.layout import MEMORY_BRANCH
from gitmem.git.process import Git
from gitmem.git.remote import Connection
from gitmem.git.repository import RefMoves, move_ref, move_refs, read_refs
from gitmem.git.root import make_root
from gitmem.git.trust import Signatures
from gitmem.store import arrivals
from gitmem.store.arrivals import NOTHING, SIGNED, check_arrivals, refuse_unsigned, reserved_folders
from gitmem.store.foreign_commits import without_unusable
from gitmem.store.maintenance import new_pending_ref
from gitmem.store.merge_commits import MergeCommit, merge_bases
from gitmem.store.remotes import FETCHED, REFS, is_of_project
from gitmem.store.store import Store

BACKUPS = "refs/gitmem/backup"
_NAMED = 3  # files that a message lists
_MADE = 2  # commits of a newly made store


class Accept(StrEnum):
    """Unusual states that a sync refuses unless the user accepts them."""

    DELETIONS = "deletions"  # the merge would remove much of this memory
    REWRITTEN = "rewritten"  # the remote lost commits that it had
    PURGE = "purge"  # a purge of another machine exceeds the limits
    OTHER_PROJECT = "other-project"  # the histories share no commit of one project


def check_rewritten(
    store: Store,
    remote: Remote,
    seen: str | None,
    theirs: str | None,
    accept: Collection[Accept],
    *,
    purges: Sequence[str] = (),
) -> None:
    """Refuse a remote that lost commits since the last sync, and back these up under `refs/gitmem/backup/`.

    If accepted, the sync merges and pushes the lost commits again. `purges` are paths of purge records that are not
    applied here: if the remote applied one, a merge would bring the purged text back.

    Raises RefusedError if the memory branch was deleted, or its history was rewritten.
    """
    if seen in {None, theirs} or (theirs is not None and store.repository.is_ancestor(seen, theirs)):
        return
    move_ref(store.repository.git, f"{BACKUPS}/{remote.name}/{seen[:12]}", seen, None, "gitmem sync")
    if Accept.REWRITTEN in accept:
        return
    if purges and theirs is not None:
        command = f"gitmem review {purges[0]}"
        many = f" ('gitmem review' lists {len(purges)})" if len(purges) > 1 else ""
        raise RefusedError(
            f"{remote.name} has another history now, perhaps since another machine purged a text that this one still "
            f"has{many}: '{command}' shows it. "
            f"{NOTHING}",
            f"To remove the text here, too: '{command} --take theirs', then 'gitmem sync'. To push it again: "
            "'gitmem sync --accept rewritten'.",
        )
    if theirs is None:
        change = "holds no memory any more; it had"
    elif store.repository.is_ancestor(theirs, seen):
        change = f"serves an old state, as a backup that was put back: it has {theirs[:10]}, without its successor"
    else:
        change = f"was rewritten: it has {theirs[:10]}, without"
    raise RefusedError(
        f"{remote.name} {change} {seen[:10]}, which it had when last synced. Nothing was merged or pushed.",
        "To push the lost commits again: 'gitmem sync --accept rewritten'. To adopt the remote's state: "
        "'gitmem clone' it into a new store.",
    )


def check_incoming(
    store: Store, remote: Remote, local: str, theirs: str, accept: Collection[Accept], *, shared: bool
) -> None:
    """Refuse the changes from `local` to `theirs` unless they are safe; `shared`: the histories have a common commit.

    Raises:
        StoreFormatError: the remote has another format version.
        RefusedError: a file is unsafe or too large, or the branch is no memory or unrelated to this one.
    """
    reserved = reserved_folders(store.root, store.context.home)
    check_arrivals(store.repository, remote.called, local, theirs, reserved=reserved)
    if not shared:
        _check_unknown(store, remote, theirs, accept)


def left_out(store: Store, remote: Remote, local: str, theirs: str) -> tuple[MergeCommit | None, list[str]]:
    """Write a commit on top of a fetched one without files that no store may have; None if it has none.

    Also return notices of what is left out. Hostile files are refused instead (`check_incoming`).
    """
    done, left = without_unusable(store, local, theirs)
    where = f"It stays in commit {theirs[:10]}; rename it on the machine that made it."
    shown = [*left.items()][:_NAMED]
    more = [f"{len(left) - _NAMED} more files of {remote.called} were left out likewise."] if len(left) > _NAMED else []
    notices = [f"{path!a} of {remote.called} was left out, {why}. {where}" for path, why in shown]
    return done, [*notices, *more]


def check_project(store: Store, remote: Remote, local: str, theirs: str | None, accept: Collection[Accept]) -> None:
    """Refuse a memory of another project: all stores share the first commit, but the second is the project's own."""
    if theirs is None:
        return
    root = make_root(store.repository.git)
    if root not in {local, theirs} and not {*merge_bases(store.repository.git, local, theirs)} - {root}:
        _check_unknown(store, remote, theirs, accept)


def check_first_branch(store: Store, remote: Remote, connection: Connection) -> None:
    """Refuse to push memory as the first branch of the project's remote: forges make the first one the default."""
    if not store.has_separate_repository and is_of_project(store, remote) and not connection.branches(remote):
        raise RefusedError(
            f"{remote.called} is empty: a clone of the project would check out its first branch, the memory.",
            f"Push the project first, as by 'git push {remote.name} HEAD'; then sync again.",
        )


def _check_unknown(store: Store, remote: Remote, theirs: str, accept: Collection[Accept]) -> None:
    if store.repository.read(theirs, FORMAT) is None:
        raise RefusedError(f"The branch 'gitmem' of {remote.called} is not a memory.", "Use another one.")
    if Accept.OTHER_PROJECT in accept:
        return
    wrong = "" if remote.backup or remote.new else f"If the address is wrong: 'gitmem remote remove {remote.name}'. "
    if wrong and store.has_separate_repository and store.tip and _is_new(store.repository.git, store.tip):
        wrong += f"Nothing is saved here yet: 'rm -r {store.root}', then 'gitmem clone {remote.shown}' shares it. "
    raise RefusedError(
        f"The memory at {remote.described} seems to be another project's: this one shares no history with it. "
        f"{NOTHING}",
        f"{wrong}To make one memory of the two for good: {remote.to_accept(Accept.OTHER_PROJECT)}.",
    )


def _is_new(git: Git, tip: str) -> bool:
    """Return whether a memory has only the commits that `gitmem init` made."""
    return int(git.run("rev-list", "--count", f"--max-count={_MADE + 1}", tip)) <= _MADE


def check_extent(store: Store, remote: Remote, commit: str | None, known: Collection[str | None]) -> None:
    """Refuse a fetched commit with too many files in its history beyond `known`, and delete its refs."""
    if commit is None or commit in known:
        return
    try:
        arrivals.check_extent(store.repository, remote.called, commit, {*filter(None, known)})
    except RefusedError:
        git = store.repository.git
        for ref, oid in read_refs(git, f"{FETCHED}/{remote.name}/").items():
            if oid == commit:
                move_ref(git, ref, None, oid)
        raise


def check_signed(
    store: Store, remote: Remote, commit: str | None, known: Collection[str | None], here: str | None = None
) -> None:
    """Refuse a fetched commit beyond `known` that is not signed, where `remote.trust` is `signed`.

    A signature in the history of `here`, the branch of this machine, counts as well.

    Raises RefusedError if no good signature of a trusted key covers it.
    """
    if store.config.remote.trust == SIGNED and commit is not None:
        refuse_unsigned(_signatures(store), (f"{remote.called} has", NOTHING), commit, known, here)


def check_pulled(store: Store, remote: Remote, here: str) -> None:
    """Refuse unsigned commits that a plain `git pull` brought from a remote, as `check_signed` does in a sync."""
    if store.config.remote.trust == SIGNED and store.has_separate_repository:
        repository = store.repository
        pulled = repository.tip(f"refs/remotes/{remote.name}/{MEMORY_BRANCH}")
        seen = repository.tip(f"{REFS}/{remote.name}/{MEMORY_BRANCH}")
        if pulled and repository.is_ancestor(pulled, here):
            words = (
                f"git pulled from {remote.called}",
                "Sessions here already see them; nothing is pushed until you decide.",
            )
            refuse_unsigned(_signatures(store), words, pulled, {seen}, here)


def signed(store: Store, target: str) -> tuple[str, RefMoves]:
    """Return the commit to push; if the user wants signatures, add a signed commit on top of an unsigned one.

    Also return the moves that delete the ref that keeps it.

    Raises GitmemError if git could not sign.
    """
    signatures = _signatures(store)
    if store.config.remote.trust != SIGNED or signatures.signers([target]):
        return target, {}
    author = store.identity().result()
    date = f"@{int(store.context.clock().timestamp())} +0000"
    message = op_message(Op.SIGN, "Sign the memory").render()
    commit = signatures.sign(target, message, author, date)
    pending_ref = new_pending_ref(store)
    move_refs(store.repository.git, {pending_ref: (None, commit)})
    return commit, {pending_ref: (commit, None)}


def _signatures(store: Store) -> Signatures:
    return Signatures(store.repository.layout, store.context.environ)
