"""What comes from a remote is looked at before anything is merged: it may be hostile, damaged, or a mistake."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import TYPE_CHECKING

from gitmem.errors import RefusedError, StoreFormatError
from gitmem.git.objects.extent import most_files
from gitmem.git.refs import move_ref, read_refs
from gitmem.model.paths import FORMAT, TEMPORARY, fold, is_git_folder
from gitmem.store.setup.remotes import FETCHED
from gitmem.store.store import FORMAT_VERSION, format_version
from gitmem.store.sync.arrivals import arrival
from gitmem.store.sync.losses import losses

if TYPE_CHECKING:
    from gitmem.git.objects.treediff import PathChange
    from gitmem.git.remote import Remote
    from gitmem.store.store import Store

BACKUPS = "refs/gitmem/backup"
MOST_FILES = 200_000  # of a commit
MOST_BYTES = 1 << 30  # of all files that come at once
_NAMED = 3  # files that a message names
_FILE_MODES = {"100644", "100755"}


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
    changes = [change for change in store.repository.changes(local, theirs) if change.new is not None]
    document = next((change.new for change in changes if change.path == FORMAT), None)
    version = format_version(store.repository.blob(document)) if document else None
    if version is not None and version != FORMAT_VERSION:
        raise StoreFormatError(
            f"The memory at {remote.name} has format version {version}; this gitmem knows version {FORMAT_VERSION}.",
            "Upgrade gitmem: 'pip install --upgrade gitmem-store'. Nothing was touched.",
        )
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
    _check_files(store, remote, changes)


def check_extent(store: Store, remote: Remote, commit: str | None, known: Collection[str | None]) -> None:
    """Refuse, before anything lists them, commits with more files than can be listed; those in `known` are here.

    Raises:
        RefusedError: one has, or what was fetched is no commit; nothing points to it any more.

    """
    if commit is None or commit in known:
        return
    git = store.repository.git
    with store.repository.reading() as objects:
        [info] = objects.infos([commit])
        is_commit = info is not None and info.kind == "commit"
        found = most_files(objects, commit, without={*filter(None, known)}) if is_commit else None
    if found is not None and found <= MOST_FILES:
        return
    for ref, oid in read_refs(git, f"{FETCHED}/{remote.name}/").items():
        if oid == commit:
            move_ref(git, ref, None, oid)
    what = f"a commit with {found:,} files" if found is not None else "folders that cannot be read to their end"
    raise RefusedError(
        f"{remote.name} has {what if is_commit else 'something else than commits'}, which is no memory. "
        "Nothing was merged.",
        "See who pushed that: 'git log' there. Then take it out of that branch, or use another remote.",
    )


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


def _check_files(store: Store, remote: Remote, changed: Collection[PathChange]) -> None:
    names: dict[str, str] = {}
    for change in changed:
        complaint = _complaint(change)
        twin = names.setdefault(fold(change.path), change.path)
        if twin != change.path:
            complaint = f"which some file systems take for {twin!a}, which is there, too"
        if complaint is not None:
            raise RefusedError(
                f"{remote.name} has {change.path!a}, {complaint}. Nothing was merged.",
                "Remove or rename it on the machine that made it, then sync there.",
            )
    sizes = store.repository.sizes([change.new or "" for change in changed])
    if sum(sizes) > MOST_BYTES:
        raise RefusedError(
            f"{remote.name} has {sum(sizes):,} bytes in {len(sizes):,} files, more than come at once. "
            "Nothing was merged.",
            "Take what is so large out of the memory on the machine that made it, then sync there.",
        )
    for change, size in zip(changed, sizes, strict=True):
        if size > arrival(change.path).most:
            raise RefusedError(
                f"{remote.name} has {change.path!a} with {size:,} bytes, more than such a file may have. "
                "Nothing was merged.",
                "Split it on the machine that made it, then sync there.",
            )


def _complaint(change: PathChange) -> str | None:
    """Return why a file of another machine must not come in, None where it may."""
    if change.mode not in _FILE_MODES:
        return "which is a link or a submodule"
    parts = change.path.split("/")
    if any(part in {"", ".", ".."} or is_git_folder(part) for part in parts):
        return "whose name leads out of the store or into git's own folder"
    if any(ord(character) < 32 or ord(character) == 127 for character in change.path):  # noqa: PLR2004
        return "with control characters in its name"
    if parts[0] == TEMPORARY:
        return "where gitmem keeps its own temporary files"
    return None
