"""Find who made a memory: author, machine, agent and manner of the commit that added it first.

An index in the private folder maps the ids of memories, or paths of documents without an id, to such origins. It is
made from history and can be deleted at any time. An origin never changes: a later commit with the same id does not
replace it, whatever its date.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from functools import cached_property

from gitmem import __version__
from gitmem.document.ids import MEMORY, digest
from gitmem.document.message import Trailer, one_line
from gitmem.errors import BusyError, GitmemError, UnfinishedError
from gitmem.history.authorship import (
    AGAIN,
    CHANGED,
    COUNTS,
    FOREIGN,
    LENGTH,
    MADE,
    Manner,
    Origin,
    author_name,
    identifier_of,
    key_of,
)
from gitmem.model.fact import Fact
from gitmem.platform.safe_open import file_version, read_object, read_regular, replace_file, write_json
from gitmem.store.store import Store
from gitmem.text.terminal import plain

_FILE = os.path.join("known", "origins")
_ASKED = os.path.join("known", "origins.asked")  # exists while a background process updates the index
_VERSION = " ".join(["origins", __version__, *Origin._fields])  # another release may derive origins differently
_EMPTY = f"{_VERSION}\n\n\n@\n".encode()
_MANY = 200  # after so many single searches a table is made
_SECONDS = 300.0  # for all of history, in the background
_PATIENCE = 0.8  # seconds, twice at most, that a hook or command waits while the files of others' commits are read
UNKNOWN = "? (unknown)"  # the author of a memory that is not indexed yet, or in no commit
_OF_EACH = (COUNTS, CHANGED, FOREIGN)  # keys that list all authors, not just the first
_MOST_NAMED = 5  # authors of changes
_CONFIRMED = "rules.json"  # in the private folder: digests of others' rules that the user confirmed here
AWAITS = "warns at no tool call until the user confirms it: `gitmem review`"
_WRITERS = f"--format=%an%x00%ae%x00%(trailers:key={Trailer.MACHINE},valueonly,separator=%x20)"


class Authors:
    """Looks up the authors of memories; first brings the index up to the store's tip, within `seconds`."""

    def __init__(self, store: Store, seconds: float = _PATIENCE) -> None:
        self._store, self._seconds = store, seconds

    @cached_property
    def _index(self) -> _Index:
        return _index(self._store, self._seconds)

    def origin(self, identifier: str) -> Origin | None:
        """Return a memory's origin, None if no commit added it yet."""
        return next(iter(self.origins(identifier)), None)

    def origins(self, identifier: str) -> list[Origin]:
        """Return the origins of a claim (`claim_id`), or of all changes of a file of counts (`counts_id`)."""
        return [self._index.origins[number] for number in self._index.numbers(identifier)]

    def other_author(self, identifier: str) -> str:
        """Return the author's name, "" if that is the user, `UNKNOWN` if no commit added the memory."""
        origin = self.origin(identifier)
        if origin is None:
            return "" if self.all_mine else UNKNOWN
        return "" if self.is_users(origin) else self._name(origin)

    def _name(self, origin: Origin) -> str:
        author = author_name(origin.author, origin.email, origin.machine)
        name = plain(author).strip()  # a blank name, or the user's, is shown with the address
        is_clear = name.casefold() not in {"", "you", "me", self._index.user[1]}
        return author if is_clear else f"{name} <{origin.email}>"

    def others(self, entry: str, path: str = "") -> str:
        """Return who made and who changed an entry, or else a file, in words; "" if that was the user alone."""
        if self.all_mine:
            return ""
        identifier = entry or identifier_of(path)
        by = self.other_author(identifier) if identifier else "" if self._index.is_complete else UNKNOWN
        if not identifier and (origin := self.origin(key_of(path))) and not self.is_users(origin):
            by = self._name(origin)
        if names := self._names(CHANGED + (identifier or key_of(path)), by):
            # For a line without an id, only the authors of its document are known.
            is_any_of_them = not entry and path == MEMORY
            return f"{by or 'you'} or {names}" if is_any_of_them else f"{by or 'you'}, changed by {names}"
        if not by and not entry and (names := self._names(MADE + key_of(path))):
            return f"you, from {names}"
        return by

    def awaits(self, rule: Fact) -> bool:
        """Return whether it is another author's rule that the user has not confirmed, or that changed since."""
        return bool(rule.forbids and self.others(rule.id)) and self._confirmed.get(rule.id) != _digest(rule)

    @cached_property
    def _confirmed(self) -> dict[str, object]:
        return read_object(os.path.join(self._store.private, _CONFIRMED))

    def _names(self, identifier: str, but: str = "") -> str:
        """Return the other authors among an id's origins, the newest if there are many, or ""."""
        names = dict.fromkeys(self._name(origin) for origin in self.origins(identifier) if not self.is_users(origin))
        names.pop(but, None)
        more = f"{len(names) - _MOST_NAMED} more, " if len(names) > _MOST_NAMED else ""
        return more + ", ".join([*names][-_MOST_NAMED:])

    @cached_property
    def all_mine(self) -> bool:
        """Whether the user is the author of everything in history."""
        if not all(map(self.is_users, self._index.origins)):
            return False
        return self._index.is_complete or self._has_no_others(f"{self._index.tip}.." * bool(self._index.tip))

    def _has_no_others(self, start: str) -> bool:
        """Return whether the user, or gitmem, is the author of all commits that are not indexed yet."""
        span = ("--end-of-options", start + self._store.repository.memory, "--")
        try:
            output = self._store.repository.git.run("log", _WRITERS, *span, timeout=self._seconds)
        except GitmemError:
            return False
        authors = {tuple(line.split("\0", 2)) for line in output.decode("utf-8", "replace").splitlines()}
        return all(self._store.is_user(*author, address=self._index.user[0]) for author in authors)

    def is_users(self, origin: Origin, *, gitmem: bool = True) -> bool:
        """Return whether an author is gitmem itself, or the user, by git's identity when the index was written."""
        named = (origin.author, origin.email, origin.machine)
        return self._store.is_user(*named, gitmem=gitmem, address=self._index.user[0])


