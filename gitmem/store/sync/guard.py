"""What comes from a remote is looked at before anything is merged: it may be hostile, damaged, or a mistake."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import TYPE_CHECKING

from gitmem.errors import RefusedError
from gitmem.git.refs import move_ref, read_refs
from gitmem.model.paths import FORMAT
from gitmem.store.setup import incoming
from gitmem.store.setup.incoming import arrivals_of, check_files, check_version, reserved_folders
from gitmem.store.setup.remotes import FETCHED
from gitmem.store.sync.losses import losses

if TYPE_CHECKING:
    from gitmem.git.remote import Remote
    from gitmem.store.store import Store

BACKUPS = "refs/gitmem/backup"
_NAMED = 3  # files that a message names


class Accept(StrEnum):
    """What a sync refuses unless it is told that it is meant."""

    DELETIONS = "deletions"  # much of what is here would be removed
    REWRITTEN = "rewritten"  # the remote does not hold any more what it held
    PURGE = "purge"  # what was purged elsewhere is more than goes unasked
    UNRELATED = "unrelated"  # the remote's memory did not begin as this one


def check_rewritten(
    store: Store,
    remote: Remote,
    seen: str | None,
    theirs: str | None,
    accept: Collection[Accept],
    *,
    purges: Collection[str] = (),
) -> None:
    """Refuse a remote that does not hold any more what it held when it was last synced.

    Accepted, it is merged and gets back what it lost; what it held is kept under `refs/gitmem/backup/` in any case.
    `purges` are those that this machine does not follow: where another one did, a merge would bring back what it took
    out.

    Raises:
        RefusedError: it was emptied, or its history was rewritten.

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
            "If the remote is to get back what it lost: 'gitmem sync --accept rewritten'.",
        )
    what = "holds no memory any more" if theirs is None else f"was rewritten: it has {theirs[:10]}, without"
    raise RefusedError(
        f"{remote.name} {what}{'; it had' if theirs is None else ''} {seen[:10]}, which it had when last synced. "
        "Nothing was merged or pushed.",
        "If it is to get back what it lost: 'gitmem sync --accept rewritten'. If it is right as it is: "
        "'gitmem clone' it afresh.",
    )


def check_incoming(
    store: Store, remote: Remote, local: str, theirs: str, accept: Collection[Accept], *, shared: bool
) -> None:
    """Refuse what must not come into a store; `shared` says whether the two have history in common.

    Raises:
        StoreFormatError: it is of a newer format.
        RefusedError: it has names that could leave the store, links, submodules or files that are too large, or it is
            no memory, or one that began elsewhere.

    """
    changes = arrivals_of(store.repository, local, theirs)
    check_version(store.repository, remote.name, changes)
    if not shared:
        if store.repository.read(theirs, FORMAT) is None:
            raise RefusedError(
                f"The branch 'gitmem' of {remote.name} holds no memory of gitmem's.", "Use another remote."
            )
        if Accept.UNRELATED not in accept:
            raise RefusedError(
                f"The memory at {remote.name} did not begin as the one here: they share no history.",
                "If both are to become one: 'gitmem sync --accept unrelated'.",
            )
    reserved = reserved_folders(store.root, store.context.home)
    check_files(store.repository, remote.name, changes, reserved=reserved)


def check_extent(store: Store, remote: Remote, commit: str | None, known: Collection[str | None]) -> None:
    """Refuse, before anything lists them, commits with more files than can be listed; those in `known` are here.

    Raises:
        RefusedError: one has, or what was fetched is no commit; nothing points to it any more.

    """
    if commit is None or commit in known:
        return
    try:
        incoming.check_extent(store.repository, remote.name, commit, {*filter(None, known)})
    except RefusedError:
        git = store.repository.git
        for ref, oid in read_refs(git, f"{FETCHED}/{remote.name}/").items():
            if oid == commit:
                move_ref(git, ref, None, oid)
        raise


def check_losses(store: Store, remote: Remote, local: str, target: str, accept: Collection[Accept]) -> None:
    """Refuse a merge that would take much out of what is here, whatever its commits say that they are for.

    Raises:
        RefusedError: it would.

    """
    if local == target or Accept.DELETIONS in accept:
        return
    found = losses(store, local, target)
    if found is None:
        return
    remedy = f"If that is meant: 'gitmem sync --accept deletions'. 'git log {target[:10]}' says who did it."
    if found.records:
        raise RefusedError(
            f"What comes from {remote.name} would remove or change the record of a purge, {found.records[0]}. "
            "Nothing was merged.",
            remedy,
        )
    names = ", ".join(found.files[:_NAMED]) + (", …" if len(found.files) > _NAMED else "")
    named = f" ({names})" if names else ""
    raise RefusedError(
        f"What comes from {remote.name} would remove much of this memory: {found.percent} % of its text; "
        f"{len(found.files)} of {found.of} files lose most of theirs{named}. Nothing was merged.",
        remedy,
    )
