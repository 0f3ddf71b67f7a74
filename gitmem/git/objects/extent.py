"""Count the files of commits without listing them: each tree is read once, however often it occurs.

Ten trees, each with ten entries that are the next tree, are ten small objects and ten thousand million files; git would
list them until memory is full.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gitmem.git.objects.treediff import is_folder, read_trees

if TYPE_CHECKING:
    from collections.abc import Collection

    from gitmem.git.objects.reader import Objects

_DEEPEST = 1_000  # nested folders: no system has longer paths
_HEADER = re.compile(rb"(tree|parent) ([0-9a-f]{40,64})\n")


def most_files(objects: Objects, tip: str, *, without: Collection[str]) -> int | None:
    """Return the number of files of the largest commit reachable from `tip` but not from `without`.

    None if a tree is missing, malformed, or nested too deeply.

    Raises:
        GitFailedError: an object is damaged.

    """
    roots: set[str] = set()
    seen = {*without}
    commits = [tip]
    while commits := [oid for oid in dict.fromkeys(commits) if oid not in seen]:
        seen.update(commits)
        parents: list[str] = []
        for data in objects.contents(commits):
            for kind, oid in _header(data or b""):
                (roots.add if kind == b"tree" else parents.append)(oid.decode())
        commits = parents
    return _largest(objects, roots)


def _header(commit: bytes) -> list[tuple[bytes, bytes]]:
    """Return the tree and the parents in a commit's header."""
    found: list[tuple[bytes, bytes]] = []
    at = 0
    while line := _HEADER.match(commit, at):
        found.append((line[1], line[2]))
        at = line.end()
    return found


def _largest(objects: Objects, roots: Collection[str]) -> int | None:
    files: dict[str, int] = {}  # that stand in a tree itself
    below: dict[str, list[str]] = {}  # the trees in it
    level, depth = [*roots], 0
    while level := [oid for oid in dict.fromkeys(level) if oid not in below]:
        depth += 1
        trees = read_trees(objects, level) if depth <= _DEEPEST else None
        if trees is None:
            return None
        for oid, entries in trees.items():
            below[oid] = [entry[1] for entry in entries.values() if is_folder(entry)]
            files[oid] = len(entries) - len(below[oid])
        level = [oid for tree in trees for oid in below[tree]]
    totals: dict[str, int] = {}
    waiting = [*roots]
    while waiting:
        tree = waiting[-1]
        unknown = {*below[tree]} - totals.keys()
        if unknown:
            waiting += unknown
        else:
            waiting.pop()
            totals[tree] = files[tree] + sum(totals[oid] for oid in below[tree])
    return max((totals[root] for root in roots), default=0)
