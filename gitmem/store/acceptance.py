"""Record which stores from elsewhere, and which remotes, the user accepted (docs/security.md, "Trust").

A project in an archive, a shared folder or a volume may bring a store. Until the user accepts it, gitmem records and
sends nothing there, and shows no session its content. Whoever makes, clones or trusts a store accepts it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

from gitmem.errors import GitmemError, NotSavedError, RefusedError, StoreNotFoundError
from gitmem.git.layout import MEMORY_BRANCH, STORE_FOLDER, Layout, find_layout
from gitmem.git.trust import check_layout, is_linked
from gitmem.platform.safe_open import drop_file, folders_around, in_the_way, read_small, replace_file
from gitmem.store.locate import (
    HOME_PROJECTS,
    PRIVATE_FOLDER,
    find_project,
    find_store,
    is_store,
    user_store,
)


def no_store(start: str, home: str, environ: Mapping[str, str]) -> GitmemError:
    """Return the error for a folder without a store, or with one that may not be read, or is on a branch."""
    from gitmem.document.ids import MEMORY
    from gitmem.git.setup import memory_branch
    from gitmem.platform.barred import barred

    stores = (os.path.join(folder, STORE_FOLDER, ".git") for folder in folders_around(os.path.realpath(start)))
    for path in (start, os.path.join(start, ".git"), *stores):
        if error := barred(path):
            return error
    project = find_project(start, home)
    branch = memory_branch(project.common_dir, environ) if project.common_dir else ""
    if branch:
        return StoreNotFoundError(
            f"The memory of {project.root} is on the branch {branch}, and has no folder here.",
            "'gitmem init' connects it.",
        )
    place = "" if project.root == os.path.realpath(home) else os.path.join(project.root, STORE_FOLDER)
    if place and os.path.isfile(os.path.join(place, MEMORY)) and not os.path.lexists(os.path.join(place, ".git")):
        remedy = "Put it back, or 'gitmem init' begins a new history with the files as they are."
        return StoreNotFoundError(f"{place} has the files of a memory, and no .git, which had its history.", remedy)
    damaged = damaged_store(place) if place else None
    return damaged or StoreNotFoundError(f"No store belongs to {start}.", "'gitmem init' makes one for this project.")


def damaged_store(folder: str) -> StoreNotFoundError | None:
    """Return the error for a store's place that has a file, or a `.git` that is no repository; None for others."""
    is_folder = os.path.isdir(os.path.join(folder, ".git"))
    if not (is_folder or os.path.isfile(folder)) or is_store(folder):
        return None
    reason = "its .git is damaged, so git does not read it" if is_folder else "it is a file"
    remedy = "Move it away. Then 'gitmem init' makes a new store, 'gitmem restore' one out of a backup."
    return StoreNotFoundError(f"{folder} is no store: {reason}.", remedy)


def disconnected_branch(start: str, home: str, environ: Mapping[str, str]) -> bool:
    """Return whether a folder's project has an accepted memory on a branch, but no folder `.gitmem`."""
    project = find_project(start, home)
    if project.common_dir is None or os.path.lexists(os.path.join(project.root, STORE_FOLDER)):
        return False
    private = os.path.join(project.common_dir, PRIVATE_FOLDER)
    layout = Layout(project.common_dir, project.common_dir, project.root)
    if not os.path.isdir(private) or not Acceptance(layout, private, home).is_accepted():
        return False
    from gitmem.git.setup import memory_branch

    return memory_branch(project.common_dir, environ) == MEMORY_BRANCH


# Below the common git folder: none may be a link, or waiting events would be written elsewhere.
_ON_THE_WAY = ("gitmem", "gitmem/spool", "gitmem/spool/aside", "gitmem/spool/hooks", "gitmem/spool/hooks/aside")
_FOLDER = (".local", "share", "gitmem", "stores")  # as in hooks/hook.sh
_NAME = "accepted"  # likewise
_CLONING = "cloning"  # beside it, while a clone or a restore makes the store
_MAKING = "making"  # in place of the token, while an `init` makes the store
_TOKEN = "machine"  # noqa: S105  # in the private folder
_TOKEN_LENGTH = 32
_REMOTES = "remotes"  # likewise, of a store on a branch


class NotAcceptedError(RefusedError):
    """The user has not said yes to this store."""


