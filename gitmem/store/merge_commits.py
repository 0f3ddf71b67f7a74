"""Merge two commits into one that is the same on every machine.

Content, sorted parents, date (the later one) and message depend only on the two commits and their merge base. Tested
through `tests/sync/test_rounds.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from gitmem.document.document import Document
from gitmem.document.entry import entry_ids
from gitmem.document.ids import FACTS, MEMORY, fold, is_fact_id
from gitmem.document.message import Message, Op, Trailer, op_message
from gitmem.git.fast_import import EXECUTABLE, REGULAR, NewCommit, Signature, Writer
from gitmem.git.log import Commit, Fork, commits, fork
from gitmem.git.objects import Tree, read_tree
from gitmem.git.process import Git
from gitmem.git.repository import RefMoves, Repository, empty_tree
from gitmem.git.trust import GITMEM
from gitmem.merge.trees import merge_trees
from gitmem.model.fact import is_fact_path, parse_fact
from gitmem.model.line_edits import fact_entries
from gitmem.store.fact_lines import FactsById, update_merged_memory
from gitmem.store.maintenance import new_pending_ref
from gitmem.store.store import Store
from gitmem.values import Value

_MAX_BASES = 16  # merge bases beyond this are ignored; syncs do not create so many
_MAX_DEPTH = 8  # of merges of merge bases


class MergeCommit(Value):
    """A written merge that no branch has yet; `review` lists documents that hold two versions.

    `keep_refs` are the ref updates that remove the pending refs of the merge and of its merged bases.
    """

    oid: str
    review: tuple[str, ...]
    keep_refs: RefMoves


class _Planned(Value):
    """The changes of a merge against its first parent's tree."""

    entries: tuple[tuple[str, str, str], ...]
    contents: dict[str, bytes | None]
    modes: dict[str, str]
    review: tuple[str, ...]


def merge_commits(store: Store, both: Fork) -> MergeCommit:
    """Write the merge of two diverged commits. Raises NotSavedError if the store cannot be written."""
    first, second = sorted(both.commits, key=lambda commit: commit.oid)
    moves: RefMoves = {}
    with store.repository.reading():
        base = _base(store, moves, both.bases[:_MAX_BASES], _MAX_DEPTH)
        with _writer(store, ref := new_pending_ref(store), first.oid) as writer:  # it starts while the merge is planned
            planned = _plan(store.repository, base, first.oid, second.oid)
            oid = _write(writer, [first, second], _message(first, second), planned)
            moves[ref] = (oid, None)
    return MergeCommit(oid, planned.review, moves)


def merge_many(store: Store, tips: Sequence[str]) -> MergeCommit:
    """Merge several commits into one; its parents are those that are no ancestor of another."""
    git, merged = store.repository.git, tips[0]
    moves: RefMoves = {}
    review: dict[str, None] = {}
    for tip in tips[1:]:
        both = fork(git, merged, tip)
        if merged in both.bases:
            merged = tip
        elif tip not in both.bases:
            merge = merge_commits(store, both)
            moves |= merge.keep_refs
            review |= dict.fromkeys(merge.review)
            merged = merge.oid
    parents = git.run("merge-base", "--independent", *tips).decode().split()
    if len(parents) > 2:  # noqa: PLR2004  # the intermediate merges are part of no history
        parents_read = commits(git, parents)
        with store.repository.reading(), _writer(store, ref := new_pending_ref(store), parents[0]) as writer:
            changes = store.repository.changes(parents[0], merged)
            entries = tuple((change.path, change.mode, change.new) for change in changes if change.new)
            gone: dict[str, bytes | None] = {change.path: None for change in changes if not change.new}
            message = op_message(Op.MERGE, f"Merge what {len(parents)} machines saved")
            merged = _write(writer, [*(parents_read[oid] for oid in parents)], message, _Planned(entries, gone, {}, ()))
            moves[ref] = (merged, None)
    return MergeCommit(merged, tuple(review), moves)


def write_on(store: Store, parent: Commit, message: Message, contents: dict[str, bytes | None]) -> MergeCommit:
    """Write a commit of these files on top of `parent` that is the same on every machine."""
    with _writer(store, ref := new_pending_ref(store), parent.oid) as writer:
        oid = _write(writer, [parent], message, _Planned((), contents, {}, ()))
    return MergeCommit(oid, (), {ref: (oid, None)})