def note_confirmed(private: str, rule: Fact) -> None:
    """Record that the user confirmed a rule in its present form."""
    path = os.path.join(private, _CONFIRMED)
    write_json(path, {**read_object(path), rule.id: _digest(rule)})


def _digest(rule: Fact) -> str:
    return digest(rule.description, rule.enforce, *rule.forbids).hex()[:32]


def _index(store: Store, seconds: float) -> _Index:
    """Return the index, brought up to the tip; if that takes long, the old one, and start a background process."""
    path = os.path.join(store.private, _FILE)
    old = _load(path, store.context.home)
    try:
        tip = store.tip or ""
    except UnfinishedError:  # the user is in the middle of a merge
        return old
    old.is_complete = old.tip == tip
    if old.is_complete or (seconds < _SECONDS and _is_looked_up(store)):
        return old
    try:
        try:
            new = _extended(store, old, tip, seconds)
        except GitmemError:
            if not old.tip:
                raise
            new = _extended(store, _Index(_EMPTY, ""), tip, seconds)  # the old tip is gone, as after a purge
    except GitmemError:
        if seconds < _SECONDS:
            with contextlib.suppress(OSError):
                replace_file(os.path.join(store.private, _ASKED), b"")
            store.start("reindex", "--background")
        return old
    index = _Index(new, store.context.home, old, is_complete=True)
    with contextlib.suppress(OSError):
        replace_file(path, new)
        _last[path, store.context.home] = file_version(path), index
    return index


def _is_looked_up(store: Store) -> bool:
    """Return whether a background process that updates the index was started lately."""
    try:
        return abs(time.time() - os.stat(os.path.join(store.private, _ASKED)).st_mtime) < _SECONDS
    except OSError:
        return False


def look_up_all(store: Store) -> None:
    """Bring the index up to the store's tip, however long that takes, unless another process is doing so."""
    folder = os.path.join(store.private, os.path.dirname(_FILE))
    with contextlib.suppress(BusyError, OSError):
        os.makedirs(folder, 0o700, exist_ok=True)
        with store.folder_lock(folder, "origins").acquire(0):
            _index(store, _SECONDS)
        os.unlink(os.path.join(store.private, _ASKED))


# The version of a file when it was last read or written, and its index: for a process that lives on, by path and home.
_last: dict[tuple[str, str], tuple[tuple[int, ...], _Index]] = {}


