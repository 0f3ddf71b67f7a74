"""Redact the new lines of a file's bytes, read as UTF-8 and, if they look like it, as UTF-16 or UTF-32."""

from __future__ import annotations

from gitmem.redact.redact import redact
from gitmem.text.difference import changed_range
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Byte order marks, longer ones first: the mark of UTF-32-LE begins with that of UTF-16-LE.
_MARKS = (
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_SAMPLE = 65_536  # bytes that are searched for NULs if there is no mark
_MIN_NULS = 8  # in UTF-16 text with a secret: each ASCII character has one


class CleanBytes(Value):
    """Redacted bytes, with the kinds of the secrets removed and their line numbers."""

    data: bytes
    kinds: tuple[str, ...]
    lines: tuple[int, ...]


def redact_bytes(before: bytes, data: bytes, *, allow: Sequence[str] = ()) -> CleanBytes:
    """Redact the lines of `data` between the first and the last that differ from `before`."""
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
    """Yield the possible texts of a file: as UTF-8, unless it has NULs, and as UTF-16 or UTF-32 if it looks like it."""
    if b"\0" not in data:
        yield data.decode("utf-8", "surrogateescape")
    encoding = wide_encoding(data)
    text = None if encoding is None else _decoded(data, encoding)
    if text is not None:
        yield text


def wide_encoding(data: bytes) -> str | None:
    """Guess UTF-16 or UTF-32 from the byte order mark or the positions of NULs; None if neither fits."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    if b"\0" not in data[:_SAMPLE]:
        return None
    even, odd = (data[start:_SAMPLE:2].count(0) for start in (0, 1))
    if max(even, odd) < _MIN_NULS or min(even, odd) * _MIN_NULS > max(even, odd):
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


_UTF8 = ("utf-8", "surrogatepass")


def _width(encoding: str) -> int:
    return 4 if "32" in encoding else 2


def _decoded(data: bytes, encoding: str) -> str | None:
    """Return the text, without incomplete characters at the end; None if it cannot be decoded."""
    try:
        return data[: len(data) - len(data) % _width(encoding)].decode(encoding, "surrogatepass")
    except UnicodeDecodeError:
        return None


def _redact_new(before: bytes, data: bytes, allow: Sequence[str]) -> CleanBytes:
    start, end = changed_lines(before, data)
    text = data[start:end].decode("utf-8", "surrogateescape")
    redacted = redact(text, allow=allow)
    if not redacted.findings:
        return CleanBytes(data, (), ())
    first = data.count(b"\n", 0, start) + 1
    lines = sorted({first + text.count("\n", 0, finding.start) for finding in redacted.findings})
    clean = data[:start] + redacted.text.encode("utf-8", "surrogateescape") + data[end:]
    return CleanBytes(clean, tuple(finding.kind for finding in redacted.findings), tuple(lines))


def changed_lines(before: bytes, after: bytes) -> tuple[int, int]:
    """Return the range of `after` from the first to the last line that differs from `before`."""
    start, end = changed_range(before, after)
    start = after.rfind(b"\n", 0, start) + 1
    newline = after.find(b"\n", end)
    return start, len(after) if newline < 0 else newline
