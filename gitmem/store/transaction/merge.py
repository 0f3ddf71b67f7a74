"""The merge of two commits, as a commit that is the same on whichever machine it is made (spec G5).

Parents are sorted, the date is the later one of theirs, the identity is gitmem's, the message says what the parents
say, and the content is a function of their trees and of what they share. So two machines that merge the same two
commits make the same one, and do not chase each other.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.git.commit.fast_import import EXECUTABLE, REGULAR, NewCommit, Signature, Writer
from gitmem.git.history.commits import commits, empty_tree
from gitmem.git.identity import GITMEM
from gitmem.git.objects.treediff import Tree, read_tree
from gitmem.model.merge.trees import merge_trees
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.paths import fold
from gitmem.store.upkeep.pending import new_pending_ref

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from gitmem.git.history.commits import Commit, Fork
    from gitmem.git.process.run import Git
    from gitmem.git.repository import Repository
    from gitmem.store.store import Store

_MOST_BASES = 16  # of a history crossed more often than any sync makes, the rest is left out
_DEPTH = 8  # of bases that were merged for want of one


@dataclass(frozen=True, slots=True)
class MergeCommit:
    """A merge that was written but that no branch points to yet; `review` are documents that hold two versions.

    `held` are the refs that keep it, and the merges under it, from git's clean-up: moves that take them away.
    """

    oid: str
    review: tuple[str, ...]
    held: Mapping[str, tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True)
class _Planned:
    """What a merge changes of its first parent's tree."""

    entries: tuple[tuple[str, str, str], ...]
    contents: dict[str, bytes | None]
    modes: dict[str, str]
    review: tuple[str, ...]


def merge_commits(store: Store, fork: Fork) -> MergeCommit:
    """Write the merge of two commits, neither of which holds the other.

    Raises:
        NotSavedError: the disk is full, read-only or not ours to write.

    """
    first, second = sorted(fork.commits, key=lambda commit: commit.oid)
    held: dict[str, tuple[str | None, str | None]] = {}
    with store.repository.reading():
        base = _base(store, held, fork.bases[:_MOST_BASES], _DEPTH)
        with _writer(store, ref := new_pending_ref(store), first.oid) as writer:  # it starts meanwhile
            planned = _plan(store.repository, base, first.oid, second.oid)
            oid = _write(writer, [first, second], _message(first, second), planned)
            held[ref] = (oid, None)
    return MergeCommit(oid, planned.review, held)


def merge_bases(git: Git, one: str, other: str) -> list[str]:
    """Return the best common ancestors of two commits, sorted; more than one where histories cross."""
    return sorted(git.run("merge-base", "--all", one, other, ok=(0, 1)).decode().split())[:_MOST_BASES]


def _base(store: Store, held: dict[str, tuple[str | None, str | None]], bases: Sequence[str], depth: int) -> str:
    """Return what two commits share: their common ancestor; of several the merge, which only a ref in `held` keeps."""
    git = store.repository.git
    if not bases:  # two memories that are to become one
        return empty_tree(git)
    base = bases[0]
    for more in bases[1:] if depth else ():
        inner = _base(store, held, merge_bases(git, base, more), depth - 1)
        first, second = sorted((base, more))
        found = commits(git, [first, second])
        message = Message("Base of a merge", ((Trailer.OP.value, Op.MERGE.value),))
        planned = _plan(store.repository, inner, first, second)
        with _writer(store, ref := new_pending_ref(store), first) as writer:
            base = _write(writer, [found[first], found[second]], message, planned)
            held[ref] = (base, None)
    return base


def _plan(repository: Repository, base: str, first: str, second: str) -> _Planned:
    """Return what the merge changes of the tree of `first`."""
    git = repository.git
    trees = _differing(repository, base, first, second)
    before, ours, theirs = trees
    names = _names(git, first, trees)
    open_questions = _to_be_merged(*trees) | _colliding(_new(trees), names)
    entries = []
    contents: dict[str, bytes | None] = {}
    for path in sorted(set().union(*trees) - open_questions):
        if ours.get(path) == before.get(path):  # the other side's alone
            entry = theirs.get(path)
            if entry is None:
                contents[path] = None
            else:
                entries.append((path, *entry))
    if open_questions - set().union(*trees):  # a name that neither changed, and that a new one is taken for
        for tree, commit in zip(trees, (base, first, second), strict=True):
            tree.update({path: entry for path, entry in read_tree(git, commit).items() if path in open_questions})
    sides = [_read(repository, {path: tree[path] for path in sorted(open_questions) if path in tree}) for tree in trees]
    merged = merge_trees(*sides, around=names - open_questions if open_questions & _new(trees) else ())
    modes = {path: _mode(path, *trees) for path in merged.files}
    contents |= {
        path: data
        for path, data in merged.files.items()
        if data != sides[1].get(path) or modes[path] != ours.get(path, (REGULAR, ""))[0]
    }
    return _Planned(tuple(entries), contents, modes, merged.review)


