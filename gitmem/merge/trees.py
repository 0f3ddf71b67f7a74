"""Merge two trees of files, with files that were renamed or added twice."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from gitmem.document.document import Document
from gitmem.document.ids import ARCHIVE, fold, id_in, is_id
from gitmem.merge.documents import MergeStatus, beside_path, merge
from gitmem.values import Value


class MergedTrees(Value):
    """The merged files: content by path (None: removed), and the documents with two versions of something."""

    files: dict[str, bytes | None]
    review: set[str]


def merge_trees(
    base: Mapping[str, bytes], ours: Mapping[str, bytes], theirs: Mapping[str, bytes], *, around: Collection[str] = ()
) -> MergedTrees:
    """Merge the files of three trees; the result is content by path, None for a removed file.

    Each mapping has at least the files in which two of the trees differ; `around` are all other paths, with which new
    names must not collide.
    """
    merged = MergedTrees({}, set())
    sides = (ours, theirs)
    names = _renamed(base, sides)
    for path, targets in sorted(names.items()):  # not by side: both may have renamed different files to one name
        _merge_renamed(merged, path, targets, base, sides)
    handled = set(names) | {target for targets in names.values() for target in targets if target}
    for name, twin in _twins(base, sides, handled):
        _put(merged, twin, None)
        _add(merged, name, None, ours.get(name, ours.get(twin)), theirs.get(name, theirs.get(twin)))
        handled |= {name, twin}
    for path in sorted({*base, *ours, *theirs} - handled):
        _add(merged, path, base.get(path), ours.get(path), theirs.get(path))
    _part_names(merged, base, around)
    return merged


def _add(merged: MergedTrees, path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None) -> None:
    result = merge(path, base, ours, theirs)
    _put(merged, path, result.data, review=result.status is MergeStatus.REVIEW and result.beside is None)
    if result.beside is not None:
        _put(merged, beside_path(path, result.beside), result.beside, review=True)


def _put(merged: MergedTrees, path: str, data: bytes | None, *, review: bool = False) -> None:
    """Record a merged file; two with the same name become one."""
    present = merged.files.get(path)
    if present is not None and data is not None and present != data:
        merged.files[path] = None
        _add(merged, path, None, present, data)
        return
    if data is not None or present is None:
        _drop(merged, path)
        merged.files[path] = data
        merged.review.update((path,) * review)


def _drop(merged: MergedTrees, path: str) -> bool:
    """Record a file as removed, and return whether it was to be reviewed."""
    review = path in merged.review
    merged.review.discard(path)
    merged.files[path] = None
    return review


def _renamed(
    base: Mapping[str, bytes], sides: tuple[Mapping[str, bytes], ...]
) -> dict[str, tuple[str | None, str | None]]:
    """Return the renamed files of both sides: for the old path the new one on each side, None if not renamed.

    A document is identified by its `id`, others by their bytes. An archive has the id of `memory.md` and is no rename.
    """
    by_old: dict[str, list[str | None]] = {}
    for number, side in enumerate(sides):
        removed = [path for path in base if path not in side and not path.startswith(f"{ARCHIVE}/")]
        added = [path for path in side if path not in base and not path.startswith(f"{ARCHIVE}/")]
        if not removed or not added:
            continue
        # A file unchanged on the other side needs no merge, also if renamed.
        wanted = [path for path in removed if sides[1 - number].get(path) != base[path]]
        for old, new in _pairs(base, side, wanted, added):
            by_old.setdefault(old, [None, None])[number] = new
    return {path: (targets[0], targets[1]) for path, targets in by_old.items()}


def _twins(
    base: Mapping[str, bytes], sides: tuple[Mapping[str, bytes], ...], handled: Collection[str]
) -> Iterable[tuple[str, str]]:
    """Return both names of each document that the sides added to one folder under different names, the lesser first."""
    new = [sorted(side.keys() - base.keys() - {*handled}) for side in sides]
    added = [{(path.rpartition("/")[0], id_in(path)): path for path in paths if is_id(id_in(path))} for paths in new]
    for key in sorted(added[0].keys() & added[1].keys()):
        first, second = added[0][key], added[1][key]
        if first not in sides[1] and second not in sides[0] and _keys(sides[0][first])[0] == _keys(sides[1][second])[0]:
            yield min(first, second), max(first, second)


def _pairs(
    base: Mapping[str, bytes], side: Mapping[str, bytes], removed: Iterable[str], added: Iterable[str]
) -> Iterable[tuple[str, str]]:
    keys: dict[object, str | None] = {}
    for path in sorted(added):
        for key in _keys(side[path]):
            keys[key] = None if key in keys else path  # ambiguous
    for old in sorted(removed):
        new = next((keys[key] for key in _keys(base[old]) if keys.get(key)), None)
        if new is not None:
            yield old, new


def _keys(data: bytes) -> list[object]:
    document = Document.parse(data)
    identifier = document.get("id") if document.header else None
    return [("id", str(identifier), str(document.get("kind"))), data] if identifier else [data]


def _merge_renamed(
    merged: MergedTrees,
    path: str,
    targets: tuple[str | None, str | None],
    base: Mapping[str, bytes],
    sides: tuple[Mapping[str, bytes], ...],
) -> None:
    target = min(name for name in targets if name)
    versions = [side.get(name or path) for side, name in zip(sides, targets, strict=True)]
    for number, name in enumerate(targets):
        # The other side may have added a file of the new name.
        if name is None and (made := sides[number].get(target)) is not None:
            _put(merged, target, made)
    _put(merged, path, None)
    if None in versions:  # renamed here, removed there: the change wins
        version_left = next(version for version in versions if version is not None)
        _put(merged, target, version_left)
    else:
        _add(merged, target, base[path], *versions)


def _part_names(merged: MergedTrees, base: Mapping[str, bytes], around: Collection[str]) -> None:
    """Rename files so that no two names are equal to some file system, and no file is also a folder."""
    spelled: dict[str, str] = {}
    folders: set[str] = set()
    old = {path for path in base if merged.files.get(path) is not None} | set(around)
    present = [path for path, data in merged.files.items() if data is not None]
    for path in sorted(old) + sorted(path for path in present if path not in old):
        name = _spelled(path, spelled)
        if name != path and path in merged.files:
            data = merged.files[path]
            _put(merged, name, data, review=_drop(merged, path))
        parts = fold(name).split("/")
        folders.update("/".join(parts[:depth]) for depth in range(1, len(parts)))
    for path in [path for path, data in merged.files.items() if data is not None]:
        if fold(path) in folders:
            data = merged.files[path] or b""
            _drop(merged, path)
            _put(merged, beside_path(path, data), data, review=True)


def _spelled(path: str, spelled: dict[str, str]) -> str:
    """Return a path with each part as it was first spelled."""
    known = ""
    for part in path.split("/"):
        wanted = f"{known}/{part}" if known else part
        known = spelled.setdefault(fold(wanted), wanted)
    return known
