"""Purge records, by which every machine finds and removes a purged text (docs/sync.md, "Purging").

A record must not contain the text. For each text it has the length, two bytes of a rolling hash that is computed for
all windows of a content at once, and a slow digest (scrypt, RFC 7914). Anyone with the text can match it against the
record; others can only test guesses. `MARKER` replaces each form in which gitmem may have written the text.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from gitmem.document.document import Document
from gitmem.document.entry import PURGED, remove_entries
from gitmem.document.ids import slug
from gitmem.store.transaction import changed_range
from gitmem.values import Value

_BITS = 8
_BYTE = 0xFF


def sums_of(text: bytes) -> tuple[int, int]:
    """Return the two sums of a text."""
    first, second = (summed.to_bytes(len(text) + 1, "little")[-1] for summed in _running(text))
    return first, second


def windows(
    data: bytes, wanted: Mapping[int, Collection[tuple[int, int]]]
) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Yield start, length and sums of each window of a content that has a wanted length and one of its sums."""
    running = _running(data)
    for length in sorted(length for length in wanted if length <= len(data)):
        seconds: dict[int, set[int]] = {}
        for first, second in wanted[length]:
            seconds.setdefault(first, set()).add(second)
        planes = [(total ^ total >> _BITS * length).to_bytes(len(data) + 1, "little") for total in running]
        end = len(data) - length + 1
        for turn in range(min(_BITS, end)):  # the sum of the window at i is rotated by i
            low, high = (plane[turn:end:_BITS] for plane in planes)
            for first, those in seconds.items():
                mark, at = bytes([_turned(first, turn)]), -1
                turned = {_turned(second, turn): second for second in those}
                while (at := low.find(mark, at + 1)) >= 0:
                    if high[at] in turned:
                        yield at * _BITS + turn, length, (first, turned[high[at]])


def _turned(byte: int, by: int) -> int:
    """Return a byte rotated left."""
    return (byte << by | byte >> _BITS - by) & _BYTE


def _table(number: int) -> bytes:
    """Return a permutation of all bytes, the same on all machines."""
    ranks = sorted(range(256), key=lambda byte: hashlib.sha256(b"gitmem purge %d %d" % (number, byte)).digest())
    return bytes(ranks)


# For each table and each position modulo eight, the table with its bytes rotated.
_TABLES = tuple(
    tuple(bytes(_turned(byte, by) for byte in table) for by in range(_BITS)) for table in (_table(0), _table(1))
)


def _running(data: bytes) -> list[int]:
    """Return for each table the running exclusive or as a number, byte i covering the bytes before i."""
    totals = []
    for turned in _TABLES:
        plane = bytearray(len(data))
        for by in range(_BITS):
            plane[by::_BITS] = data[by::_BITS].translate(turned[by])
        number, step, mask = int.from_bytes(plane, "little"), _BITS, (1 << _BITS * len(data)) - 1
        while step < _BITS * len(data):
            number = (number ^ number << step) & mask
            step *= 2
        totals.append(number << _BITS)
    return totals


MARKER = PURGED.encode()
NAME = "purged"  # replaces the text in a file's name
MIN_TEXT = 4  # bytes of a text; shorter ones are parts of other words
MAX_TEXT = 64 * 1024
MOST_TEXTS = 1000
MAX_BYTES = 256 * 1024  # bytes of a record with the most texts
_PART = 8  # bytes of a truncated text; a shorter part is no evidence
_ELLIPSIS = "…".encode()
_WORK = 2**14  # scrypt: 16 MB and some 40 ms a digest
_SALT_BYTES = 16
_DIGEST_BYTES = 32
_NAME_DIGITS = 4
_LINKED = re.compile(rb"\b(?:concepts|episodes|facts|patterns)/[^\s()\[\]\"'`\\]{1,300}?\.md\b")
_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{6}")


class Fingerprint(Value):
    """The fingerprint of a purged text: its length in bytes, two sums of a window, and a digest."""

    length: int
    sums: tuple[int, int]
    digest: bytes


class PurgeRecord(Value):
    """A purge: its id, its time, the salt of its digests, and the fingerprints of its texts.

    `whose` are fingerprints of authors and sessions all of whose memories are to go.
    """

    id: str
    created: str
    salt: bytes
    fingerprints: tuple[Fingerprint, ...]
    whose: tuple[Fingerprint, ...] = ()

    def render(self) -> bytes:
        """Return the record as it is stored (docs/format.md, "Purging")."""
        texts, whose = (
            [{"length": mark.length, "sums": list(mark.sums), "scrypt": mark.digest.hex()} for mark in fingerprints]
            for fingerprints in (self.fingerprints, self.whose)
        )
        record = {"v": 1, "id": self.id, "created": self.created, "salt": self.salt.hex(), "texts": texts}
        record |= {"whose": whose} if whose else {}
        return json.dumps(record, indent=1).encode() + b"\n"

    @cached_property
    def key(self) -> str:
        """Return a key for this machine: the id and a digest of the record."""
        return f"{self.id} {hashlib.sha256(self.render()).hexdigest()}"


