"""Read objects through one open `git cat-file --batch-command` (git 2.36); a process for each would take 2 to 4 ms.

Objects of a later fetch or commit are found, too: git looks for new packs before it reports an object as missing.

To count files, each distinct tree is read once: ten nested trees of ten equal entries are ten small objects, but git
would list ten thousand million files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence

from gitmem.errors import GitFailedError
from gitmem.git.process import MOST_OUTPUT, Dialogue, Git
from gitmem.values import Value


def raw_changes(raw: bytes) -> Iterator[tuple[list[str], str]]:
    """Yield the fields of each path of a raw diff (modes, ids, status letter), and the path."""
    fields = raw.split(b"\0")[:-1]
    for meta, path in zip(fields[::2], fields[1::2], strict=True):
        yield meta.decode().removeprefix(":").split(" "), os.fsdecode(path)


_COMMAND = ("cat-file", "--batch-command", "--buffer")
_AT_ONCE = 64  # held in memory: some 6 MB of archives
_INFOS_AT_ONCE = 4096
_GRACE = 10.0  # seconds for an idle process to end


class Info(Value):
    """An object: its id, its kind (`blob`, `tree`, …), and its size in bytes."""

    oid: str
    kind: str
    size: int


class Objects:
    """Reads objects by ids or names of `git rev-parse`, in their order, None if missing; a context manager."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._talk: Dialogue | None = None

    def __enter__(self) -> Objects:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def start(self) -> Dialogue:
        """Start git ahead of the first read."""
        self._talk = self._talk or Dialogue(self._git, *_COMMAND)
        return self._talk

    def close(self) -> None:
        """End git; the next read starts it again."""
        talk, self._talk = self._talk, None
        if talk is not None:
            talk.close(_GRACE)

    def kill(self) -> None:
        """Kill git at once, also from another thread; pending reads fail."""
        if talk := self._talk:
            talk.kill()

    def infos(self, names: Sequence[str]) -> list[Info | None]:
        """Return id, kind and size of objects. Raises GitFailedError if an object is damaged."""
        answers: list[Info | None] = []
        for start in range(0, len(names), _INFOS_AT_ONCE):
            answers += [info for info, _ in self._ask("info", names[start : start + _INFOS_AT_ONCE])]
        return answers

    def contents(self, names: Sequence[str], most: int | None = None) -> Iterator[bytes | None]:
        """Yield contents, a few at a time in memory; raises as `infos`, and TooLargeError above `most` bytes."""
        for start in range(0, len(names), _AT_ONCE):
            for _, data in self._ask("contents", names[start : start + _AT_ONCE], most):
                yield data

    def existing(self, names: Sequence[str]) -> Iterator[bytes]:
        """Yield contents, a few at a time in memory; raises GitFailedError if an object is missing or damaged."""
        for name, data in zip(names, self.contents(names), strict=True):
            if data is None:
                raise _missing(name)
            yield data

    def sizes(self, names: Sequence[str]) -> list[int]:
        """Return the sizes of objects in bytes. Raises as `existing`."""
        sizes = []
        for name, info in zip(names, self.infos(names), strict=True):
            if info is None:
                raise _missing(name)
            sizes.append(info.size)
        return sizes

    def _ask(
        self, command: str, names: Sequence[str], most: int | None = None
    ) -> list[tuple[Info | None, bytes | None]]:
        if any("\n" in name for name in names):
            raise ValueError("a name of an object is one line")
        talk, answers = self.start(), list[tuple[Info | None, bytes | None]]()
        try:
            talk.send("".join(f"{command} {name}\n" for name in names).encode() + b"flush\n")
            for _ in names:
                match = re.fullmatch(rb"([0-9a-f]{40,64}) ([a-z]+) ([0-9]+)\n", talk.line())
                info = None if match is None else Info(match[1].decode(), match[2].decode(), int(match[3]))
                answers.append((info, talk.data(_bounded(info, most)) if info and command == "contents" else None))
        except BaseException:  # an interrupt, too: nobody may read the rest of the answer
            self._talk = None
            talk.__exit__()
            raise
        return answers


def read_objects(git: Git, oids: Sequence[str]) -> Iterator[bytes]:
    """Yield the contents of objects, read by a new git process. Raises as `Objects.existing`."""
    with Objects(git) as objects:
        yield from objects.existing(oids)


class TooLargeError(GitFailedError):
    """An object is larger than what is read into memory."""


def _bounded(info: Info, most: int | None) -> int:
    """Return an object's size. Raises TooLargeError if it is too large to be read into memory."""
    if info.size > (MOST_OUTPUT if most is None else most):
        message = f"The object {info.oid} has {info.size:,} bytes, more than gitmem reads."
        raise TooLargeError(message, status=0, stderr="")
    return info.size


def _missing(name: str) -> GitFailedError:
    return GitFailedError(f"The object {name} is missing from the repository.", status=128, stderr="")


class PathChange(Value):
    """A path that differs between two commits; an id is None if the file is missing.

    `mode` is that of the newer version, else of the older one: `100644`, `100755`, `120000` (a symbolic link) or
    `160000` (a submodule); `old_mode` is that of the older one, `000000` if it is missing.
    """

    path: str
    old: str | None
    new: str | None
    mode: str
    old_mode: str = "000000"


def tree_changes(git: Git, old: str, new: str, *paths: str, timeout: float = 60.0) -> list[PathChange]:
    """Return the paths that differ between two commits or trees, in git's order, without renames."""
    options = ("-r", "-z", "--raw", "--no-renames", "--no-abbrev")
    raw = git.run("--literal-pathspecs", "diff-tree", *options, old, new, "--", *paths, timeout=timeout)
    changes = []
    for (old_mode, new_mode, before, after, _), path in raw_changes(raw):
        first, second = (oid if oid.strip("0") else None for oid in (before, after))
        changes.append(PathChange(path, first, second, old_mode if second is None else new_mode, old_mode))
    return changes


