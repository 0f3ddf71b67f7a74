"""Read headers in the form that gitmem writes without YAML, which takes 20 times as long: a store has 50,000.

Tested through `tests/document/test_plain.py`.
"""

from __future__ import annotations

import json
import re

from gitmem.document.scalars import BARE, WORDS_WITH_A_MEANING
from gitmem.platform.clock import date, datetime

_LONGEST, _DEEPEST = 1 << 14, 4
_TEXT = r'"(?:[^"\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]|\\["\\nt])*"'
_DAY, _NUMBER = r"[0-9]{4}-[0-9]{2}-[0-9]{2}", r"-?(?:0|[1-9][0-9]{0,14})"
_SCALAR = re.compile(
    rf"(?P<bare>{BARE.pattern})|(?P<text>{_TEXT})|(?P<moment>{_DAY}T[0-9:]{{8}}(?:Z|[+-][0-9]{{2}}:[0-9]{{2}})?)|"
    rf"(?P<day>{_DAY})|(?P<share>{_NUMBER}\.[0-9]{{1,15}})|(?P<number>{_NUMBER})"
)
_KEY = re.compile(r"(  )?([A-Za-z_][A-Za-z0-9_-]{0,99}):(?: |$)")


def plain_mapping(header: str) -> dict[str, object] | None:
    """Return what YAML reads in a header, None if it has another form than gitmem writes."""
    if len(header) > _LONGEST:
        return None
    found: dict[str, object] = {}
    inner: dict[str, object] | None = None  # the mapping on the lines below a key
    try:
        for line in header.split("\n")[:-1] if header.endswith("\n") else [""]:
            key = _KEY.match(line)
            mapping = inner if key and key[1] else found
            if key is None or mapping is None or key[2] in mapping or (mapping is found and inner == {}):
                return None
            if key.end() < len(line):
                mapping[key[2]], end = _value(line, key.end(), 0)
                inner = inner if mapping is inner else None
                if end < len(line):
                    return None
            elif mapping is found:
                found[key[2]] = inner = {}
            else:
                return None
    except ValueError:
        return None
    return None if inner == {} else found


def _value(line: str, at: int, depth: int) -> tuple[object, int]:
    """Return the value that begins at `at`, and where it ends. Raises ValueError for another form than gitmem's."""
    scalar = _SCALAR.match(line, at)
    if scalar is not None:
        return _scalar(scalar), scalar.end()
    opening = line[at : at + 1]
    if opening not in {"[", "{"} or depth == _DEEPEST:
        raise ValueError
    values: list[object] = []
    pairs: dict[str, object] = {}
    closing, at = "]" if opening == "[" else "}", at + 1
    while line[at : at + 1] != closing:
        at = _after(line, at, ", ") if values or pairs else at
        if opening == "[":
            item, at = _value(line, at, depth + 1)
            values.append(item)
            continue
        key = BARE.match(line, at)
        if key is None or key[0] in pairs:
            raise ValueError
        pairs[key[0]], at = _value(line, _after(line, key.end(), ": "), depth + 1)
    return (values if opening == "[" else pairs), at + 1


def _after(line: str, at: int, expected: str) -> int:
    if not line.startswith(expected, at):
        raise ValueError
    return at + len(expected)


def _scalar(found: re.Match[str]) -> object:
    kind, text = found.lastgroup, found[0]
    if kind == "bare":
        if text.lower() in WORDS_WITH_A_MEANING:
            raise ValueError
        return text
    if kind == "text":
        return json.loads(text)
    if kind == "moment":
        return datetime.fromisoformat(text)
    if kind == "day":
        return date.fromisoformat(text)
    return float(text) if kind == "share" else int(text)
