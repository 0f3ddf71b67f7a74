"""Replacing entries in the bytes of git's index, as `git update-index` does for files it knows already. Pure.

Only what every git since 1.6 writes by default is touched: version 2, entries without stages or flags, the extensions
that hold nothing of the entries' content. For all else there is no answer, and git does it. Source:
gitformat-index(5).
"""

from __future__ import annotations

import struct

from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from gitmem.git.objects.oid import NewHash

    Buffer = bytes | memoryview

_HEADER = struct.Struct(">4sII")
_STAT = struct.Struct(">10I")
_EXTENSION = struct.Struct(">4sI")
_VERSION = 2
_MODE = 24  # where in an entry; the stat fields take its first 40 bytes
_STAT_SIZE = 40
_LONGEST_NAME = 0xFFF  # from here on its length is not in the flags
_CACHED_TREES, _END_OF_ENTRIES = b"TREE", b"EOIE"
# The hashes of cached trees; conflicts that were resolved; where entries end, and where blocks of them begin.
_KNOWN = frozenset((_CACHED_TREES, b"REUC", _END_OF_ENTRIES, b"IEOT"))


class Replacement(Value):
    """What an entry is to say: the status of the file, and the id of its content, in bytes."""

    status: os.stat_result
    oid: bytes


class Places(Value):
    """An index, where in it the wanted entries begin, where all of them end, and the extensions that follow."""

    index: bytes
    entries: Mapping[bytes, int]
    end: int
    extensions: tuple[tuple[bytes, bytes], ...]


def find_entries(index: bytes, paths: Iterable[bytes], new_hash: NewHash) -> Places | None:
    """Find what `replace_entries` needs; `new_hash` makes a hash of the kind of the repository's object ids.

    Returns None where the change is git's to make: a path is not in the index or has conflicts, or the index has a form
    that is not known here.
    """
    size = new_hash().digest_size
    wanted = set(paths)
    found = _find(index, wanted, size)
    if found is None or len(found[1]) != len(wanted):
        return None
    end, entries = found
    extensions = tuple(_extensions(index, end, len(index) - size))
    if not all(name in _KNOWN for name, _ in extensions) or not any(index[-size:]):  # index.skipHash
        return None
    return Places(index, entries, end, extensions)


def replace_entries(places: Places, entries: Mapping[bytes, Replacement], new_hash: NewHash) -> list[Buffer] | None:
    """Return the index with these entries, by path, as new: in pieces, since a copy of megabytes takes milliseconds.

    Returns None where that is git's to do after all: a file may now be executed, or no longer, or an extension is odd.
    """
    index, before = memoryview(places.index), 0
    pieces: list[Buffer] = []
    for place, path in sorted((places.entries[path], path) for path in entries):
        status, oid = entries[path].status, entries[path].oid
        mode = places.index[place + _MODE : place + _MODE + 4]
        if mode != struct.pack(">I", 0o100755 if status.st_mode & 0o100 else 0o100644):
            return None
        pieces += index[before:place], _stat_fields(status, mode), oid
        before = place + _STAT_SIZE + len(oid)
    pieces.append(index[before : places.end])
    try:
        pieces += _render(places, list(entries), new_hash)
    except ValueError:
        return None
    hash_ = new_hash()
    for piece in pieces:
        hash_.update(piece)
    return [*pieces, hash_.digest()]


def _find(index: bytes, paths: set[bytes], size: int) -> tuple[int, dict[bytes, int]] | None:
    """Return where the entries end, and where each of the wanted ones begins that is there."""
    flags = _STAT_SIZE + size
    wanted = {place: path for path in paths for place in _candidates(index, path, flags)}
    found = {}
    place = _HEADER.size
    try:
        signature, version, count = _HEADER.unpack_from(index)
        if signature != b"DIRC" or version != _VERSION:
            return None
        for _ in range(count):
            if place in wanted:
                found[wanted[place]] = place
            length = (index[place + flags] & 0x0F) << 8 | index[place + flags + 1]
            if length == _LONGEST_NAME:
                return None
            place += (flags + 2 + length + 8) & ~7
    except (struct.error, IndexError):
        return None
    return (place, found) if place <= len(index) - size else None


def _candidates(index: bytes, path: bytes, flags: int) -> Iterator[int]:
    """Yield where an entry of this name, without stage or flags, may begin; the walk over all entries decides."""
    needle = struct.pack(">H", len(path)) + path + b"\0"
    place = index.find(needle) if len(path) < _LONGEST_NAME else -1
    while place >= 0:
        yield place - flags
        place = index.find(needle, place + 1)


def _extensions(index: bytes, start: int, end: int) -> Iterator[tuple[bytes, bytes]]:
    while start < end:
        if start + _EXTENSION.size > end:
            yield b"", b""  # not known
            return
        name, length = _EXTENSION.unpack_from(index, start)
        start += _EXTENSION.size
        yield (name, index[start : start + length]) if start + length <= end else (b"", b"")
        start += length


def _render(places: Places, paths: list[bytes], new_hash: NewHash) -> list[Buffer]:
    """Write the extensions again, with the cached trees above the paths forgotten."""
    pieces: list[Buffer] = []
    headers = new_hash()
    for name, content in places.extensions:
        new = content
        if name == _CACHED_TREES:
            new = _forget_trees(content, paths, headers.digest_size)
        elif name == _END_OF_ENTRIES:
            new = struct.pack(">I", places.end) + headers.digest()
        header = _EXTENSION.pack(name, len(new))
        headers.update(header)
        pieces += header, new
    return pieces


def _forget_trees(content: bytes, paths: list[bytes], size: int) -> bytes:
    """Return the extension TREE without the ids of the trees that hold one of the paths: they are others now.

    It has a line for each folder, depth first: its name, how many entries and subtrees it has, its id; an unknown id
    is left out, and the number of entries is -1.
    """
    changed = {b""}
    for path in paths:
        parts = path.split(b"/")[:-1]
        changed.update(b"/".join(parts[: depth + 1]) for depth in range(len(parts)))
    new, place = [], 0
    above: list[tuple[bytes, int]] = []  # the folders being listed, and how many of each are still to come
    while place < len(content):
        line_end = content.index(b"\n", place) + 1
        name, _, numbers = content[place:line_end].partition(b"\0")
        entries, subtrees = map(int, numbers.split())
        while above and above[-1][1] == 0:
            above.pop()
        folder = name
        if above:
            parent, left = above[-1]
            above[-1] = parent, left - 1
            folder = b"%s/%s" % (parent, name) if parent else name
        above.append((folder, subtrees))
        end = line_end if entries < 0 else line_end + size
        new.append(b"%s\0-1 %d\n" % (name, subtrees) if folder in changed else content[place:end])
        place = end
    return b"".join(new)


def _stat_fields(status: os.stat_result, mode: bytes) -> bytes:
    def halves(nanoseconds: int) -> tuple[int, int]:
        seconds, rest = divmod(nanoseconds, 1_000_000_000)
        return seconds & 0xFFFFFFFF, rest

    numbers = (status.st_dev, status.st_ino, 0, status.st_uid, status.st_gid, status.st_size)
    cut = (number & 0xFFFFFFFF for number in numbers)
    fields = _STAT.pack(*halves(status.st_ctime_ns), *halves(status.st_mtime_ns), *cut)
    return fields[:_MODE] + mode + fields[_MODE + 4 :]