def make_record(
    identifier: str, created: str, salt: bytes, texts: Iterable[bytes], whose: Iterable[bytes] = ()
) -> PurgeRecord:
    """Return the record that purges these texts and everything from these authors and sessions; `salt` is random."""

    def fingerprints_of(texts: Iterable[bytes]) -> tuple[Fingerprint, ...]:
        fingerprints = (Fingerprint(len(text), sums_of(text), digest_of(text, salt)) for text in {*texts})
        return tuple(sorted(fingerprints, key=lambda mark: mark.digest))

    return PurgeRecord(identifier, created, salt, fingerprints_of(texts), fingerprints_of(whose))


def read_record(data: bytes, identifier: str) -> PurgeRecord | None:
    """Return the record in a file, None unless it is exactly as gitmem writes one."""
    if len(data) > MAX_BYTES or not _ID.fullmatch(identifier):
        return None
    try:
        fields = json.loads(data)
        fingerprints = tuple(_print(text) for text in fields["texts"])
        whose = tuple(_print(key) for key in fields.get("whose", ()))
        record = PurgeRecord(identifier, str(fields["created"]), bytes.fromhex(fields["salt"]), fingerprints, whose)
        dated = datetime.fromisoformat(record.created).tzinfo is not None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None
    fits = dated and len(record.salt) == _SALT_BYTES and 0 < len(fingerprints) + len(whose) <= MOST_TEXTS
    # No other field, no other type, and the texts in order.
    return record if fits and record.render() == data else None


def _print(fields: dict[str, Any]) -> Fingerprint:
    length, digest = int(fields["length"]), bytes.fromhex(fields["scrypt"])
    if not MIN_TEXT <= length <= MAX_TEXT or len(digest) != _DIGEST_BYTES:
        raise ValueError
    first, second = bytes([*fields["sums"]])
    return Fingerprint(length, (first, second), digest)


def digest_of(text: bytes, salt: bytes) -> bytes:
    """Return the digest of a text in a record; slow on purpose."""
    return hashlib.scrypt(text, salt=salt, n=_WORK, r=8, p=1, maxmem=1 << 26, dklen=_DIGEST_BYTES)


class Replacer:
    """Replaces texts by the marker and removes entries by id; `met` are the forms that were found."""

    def __init__(self, texts: Iterable[bytes], ids: Collection[str] = ()) -> None:
        self.texts = sorted({*texts}, key=lambda text: (-len(text), text))
        self.met: set[bytes] = set()
        self._ids = ids
        self._any = re.compile(rb"\^(?:%s)\b" % b"|".join(sorted(map(str.encode, ids)))) if ids else None
        self._forms = sorted({form for text in self.texts for form in forms(text)}, key=lambda form: (-len(form), form))

    def clean(self, data: bytes) -> bytes:
        """Return a content without the entries and the texts."""
        if self._any and self._any.search(data):
            document = Document.parse(data)
            data = document.with_body(remove_entries(document.body, self._ids)).render()
        if any(form in data for form in self._forms):
            data = _LINKED.sub(self._clean_link, data)
        for form in self._forms:
            if form in data:
                self.met.add(form)
                data = data.replace(form, MARKER)
        if _ELLIPSIS in data:
            for text in self.texts:
                data = _without_parts(data, text)
        return data

    def _clean_link(self, link: re.Match[bytes]) -> bytes:
        """Return a link's new target, for a file that was renamed."""
        self.met.update(form for form in self._forms if form in link[0])
        return self.clean_path(link[0])

    def matches(self, data: bytes) -> bool:
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
    spellings = {text, text.replace(b"\r\n", b"\n").replace(b"\n", b"\n  ")}
    try:
        words = text.decode()
    except UnicodeDecodeError:
        return spellings
    spellings |= {json.dumps(words, ensure_ascii=plain)[1:-1].encode() for plain in (True, False)}
    spellings |= {
        json.dumps(form.decode())[1:-1].encode() for form in tuple(spellings)
    }  # JSON in JSON, as tools print it
    short = {words.lower(), slug(words)}
    return spellings | {form for form in map(str.encode, short) if len(form) >= _PART}


