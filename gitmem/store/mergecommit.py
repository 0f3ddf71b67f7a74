"""The merge of two commits, as a commit that is the same on whichever machine it is made (design §3).

Parents are sorted, the date is the later one of theirs, the identity is gitmem's, the message says what the parents
say, and the content is a function of their trees and of what they share. So two machines that merge the same two
commits make the same one, and do not chase each other.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.git.history import blobs, commits, empty_tree, log
from gitmem.git.identity import GITMEM
from gitmem.git.writer import EXECUTABLE, REGULAR, NewCommit, Signature, Writer
from gitmem.model.mergetrees import merge_trees
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.paths import fold

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from gitmem.git.history import Commit
    from gitmem.git.process import Git
    from gitmem.store.store import Store

_MOST_BASES = 16  # of a history crossed more often than any sync makes, the rest is left out
_DEPTH = 8  # of bases that were merged for want of one

Tree = dict[str, tuple[str, str]]  # mode and object id by path


@dataclass(frozen=True, slots=True)
class MergeCommit:
    """A merge that was written but that no branch points to yet; `review` are documents that hold two versions."""

    oid: str
    review: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Planned:
    """What a merge changes of its first parent's tree."""

    entries: tuple[tuple[str, str, str], ...]
    contents: dict[str, bytes | None]
    modes: dict[str, str]
    review: tuple[str, ...]


def merge_commits(store: Store, ref: str, one: str, other: str) -> MergeCommit:
    """Write the merge of two commits, neither of which holds the other.

    Raises:
        NotSavedError: the disk is full, read-only or not ours to write.

    """
    first, second = sorted((one, other))
    git = store.repository.git
    base = _base(store, ref, first, second, _DEPTH)
    planned = _plan(git, base, first, second)
    found = commits(git, [first, second])
    message = _message(git, found[first], found[second])
    return MergeCommit(_write(store, ref, [found[first], found[second]], message, planned), planned.review)


def merge_bases(git: Git, one: str, other: str) -> list[str]:
    """Return the best common ancestors of two commits, sorted; more than one where histories cross."""
    return sorted(git.run("merge-base", "--all", one, other, ok=(0, 1)).decode().split())[:_MOST_BASES]


def _base(store: Store, ref: str, first: str, second: str, depth: int) -> str:
    """Return what two commits share: their common ancestor; of several the merge, which nothing points to."""
    git = store.repository.git
    bases = merge_bases(git, first, second)
    if not bases:  # two memories that are to become one
        return empty_tree(git)
    base = bases[0]
    for more in bases[1:] if depth else ():
        inner = _base(store, ref, base, more, depth - 1)
        found = commits(git, [base, more])
        message = Message("Base of a merge", ((Trailer.OP.value, Op.MERGE.value),))
        planned = _plan(git, inner, *sorted((base, more)))
        base = _write(store, ref, [found[oid] for oid in sorted((base, more))], message, planned)
    return base


def _plan(git: Git, base: str, first: str, second: str) -> _Planned:
    """Return what the merge changes of the tree of `first`."""
    trees = [read_tree(git, commit) for commit in (base, first, second)]
    differing = {path for path in set().union(*trees) if len({tree.get(path) for tree in trees}) > 1}
    open_questions = _to_be_merged(differing, *trees)
    entries = []
    contents: dict[str, bytes | None] = {}
    before, ours, theirs = trees
    for path in sorted(differing - open_questions):
        if ours.get(path) == before.get(path):  # the other side's alone
            entry = theirs.get(path)
            if entry is None:
                contents[path] = None
            else:
                entries.append((path, *entry))
    sides = [_read(git, {path: tree[path] for path in sorted(open_questions) if path in tree}) for tree in trees]
    merged = merge_trees(*sides, around=_around(open_questions, ours, theirs))
    modes = {path: _mode(path, *trees) for path in merged.files}
    contents |= {
        path: data
        for path, data in merged.files.items()
        if data != sides[1].get(path) or modes[path] != ours.get(path, (REGULAR, ""))[0]
    }
    return _Planned(tuple(entries), contents, modes, merged.review)


