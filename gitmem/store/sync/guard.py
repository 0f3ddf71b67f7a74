"""Refuse unsafe or surprising states of a remote before a merge; docs/format.md, "Trust", lists them.

Tested through `tests/store/sync/test_memory.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from gitmem.errors import RefusedError
from gitmem.git.refs import move_ref, read_refs
from gitmem.git.setup import make_root
from gitmem.git.signatures import Signatures
from gitmem.model.message import one_line
from gitmem.model.paths import FORMAT
from gitmem.store.setup import incoming
from gitmem.store.setup.incoming import arrivals_of, check_files, check_version, reserved_folders
from gitmem.store.setup.remotes import FETCHED
from gitmem.store.sync.losses import add_up, losses, noted_losses
from gitmem.store.transaction.merge import merge_bases

if TYPE_CHECKING:
    from gitmem.git.remote.address import Remote
    from gitmem.store.store import Store

BACKUPS = "refs/gitmem/backup"
SIGNED = "signed"  # of `remote.trust`
_NAMED = 3  # files that a message names


class Accept(StrEnum):
    """Unusual states that a sync refuses unless the person accepts them."""

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
    purges: Collection[str] = (),
) -> None:
    """Refuse a remote that lost commits since the last sync, and back these up under `refs/gitmem/backup/`.

    If accepted, the sync merges and pushes the lost commits again. `purges` are paths of records that this machine does
    not follow: if another machine applied one, a merge would bring the purged text back.

    Raises:
        RefusedError: the memory branch was deleted, or its history was rewritten.

    """
    if seen in {None, theirs} or (theirs is not None and store.repository.is_ancestor(seen, theirs)):
        return
    move_ref(store.repository.git, f"{BACKUPS}/{remote.name}/{seen[:12]}", seen, None, "gitmem sync")
    if Accept.REWRITTEN in accept:
        return
    if purges and theirs is not None:
        raise RefusedError(
            f"{remote.name} was rewritten, perhaps by a purge that is not followed here: {', '.join(purges)}. "
            "Nothing was merged or pushed.",
            "'gitmem review' shows what it would take out; 'gitmem review PURGE --take theirs' does so, then sync. "
            "To push the lost commits again: 'gitmem sync --accept rewritten'.",
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
    """Refuse the changes from commit `local` to `theirs` unless they are safe; `shared` is whether histories meet.

    Raises:
        StoreFormatError: the remote has a newer format.
        RefusedError: a file is unsafe or too large, or the branch is no memory or unrelated to this one.

    """
    changes = arrivals_of(store.repository, local, theirs)
    check_version(store.repository, remote.called, changes)
    if not shared:
        _check_unknown(store, remote, theirs, accept)
    reserved = reserved_folders(store.root, store.context.home)
    check_files(store.repository, remote.called, changes, reserved=reserved)


def check_project(store: Store, remote: Remote, local: str, theirs: str, accept: Collection[Accept]) -> None:
    """Refuse the memory of another project: all begin with one commit, and the next is the project's own.

    Raises:
        RefusedError: the histories share nothing else.

    """
    root = make_root(store.repository.git)
    if root not in {local, theirs} and not {*merge_bases(store.repository.git, local, theirs)} - {root}:
        _check_unknown(store, remote, theirs, accept)


def _check_unknown(store: Store, remote: Remote, theirs: str, accept: Collection[Accept]) -> None:
    if store.repository.read(theirs, FORMAT) is None:
        raise RefusedError(f"The branch 'gitmem' of {remote.called} is not a memory.", "Use another one.")
    if Accept.OTHER_PROJECT in accept:
        return
    wrong = "" if remote.backup else f"If the address is wrong: 'gitmem remote remove {remote.name}'. "
    raise RefusedError(
        f"The memory at {remote.described} seems to be another project's: this one shares no history with it. "
        "Nothing was merged or pushed.",
        f"{wrong}To make one memory of the two for good: {remote.to_accept(Accept.OTHER_PROJECT)}.",
    )


def check_extent(store: Store, remote: Remote, commit: str | None, known: Collection[str | None]) -> None:
    """Refuse a fetched commit with too many files in its history beyond `known`, and delete its refs.

    Raises:
        RefusedError: a commit has too many files, or the object is not a commit.

    """
    if commit is None or commit in known:
        return
    try:
        incoming.check_extent(store.repository, remote.called, commit, {*filter(None, known)})
    except RefusedError:
        git = store.repository.git
        for ref, oid in read_refs(git, f"{FETCHED}/{remote.name}/").items():
            if oid == commit:
                move_ref(git, ref, None, oid)
        raise


def check_signed(store: Store, remote: Remote, commit: str | None, known: Collection[str | None]) -> None:
    """Refuse a fetched commit beyond `known` without a good signature where `remote.trust` is `signed`.

    A signature covers all the history of its commit.

    Raises:
        RefusedError: it has none.

    """
    if store.config.remote.trust != SIGNED or commit is None or commit in known:
        return
    signatures = Signatures(store.repository.layout, store.context.environ)
    if signatures.is_signed(commit):
        return
    refused = signatures.unsigned(commit, filter(None, known))
    if not refused:
        return
    named = "; ".join(f"{one.oid[:10]} of {one.author}: {one_line(one.subject, 60)}" for one in refused[:_NAMED])
    many = f", and {len(refused) - _NAMED} more" if len(refused) > _NAMED else ""
    raise RefusedError(
        f"{remote.called} has commits that no trusted key signed: {named}{many}. Nothing was merged or pushed.",
        "Their authors can set remote.trust to signed and sync; 'git config --global gpg.ssh.allowedSignersFile' names "
        "the file of the keys you trust.",
    )


def check_losses(
    store: Store, remote: Remote, local: str, target: str, accept: Collection[Accept]
) -> Mapping[str, float]:
    """Refuse a merge that would remove much of this memory, whatever operations its commits claim.

    Losses of the last 30 days add up. Return what this one adds, to be noted once it is merged.

    Raises:
        RefusedError: it would.

    """
    if local == target or Accept.DELETIONS in accept:
        return {}
    lost = losses(store, local, target)
    earlier = [shares for _, shares in noted_losses(store)]
    if lost is None or not (lost.is_much or add_up(earlier, lost.shares)):
        return lost.shares if lost else {}
    remedy = f"'git log {target[:10]}' shows who did it. To accept: {remote.to_accept('deletions')}."
    if lost.records:
        raise RefusedError(
            f"{remote.called} has commits that remove or change the record of a purge, {lost.records[0]}. "
            "Nothing was merged.",
            remedy,
        )
    names = ", ".join(lost.files[:_NAMED]) + (", …" if len(lost.files) > _NAMED else "")
    named = f" ({names})" if names else ""
    together = "" if lost.is_much else f", with what {len(earlier)} syncs of the last 30 days removed"
    raise RefusedError(
        f"{remote.called} has commits that would remove much of this memory{together}: {lost.percent} % of its text; "
        f"{len(lost.files)} of {lost.of} files lose most of theirs{named}. Nothing was merged.",
        remedy,
    )
