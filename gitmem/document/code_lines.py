"""Record which exchange wrote which lines of code (docs/format.md, "Lines of code"). Pure.

A row of a day's record has the time when an exchange began, its id, digests of the lines that it added to a file of
the project, and that file:

    14:03:22 x4f7k2m9q0x 5CxhdCkPtJYbclfkBF_4Eg src/loader.py

Digests keep the project's code itself out of the memory. They are computed from normalised lines, so that a formatter's
indentation, quotes and trailing commas do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gitmem.values import Value

FOLDER = "lines"
FEWEST_LETTERS = 8  # in a recorded line: shorter ones ("else:", "return x") occur everywhere
MOST_LINES = 4_000  # of one exchange in one file; more are generated, and no evidence of a request
_MAX_PATH = 400  # characters
_DIGEST = 11  # characters of base64 for 8 bytes
_ROW = re.compile(
    r"([0-2]\d:[0-5]\d:[0-5]\d) "
    rf"(x[0-9a-hjkmnp-tv-z]{{10}}) ((?:[A-Za-z0-9_-]{{{_DIGEST}}})+) ([^\x00-\x1f\x7f]{{1,{_MAX_PATH}}})"
)
_LAST = frozenset("048AEIMQUYcgkosw")  # characters that end the base64 of 8 bytes
_QUOTES = str.maketrans({"'": '"', "`": '"'})
_TRAILING = ",;\\"


class Written(Value):
    """The digests of the lines an exchange added to a file; `at` is when it began, HH:MM:SS in UTC."""

    at: str
    exchange: str
    path: str
    digests: tuple[str, ...]


def lines_path(date: str) -> str:
    """Return the path of a day's record; `date` is YYYY-MM-DD in UTC."""
    return f"{FOLDER}/{date[:4]}/{date[5:7]}/{date}.txt"


def day_of_lines(path: str) -> str:
    """Return the day of a record's path, "" for any other path."""
    match = re.fullmatch(rf"{FOLDER}/\d{{4}}/\d\d/(\d{{4}}-\d\d-\d\d)\.txt", path)
    return match[1] if match else ""


def without_digests(path: str, text: str) -> str:
    """Return a day's record with newlines in place of the digests, as long as before; another file unchanged.

    Digests look like a key, beside a path such as `src/login.py` even like a named one. Those of a row that gitmem
    would not write stay.
    """
    return "\n".join(map(_without_digests_of, text.split("\n"))) if day_of_lines(path) else text


def _without_digests_of(line: str) -> str:
    row = _ROW.fullmatch(line)
    digests = _parts(row[3]) if row else ()
    if row is None or list(digests) != sorted({*digests}) or not _LAST.issuperset(digest[-1] for digest in digests):
        return line
    return line[: row.start(3)] + "\n" * len(row[3]) + line[row.end(3) :]


def normalized(line: str) -> str:
    """Return a line of code without white space and trailing commas, with one kind of quotes."""
    return "".join(line.split()).translate(_QUOTES).rstrip(_TRAILING)


def digest_of(line: str) -> str:
    """Return the digest of a line of code, "" if it has too few letters to be recognized."""
    text = normalized(line)
    if sum(map(str.isalpha, text)) < FEWEST_LETTERS:
        return ""
    from base64 import urlsafe_b64encode  # late: a save imports this file, and makes no digest
    from hashlib import blake2b

    return urlsafe_b64encode(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()).decode()[:_DIGEST]


def digests_of(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct digests of lines, in order, of at most `MOST_LINES`."""
    digests = dict.fromkeys(filter(None, map(digest_of, lines)))
    return tuple(digests)[:MOST_LINES]


def is_below_project(path: str) -> bool:
    """Return whether a relative path stays within the project."""
    return not (path.startswith(("/", "~", "../")) or path[1:3] in {":/", ":\\"} or "/../" in path)


def parse_written(data: bytes) -> list[Written]:
    """Return the rows of a record; skip lines of another form."""
    rows = map(_ROW.fullmatch, data.decode("utf-8", "replace").split("\n"))
    return [Written(row[1], row[2], row[4], _parts(row[3])) for row in rows if row]


def add_written(data: bytes, new: Iterable[Written]) -> bytes:
    """Return a record with more rows; those of the same exchange and file are joined under the earlier time."""
    return _rendered([*parse_written(data), *new])


def merge_written(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Merge three versions, rows and digests as sets, whichever side is ours."""
    before, *sides = (
        {_key(row): frozenset(row.digests) for row in parse_written(data)} for data in (base, ours, theirs)
    )
    rows = []
    for row in _joined([*parse_written(ours), *parse_written(theirs)]):
        old, mine, other = (side.get(_key(row), frozenset()) for side in (before, *sides))
        rows.append(row._replace(digests=tuple((old & mine & other) | (mine - old) | (other - old))))
    return _rendered(rows)


def _key(row: Written) -> tuple[str, str]:
    return row.exchange, row.path


def _joined(rows: Iterable[Written]) -> list[Written]:
    joined: dict[tuple[str, str], Written] = {}
    for row in rows:
        same = joined.get(_key(row), row)
        joined[_key(row)] = row._replace(at=min(same.at, row.at), digests=tuple({*same.digests, *row.digests}))
    return list(joined.values())


def _rendered(rows: Iterable[Written]) -> bytes:
    """Return rows sorted by exchange and path, each with sorted digests, so that two machines write the same bytes."""
    lines = (
        f"{row.at} {row.exchange} {''.join(sorted(row.digests))} {row.path}"
        for row in sorted(_joined(rows), key=_key)
        if row.digests
    )
    return "".join(f"{line}\n" for line in lines if _ROW.fullmatch(line)).encode("utf-8", "replace")


def _parts(joined: str) -> tuple[str, ...]:
    return tuple(joined[start : start + _DIGEST] for start in range(0, len(joined), _DIGEST))
