"""Compare two trees, or count their files, by reading each different folder once.

`git diff-tree` compares malformed and very large trees. Counting lists nothing: ten nested trees of ten equal entries
are ten small objects and ten thousand million files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection

from gitmem.errors import GitFailedError
from gitmem.git.objects import Objects
from gitmem.git.process import Git
from gitmem.values import Value

Tree = dict[str, tuple[str, str]]  # mode and object id by path
Entries = dict[bytes, tuple[str, str]]  # mode and object id by name

_FOLDER = "40000"
_MOST_TREES = 4096
_MOST_CHANGES = 65536
_DIGITS = {40: 20, 64: 32}  # an id's bytes, by its hexadecimal digits
_ENTRY = {size: re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{%d})" % size, re.DOTALL) for size in _DIGITS.values()}


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


def tree_changes(objects: Objects, old: str, new: str) -> list[PathChange] | None:
    """Return the changes between two commits (or trees), or None if git has to compare them.

    Raises GitFailedError if an object is damaged.
    """
    roots = objects.infos([f"{name}^{{tree}}" for name in (old, new)])
    if roots[0] is None or roots[1] is None:
        return None
    changes: list[tuple[bytes, PathChange]] = []
    pairs: list[tuple[bytes, str | None, str | None]] = [(b"", roots[0].oid, roots[1].oid)]
    count = 0
    while pairs := [pair for pair in pairs if pair[1] != pair[2]]:
        wanted = list(dict.fromkeys(oid for _, *two in pairs for oid in two if oid is not None))
        count += len(pairs)
        trees = read_trees(objects, wanted) if count <= _MOST_TREES else None
        if trees is None or len(changes) > _MOST_CHANGES:
            return None
        deeper: list[tuple[bytes, str | None, str | None]] = []
        for folder, before, after in pairs:
            one, other = trees[before] if before else {}, trees[after] if after else {}
            for name in {name for name, _ in one.items() ^ other.items()}:
                _compare(folder + name, one.get(name), other.get(name), changes, deeper)
        pairs = deeper
    return [change for _, change in sorted(changes, key=lambda pair: pair[0])]


def read_trees(objects: Objects, oids: Collection[str]) -> dict[str, Entries] | None:
    """Return the entries of trees, with the modes git shows; None if one is missing or malformed."""
    found = {}
    for oid, data in zip(oids, objects.contents(list(oids)), strict=True):
        entries = None if data is None else parse_tree(data, oid)
        if entries is None:
            return None
        found[oid] = entries
    return found


def is_folder(entry: tuple[str, str] | None) -> bool:
    """Return whether an entry of a tree is a tree."""
    return entry is not None and entry[0] == _FOLDER


def parse_tree(data: bytes, oid: str) -> Entries | None:
    """Return the entries of the tree `oid`, None if it is malformed."""
    size = _DIGITS[len(oid)]
    found = _ENTRY[size].findall(data)
    entries = {name: (_mode(mode), oid.hex()) for mode, name, oid in found}
    whole = sum(len(mode) + len(name) for mode, name, _ in found) + (size + 2) * len(found) == len(data)
    return entries if whole and len(entries) == len(found) else None


def _mode(raw: bytes) -> str:
    """Return a mode normalized as git does, since other tools write further ones."""
    mode = int(raw, 8)
    kind = mode & 0o170000
    if kind == 0o100000:  # noqa: PLR2004
        return "100755" if mode & 0o100 else "100644"
    return {0o120000: "120000", 0o040000: _FOLDER}.get(kind, "160000")


def _compare(
    path: bytes,
    one: tuple[str, str] | None,
    other: tuple[str, str] | None,
    changes: list[tuple[bytes, PathChange]],
    deeper: list[tuple[bytes, str | None, str | None]],
) -> None:
    """Compare two entries of one name: add a change, folders to compare, or both."""
    folders = [entry[1] if entry is not None and is_folder(entry) else None for entry in (one, other)]
    before, after = (None if is_folder(entry) else entry for entry in (one, other))
    if any(folders):
        deeper.append((path + b"/", folders[0], folders[1]))
    kept = after or before
    if kept is not None and before != after:
        old_mode, old = before or ("000000", None)
        new = None if after is None else after[1]
        changes.append((path, PathChange(os.fsdecode(path), old, new, kept[0], old_mode)))


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
_EXTENT_FOLDER = b"40000 "  # the mode of each folder in a tree


def most_files(git: Git, objects: Objects, tip: str, *, without: Collection[str], limit: int, most: int) -> int | None:
    """Return the number of files of the largest commit reachable from `tip` but not from `without`.

    None if a tree is missing, malformed, or nested too deeply, or if a file has more than `most` bytes. Up to `limit`
    the number may be too large by a tenth.

    Raises GitFailedError if an object is damaged.
    """
    options = ("--ignore-missing", "--missing=allow-any", "--objects", "--no-object-names", "--no-commit-header")
    large = (f"--filter=blob:limit={most + 1}", "--filter-print-omitted", "--format=root %T")
    try:
        listed = git.run("rev-list", *options, *large, tip, *(f"^{oid}" for oid in without), timeout=_SECONDS).decode()
    except GitFailedError:
        return None
    lines = listed.splitlines()
    if any(line.startswith("~") for line in lines):
        return None
    roots = list(dict.fromkeys(line.removeprefix("root ") for line in lines if line.startswith("root ")))
    found = _largest(objects, roots, exact=False)
    return found if found is None or found <= limit else _largest(objects, roots, exact=True)


def _largest(objects: Objects, roots: Collection[str], *, exact: bool) -> int | None:
    """Return the most files below one of some trees.

    Unless `exact`, a tree without folders counts as many as it has zero bytes: one ends each name, others are in ids.
    Parsing takes 15 times as long, and the trees of 10,000 commits are 2.5 GB.
    """
    files: dict[str, int] = {}  # that stand in a tree itself
    below: dict[str, list[str]] = {}  # the trees in it
    level, depth = [*roots], 0
    while level := [oid for oid in dict.fromkeys(level) if oid not in files]:
        depth += 1
        if depth > _DEEPEST:
            return None
        deeper: list[str] = []
        for oid, data in zip(level, objects.contents(level), strict=True):
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