Tree = dict[str, tuple[str, str]]  # mode and object id by path
Entries = dict[bytes, tuple[str, str]]  # mode and object id by name

_FOLDER = "40000"
_DIGITS = {40: 20, 64: 32}  # an id's bytes, by its hexadecimal digits
_ENTRY = rb"([0-7]{5,6}) ([^\0]+)\0(.{%d})"


def is_folder(entry: tuple[str, str] | None) -> bool:
    """Return whether an entry of a tree is a tree."""
    return entry is not None and entry[0] == _FOLDER


def parse_tree(data: bytes, oid: str) -> Entries | None:
    """Return the entries of the tree `oid`, None if it is malformed."""
    size = _DIGITS[len(oid)]
    found = re.findall(_ENTRY % size, data, re.DOTALL)
    entries = {name: (_mode(mode), oid.hex()) for mode, name, oid in found}
    whole = sum(len(mode) + len(name) for mode, name, _ in found) + (size + 2) * len(found) == len(data)
    return entries if whole and len(entries) == len(found) else None


def _mode(raw: bytes) -> str:
    """Return a mode normalized as git does, since other tools write other modes."""
    mode = int(raw, 8)
    kind = mode & 0o170000
    if kind == 0o100000:  # noqa: PLR2004
        return "100755" if mode & 0o100 else "100644"
    return {0o120000: "120000", 0o040000: _FOLDER}.get(kind, "160000")


def read_tree(git: Git, commit: str, *paths: str) -> Tree:
    """Return the files of a commit, at or below these paths, with mode and object id; submodules and links, too."""
    tree = {}
    for line in git.run("ls-tree", "-r", "-z", "--full-tree", commit, "--", *paths).split(b"\0")[:-1]:
        meta, _, path = line.partition(b"\t")
        mode, _, oid = meta.decode().split()
        tree[os.fsdecode(path)] = (mode, oid)
    return tree


_SECONDS = 300.0  # for the trees of a first history
_DEEPEST = 1_000  # nested folders: no system has longer paths
_LARGEST_TREE = 1 << 25  # bytes of a folder: 200,000 files have 26 MB
_USUAL_COMMIT, _LARGE_COMMITS = 1 << 12, 1 << 24  # bytes of each commit, and of all beyond that
_EXTENT_FOLDER = b"40000 "  # the mode of each folder in a tree


def most_files(git: Git, objects: Objects, tip: str, *, without: Collection[str], limit: int, most: int) -> int | None:
    """Return the number of files of the largest commit reachable from `tip` but not from `without`.

    Return None if a tree is missing, malformed, too large or too deep, if a file has more than `most` bytes, or if the
    commits' messages are far too long. Up to `limit` the number may be too large by a tenth.

    Raises GitFailedError if an object is damaged.
    """
    options = ("--ignore-missing", "--missing=allow-any", "--objects", "--no-object-names", "--no-commit-header")
    large = (f"--filter=blob:limit={most + 1}", "--filter-print-omitted", "--format=root %T %H")
    try:
        listed = git.run("rev-list", *options, *large, tip, *(f"^{oid}" for oid in without), timeout=_SECONDS).decode()
    except GitFailedError:
        return None
    lines = listed.splitlines()
    if any(line.startswith("~") for line in lines):
        return None
    named = [line.split(" ") for line in lines if line.startswith("root ")]
    if sum(objects.sizes([commit for _, _, commit in named])) > _USUAL_COMMIT * len(named) + _LARGE_COMMITS:
        return None
    roots = list(dict.fromkeys(root for _, root, _ in named))
    try:
        largest = _largest(objects, roots, exact=False)
        return largest if largest is None or largest <= limit else _largest(objects, roots, exact=True)
    except TooLargeError:
        return None


def _largest(objects: Objects, roots: Collection[str], *, exact: bool) -> int | None:
    """Return the number of files of the largest of these trees.

    Unless `exact`, count the zero bytes of a tree without folders: one ends each name, some are in ids. Parsing takes
    15 times as long, and the trees of 10,000 commits are 2.5 GB.
    """
    files: dict[str, int] = {}  # number of files directly in a tree
    below: dict[str, list[str]] = {}  # the trees in it
    level, depth = [*roots], 0
    while level := [oid for oid in dict.fromkeys(level) if oid not in files]:
        depth += 1
        if depth > _DEEPEST:
            return None
        deeper: list[str] = []
        for oid, data in zip(level, objects.contents(level, _LARGEST_TREE), strict=True):
            if data is None:
                return None
            if not exact and _EXTENT_FOLDER not in data:
                files[oid] = data.count(b"\0")
                continue
            entries = parse_tree(data, oid)
            if entries is None:
                return None
            below[oid] = [entry[1] for entry in entries.values() if is_folder(entry)]
            files[oid] = len(entries) - len(below[oid])
            deeper += below[oid]
        level = deeper
    totals = _totals(files, below, roots)
    return max((totals[root] for root in roots), default=0)


def _totals(files: dict[str, int], below: dict[str, list[str]], roots: Collection[str]) -> dict[str, int]:
    """Return the number of files below each tree."""
    totals: dict[str, int] = {}
    waiting = [*roots]
    while waiting:
        tree = waiting[-1]
        trees = below.get(tree, [])
        unknown = [oid for oid in trees if oid not in totals]
        if unknown:
            waiting += unknown
        else:
            waiting.pop()
            totals[tree] = files[tree] + sum(totals[oid] for oid in trees)
    return totals
