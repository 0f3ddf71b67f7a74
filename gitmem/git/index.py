"""Find edits by hand, and update git's index after gitmem wrote files of the work tree.

`git status` would convert files by the tree's attributes, so git lists only candidates, and gitmem hashes them. Without
the update a plain `git commit` would revert gitmem's commits. Tested through `tests/git/test_worktree.py`.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence

from gitmem.errors import GitFailedError, GitmemError, RefusedError, UnfinishedError
from gitmem.git.left_behind import clear_left_behind, lock_in_the_way
from gitmem.git.objects import raw_changes
from gitmem.git.process import Dialogue, Git
from gitmem.git.repository import blob_id, empty_tree
from gitmem.platform.safe_open import MAX_FILE_BYTES, drop_file, enter, read_open, read_regular
from gitmem.platform.spawn import Child

_UPDATE = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
_REMOVE = ("update-index", "-z", "--force-remove", "--stdin")
_SET = ("update-index", "-z", "--add", "--replace", "--index-info")
_HEADER = 12  # bytes with which an index begins
DRAFT = "index.gitmem"  # prefix of a temporary index, made only under the store's lock
_DAMAGES = ("index file corrupt", "index file smaller than expected")
# Git commands hold `index.lock` for milliseconds, unless they were killed or wait for an editor (`git commit -a`).
_PAUSE = 0.02
_PATIENCE = 1.0


def clear_left_lock(git_dir: str) -> None:
    """Remove a stale `index.lock` of a killed git; only under the store's lock.

    The lock of a `git commit -a` whose editor is open has content, and stays.
    """
    lock = os.path.join(git_dir, "index.lock")
    with contextlib.suppress(OSError):
        if not (read_regular(lock, _HEADER) or b"").strip(b"\0"):
            clear_left_behind(lock)


def is_damage(stderr: str) -> bool:
    """Return whether git reports a damaged index, as after a power failure: git does not sync it."""
    return any(words in stderr for words in _DAMAGES)


def rebuild_index(git: Git) -> None:
    """Move a damaged index aside and rebuild it from the tip; work tree and commits stay."""
    index = os.path.join(git.git_dir or "", "index")
    with contextlib.suppress(FileNotFoundError):
        os.replace(index, f"{index}.damaged")
    born = git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", ok=(0, 1, 128)).strip()
    git.run("read-tree", "HEAD" if born else "--empty")


def read_entries(git: Git) -> dict[str, str]:
    """Return the object ids of all files in the index without conflicts, by path."""
    entries_read = {}
    for line in git.run("ls-files", "--stage", "-z", "--full-name").split(b"\0")[:-1]:
        meta, _, path = line.partition(b"\t")
        _, oid, stage = meta.split()
        if stage == b"0":
            entries_read[os.fsdecode(path)] = oid.decode()
    return entries_read


def set_entries(git: Git, entries: Mapping[str, tuple[str, str] | None]) -> None:
    """Set index entries to mode and object id, or remove them (None), whatever is on disk."""
    gone = [path for path, entry in entries.items() if entry is None]
    present = [(path, entry) for path, entry in entries.items() if entry is not None]
    if gone:
        _update(git, _REMOVE, b"".join(os.fsencode(path) + b"\0" for path in gone))
    if present:
        lines = (f"{mode} {oid}\t".encode() + os.fsencode(path) + b"\0" for path, (mode, oid) in present)
        _update(git, _SET, b"".join(lines))


class IndexUpdate:
    """An update of the index by a git process that starts during the commit; without `finish` it changes nothing."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._process: Child | None = None

    def start(self) -> None:
        """Start git if possible; otherwise `finish` tries again and reports the error."""
        with contextlib.suppress(GitmemError):
            self._process = self._git.unfiltered.spawn(*_UPDATE)  # fails while another process holds `index.lock`

    def __enter__(self) -> IndexUpdate:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process is not None:
            self._process.communicate()

    def finish(self, paths: Sequence[str]) -> None:
        """Update the entries of these paths from the files; with no paths nothing changes."""
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        process, self._process = self._process, None
        if process is not None:
            process.communicate(names)
        if names and (process is None or process.returncode):  # the retry meets the cause again and handles it
            _update(self._git, _UPDATE, names)


