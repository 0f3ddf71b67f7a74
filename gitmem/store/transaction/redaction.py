"""Redaction of a file's bytes: of what is new in it, as UTF-8 and as the UTF-16 or UTF-32 that it may be."""

from __future__ import annotations

from gitmem.redact.redact import redact
from gitmem.text.difference import changed_range
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# By their byte order mark; the longer first, because one begins like the other.
_MARKS = (
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_LOOKED_AT = 65_536  # bytes that are searched for NULs where there is no mark
_FEWEST = 8  # NULs of a text in UTF-16 that has a secret: each ASCII character has one


class CleanBytes(Value):
    """A file's bytes without its secrets; the kind of each that was taken out, and the numbers of their lines."""

    data: bytes
    kinds: tuple[str, ...]
    lines: tuple[int, ...]


def redact_bytes(before: bytes, data: bytes, *, allow: Sequence[str] = ()) -> CleanBytes:
    """Take the secrets out of those lines of a file that `before` does not have at the same ends."""
    clean = _redact_new(before, data, allow)
    encoding = wide_encoding(clean.data)
    text = None if encoding is None else _decoded(clean.data, encoding)
    if encoding is None or text is None:
        return clean
    wide = _redact_new((_decoded(before, encoding) or "").encode(*_UTF8), text.encode(*_UTF8), allow)
    if not wide.kinds:
        return clean
    tail = clean.data[len(clean.data) - len(clean.data) % _width(encoding) :]
    data = wide.data.decode(*_UTF8).encode(encoding, "surrogatepass") + tail
    return CleanBytes(data, clean.kinds + wide.kinds, tuple(sorted({*clean.lines, *wide.lines})))


def readings(data: bytes) -> Iterator[str]:
    """Yield the texts that a file's bytes may be: UTF-8, unless there are NULs in it, and UTF-16 or UTF-32."""
    if b"\0" not in data:
        yield data.decode("utf-8", "surrogateescape")
    encoding = wide_encoding(data)
    text = None if encoding is None else _decoded(data, encoding)
    if text is not None:
        yield text


def wide_encoding(data: bytes) -> str | None:
    """Return the encoding of two or four bytes that a text seems to have, by its mark or by where its NULs stand."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    if b"\0" not in data[:_LOOKED_AT]:
        return None
    even, odd = (data[start:_LOOKED_AT:2].count(0) for start in (0, 1))
    if max(even, odd) < _FEWEST or min(even, odd) * _FEWEST > max(even, odd):
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


_UTF8 = ("utf-8", "surrogatepass")


def _width(encoding: str) -> int:
    return 4 if "32" in encoding else 2


def _decoded(data: bytes, encoding: str) -> str | None:
    """Return a text, without the bytes at its end that make no whole character."""
    try:
        return data[: len(data) - len(data) % _width(encoding)].decode(encoding, "surrogatepass")
    except UnicodeDecodeError:
        return None


def _redact_new(before: bytes, data: bytes, allow: Sequence[str]) -> CleanBytes:
    start, end = changed_lines(before, data)
    text = data[start:end].decode("utf-8", "surrogateescape")
    found = redact(text, allow=allow)
    if not found.findings:
        return CleanBytes(data, (), ())
    first = data.count(b"\n", 0, start) + 1
    lines = sorted({first + text.count("\n", 0, finding.start) for finding in found.findings})
    clean = data[:start] + found.text.encode("utf-8", "surrogateescape") + data[end:]
    return CleanBytes(clean, tuple(finding.kind for finding in found.findings), tuple(lines))


def changed_lines(before: bytes, after: bytes) -> tuple[int, int]:
    """Return the range of `after` that holds all lines which differ from `before`, found from both ends."""
    start, end = changed_range(before, after)
    start = after.rfind(b"\n", 0, start) + 1
    newline = after.find(b"\n", end)
    return start, len(after) if newline < 0 else newline
