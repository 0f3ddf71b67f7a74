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
import re
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from gitmem.model.paths import slug
from gitmem.model.purge.sums import sums_of

if TYPE_CHECKING:
    from collections.abc import Iterable

MARKER = b"(purged)"  # stands for itself in YAML, JSON, markdown and a commit's message
NAME = "purged"  # in the name of a file
LEAST = 4  # bytes of a text: less is a part of other words
MOST = 64 * 1024
MOST_TEXTS = 1000
MAX_BYTES = 256 * 1024  # of a record: room for the most texts
_PART = 8  # bytes that are left of a text which was cut off: less says nothing
_ELLIPSIS = "…".encode()
_WORK = 2**14  # of scrypt: 16 MB and some 40 ms a digest
_SALT_BYTES = 16
_DIGEST_BYTES = 32
_NAME_DIGITS = 4
_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{6}")


@dataclass(frozen=True, slots=True)
class Print:
    """What is told of a purged text: its length in bytes, the two sums of a window, and its digest."""

    length: int
    sums: tuple[int, int]
    digest: bytes


@dataclass(frozen=True)
class Record:
    """A purge: its id, when it was asked for, the salt of its digests, and the texts it was about."""

    id: str
    created: str
    salt: bytes
    prints: tuple[Print, ...]

    def render(self) -> bytes:
        """Return it as it is stored (docs/format.md, "Purging")."""
        texts = [{"length": one.length, "sums": list(one.sums), "scrypt": one.digest.hex()} for one in self.prints]
        said = {"v": 1, "id": self.id, "created": self.created, "salt": self.salt.hex(), "texts": texts}
        return json.dumps(said, indent=1).encode() + b"\n"

    @cached_property
    def key(self) -> str:
        """What this machine knows it by: its id, and a digest of all it says."""
        return f"{self.id} {hashlib.sha256(self.render()).hexdigest()}"


def make_record(identifier: str, created: str, salt: bytes, texts: Iterable[bytes]) -> Record:
    """Return the record of purging these texts; `salt` is random."""
    prints = (Print(len(text), sums_of(text), digest_of(text, salt)) for text in {*texts})
    return Record(identifier, created, salt, tuple(sorted(prints, key=lambda one: one.digest)))


def read_record(data: bytes, identifier: str) -> Record | None:
    """Return the record in the file that is named after an id, None where it is not exactly as gitmem writes one."""
    if len(data) > MAX_BYTES or not _ID.fullmatch(identifier):
        return None
    try:
        said = json.loads(data)
        prints = tuple(_print(text) for text in said["texts"])
        record = Record(identifier, str(said["created"]), bytes.fromhex(said["salt"]), prints)
        dated = datetime.fromisoformat(record.created).tzinfo is not None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    fits = dated and len(record.salt) == _SALT_BYTES and 0 < len(prints) <= MOST_TEXTS
    # Nothing else stands in it, no field is of another type, and the texts are in order.
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
    """Return the digest that a record has of a text; slow on purpose."""
    return hashlib.scrypt(text, salt=salt, n=_WORK, r=8, p=1, maxmem=1 << 26, dklen=_DIGEST_BYTES)


# Taking it out ----------------------------------------------------------------------------------------------------


class Replacer:
    """Puts the marker where one of some `texts` is; `met` are the forms that were found."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        self.texts = sorted({*texts}, key=lambda text: (-len(text), text))
        self.met: set[bytes] = set()
        self._forms = sorted({form for text in self.texts for form in forms(text)}, key=lambda form: (-len(form), form))

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
            for text in self.texts:
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
    """Return how much of a text's beginning, but not all of it, a content ends with; 0 where it is too little.

    By Knuth, Morris and Pratt's method: a text and a content that repeat themselves take no longer.
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
    """Return how much of a text's beginning what ended with `size` bytes of it ends with after one more byte."""
    while size and text[size] != byte:
        size = borders[size - 1]
    return size + (text[size] == byte)