def _update(git: Git, command: tuple[str, ...], stdin: bytes) -> None:
    """Update the index, despite damage or another process's `index.lock`.

    Wait a little for the lock, then replace the index without it: a user's `git commit -a` with its editor open will
    find the branch moved and fail, and the lock of a killed git would keep the index stale for ever.
    """
    index = os.path.join(git.git_dir or "", "index")
    clear_left_lock(os.path.dirname(index))
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if abs(time.time() - os.lstat(f"{index}.lock").st_mtime) > _PATIENCE:
                break
        if _write(git, command, stdin):
            return
        time.sleep(_PAUSE)
    draft = os.path.join(os.path.dirname(index), f"{DRAFT}-{os.getpid()}-{os.urandom(4).hex()}")
    import shutil  # 6 ms, which a save does not need

    try:
        with contextlib.suppress(FileNotFoundError):  # a new store has no index yet
            shutil.copy2(index, draft)  # keeps its time, which git compares with entries
        if _write(git, command, stdin, {"GIT_INDEX_FILE": draft}):
            os.replace(draft, index)
    finally:
        drop_file(draft)


def _write(git: Git, command: tuple[str, ...], stdin: bytes, env: Mapping[str, str] | None = None) -> bool:
    """Let git update an index; return False if it is locked, or was damaged and has been rebuilt."""
    try:
        git.unfiltered.run(*command, stdin=stdin, env=env, past_locks=False)
    except GitFailedError as error:
        if is_damage(error.stderr):
            rebuild_index(git)
        elif not lock_in_the_way(error.stderr):
            raise
        return False
    return True


_OPTIONS = ("--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=all")
_CHANGED = ("diff-index", *_OPTIONS)
_NEW = ("ls-files", "--others", "--unmerged", "--exclude-standard", "-t", "-z")
_UNTRACKED = b"? "
_LINK = "120000"


class Look:
    """A comparison of the whole work tree by git processes that start early and are read later; a context manager."""

    def __init__(self, git: Git, tip: str) -> None:
        """Compare with a commit, by its full id; "" for the commit that `HEAD` names."""
        self._git = git
        self._tip = tip
        self._answers: list[Dialogue] = []
        self.unchanged: list[str] = []  # files equal to the tip with an outdated index entry
        self.at_tip: dict[str, tuple[str, str] | None] = {}  # mode and id that edited files have there; None: new files

    def start(self) -> None:
        """Start git, once."""
        if not self._answers:
            self._tip = self._tip or self._head()
            self._answers.append(Dialogue(self._git.unfiltered, *_CHANGED, self._tip, "--"))
            self._answers.append(Dialogue(self._git, *_NEW))

    def __enter__(self) -> Look:
        return self

    def __exit__(self, *exc: object) -> None:
        for answer in self._answers:
            answer.__exit__()

    def edited(self) -> list[str]:
        """Return the paths in which work tree or index differ from the tip, and untracked ones that are not ignored.

        A path that ends in `/` is a nested repository.

        Raises UnfinishedError if the index holds conflicts of a merge.
        """
        self.start()
        try:
            changed, new = [answer.output() for answer in self._answers]
        except GitFailedError as error:
            if not is_damage(error.stderr):
                raise
            rebuild_index(self._git)
            changed, new = self._git.unfiltered.run(*_CHANGED, self._tip, "--"), self._git.run(*_NEW)
        self.at_tip = dict.fromkeys(_untracked(new)) | dict(self._edited(changed))
        return sorted(self.at_tip)

    def _head(self) -> str:
        """Return the commit that `HEAD` names, the empty tree on a branch without a commit."""
        tip = self._git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", ok=(0, 1)).decode().strip()
        return tip or empty_tree(self._git)

    def _edited(self, changed: bytes) -> Iterator[tuple[str, tuple[str, str] | None]]:
        """Yield each file whose content or index entry differs from the tip, with mode and id at the tip."""
        for (old_mode, new_mode, oid, _, status), path in raw_changes(changed):
            if status == "M" and old_mode == new_mode and self._holds(path, oid):
                self.unchanged.append(path)
            elif not (old_mode == _LINK and status == "T" and self._holds(path, oid)):  # as `check_out` writes links
                yield path, (old_mode, oid) if oid.strip("0") else None

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


def _untracked(listing: bytes) -> list[str]:
    """Return the untracked files of a listing with tags. Raises UnfinishedError if it lists a file with conflicts."""
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
