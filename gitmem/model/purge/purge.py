"""Purging (spec G7): records by which every machine finds and removes a purged text.

A record travels with the memory and must not hold the purged text. For each text it has the length, sixteen bits of a
sum that can be taken of all places of a content at once, and a digest that is slow to make (scrypt, RFC 7914). Who has
the text finds it by them, and then knows it; who has not learns nothing, but can try a guess: what was purged because
it leaked is to be changed all the same.

What is found is replaced by `MARKER`, in whichever form gitmem itself may have written it: as JSON, in lower case, as a
name, indented, or cut off at an ellipsis. The same texts turn the same bytes into the same bytes on every machine.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from gitmem.model.paths import slug
from gitmem.model.purge.sums import sums_of

if TYPE_CHECKING:
    from collections.abc import Iterable

MARKER = b"(purged)"  # needs no escape in YAML, JSON, markdown and a commit message
NAME = "purged"  # in the name of a file
LEAST = 4  # bytes of a text; shorter ones are parts of other words
MOST = 64 * 1024
MOST_TEXTS = 1000
MAX_BYTES = 256 * 1024  # bytes of a record with the most texts
_PART = 8  # bytes of a truncated text; fewer say nothing
_ELLIPSIS = "…".encode()
_WORK = 2**14  # scrypt: 16 MB and some 40 ms a digest
_SALT_BYTES = 16
_DIGEST_BYTES = 32
_NAME_DIGITS = 4
_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{6}")


@dataclass(frozen=True, slots=True)
class Print:
    """The fingerprint of a purged text: its length in bytes, two sums of a window, and a digest."""

    length: int
    sums: tuple[int, int]
    digest: bytes


@dataclass(frozen=True)
class PurgeRecord:
    """A purge: its id, its time, the salt of its digests, and the fingerprints of its texts."""

    id: str
    created: str
    salt: bytes
    prints: tuple[Print, ...]

    def render(self) -> bytes:
        """Return the record as it is stored (docs/format.md, "Purging")."""
        texts = [{"length": one.length, "sums": list(one.sums), "scrypt": one.digest.hex()} for one in self.prints]
        record = {"v": 1, "id": self.id, "created": self.created, "salt": self.salt.hex(), "texts": texts}
        return json.dumps(record, indent=1).encode() + b"\n"

    @cached_property
    def key(self) -> str:
        """Return a key for this machine: the id and a digest of the record."""
        return f"{self.id} {hashlib.sha256(self.render()).hexdigest()}"


def make_record(identifier: str, created: str, salt: bytes, texts: Iterable[bytes]) -> PurgeRecord:
    """Return the record of purging these texts; `salt` is random."""
    prints = (Print(len(text), sums_of(text), digest_of(text, salt)) for text in {*texts})
    return PurgeRecord(identifier, created, salt, tuple(sorted(prints, key=lambda one: one.digest)))


def read_record(data: bytes, identifier: str) -> PurgeRecord | None:
    """Return the record in a file, None unless it is exactly as gitmem writes one."""
    if len(data) > MAX_BYTES or not _ID.fullmatch(identifier):
        return None
    try:
        fields = json.loads(data)
        prints = tuple(_print(text) for text in fields["texts"])
        record = PurgeRecord(identifier, str(fields["created"]), bytes.fromhex(fields["salt"]), prints)
        dated = datetime.fromisoformat(record.created).tzinfo is not None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    fits = dated and len(record.salt) == _SALT_BYTES and 0 < len(prints) <= MOST_TEXTS
    # No other field, no other type, and the texts in order.
    return record if fits and record.render() == data else None


def _print(said: dict[str, object]) -> Print:
    length, sums, digest = said["length"], said["sums"], bytes.fromhex(str(said["scrypt"]))
    if type(length) is not int or not LEAST <= length <= MOST or len(digest) != _DIGEST_BYTES:
        raise ValueError
    if not isinstance(sums, list) or len(sums) != 2 or not all(map(_is_byte, sums)):  # noqa: PLR2004
        raise ValueError
    return Print(length, (sums[0], sums[1]), digest)


def _is_byte(value: object) -> bool:
    return type(value) is int and 0 <= value <= 255  # noqa: PLR2004


def digest_of(text: bytes, salt: bytes) -> bytes:
    """Return the digest of a text in a record; slow on purpose."""
    return hashlib.scrypt(text, salt=salt, n=_WORK, r=8, p=1, maxmem=1 << 26, dklen=_DIGEST_BYTES)


# Removal ----------------------------------------------------------------------------------------------------


class Replacer:
    """Replaces texts by the marker; `met` are the forms that were found."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        self.texts = sorted({*texts}, key=lambda text: (-len(text), text))
        self.met: set[bytes] = set()
        self._forms = sorted({form for text in self.texts for form in forms(text)}, key=lambda form: (-len(form), form))

    def __bool__(self) -> bool:
        """Return whether there are texts to remove."""
        return bool(self._forms)

    def clean(self, data: bytes) -> bytes:
        """Return a content without the texts."""
        for form in self._forms:
            if form in data:
                self.met.add(form)
                data = data.replace(form, MARKER)
        if _ELLIPSIS in data:
            for text in self.texts:
                data = _without_parts(data, text)
        return data

    def count(self, data: bytes) -> int:
        """Return the number of occurrences of the texts in a content."""
        return self.clean(data).count(MARKER) - data.count(MARKER)

    def holds(self, data: bytes) -> bool:
        """Return whether a content contains one of the texts."""
        return any(form in data for form in self._forms) or self.clean(data) != data

    def clean_path(self, path: bytes) -> bytes:
        """Return a path without the texts; two paths hardly ever become the same."""
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
    """Return a content without truncated parts of a text beside an ellipsis."""
    if len(text) <= _PART or (text[:_PART] not in data and text[-_PART:] not in data):
        return data
    backwards = text[::-1]
    pieces = data.split(_ELLIPSIS)
    for place, piece in enumerate(pieces):
        bare = piece.rstrip(b" ,;:.\n") if place + 1 < len(pieces) else b""
        if head := _overlap(bare, text):
            pieces[place] = bare[:-head] + MARKER + piece[len(bare) :]
        piece = pieces[place]  # noqa: PLW2901
        bare = piece.lstrip(b" \n") if place else b""
        if tail := _overlap(bare[: len(text)][::-1], backwards):
            pieces[place] = piece[: len(piece) - len(bare)] + MARKER + bare[tail:]
    return _ELLIPSIS.join(pieces)


def _overlap(data: bytes, text: bytes) -> int:
    """Return the length of the longest proper prefix of a text that a content ends with; 0 if too short.

    Knuth, Morris and Pratt's method: linear also for texts that repeat themselves.
    """
    start = data.find(text[:_PART], max(len(data) - len(text) + 1, 0))
    if start < 0:
        return 0
    borders, size = [0], 0
    for byte in text[1 : len(data) - start]:
        size = _longer(text, borders, size, byte)
        borders.append(size)
    size = 0
    for byte in data[start:]:
        size = _longer(text, borders, size, byte)
    return size if size >= _PART else 0


def _longer(text: bytes, borders: list[int], size: int, byte: int) -> int:
    """Return the length of the matched prefix after one more byte."""
    while size and text[size] != byte:
        size = borders[size - 1]
    return size + (text[size] == byte)
