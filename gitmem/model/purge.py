"""Purging (spec G7): what a text leaves behind once it is to be nowhere, and how other machines know it again.

A record travels with the memory and must not hold what was purged. For each text it has the length, sixteen bits of a
sum that can be taken of all places of a content at once, and a digest that is slow to make (scrypt, RFC 7914). Who has
the text finds it by them, and then knows it; who has not learns nothing, but can try a guess: what was purged because
it leaked is to be changed all the same.

What is found is replaced by `MARKER`, in whichever form gitmem itself may have written it: as JSON, in lower case, as a
name, indented, or cut off at an ellipsis. The same texts turn the same bytes into the same bytes on every machine.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.model.difference import changed_range
from gitmem.model.paths import slug

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MARKER = b"(purged)"  # stands for itself in YAML, JSON, markdown and a commit's message
NAME = "purged"  # in the name of a file
LEAST = 4  # bytes of a text: less is a part of other words
MOST = 64 * 1024
MOST_TEXTS = 1000
_PART = 8  # bytes that are left of a text which was cut off: less says nothing
_ELLIPSIS = "…".encode()
_CHUNK = 1 << 20  # bytes that are looked through at a time
_WORK = 2**14  # of scrypt: 16 MB and some 40 ms a digest
_SALT_BYTES = 16
_DIGEST_BYTES = 32
_NAME_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Print:
    """What is told of a purged text: its length in bytes, the two sums of a window, and its digest."""

    length: int
    sums: tuple[int, int]
    digest: bytes


@dataclass(frozen=True, slots=True)
class Record:
    """A purge: its id, when it was asked for, the salt of its digests, and the texts it was about."""

    id: str
    created: str
    salt: bytes
    prints: tuple[Print, ...]

    def render(self) -> bytes:
        """Return it as it is stored (docs/format.md, "Purging")."""
        texts = [
            {"length": one.length, "sums": list(one.sums), "scrypt": one.digest.hex()}
            for one in sorted(self.prints, key=lambda one: one.digest)
        ]
        said = {"v": 1, "id": self.id, "created": self.created, "salt": self.salt.hex(), "texts": texts}
        return json.dumps(said, indent=1).encode() + b"\n"


def make_record(identifier: str, created: str, salt: bytes, texts: Iterable[bytes]) -> Record:
    """Return the record of purging these texts; `salt` is random."""
    prints = (Print(len(text), _sums(text), _digest(text, salt)) for text in sorted({*texts}))
    return Record(identifier, created, salt, tuple(prints))


def read_record(data: bytes) -> Record | None:
    """Return the record in a file, None where there is none that can be understood."""
    try:
        said = json.loads(data)
        prints = tuple(_print(text) for text in said["texts"])
        record = Record(str(said["id"]), str(said["created"]), bytes.fromhex(said["salt"]), prints)
        fits = said["v"] == 1 and len(record.salt) == _SALT_BYTES and len(prints) <= MOST_TEXTS
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return record if fits else None


def _print(said: dict[str, object]) -> Print:
    length, sums, digest = said["length"], said["sums"], bytes.fromhex(str(said["scrypt"]))
    if not isinstance(length, int) or not LEAST <= length <= MOST or len(digest) != _DIGEST_BYTES:
        raise ValueError
    if not isinstance(sums, list) or len(sums) != 2 or not all(isinstance(one, int) for one in sums):  # noqa: PLR2004
        raise ValueError
    return Print(length, (sums[0], sums[1]), digest)


def _digest(text: bytes, salt: bytes) -> bytes:
    return hashlib.scrypt(text, salt=salt, n=_WORK, r=8, p=1, maxmem=1 << 26, dklen=_DIGEST_BYTES)


# Finding a text by its print --------------------------------------------------------------------------------------


class Seeker:
    """Looks for the texts of some records, which it comes to know as it meets them; `known` are those that are."""

    def __init__(self, records: Sequence[Record], known: Iterable[bytes] = ()) -> None:
        self.known: set[bytes] = set()
        self._wanted = {(record.salt, one) for record in records for one in record.prints}
        self._tried: set[tuple[bytes, bytes]] = set()
        for text in {*known}:
            for salt, one in self._candidates(text):
                self._try(text, salt, one)

    @property
    def done(self) -> bool:
        """Whether nothing is left to be found."""
        return not self._wanted

    def seek(self, data: bytes, before: bytes = b"") -> None:
        """Look through a content; what `before` has, too, was looked through already."""
        if self.done:
            return
        longest = max(one.length for _, one in self._wanted)
        start, end = changed_range(before, data)
        start, end = max(start - longest + 1, 0), min(end + longest - 1, len(data))
        for at in range(start, end, _CHUNK):
            self._look(data[at : min(at + _CHUNK + longest - 1, end)])

    def _candidates(self, text: bytes) -> list[tuple[bytes, Print]]:
        sums = _sums(text)
        return [(salt, one) for salt, one in self._wanted if one.length == len(text) and one.sums == sums]

    def _look(self, data: bytes) -> None:
        windows = _Windows(data)
        for length in sorted({one.length for _, one in self._wanted if one.length <= len(data)}):
            alike = {(one.sums): (salt, one) for salt, one in self._wanted if one.length == length}
            for at in windows.places(length, {*alike}):
                text = data[at : at + length]
                for salt, one in self._candidates(text):
                    self._try(text, salt, one)

    def _try(self, text: bytes, salt: bytes, one: Print) -> None:
        if (text, salt) in self._tried:
            return
        self._tried.add((text, salt))
        digest = _digest(text, salt)
        if digest == one.digest:
            self.known.add(text)
        self._wanted = {wanted for wanted in self._wanted if wanted != (salt, one) or digest != one.digest}


def _table(number: int) -> bytes:
    """Return a table that gives each byte another one, the same on all machines."""
    ranks = sorted(range(256), key=lambda byte: hashlib.sha256(b"gitmem purge %d %d" % (number, byte)).digest())
    return bytes(ranks)


_TABLES = (_table(0), _table(1))


class _Windows:
    """Sums of all windows of a content at once: the content is one long number, and each step an operation on it.

    The sum of a window is the exclusive or of what a table gives for its bytes, each turned by its place. That of two
    windows side by side is the first one's with the second one's turned, so sums of 1, 2, 4, 8 … bytes make any length:
    some 60 MB a second, where a loop over the bytes does 2.
    """

    def __init__(self, data: bytes) -> None:
        self._size = len(data)
        self._powers = [[int.from_bytes(data.translate(table), "little")] for table in _TABLES]

    def places(self, length: int, sums: set[tuple[int, int]]) -> Iterator[int]:
        """Yield where windows of this length begin that have one of these sums."""
        count = self._size - length + 1
        first, second = (self._summed(plane, length).to_bytes(self._size, "little") for plane in (0, 1))
        for wanted, other in sorted(sums):
            mark, at = bytes([wanted]), -1
            while 0 <= (at := first.find(mark, at + 1)) < count:
                if second[at] == other:
                    yield at

    def _summed(self, plane: int, length: int) -> int:
        total, offset = 0, 0
        for bit in reversed(range(length.bit_length())):
            if length >> bit & 1:
                total ^= self._turned(self._power(plane, bit) >> 8 * offset, offset)
                offset += 1 << bit
        return total

    def _power(self, plane: int, bit: int) -> int:
        powers = self._powers[plane]
        while len(powers) <= bit:
            half = 1 << len(powers) - 1
            powers.append(powers[-1] ^ self._turned(powers[-1] >> 8 * half, half))
        return powers[bit]

    def _turned(self, number: int, by: int) -> int:
        """Turn each byte left by some bits."""
        by %= 8
        if not by:
            return number
        high = int.from_bytes(bytes([0xFF << by & 0xFF]) * self._size, "little")
        low = int.from_bytes(bytes([0xFF >> 8 - by]) * self._size, "little")
        return (number << by) & high | (number >> 8 - by) & low


def _sums(text: bytes) -> tuple[int, int]:
    windows = _Windows(text)
    first, second = (windows._summed(plane, len(text)) & 0xFF for plane in (0, 1))  # noqa: SLF001
    return first, second


# Taking it out ----------------------------------------------------------------------------------------------------


class Replacer:
    """Puts the marker where one of some texts is; `met` are the forms that were found."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._texts = sorted({*texts}, key=lambda text: (-len(text), text))
        self.met: set[bytes] = set()
        self._forms = sorted(
            {form for text in self._texts for form in forms(text)}, key=lambda form: (-len(form), form)
        )

    def __bool__(self) -> bool:
        """Whether there is anything to take out."""
        return bool(self._forms)

    def clean(self, data: bytes) -> bytes:
        """Return a content without the texts."""
        for form in self._forms:
            if form in data:
                self.met.add(form)
                data = data.replace(form, MARKER)
        if _ELLIPSIS in data:
            for text in self._texts:
                data = _without_parts(data, text)
        return data

    def count(self, data: bytes) -> int:
        """Return in how many places of a content the texts are."""
        return self.clean(data).count(MARKER) - data.count(MARKER)

    def holds(self, data: bytes) -> bool:
        """Say whether a content has one of the texts in it."""
        return any(form in data for form in self._forms) or self.clean(data) != data

    def clean_path(self, path: bytes) -> bytes:
        """Return the name of a file without the texts; two names never become one by that, but for bad luck."""
        parts = path.split(b"/")
        for place, part in enumerate(parts):
            clean = part
            for form in self._forms:
                clean = clean.replace(form, NAME.encode())
            if clean != part:
                digits = hashlib.sha256(path).hexdigest()[:_NAME_DIGITS]
                stem, dot, suffix = clean.partition(b".")
                parts[place] = b"%s-%s%s%s" % (stem, digits.encode(), dot, suffix)
        return b"/".join(parts)