def merge_bases(git: Git, first: str, second: str) -> list[str]:
    """Return the merge bases of two commits, sorted; criss-cross histories have several."""
    return sorted(git.run("merge-base", "--all", first, second, ok=(0, 1)).decode().split())[:_MAX_BASES]


def _base(store: Store, keep_refs: RefMoves, bases: Sequence[str], depth: int) -> str:
    """Return the merge base; merge several into one commit, kept by a pending ref that is added to `keep_refs`."""
    git = store.repository.git
    if not bases:  # unrelated histories: two memories become one
        return empty_tree(git)
    base = bases[0]
    for other in bases[1:] if depth else ():
        inner = _base(store, keep_refs, merge_bases(git, base, other), depth - 1)
        first, second = sorted((base, other))
        parents = commits(git, [first, second])
        message = op_message(Op.MERGE, "Base of a merge")
        planned = _plan(store.repository, inner, first, second)
        with _writer(store, ref := new_pending_ref(store), first) as writer:
            base = _write(writer, [parents[first], parents[second]], message, planned)
            keep_refs[ref] = (base, None)
    return base


def _plan(repository: Repository, base: str, first: str, second: str) -> _Planned:
    """Return the changes of the merge against the tree of `first`."""
    git = repository.git
    trees = _differing(repository, base, first, second)
    before, ours, theirs = trees
    new = (ours.keys() | theirs.keys()) - before.keys()
    names = {*read_tree(git, first), *theirs} if new else set()
    unsettled = _to_be_merged(*trees) | _colliding(new, names)
    entries = []
    contents: dict[str, bytes | None] = {}
    for path in sorted(set().union(*trees) - unsettled):
        if ours.get(path) == before.get(path):  # changed only on the other side
            if path in theirs:
                entries.append((path, *theirs[path]))
            else:
                contents[path] = None
    if unsettled - set().union(*trees):  # an unchanged path collides with a new one
        for tree, commit in zip(trees, (base, first, second), strict=True):
            tree.update({path: entry for path, entry in read_tree(git, commit).items() if path in unsettled})
    sides = [_read(repository, {path: tree[path] for path in sorted(unsettled) if path in tree}) for tree in trees]
    _lift_base(repository, base, *sides)
    merged = merge_trees(*sides, around=names - unsettled if unsettled & new else ())
    modes = {path: _mode(path, *trees) for path in merged.files}
    contents |= {
        path: data
        for path, data in merged.files.items()
        if data != sides[1].get(path) or modes[path] != ours.get(path, (REGULAR, ""))[0]
    }
    _update_lines(repository, (base, first, second), {path: oid for path, _, oid in entries}, contents)
    return _Planned(tuple(entries), contents, {MEMORY: REGULAR, **modes}, tuple(sorted(merged.review)))


def _lift_base(
    repository: Repository, base: str, before: dict[str, bytes], ours: dict[str, bytes], theirs: dict[str, bytes]
) -> None:
    """Update facts of the merge base that lag behind their lines in `memory.md` to the words that one side gave them.

    A plain `git commit` changed the line; that side only followed, and what the other side says came after it.
    """
    both = [path for path in before.keys() & ours.keys() & theirs.keys() if is_fact_path(path)]
    if not both:
        return
    with repository.reading() as objects:
        lines = fact_entries(Document.parse(next(objects.contents([f"{base}:{MEMORY}"])) or b"").body)
    for path in both:
        for side in (ours, theirs):
            fact, old = parse_fact(side[path], path), parse_fact(before[path], path)
            if fact and old and fact.id in lines and old.text != fact.text == lines[fact.id].text:
                before[path] = side[path]
                break