class Acceptance:
    """What the user accepted of one store."""

    def __init__(self, layout: Layout, private: str, home: str) -> None:
        self._layout, self._private, self._home = layout, private, home
        self._folder = os.path.join(home, *_FOLDER)

    def begin(self) -> None:
        """Record that the store is about to be made here; NotSavedError if it would count as one from elsewhere."""
        try:
            self._write([_MAKING, ""])
        except OSError as error:
            raise NotSavedError(
                f"No store was made: {self._folder}, where gitmem notes which stores are yours, cannot be written: "
                f"{error.strerror}.",
                "Give yourself write access to your home, or set HOME to a folder that you can write.",
            ) from error

    def begin_clone(self, url: str) -> None:
        """Record that the store is about to be made from the memory at `url`, an address or a file."""
        with contextlib.suppress(OSError):  # of a home that cannot be written: such a clone has to begin anew
            _write(self._path(_CLONING), _digest(url))

    def is_cut_off(self, url: str) -> bool:
        """Return whether a clone of the memory at an address began here and was cut off."""
        noted = read_small(self._path(_CLONING), follow=False) or b""
        return noted.decode("ascii", "replace").strip() == _digest(url)

    def end_clone(self) -> None:
        """Record that a clone is complete."""
        drop_file(self._path(_CLONING))

    def check(self) -> None:
        """Raise NotAcceptedError unless the store was made, cloned or accepted on this machine."""
        if not self.is_accepted():
            from gitmem.platform.barred import barred

            if error := barred(os.path.join(self._private, _TOKEN)) or barred(self._path()):
                raise error
            raise NotAcceptedError(
                f"The memory at {self._layout.work_tree} came from elsewhere: nothing is recorded there or sent from "
                "there, and no session is shown what it holds, until you say yes.",
                "If you know where it is from, run 'gitmem trust' in a terminal.",
            )

    def is_accepted(self) -> bool:
        """Return whether the store was made, cloned or accepted on this machine.

        A store below the user's own store was made here. A store that was moved is recognised by its token and the
        inode of its git folder.
        """
        if self._is_at_home():
            return True
        record, token = self._record(), self._token()
        if record[:1] == [_MAKING]:  # that `init` was killed before it could record the token
            self.accept(())
            return True
        if record:  # the number alone proves nothing: disks reuse that of a deleted folder
            return record[0] == token
        records = (os.path.join(folder, _NAME) for folder, _, names in os.walk(self._folder) if _NAME in names)
        moved = [token, number_of(self._layout.common_dir)]
        former = next((path for path in records if token and self._read(path)[:2] == moved), "")
        with contextlib.suppress(OSError):  # of a home that cannot be written
            if former:
                self._write(self._read(former))
                os.unlink(former)
        return bool(former)

    def accept(self, urls: tuple[str, ...]) -> None:
        """Record that the user made, cloned or accepted the store, and added the remotes with these addresses."""
        if self._is_at_home():
            return
        record = self._record()
        if not self._token():
            _write_token(os.path.join(self._private, _TOKEN), os.urandom(_TOKEN_LENGTH // 2).hex())
        number = number_of(self._layout.common_dir)
        self._write([self._token(), number, *dict.fromkeys((*record[2:], *map(_digest, urls)))])

    def set_aside(self) -> str:
        """Move the private folder that came with the store to `gitmem-came`, keep its remotes, and return the new path.

        Return "" if it has none. Left in place, its caches would name authors, its journals would move branches, and
        its spool would pass for the user's events.
        """
        came = f"{self._private}-came"
        listed = read_small(os.path.join(self._private, _REMOTES), follow=False)
        if not os.path.isdir(self._private):
            return ""
        if os.path.lexists(came):
            import shutil

            shutil.rmtree(came)
        os.rename(self._private, came)
        if listed:
            _write(os.path.join(self._private, _REMOTES), listed.decode("utf-8", "surrogateescape").rstrip("\n"))
        return came

    def has_added(self, url: str) -> bool:
        """Return whether the remote with this address was added on this machine."""
        return self._is_at_home() or _digest(url) in self._record()[2:]

    def _is_at_home(self) -> bool:
        home = os.path.realpath(user_store(self._home))
        return os.path.join(os.path.realpath(self._private), "").startswith(os.path.join(home, ""))

    def _record(self) -> list[str]:
        return self._read(self._path())

    def _path(self, name: str = _NAME) -> str:
        return os.path.join(self._folder, *_parts(os.path.realpath(self._private)), name)

    def _read(self, path: str) -> list[str]:
        lines = (read_small(path, follow=False) or b"").decode("utf-8", "replace").splitlines()
        return lines if len(lines) > 1 else []

    def _write(self, lines: list[str]) -> None:
        _write(self._path(), "\n".join(lines))

    def _token(self) -> str:
        data = read_small(os.path.join(self._private, _TOKEN), follow=False) or b""
        token = data.decode("ascii", "replace").strip()
        return token if len(token) == _TOKEN_LENGTH else ""


def number_of(folder: str) -> str:
    """Return device and inode, which identify a folder on this machine, also after a move."""
    status = os.stat(folder)
    return f"{status.st_dev}:{status.st_ino}"


def private_folder(work_tree: str, environ: Mapping[str, str]) -> str:
    """Return the private folder of the store at `work_tree`; starts no process and reads no settings.

    Raises:
        StoreNotFoundError: there is no store.
        RefusedError: it is another user's, linked to a repository that is gone or not its own, or has links on the way.
    """
    return os.path.join(checked_layout(work_tree, environ).common_dir, PRIVATE_FOLDER)


def accepted_folder(work_tree: str, environ: Mapping[str, str], home: str) -> str:
    """Return the private folder of a store that may be written to. Raises as `private_folder`, and NotAcceptedError."""
    layout = checked_layout(work_tree, environ)
    private = os.path.join(layout.common_dir, PRIVATE_FOLDER)
    Acceptance(layout, private, home).check()
    return private


def checked_layout(work_tree: str, environ: Mapping[str, str]) -> Layout:
    """Return the layout of the store at `work_tree`. Raises as `private_folder`."""
    layout = find_layout(work_tree)
    if layout is None and is_linked(work_tree):
        from gitmem.git.setup import reconnect

        layout = find_layout(work_tree) if reconnect(work_tree, environ) else None
        if layout is None:
            raise RefusedError(
                f"The store at {work_tree} is cut off from its repository, so nothing is recorded in it: its file .git "
                "leads to a place that is gone.",
                f"'gitmem init' in {os.path.dirname(work_tree)} connects it with its project again.",
            )
    if layout is None:
        raise StoreNotFoundError(f"There is no store at {work_tree}.", "'gitmem init' makes one.")
    check_layout(layout, environ)
    for path in (os.path.join(work_tree, ".git"), *(os.path.join(layout.common_dir, step) for step in _ON_THE_WAY)):
        if os.path.islink(path):
            raise in_the_way(path)
    return layout


def recorded_stores(home: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the files of the record, each with the folders above it, the outermost first."""
    top = os.path.join(home, *_FOLDER)
    stores = []
    for folder, _, names in os.walk(top):
        parts = os.path.relpath(folder, top).split(os.sep)
        made = [os.path.join(home, *_FOLDER[:end]) for end in range(1, len(_FOLDER) + 1)]
        made += [os.path.join(top, *parts[:end]) for end in range(1, len(parts) + 1) if folder != top]
        stores += [(os.path.join(folder, name), tuple(made)) for name in names]
    return stores


def recorded_place(record: str, home: str) -> str:
    """Return the work tree of a recorded store, or the repository of a linked one."""
    parts = os.path.relpath(record, os.path.join(home, *_FOLDER)).split(os.sep)
    start = parts[: parts.index(".git")] if ".git" in parts else parts[:-1]
    return f"{start[0]}:/{'/'.join(start[1:])}" if os.name == "nt" else f"/{'/'.join(start)}"


def recorded_store(record: str, home: str) -> str:
    """Return the work tree of a recorded store, "" if it is gone."""
    with contextlib.suppress(RefusedError):
        return find_store(recorded_place(record, home), home) or ""
    return ""


def known_stores(home: str) -> list[str]:
    """Return the work trees of the stores that were made, cloned or accepted on this machine and are still there."""
    own = user_store(home)
    records = (record for record, _ in recorded_stores(home) if os.path.basename(record) == _NAME)
    paths = {recorded_store(record, home) for record in records}
    with contextlib.suppress(OSError):
        paths.update(entry.path for entry in os.scandir(os.path.join(own, HOME_PROJECTS)))
    return sorted(path for path in {*paths, own} if path and is_store(path))


def _parts(path: str) -> list[str]:
    """Return the parts of a path; a drive as a shell on Windows has it (`/c/…`)."""
    drive, rest = os.path.splitdrive(path)
    return [*filter(None, (drive.rstrip(":").lower(), *rest.replace("\\", "/").split("/")))]


def _digest(url: str) -> str:
    import hashlib  # an address may have a password

    return hashlib.sha256(url.encode("utf-8", "surrogateescape")).hexdigest()


def _write(path: str, text: str) -> None:
    """Replace a file atomically."""
    replace_file(path, f"{text}\n".encode("utf-8", "surrogateescape"))


def _write_token(path: str, token: str) -> None:
    """Write a token if there is none or a damaged one; keep one that another process has just written."""
    temporary = f"{path}.{os.getpid()}"
    _write(temporary, token)
    try:
        if os.path.exists(path):
            os.replace(temporary, path)
        else:
            os.link(temporary, path)
            os.unlink(temporary)
    except FileExistsError:
        os.unlink(temporary)
    except OSError:  # no hard links here
        os.replace(temporary, path)