def forms(text: bytes) -> set[bytes]:
    """Return the forms in which gitmem may have written a text."""
    found = {text, text.replace(b"\r\n", b"\n").replace(b"\n", b"\n  ")}
    try:
        words = text.decode()
    except UnicodeDecodeError:
        return found
    found |= {json.dumps(words, ensure_ascii=plain)[1:-1].encode() for plain in (True, False)}
    found |= {json.dumps(form.decode())[1:-1].encode() for form in tuple(found)}  # JSON in JSON, as tools print it
    short = {words.lower(), slug(words)}
    return found | {form for form in map(str.encode, short) if len(form) >= _PART}


def _without_parts(data: bytes, text: bytes) -> bytes:
    """Return a content without what is left of a text that was cut off, before an ellipsis or behind one."""
    if len(text) <= _PART or (text[:_PART] not in data and text[-_PART:] not in data):
        return data
    pieces = data.split(_ELLIPSIS)
    for place, piece in enumerate(pieces):
        bare = piece.rstrip(b" ,;:.\n") if place + 1 < len(pieces) else b""
        if head := next((size for size in range(len(text) - 1, _PART - 1, -1) if bare.endswith(text[:size])), 0):
            pieces[place] = bare[:-head] + MARKER + piece[len(bare) :]
        piece = pieces[place]  # noqa: PLW2901
        bare = piece.lstrip(b" \n") if place else b""
        if tail := next((size for size in range(len(text) - 1, _PART - 1, -1) if bare.startswith(text[-size:])), 0):
            pieces[place] = piece[: len(piece) - len(bare)] + MARKER + bare[tail:]
    return _ELLIPSIS.join(pieces)
