"""What a person changed by hand: the paths in which work tree, index and tip differ, and new files.

`git status` says the same, but converts files by the attributes of the tree before it compares them. So git only says
which files are not as the index knows them, by their times and sizes, and what they hold is hashed here.
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
    from gitmem.git.process.spawn import Running

_OPTIONS = ("--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=all")
_CHANGED = ("diff-files", *_OPTIONS)
_STAGED = ("diff-index", "--cached", *_OPTIONS)
_NEW = ("ls-files", "--others", "--exclude-standard", "-z")
_UNMERGED = "U"
_LINK = "120000"


class Look:
    """A look at the whole work tree, started early and asked when its answer is needed.

    As a context manager it leaves nothing running.
    """

    def __init__(self, git: Git) -> None:
        self._git = git
        self._running: list[tuple[tuple[str, ...], Running]] = []
        self.unchanged: list[str] = []  # files whose times or sizes say that they are others, and that are not

    def start(self) -> None:
        """Start looking, unless that was done before."""
        if self._running:
            return
        for git, command in (
            (self._git.unfiltered, _CHANGED),
            (self._git, (*_STAGED, "HEAD", "--")),
            (self._git, _NEW),
        ):
            self._running.append((command, git.spawn(*command)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        for _, process in self._running:
            if process.returncode is None:
                process.kill()
                process.communicate()

    def edited(self) -> list[str]:
        """Return the paths in which work tree, index and tip differ, or that git does not know and does not ignore.

        A path that ends in `/` is another repository.

        Raises:
            UnfinishedError: the index holds conflicts of a merge.

        """
        self.start()
        try:
            changed, staged, new = self._answers()
        except GitFailedError as error:
            changed, staged, new = self._again(error)
        paths = dict.fromkeys((*self._edited(changed), *(path for _, path in _records(staged))))
        return list(dict.fromkeys([*sorted(paths), *map(os.fsdecode, new.split(b"\0")[:-1])]))

    def _answers(self) -> list[bytes]:
        said = []
        for command, process in self._running:
            stdout, stderr = process.communicate()
            if process.returncode != 0:
                raise failure(command, process.wait(), stderr)
            said.append(stdout)
        return said

    def _again(self, error: GitFailedError) -> list[bytes]:
        """Look once more, past a damaged index, or on a branch that has no commit yet."""
        from gitmem.git.worktree.index import is_damage, rebuild_index

        tip = "HEAD"
        if is_damage(error.stderr):
            rebuild_index(self._git)
        elif not self._git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", ok=(0, 1, 128)):
            tip = self._git.run("hash-object", "-t", "tree", "--stdin", stdin=b"").decode().strip()
        else:
            raise error
        return [self._git.unfiltered.run(*_CHANGED), self._git.run(*_STAGED, tip, "--"), self._git.run(*_NEW)]

    def _edited(self, changed: bytes) -> Iterator[str]:
        """Yield the files that are not what the index says, once what they hold was looked at."""
        for meta, path in _records(changed):
            old_mode, new_mode, oid, _, status = meta
            if status == _UNMERGED:
                raise UnfinishedError(
                    f"{path} has conflicts that a merge left in the index.",
                    "Resolve them with 'git add' and 'git commit', or 'git merge --abort'.",
                )
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
    """Yield what a raw diff says of each path: both modes, both ids and the letter of the change; and the path."""
    fields = raw.split(b"\0")[:-1]
    for meta, path in zip(fields[::2], fields[1::2], strict=True):
        yield meta.decode().removeprefix(":").split(" "), os.fsdecode(path)
