"""Find the commit that wrote a line or an entry, with its session, host, machine and date (spec G3).

Tested through `tests/store/history/test_records.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import NotFoundError
from gitmem.git.history.commits import log
from gitmem.model.entry.entry import Entry, FoundEntry, find_entries
from gitmem.model.message import Op, Trailer
from gitmem.model.paths import MEMORY
from gitmem.store.history.records import HEAD, CommitRecord, read_at, read_records, record

if TYPE_CHECKING:
    from gitmem.store.store import Store


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file and the commit that wrote it, None if it is uncommitted."""

    number: int
    text: str
    origin: CommitRecord | None


@dataclass(frozen=True, slots=True)
class EntryPlace:
    """The location of an entry: a file, and the number of the entry's first line."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class EntryFound:
    """An entry with its text, its present places (none if it was removed), and the commit that saved it."""

    entry: Entry
    text: str
    places: tuple[EntryPlace, ...]
    origin: CommitRecord | None


def blame(store: Store, path: str, lines: tuple[int, int] | None = None) -> list[Line]:
    """Return the lines of a file of the work tree, or a range of them (both inclusive), each with its commit.

    Lines of an archive are traced through the rotation to the save that wrote them.

    Raises:
        NotFoundError: there is no such file, or it has no such line.

    """
    from gitmem.git.history.blame import blame as blame_lines

    data = store.read(path)
    if data is None:
        raise NotFoundError(f"There is no file {path} in the store.", "'gitmem at HEAD --list' lists the files.")
    text = data.decode("utf-8", "replace")
    texts = text.removesuffix("\n").split("\n") if text else []
    first, last = lines or (1, len(texts))
    if lines and not 1 <= first <= last <= len(texts):
        wanted = f"line {first}" if first == last else f"lines {first}-{last}"
        raise NotFoundError(f"{path} has no {wanted}: it has {len(texts)}.", "Lines count from 1.")
    entries = [(number, found) for number, found in _numbered(text) if number <= last]
    # Extend a range that begins inside an entry to the entry's first line.
    begin = max((number for number, _ in entries if number < first), default=first)
    tip = store.repository.resolve(HEAD)
    committed = read_at(store, tip, path)
    written: dict[int, str] = {}
    if committed is not None and texts:
        revision = tip if committed == data else None
        written = blame_lines(store.repository.git, revision, path, (begin, last) if lines else None)
    known = read_records(store, {oid for oid in written.values() if oid.strip("0")})
    origins = {number: known[oid] for number, oid in written.items() if oid in known}
    for number, found in entries:
        _settle(origins, number, found)
    return [Line(n, texts[n - 1].removesuffix("\r"), origins.get(n)) for n in range(first, last + 1)]


def _settle(origins: dict[int, CommitRecord], number: int, found: FoundEntry) -> None:
    """Attribute all lines of an entry to the save that wrote its first line.

    Git may attribute a line to an older entry with the same words; the first line is unique by the entry's id.
    """
    head = origins.get(number)
    for line in range(number + 1, number + found.entry.text.count("\n") + 1):
        origin = origins.get(line)
        if head and origin and origin.op == Op.SAVE and found.entry.id not in origin.entries:
            origins[line] = head


def find_entry(store: Store, identifier: str) -> EntryFound:
    """Return an entry by its id, from the work tree or else from history.

    Raises:
        NotFoundError: no entry ever had this id.

    """
    origin = entry_origin(store, identifier)
    places = []
    text = ""
    for path in _files_with(store, identifier):
        content = (store.read(path) or b"").decode("utf-8", "replace")
        for number, found in _numbered(content):
            if found.entry.id == identifier:
                places.append(EntryPlace(path, number))
                text = text or content[found.start : found.end]
    if origin and not text:
        text = _as_saved(store, origin, identifier)
    if not text:
        raise NotFoundError(f"There is no entry ^{identifier} in the store.", "'gitmem log' names the entries.")
    return EntryFound(find_entries(text)[0].entry, text, tuple(places), origin)


def entry_origin(store: Store, identifier: str) -> CommitRecord | None:
    """Return the commit that saved an entry, None if no commit names it, as of one written by hand."""
    tip = store.repository.resolve(HEAD)
    found = log(store.repository.git, tip, trailers={Trailer.ENTRY: identifier})
    saved = [commit for commit in found if commit.value(Trailer.OP) == Op.SAVE] or found
    return record(saved[-1]) if saved else None


def _files_with(store: Store, identifier: str) -> list[str]:
    """Return the files of the work tree that name an entry, `memory.md` first."""
    options = ("--files-with-matches", "-z", "--full-name", "--text", "--fixed-strings", "-e", f"^{identifier}")
    output = store.repository.git.run("grep", *options, ok=(0, 1), timeout=300)
    paths = [os.fsdecode(path) for path in output.split(b"\0")[:-1]]
    return sorted(paths, key=lambda path: (path != MEMORY, path))


def _as_saved(store: Store, origin: CommitRecord, identifier: str) -> str:
    repository = store.repository
    for change in repository.changes(origin.parents[0], origin.commit) if origin.parents else []:
        if change.new is not None:
            content = repository.blob(change.new).decode("utf-8", "replace")
            for found in find_entries(content):
                if found.entry.id == identifier:
                    return content[found.start : found.end]
    return ""


def _numbered(text: str) -> Iterator[tuple[int, FoundEntry]]:
    """Yield the entries of a text, each with the number of its first line."""
    number, position = 1, 0
    for found in find_entries(text):
        number += text.count("\n", position, found.start)
        position = found.start
        yield number, found
