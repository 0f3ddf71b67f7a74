"""Find edits by hand: paths in which the work tree or the index differs from the tip, and untracked files.

`git status` converts files by the tree's attributes before it compares them. So git only lists the files whose times
or sizes differ from the index, or whose entries differ from the tip, and their contents are hashed here.

Tested through `tests/git/worktree/test_files.py`.
"""

from __future__ import annotations

import os

from gitmem.errors import GitFailedError, RefusedError, UnfinishedError
from gitmem.git.objects.oid import blob_id
from gitmem.git.process.run import failure
from gitmem.machine.beneath import MAX_FILE_BYTES, enter, read_open

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from gitmem.git.process.run import Git
    from gitmem.machine.spawn import Running

_OPTIONS = ("--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=all")
_CHANGED = ("diff-index", *_OPTIONS)
_NEW = ("ls-files", "--others", "--unmerged", "--exclude-standard", "-t", "-z")
_UNTRACKED = b"? "
_LINK = "120000"


class Look:
    """A comparison of the whole work tree that starts early and is read later.

    The context manager ends all its processes.
    """

    def __init__(self, git: Git, tip: str) -> None:
        """Compare with a commit, by its full id; "" for the commit that `HEAD` names."""
        self._git = git
        self._tip = tip
        self._running: list[tuple[tuple[str, ...], Running]] = []
        self.unchanged: list[str] = []  # files as the tip has them, whose entries in the index say otherwise

    def start(self) -> None:
        """Start git, once."""
        if self._running:
            return
        self._tip = self._tip or self._head()
        for git, command in ((self._git.unfiltered, (*_CHANGED, self._tip, "--")), (self._git, _NEW)):
            self._running.append((command, git.spawn(*command)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        for _, process in self._running:
            if process.returncode is None:
                process.kill()
                process.communicate()

    def edited(self) -> list[str]:
        """Return the paths in which work tree or index differ from the tip, and untracked ones that are not ignored.

        A path that ends in `/` is a nested repository.

        Raises:
            UnfinishedError: the index holds conflicts of a merge.

        """
        self.start()
        try:
            changed, new = self._answers()
        except GitFailedError as error:
            changed, new = self._again(error)
        names = _untracked(new)
        return list(dict.fromkeys([*sorted(self._edited(changed)), *names]))

    def _answers(self) -> list[bytes]:
        output = []
        for command, process in self._running:
            stdout, stderr = process.communicate()
            if process.returncode != 0:
                raise failure(command, process.wait(), stderr)
            output.append(stdout)
        return output

    def _again(self, error: GitFailedError) -> list[bytes]:
        """Retry after rebuilding a damaged index."""
        from gitmem.git.worktree.index import is_damage, rebuild_index

        if not is_damage(error.stderr):
            raise error
        rebuild_index(self._git)
        return [self._git.unfiltered.run(*_CHANGED, self._tip, "--"), self._git.run(*_NEW)]

    def _head(self) -> str:
        """Return the commit that `HEAD` names, the empty tree on a branch without a commit."""
        tip = self._git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", ok=(0, 1))
        return (tip or self._git.run("hash-object", "-t", "tree", "--stdin", stdin=b"")).decode().strip()

    def _edited(self, changed: bytes) -> Iterator[str]:
        """Yield the files whose content, or whose entry in the index, differs from the tip."""
        for meta, path in _records(changed):
            old_mode, new_mode, oid, _, status = meta
            if status == "M" and old_mode == new_mode and self._holds(path, oid):
                self.unchanged.append(path)
            elif not (old_mode == _LINK and status == "T" and self._holds(path, oid)):  # as `check_out` writes links
                yield path

    def _holds(self, path: str, oid: str) -> bool:
        *folders, name = path.split("/")
        try:
            with enter(self._git.work_tree or "", folders) as folder, open(folder.open(name), "rb") as file:
                if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
                    return False
                data = read_open(file, MAX_FILE_BYTES)
        except (OSError, RefusedError):
            return False
        return data is not None and blob_id(data, oid) == oid


def _records(raw: bytes) -> Iterator[tuple[list[str], str]]:
    """Yield the fields of each path of a raw diff (modes, ids, status letter), and the path."""
    fields = raw.split(b"\0")[:-1]
    for meta, path in zip(fields[::2], fields[1::2], strict=True):
        yield meta.decode().removeprefix(":").split(" "), os.fsdecode(path)


def _untracked(listing: bytes) -> list[str]:
    """Return the untracked files of a listing with tags.

    Raises:
        UnfinishedError: it lists a file with conflicts.

    """
    paths = []
    for line in listing.split(b"\0")[:-1]:
        if not line.startswith(_UNTRACKED):
            path = os.fsdecode(line.partition(b"\t")[2])
            raise UnfinishedError(
                f"{path} has conflicts that a merge left in the index.",
                "Resolve them with 'git add' and 'git commit', or 'git merge --abort'.",
            )
        paths.append(os.fsdecode(line[len(_UNTRACKED) :]))
    return paths