def _without_parts(data: bytes, text: bytes) -> bytes:
    """Return a content without truncated parts of a text beside an ellipsis; it is reversed to find cut beginnings."""
    if len(text) <= _PART or (text[:_PART] not in data and text[-_PART:] not in data):
        return data
    data = _without_starts(data, text, _ELLIPSIS, MARKER, b" ,;:.\n")
    return _without_starts(data[::-1], text[::-1], _ELLIPSIS[::-1], MARKER[::-1], b" \n")[::-1]


def _without_starts(data: bytes, text: bytes, ellipsis: bytes, marker: bytes, blanks: bytes) -> bytes:
    """Return a content with the marker for the longest beginning of a text before each ellipsis (and blanks)."""
    *pieces, last = data.split(ellipsis)
    for place, piece in enumerate(pieces):
        bare, start = piece.rstrip(blanks), text[:_PART]
        at = bare.find(start, max(len(bare) - len(text) + 1, 0))
        while at >= 0 and not text.startswith(bare[at:]):
            at = bare.find(start, at + 1)
        if at >= 0:
            pieces[place] = bare[:at] + marker + piece[len(bare) :]
    return ellipsis.join([*pieces, last])


_CHUNK = 1 << 20  # bytes searched at a time
_SUMS = 1 << 16  # number of sums: one window in so many matches by chance
# Digests (40 ms each) that one record, and all records, may cost beyond three times the number expected by chance.
_SPARE, _SPARE_IN_ALL = 4, 20
_TIMES = 3


class Seeker:
    """Searches for the texts of records; `found` has them by record key, `known` are all found or given ones.

    The work for records with a key in `limited` is bounded; one that exceeds it is dropped and listed in `gave_up`.
    """

    def __init__(
        self, records: Sequence[PurgeRecord], known: Iterable[bytes] = (), *, limited: Collection[str] = ()
    ) -> None:
        self.found: dict[str, set[bytes]] = {record.key: set() for record in records}
        self.known = {*known}
        self.gave_up: set[str] = set()
        self._limited = {record.key: len(record.fingerprints) for record in records if record.key in limited}
        self._digests: dict[tuple[bytes, bytes], bytes] = {}
        self._spent: Counter[str] = Counter()
        self._looked = 0
        self._set_fingerprints([(record, mark) for record in dict.fromkeys(records) for mark in record.fingerprints])
        for text in tuple(self.known):
            self._try(text, sums_of(text), free=True)

    def _set_fingerprints(self, wanted: list[tuple[PurgeRecord, Fingerprint]]) -> None:
        """Search for these fingerprints from now on; `done` is True if there are none."""
        self._open, self.done = wanted, not wanted
        self._wanted: dict[int, dict[tuple[int, int], list[tuple[PurgeRecord, Fingerprint]]]] = {}
        for record, mark in wanted:
            self._wanted.setdefault(mark.length, {}).setdefault(mark.sums, []).append((record, mark))

    def seek(self, data: bytes, before: bytes = b"") -> None:
        """Search a content, except parts that are also in `before`, which was searched already."""
        if self.done:
            return
        longest = max(self._wanted)
        start, end = changed_range(before, data)
        start, end = max(start - longest + 1, 0), min(end + longest - 1, len(data))
        for at in range(start, end, _CHUNK):
            chunk = data[at : min(at + _CHUNK + longest - 1, end)]
            self._looked += len(chunk)
            for place, length, sums in windows(chunk, self._wanted):
                self._try(chunk[place : place + length], sums)

    def _try(self, text: bytes, sums: tuple[int, int], *, free: bool = False) -> None:
        for record, wanted in self._wanted.get(len(text), {}).get(sums, ()):
            key, tried = record.key, (text, record.salt)
            if key in self.gave_up:
                continue
            if tried not in self._digests:
                if not free and self._is_too_much(key):
                    self.gave_up.add(key)
                    self._set_fingerprints([pair for pair in self._open if pair[0].key != key])
                    continue
                self._spent[key] += 1
                self._digests[tried] = digest_of(text, record.salt)
            if self._digests[tried] == wanted.digest:
                self.found[key].add(text)
                self.known.add(text)
                self._spent[key] -= not free
                self._set_fingerprints([pair for pair in self._open if pair != (record, wanted)])

    def _is_too_much(self, key: str) -> bool:
        if key not in self._limited:
            return False
        chance = _TIMES * self._looked / _SUMS
        spent = sum(self._spent[record] for record in self._limited)
        in_all = _SPARE_IN_ALL + chance * sum(self._limited.values())
        return self._spent[key] >= _SPARE + chance * self._limited[key] or spent >= in_all