def _load(path: str, home: str) -> _Index:
    version = file_version(path)
    if (path, home) not in _last or _last[path, home][0] != version:
        try:
            data = read_regular(path, 1 << 30) or b""
        except OSError:
            data = b""
        is_whole = data.startswith(f"{_VERSION}\n".encode()) and data.endswith(b"\n") and b"\n@\n" in data
        _last[path, home] = version, _Index(data if is_whole else _EMPTY, home)
    return _last[path, home][1]


class _Index:
    """The file of origins; `is_complete` if it covers the store's tip.

    Its lines: its version, the tip, the user's address, home and name, each origin, `@`, each id with the number of
    its origin. The user is included so that hooks need not ask git; under another `home` it may be another user. One
    search takes a millisecond in a large index, so for many a table is made; if this index extends `before`, its table
    is reused.
    """

    def __init__(self, data: bytes, home: str, before: _Index | None = None, *, is_complete: bool = False) -> None:
        self._start = data.find(b"\n@\n") + 2  # search from the start: an author's name may look like a path
        self._data, self._asked, self.is_complete = data, 0, is_complete
        self.table: dict[str, tuple[int, ...]] = {}
        _, self.tip, user, *self.lines = data[: self._start - 2].decode("utf-8", "replace").split("\n")
        address, of, name = user.split("\t") if user else ("", "", "")
        self.user = (address, name) if of == home else ("", "")
        parts = (line.split("\t") for line in self.lines)
        self.origins = [Origin(who, email, where, host, Manner(how)) for who, email, where, host, how in parts]
        if before and before.table and self.ids.startswith(before.ids):
            self.table = dict(before.table)
            self._enter(self.ids[len(before.ids) :])

    @property
    def ids(self) -> bytes:
        """Return the lines of ids."""
        return self._data[self._start + 1 :]

    def numbers(self, identifier: str) -> Iterable[int]:
        """Return the numbers of the origins of an id or path, in the order of the lines."""
        listed = identifier.encode("utf-8", "surrogateescape").decode("utf-8", "replace")  # a path may be no UTF-8
        self._asked += 1
        if self._asked > _MANY and not self.table:
            self._enter(self.ids)
        return self.table.get(listed, ()) if self.table else self._search(f"\n{listed}\t".encode())

    def _enter(self, ids: bytes) -> None:
        for line in ids.decode().split("\n")[:-1]:
            name, _, number = line.rpartition("\t")
            self.table[name] = (*self.table.get(name, ()), int(number))

    def _search(self, line: bytes) -> Iterator[int]:
        place = self._start - 1
        while (place := self._data.find(line, place + 1)) >= 0:
            start = place + len(line)
            yield int(self._data[start : self._data.index(b"\n", start)])


def _extended(store: Store, old: _Index, tip: str, seconds: float) -> bytes:
    """Return the file of an index, extended by later commits."""
    from gitmem.history.contributions import contributions  # late: a complete index needs none of it

    identity = store.identity().result()
    address = one_line(identity.email, LENGTH)
    if old.user[0] not in {"", address}:  # who is another changes with the user
        old = _Index(_EMPTY, "")
    origins = {line: number for number, line in enumerate(old.lines)}
    added: dict[str, list[int]] = {}
    has_others = any(not store.is_user(*line.split("\t")[:3]) for line in origins)

    def known(identifier: str) -> list[int]:
        return [*old.numbers(identifier), *added.get(identifier, [])]

    for name, origin, sources in contributions(store, old.tip, tip, seconds, has_others=has_others) if tip else ():
        if name == FOREIGN and not has_others and old.tip:  # so far not all that is the user's had to be known
            return _extended(store, _Index(_EMPTY, ""), tip, seconds)
        identifier = name.replace(AGAIN, CHANGED)
        number = origins.setdefault("\t".join(origin._asdict().values()), len(origins))
        if sources:
            words = {number for source in sources for number in known(source)}
            added.setdefault(identifier, []).extend(sorted(words.difference(known(identifier))))
        elif identifier != name and not known(identifier[1:]):
            continue  # added for the first time
        elif identifier.startswith(_OF_EACH) or not known(identifier):
            added.setdefault(identifier, []).extend({number}.difference(known(identifier)))
    lines = "".join(f"{identifier}\t{number}\n" for identifier, numbers in added.items() for number in numbers)
    user = f"{address}\t{store.context.home}\t{one_line(identity.name, LENGTH).casefold()}"
    return "\n".join([_VERSION, tip, user, *origins, "@\n"]).encode() + old.ids + lines.encode()