def _around(paths: Collection[str], ours: Tree, theirs: Tree) -> set[str]:
    """Return the other files' names, where one of them may matter to a name that is new."""
    new = [path for path in paths if path not in ours or path not in theirs]
    return {*ours, *theirs}.difference(paths) if new else set()


def _to_be_merged(differing: Collection[str], base: Tree, ours: Tree, theirs: Tree) -> set[str]:
    """Return the paths whose content has to be read: changed on both sides, or perhaps what such a file is called."""
    sides = (ours, theirs)
    found = {
        path
        for path in differing
        if ours.get(path) != theirs.get(path) and base.get(path) not in {ours.get(path), theirs.get(path)}
    }
    for side in sides:
        # A document that is gone here and changed there may have another name here.
        if any(path in base and path not in side for path in found):
            found |= {path for path in differing if path in side and path not in base}
    return found | _colliding([path for path in differing if path not in base], ours, theirs)


def _colliding(new: Collection[str], ours: Tree, theirs: Tree) -> set[str]:
    """Return names of which some file system takes one for another, or of which one is a folder and one a file."""
    if not new:
        return set()
    spellings: dict[str, set[str]] = {}
    folders: set[str] = set()
    for path in ours.keys() | theirs.keys():
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folders.add(name := "/".join(parts[:depth]))
            spellings.setdefault(_folded(name), set()).add(name)
        spellings.setdefault(_folded(path), set()).add(path)
    twice = {name for names in spellings.values() if len(names) > 1 for name in names}
    odd = twice | {path for path in folders if path in ours or path in theirs}
    if not odd:
        return set()
    return {
        path for path in ours.keys() | theirs.keys() if any(path == name or path.startswith(f"{name}/") for name in odd)
    }


def _folded(name: str) -> str:
    return name.lower() if name.isascii() else fold(name)


def read_tree(git: Git, commit: str) -> Tree:
    """Return the files of a commit, with mode and object id; submodules and links among them."""
    tree = {}
    for line in git.run("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
        meta, _, path = line.partition(b"\t")
        mode, _, oid = meta.decode().split()
        tree[os.fsdecode(path)] = (mode, oid)
    return tree


def _read(git: Git, entries: Mapping[str, tuple[str, str]]) -> dict[str, bytes]:
    return dict(zip(entries, blobs(git, [oid for _, oid in entries.values()]), strict=True))


def _mode(path: str, base: Tree, ours: Tree, theirs: Tree) -> str:
    """Return a file's mode: where the sides differ, that of the one that changed it, else a plain file's."""
    before, *modes = (tree.get(path, ("", ""))[0] for tree in (base, ours, theirs))
    changed = {mode for mode in modes if mode not in {"", before}} or {before}
    return EXECUTABLE if changed == {EXECUTABLE} else REGULAR


def _message(git: Git, first: Commit, second: Commit) -> Message:
    sides = [_who(git, f"{other.oid}..{commit.oid}") for commit, other in ((first, second), (second, first))]
    return Message(f"Merge {sides[0]} and {sides[1]}", ((Trailer.OP.value, Op.MERGE.value),))


def _who(git: Git, span: str) -> str:
    """Return what one side brought, as its commits say it."""
    own = [commit for commit in log(git, span) if len(commit.parents) < 2]  # noqa: PLR2004
    machines = sorted({commit.value(Trailer.MACHINE) or commit.author for commit in own})
    number = f"{len(own)} commit" + ("" if len(own) == 1 else "s")
    return f"{number} of {machines[0]}" if len(machines) == 1 else f"{number} of {len(machines)} machines"


def _write(store: Store, ref: str, parents: Sequence[Commit], message: Message, planned: _Planned) -> str:
    when = max(
        (parent.committed for parent in parents), key=lambda moment: (moment.timestamp(), str(moment.utcoffset()))
    )
    who = Signature(GITMEM.name, GITMEM.email, when)
    commit = NewCommit(
        message.render(), planned.contents, who, who, planned.modes, planned.entries, tuple(p.oid for p in parents)
    )
    with Writer(store.repository.git, ref, parents[0].oid, keep_pack=store.own_repository) as writer:
        writer.commit(commit)
        return writer.write()[-1]