def _update_lines(
    repository: Repository, commits: tuple[str, str, str], taken: Mapping[str, str], contents: dict[str, bytes | None]
) -> None:
    """Bring the lines of facts in the merged `memory.md` up to the merged facts, which may have ended on one side.

    `taken` are the files as the second commit has them, by object id, and `contents` what is merged; all others are
    as the first commit has them.
    """
    changed = [path for path in (*taken, *contents) if is_fact_path(path)]
    merged = (contents.get(MEMORY) or b"").decode("utf-8", "surrogateescape")
    if not changed and not any(map(is_fact_id, entry_ids(merged))):
        return  # neither side changed a fact, and there is no line of one
    files = {**_files(repository.git, commits[1], FACTS, MEMORY), **taken}
    names = [*files, *contents]

    def read(path: str) -> bytes | None:
        if path in contents:
            return contents[path]
        return next(iter(repository.blobs([files[path]]))) if path in files else None

    def listed(folder: str) -> set[str]:
        return {path.rpartition("/")[2] for path in names if path.rpartition("/")[0] == folder}

    memory = read(MEMORY)
    if memory is not None:
        old = _files(repository.git, commits[0], MEMORY) if changed else {}
        before = next(iter(repository.blobs([*old.values()])), None)
        updated = update_merged_memory(before, memory, FactsById(read, listed), changed)
        if updated != memory:
            contents[MEMORY] = updated


def _files(git: Git, commit: str, *paths: str) -> dict[str, str]:
    """Return the files at or below these paths, with their object ids."""
    tree = read_tree(git, commit, *paths)
    return {path: oid for path, (mode, oid) in tree.items() if mode in {REGULAR, EXECUTABLE}}


def _differing(repository: Repository, base: str, first: str, second: str) -> tuple[Tree, Tree, Tree]:
    """Return the trees of base, first and second, reduced to the paths that one side changed."""
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


def _to_be_merged(base: Tree, ours: Tree, theirs: Tree) -> set[str]:
    """Return the paths whose content has to be merged: changed on both sides, or a possible new name of such a file."""
    differing = base.keys() | ours.keys() | theirs.keys()
    conflicting = {
        path
        for path in differing
        if ours.get(path) != theirs.get(path) and base.get(path) not in {ours.get(path), theirs.get(path)}
    }
    for side in (ours, theirs):
        # A document removed on this side and changed on the other may be renamed on this side.
        if any(path in base and path not in side for path in conflicting):
            conflicting |= {path for path in differing if path in side and path not in base}
    return conflicting


def _colliding(new: Collection[str], names: Collection[str]) -> set[str]:
    """Return paths, `new` or not, that collide with a new one on some file system, or as a folder with a file."""
    kinds: dict[str, set[tuple[str, bool]]] = {_folded(name): set() for path in new for name in with_parents(path)}
    for path in {*names, *new}:
        for name in with_parents(path):
            if (kind := kinds.get(_folded(name))) is not None:
                kind.add((name, name == path))
    shared = {folded for folded, kind in kinds.items() if len(kind) > 1}
    return {path for path in {*names, *new} if shared and not shared.isdisjoint(map(_folded, with_parents(path)))}


def with_parents(path: str) -> list[str]:
    """Return the folders a path is in, the outermost first, and the path."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]


def _folded(name: str) -> str:
    return name.lower() if name.isascii() else fold(name)


def _read(repository: Repository, entries: Mapping[str, tuple[str, str]]) -> dict[str, bytes]:
    return dict(zip(entries, repository.blobs([oid for _, oid in entries.values()]), strict=True))


def _mode(path: str, base: Tree, ours: Tree, theirs: Tree) -> str:
    """Return a file's mode: executable if that is the only changed mode, or the unchanged one."""
    before, *modes = (tree.get(path, ("", ""))[0] for tree in (base, ours, theirs))
    changed = {mode for mode in modes if mode not in {"", before}} or {before}
    return EXECUTABLE if changed == {EXECUTABLE} else REGULAR


def _message(first: Commit, second: Commit) -> Message:
    machines = [commit.value(Trailer.MACHINE) or "other machines" for commit in (first, second)]
    return op_message(Op.MERGE, f"Merge what {machines[0]} and {machines[1]} saved")


def _writer(store: Store, ref: str, first: str) -> Writer:
    return Writer(store.repository.git, ref, first, listed_in=store.packs_file, protect=True)


def _write(writer: Writer, parents: Sequence[Commit], message: Message, planned: _Planned) -> str:
    times = [parent.committed for parent in parents]
    when = max(times, key=lambda moment: (moment.timestamp(), str(moment.utcoffset())))
    who, oids = Signature(GITMEM.name, GITMEM.email, when), tuple(parent.oid for parent in parents)
    changes = planned.contents, who, who, planned.modes, planned.entries, oids
    writer.commit(NewCommit(message.render(), *changes))
    return writer.write()[-1]
