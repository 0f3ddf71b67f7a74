"""Checks of a tree from another machine, before any file of it is merged or checked out (docs/format.md, "Trust")."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from gitmem.errors import RefusedError, StoreFormatError
from gitmem.git.layout import find_layout
from gitmem.git.objects.extent import most_files
from gitmem.git.process.run import Git
from gitmem.model.paths import FORMAT, TEMPORARY, fold, is_git_folder
from gitmem.store.config.locate import HOME_HOSTS, HOME_PROJECTS, user_store
from gitmem.store.setup.arrivals import arrival
from gitmem.store.store import FORMAT_VERSION, format_version
from gitmem.store.upkeep.due import MAX_FILES

if TYPE_CHECKING:
    from gitmem.git.objects.treediff import PathChange
    from gitmem.git.repository import Repository

MOST_BYTES = 1 << 30  # of all files that come at once
_FILE_MODES = {"100644", "100755"}


def check_extent(repository: Repository, source: str, commit: str, known: Collection[str]) -> None:
    """Refuse commits with too many files, before their trees are listed; commits in `known` are local.

    Raises:
        RefusedError: a commit has more than MAX_FILES files, or `commit` is no commit.

    """
    with repository.reading() as objects:
        [info] = objects.infos([commit])
        is_commit = info is not None and info.kind == "commit"
        files = most_files(repository.git, objects, commit, without=known, limit=MAX_FILES) if is_commit else None
    if files is not None and files <= MAX_FILES:
        return
    content = f"a commit with {files:,} files" if files is not None else "folders that cannot be read to their end"
    raise RefusedError(
        f"{source} has {content if is_commit else 'something else than commits'}, which is no memory. "
        "Nothing was merged.",
        "See who pushed that: 'git log' there. Then take it out of that branch, or use another remote.",
    )


def arrivals_of(repository: Repository, local: str, theirs: str) -> list[PathChange]:
    """Return the files that `theirs` adds or changes compared with `local`."""
    return [change for change in repository.changes(local, theirs) if change.new is not None]


def check_version(repository: Repository, source: str, changes: Iterable[PathChange]) -> None:
    """Refuse a memory of a newer format version.

    Raises:
        StoreFormatError: the version is higher than the one this gitmem knows.

    """
    document = next((change.new for change in changes if change.path == FORMAT), None)
    version = format_version(repository.blob(document)) if document else None
    if version is not None and not 1 <= version <= FORMAT_VERSION:
        from gitmem.machine.installed import install_command

        raise StoreFormatError(
            f"The memory at {source} has format version {version}; this gitmem knows version {FORMAT_VERSION}.",
            f"Nothing was touched. Upgrade gitmem: {install_command()}",
        )


def check_files(
    repository: Repository, source: str, changes: Collection[PathChange], *, reserved: Collection[str] = ()
) -> None:
    """Refuse files that must not enter a store; `reserved` are top folders that belong to this machine.

    Raises:
        RefusedError: a path is unsafe or collides with another, or a file is a link, a submodule or too large.

    """
    names: dict[str, str] = {}
    for change in changes:
        complaint = _complaint(change, reserved)
        twin = names.setdefault(fold(change.path), change.path)
        if twin != change.path:
            complaint = f"which on some file systems is the same as {twin!a}"
        if complaint is not None:
            raise RefusedError(
                f"{source} has {change.path!a}, {complaint}. Nothing was merged.",
                "Remove or rename it on the machine that made it, then sync there.",
            )
    sizes = repository.sizes([change.new or "" for change in changes])
    if sum(sizes) > MOST_BYTES:
        raise RefusedError(
            f"{source} has {sum(sizes):,} bytes in {len(sizes):,} files, more than one sync takes. Nothing was merged.",
            "Remove the large files from the memory on the machine that made them, then sync there.",
        )
    for change, size in zip(changes, sizes, strict=True):
        if size > arrival(change.path).most:
            raise RefusedError(
                f"{source} has {change.path!a} with {size:,} bytes, more than gitmem allows for it. "
                "Nothing was merged.",
                "Split it on the machine that made it, then sync there.",
            )


def reserved_folders(root: str, home: str) -> tuple[str, ...]:
    """Return the top folders that no remote may write to; only the person's own store has any."""
    return (HOME_HOSTS, HOME_PROJECTS) if os.path.realpath(root) == os.path.realpath(user_store(home)) else ()


def check_hosts_untracked(root: str, environ: Mapping[str, str]) -> None:
    """Refuse installation records that the person's store tracks: a remote may have written them.

    Raises:
        RefusedError: the store tracks their folder, in any spelling of upper and lower case.

    """
    layout = find_layout(root)
    if layout is None:
        return
    if Git(layout.git_dir, root, environ).run("ls-files", "-z", "--", f":(icase){HOME_HOSTS}"):
        raise RefusedError(
            f"The store at {root} tracks files in {HOME_HOSTS}/, which is for this machine alone; a remote may have "
            "written them.",
            f"Look at them, remove what you did not make, then: git -C {root} rm -r --cached {HOME_HOSTS}",
        )


def _complaint(change: PathChange, reserved: Collection[str]) -> str | None:
    """Return why a file from another machine is refused, None if it is allowed."""
    if change.mode not in _FILE_MODES:
        return "which is a link or a submodule"
    parts = change.path.split("/")
    if any(part in {"", ".", ".."} or is_git_folder(part) for part in parts):
        return "whose name leads out of the store or into git's own folder"
    if any(ord(character) < 32 or ord(character) == 127 for character in change.path):  # noqa: PLR2004
        return "with control characters in its name"
    # NTFS ignores the part after a colon or backslash, and trailing dots and blanks, in a folder's name.
    top = fold(parts[0]).replace("\\", ":").partition(":")[0].rstrip(". ")
    if top == TEMPORARY:
        return "where gitmem keeps its own temporary files"
    if top in reserved:
        return "where gitmem keeps what belongs to this machine"
    return None
