"""What is written into git's index by hand is what git itself would have written, in git's own judgement."""

from __future__ import annotations

import hashlib
import os
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.git.worktree.entries import Replacement, _forget_trees, find_entries, replace_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tests.conftest import RunsGit

pytestmark = pytest.mark.skipif(os.name != "posix", reason="only here is the index written without git")

ADA = {f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
FILES = ["memory.md", "a", "a.md", "a/b.md", "a/b/c.md", "a-b/c.md", "daily/2026/11/2026-11-21.md", "결정/메모 😀.md"]
FILES += ["zz " + "x" * 240 + ".md", *(f"facts/{number:03d}.md" for number in range(40))]
FILES.remove("a")  # a folder


def sha1(data: bytes) -> bytes:
    return hashlib.sha1(data).digest()


class Repository:
    def __init__(self, folder: Path, git: RunsGit, *options: str) -> None:
        self.root, self._git = folder, git
        folder.mkdir(parents=True)
        self.git("init", "-q", *options)
        for name in FILES:
            self.write(name, name.encode())
        self.git("add", "-A")
        self.git("commit", "-qm", "files")
        self.git("status")  # as after any look of a person's: the cached trees are there

    def git(self, *args: str, **more) -> str:
        return self._git(self.root, *args, env=ADA, **more)

    def write(self, name: str, data: bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    @property
    def index(self) -> bytes:
        return (self.root / ".git" / "index").read_bytes()

    def patch(self, names: Iterable[str]) -> bytes | None:
        """Replace the entries of files, and keep the time of the index, as gitmem does."""
        path = self.root / ".git" / "index"
        names = [os.fsencode(name) for name in names]
        places = find_entries(path.read_bytes(), names, hashlib.sha1)
        if places is None:
            return None
        entries = {}
        for name in names:
            full = os.path.join(os.fsencode(self.root), name)
            data = Path(os.fsdecode(full)).read_bytes()
            entries[name] = Replacement(os.lstat(full), sha1(b"blob %d\0%s" % (len(data), data)))
        new = replace_entries(places, entries, hashlib.sha1)
        if new is not None:
            new = b"".join(new)
            was = path.stat()
            path.write_bytes(new)
            os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
        return new

    def check(self) -> None:
        """Have git compare index, files and cached trees; the objects are made first, as a commit would have."""
        self.git("hash-object", "-w", "--stdin-paths", stdin="\n".join(self.changed()).encode())
        tree = self.git("write-tree").strip()  # out of the cached trees, where they are there
        env = {**ADA, "GIT_INDEX_FILE": str(self.root / ".git" / "fresh")}
        self._git(self.root, "add", "-A", env=env)
        assert tree == self._git(self.root, "write-tree", env=env).strip()
        (self.root / ".git" / "fresh").unlink()
        assert self.git("diff-files") == ""
        lines = self.git("status", "--porcelain").splitlines()
        assert len(lines) == len(self.changed())
        assert all(line.startswith("M  ") for line in lines)  # in the index, and nothing beyond it
        self.git("fsck", "--strict")

    def changed(self) -> Sequence[str]:
        return [name for name in FILES if (self.root / name).read_bytes() != name.encode()]


@pytest.fixture
def repository(tmp_path: Path, bare_git: RunsGit) -> Repository:
    bare = bare_git

    def git(cwd: Path, *args: str, **more):
        return bare(cwd, "-c", "core.quotePath=false", *args, **more)

    return Repository(tmp_path / "re po", git)


@pytest.mark.parametrize("names", [[name] for name in FILES[:9]] + [FILES, FILES[3:12]], ids=len)
def test_git_agrees_with_the_new_entries(repository, names):
    for name in names:
        repository.write(name, b"new\n" * 1000)
    assert repository.patch(names) is not None
    repository.check()


def test_entries_are_what_git_would_have_written(repository):
    repository.write("a/b.md", b"other\n")
    assert repository.patch(["a/b.md"])
    mine = repository.git("ls-files", "--stage", "--debug")
    repository.git("update-index", "--refresh", "--really-refresh")
    repository.git("update-index", "a/b.md")
    assert repository.git("ls-files", "--stage", "--debug") == mine


def test_the_cached_trees_of_other_folders_stay(repository):
    repository.write("facts/003.md", b"other\n")
    before = repository.index
    new = repository.patch(["facts/003.md"])
    places = find_entries(new, [b"facts/003.md"], hashlib.sha1)
    trees = dict(places.extensions)[b"TREE"]
    assert trees.startswith(b"\0-1 ")
    assert b"facts\0-1 0\n" in trees
    assert b"daily\x001 1\n" in trees
    assert len(before) - len(new) == 2 * 20 - len(b"-1-1") + len(b"40") + len(str(len(FILES)))


def test_a_second_edit_in_the_same_moment_is_seen(repository):
    """git trusts no entry that is as young as the index."""
    for number in range(5):
        repository.write("memory.md", b"saved %d\n" % number)
        assert repository.patch(["memory.md"])
        repository.write("memory.md", b"edit  %d\n" % number)  # the same size, perhaps the same time
        assert "memory.md" in repository.git("diff-files", "--name-only")


def test_an_older_edit_in_the_same_moment_stays_seen(repository):
    """An entry that was written in the same moment as the index, and its file again: git had to compare it."""
    path = repository.root / ".git" / "index"
    repository.git("update-index", "memory.md")
    entry = (repository.root / "memory.md").stat()
    os.utime(path, ns=(entry.st_mtime_ns, entry.st_mtime_ns))
    repository.write("memory.md", b"MEMORY.md")
    os.utime(repository.root / "memory.md", ns=(entry.st_atime_ns, entry.st_mtime_ns))
    repository.write("a/b.md", b"other\n")
    time.sleep(0.01)
    assert repository.patch(["a/b.md"])
    assert "memory.md" in repository.git("-c", "core.trustctime=false", "diff-files", "--name-only")


def _conflict(repository: Repository) -> None:
    oid = repository.git("rev-parse", ":a.md").strip()
    lines = "".join(f"100644 {oid} {stage}\tmemory.md\n" for stage in (1, 2, 3))
    repository.git("update-index", "--force-remove", "memory.md")
    repository.git("update-index", "--index-info", stdin=lines.encode())


def _version(number: int) -> Callable[[Repository], None]:
    def change(repository: Repository) -> None:
        repository.git("update-index", "--index-version", str(number))
        if number == 3:
            repository.write("intended", b"")
            repository.git("add", "-N", "intended")

    return change


def _assume_unchanged(repository: Repository) -> None:
    repository.git("update-index", "--assume-unchanged", "memory.md")


def _split(repository: Repository) -> None:
    repository.git("update-index", "--split-index")


def _watch_untracked(repository: Repository) -> None:
    repository.git("update-index", "--force-untracked-cache")
    repository.git("status")


def _forget(repository: Repository) -> None:
    repository.git("rm", "-q", "--cached", "memory.md")


def _skip_hash(repository: Repository) -> None:
    path = repository.root / ".git" / "index"
    path.write_bytes(path.read_bytes()[:-20] + b"\0" * 20)


def _cut(repository: Repository) -> None:
    path = repository.root / ".git" / "index"
    path.write_bytes(path.read_bytes()[:-300])


def _very_long_name(repository: Repository) -> None:
    oid = repository.git("rev-parse", ":a.md").strip()
    repository.git("update-index", "--index-info", stdin=f"100644 {oid}\t{'d/' * 2100}f\n".encode())


def _make_executable(repository: Repository) -> None:
    (repository.root / "memory.md").chmod(0o755)


CHANGES = {
    "a conflict": _conflict,
    "extended entries": _version(3),
    "compressed names": _version(4),
    "assumed unchanged": _assume_unchanged,
    "a split index": _split,
    "untracked files": _watch_untracked,
    "not in the index": _forget,
    "no hash": _skip_hash,
    "cut off": _cut,
    "a name of four thousand letters": _very_long_name,
    "executable now": _make_executable,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_everything_else_is_left_to_git(repository, change):
    change(repository)
    before = repository.index
    assert repository.patch(["memory.md"]) is None
    assert repository.index == before


def test_a_large_index_says_where_its_entries_end(repository):
    oid = repository.git("rev-parse", ":a.md").strip()
    lines = "".join(f"100644 {oid}\tmany/{number % 50}/{number}.md\n" for number in range(12_000))
    repository.git("update-index", "--index-info", stdin=lines.encode())
    repository.git("-c", "index.threads=4", "update-index", "--force-write-index")
    assert b"EOIE" in repository.index
    repository.write("memory.md", b"other\n")
    new = repository.patch(["memory.md"])
    places = find_entries(new, [b"memory.md"], hashlib.sha1)
    end, said = struct.unpack(">I20s", dict(places.extensions)[b"EOIE"])
    headers = b"".join(name + struct.pack(">I", len(data)) for name, data in places.extensions[:-1])
    assert (end, said) == (places.end, sha1(headers))
    assert len(repository.git("-c", "index.threads=4", "ls-files").splitlines()) == 12_000 + len(FILES)


@given(st.binary(max_size=400), st.lists(st.sampled_from([b"a", b"a/b", b"memory.md"]), unique=True))
def test_no_bytes_break_it(tail, paths):
    for index in (tail, struct.pack(">4sII", b"DIRC", 2, 1) + tail):
        places = find_entries(index, paths, hashlib.sha1)
        if places is not None:
            replace_entries(places, {}, hashlib.sha1)


TREES = st.recursive(st.just({}), lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=3))


@given(TREES, st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4), max_size=3))
def test_just_the_trees_above_a_path_are_forgotten(tree, paths):
    def render(name: bytes, inner: dict, folder: list[str], changed: set[tuple[str, ...]]) -> bytes:
        if tuple(folder) in changed:
            line = b"%s\0-1 %d\n" % (name, len(inner))
        else:
            line = b"%s\x007 %d\n" % (name, len(inner)) + b"\n\0" * 10
        return line + b"".join(render(key.encode(), value, [*folder, key], changed) for key, value in inner.items())

    names = ["/".join(path).encode() for path in paths]
    changed = {tuple(path[:depth]) for path in paths for depth in range(len(path))} | {()}
    assert _forget_trees(render(b"", tree, [], set()), names, 20) == render(b"", tree, [], changed)