def _differing(repository: Repository, base: str, first: str, second: str) -> tuple[Tree, Tree, Tree]:
    """Return base, first and second as far as they differ: what one side did not change, it has as the base has it."""
    trees: tuple[Tree, Tree, Tree] = ({}, {}, {})
    changes = [repository.changes(base, commit) for commit in (first, second)]
    for change in (*changes[0], *changes[1]):
        if change.old is not None:
            for tree in trees:
                tree[change.path] = (change.old_mode, change.old)
    for tree, changed in zip(trees[1:], changes, strict=True):
        for change in changed:
            if change.new is None:
                tree.pop(change.path, None)
            else:
                tree[change.path] = (change.mode, change.new)
    return trees


def _new(trees: tuple[Tree, Tree, Tree]) -> set[str]:
    return (trees[1].keys() | trees[2].keys()) - trees[0].keys()


def _names(git: Git, first: str, trees: tuple[Tree, Tree, Tree]) -> set[str]:
    """Return all names of both sides, where one is new; nothing where none is, since then none can collide."""
    if not _new(trees):
        return set()
    said = git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", first)
    return {os.fsdecode(name) for name in said.split(b"\0")[:-1]} | trees[2].keys()


def _to_be_merged(base: Tree, ours: Tree, theirs: Tree) -> set[str]:
    """Return the paths whose content has to be read: changed on both sides, or perhaps what such a file is called."""
    differing = base.keys() | ours.keys() | theirs.keys()
    found = {
        path
        for path in differing
        if ours.get(path) != theirs.get(path) and base.get(path) not in {ours.get(path), theirs.get(path)}
    }
    for side in (ours, theirs):
        # A document that is gone here and changed there may have another name here.
        if any(path in base and path not in side for path in found):
            found |= {path for path in differing if path in side and path not in base}
    return found


def _colliding(new: Collection[str], names: Collection[str]) -> set[str]:
    """Return names of which some file system takes one for another, or of which one is a folder and one a file."""
    wanted: dict[str, set[str]] = {}
    for path in new:
        for name in _with_parents(path):
            wanted.setdefault(_folded(name), set()).add(name)
    files = set(new)
    odd: set[str] = set()
    for path in names:
        parents = _with_parents(path)
        for name in parents:
            spellings = wanted.get(_folded(name))
            if spellings is not None and (spellings - {name} or (name != path and name in files)):
                odd |= {*spellings, name}
        if path not in files and path in wanted.get(_folded(path), ()):  # a file where a new path has a folder
            odd.add(path)
    if not odd:
        return set()
    return {path for path in {*names, *new} if not odd.isdisjoint(_with_parents(path))}


def _with_parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]


def _folded(name: str) -> str:
    return name.lower() if name.isascii() else fold(name)


def _read(repository: Repository, entries: Mapping[str, tuple[str, str]]) -> dict[str, bytes]:
    return dict(zip(entries, repository.blobs([oid for _, oid in entries.values()]), strict=True))


def _mode(path: str, base: Tree, ours: Tree, theirs: Tree) -> str:
    """Return a file's mode: where the sides differ, that of the one that changed it, else a plain file's."""
    before, *modes = (tree.get(path, ("", ""))[0] for tree in (base, ours, theirs))
    changed = {mode for mode in modes if mode not in {"", before}} or {before}
    return EXECUTABLE if changed == {EXECUTABLE} else REGULAR


def _message(first: Commit, second: Commit) -> Message:
    names = [commit.value(Trailer.MACHINE) or "other machines" for commit in (first, second)]
    return Message(f"Merge what {names[0]} and {names[1]} saved", ((Trailer.OP.value, Op.MERGE.value),))


def _writer(store: Store, ref: str, first: str) -> Writer:
    return Writer(store.repository.git, ref, first, listed_in=store.packs_file, holds=True)


def _write(writer: Writer, parents: Sequence[Commit], message: Message, planned: _Planned) -> str:
    when = max(
        (parent.committed for parent in parents), key=lambda moment: (moment.timestamp(), str(moment.utcoffset()))
    )
    who = Signature(GITMEM.name, GITMEM.email, when)
    commit = NewCommit(
        message.render(), planned.contents, who, who, planned.modes, planned.entries, tuple(p.oid for p in parents)
    )
    writer.commit(commit)
    return writer.write()[-1]
