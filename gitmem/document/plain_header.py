"""Read and write headers of simple one-line values, which nearly all are, without a YAML library."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache

from gitmem.platform.machine import date, datetime

LINE_ENDS = r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+"  # everything that some reader treats as a line end


def newline_of(text: str, *, default: str = "\n") -> str:
    r"""Return how most lines of `text` end, "\r\n" or "\n"; `default` if it has no line end."""
    feeds, pairs = text.count("\n"), text.count("\r\n")
    if not feeds:
        return default
    return "\r\n" if pairs * 2 > feeds else "\n"


# One-line values that YAML reads back exactly. Headers in this form are parsed without YAML: a store has 50,000
# headers, and YAML takes 20 times as long. YAML 1.1 gives bare words a type: `no` is false, `12:30` is 750
# (https://yaml.org/type/). So text is written bare only if it begins with a letter and is no such word.
_LETTER = r"A-Za-z\u00c0-\u024f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3"
# Explicit ranges instead of `\w`: Pythons with other Unicode tables have to write the same bytes.
_BARE = rf"[{_LETTER}](?:[{_LETTER}0-9 _./@()+'-]*[{_LETTER}0-9_./@()+'-])?"
_WORDS_WITH_A_MEANING = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})  # of YAML 1.1 and 1.2
_NEEDS_ESCAPE = "[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"  # fine in JSON strings, not in YAML's
_EXACT: tuple[tuple[type, Callable[..., object]], ...] = (
    (type(None), lambda value: value),
    (bool, bool),
    (int, int),
    (float, float),
    (str, str.__str__),  # a member of a string enum is its value, not its name
    (datetime, lambda value: datetime.fromisoformat(value.isoformat())),  # any time zone becomes its offset
    (date, lambda value: date.fromisoformat(value.isoformat())),
)
_LONGEST, _DEEPEST = 1 << 14, 4
_TEXT = r'"(?:[^"\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]|\\["\\nt])*"'
_DAY, _NUMBER = r"[0-9]{4}-[0-9]{2}-[0-9]{2}", r"-?(?:0|[1-9][0-9]{0,14})"
_SCALAR = (
    rf"(?P<bare>{_BARE})|(?P<text>{_TEXT})|(?P<moment>{_DAY}T[0-9:]{{8}}(?:Z|[+-][0-9]{{2}}:[0-9]{{2}})?)|"
    rf"(?P<day>{_DAY})|(?P<share>{_NUMBER}\.[0-9]{{1,15}})|(?P<number>{_NUMBER})"
)
_compiled = cache(re.compile)  # when first used: ranges of CJK letters take a session's start 4 ms
_KEY = r"(  )?([A-Za-z_][A-Za-z0-9_-]{0,99}):(?: |$)"


class YamlTextError(ValueError):
    """A YAML text cannot be parsed or changed; the message gives the reason in one line."""


def plain_value(value: object) -> object:
    """Return `value` in the types that YAML loads, so that `repr` can compare both.

    Mappings become dicts, tuples lists, members of enums their values. Raises `YamlTextError` for any other type,
    and for a key that is not text.
    """
    if isinstance(value, (list, tuple)):
        return [plain_value(item) for item in value]
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise YamlTextError("a key that is not text cannot be written")
        return {str.__str__(key): plain_value(item) for key, item in value.items()}
    for kind, exact in _EXACT:
        if isinstance(value, kind):
            return exact(value)
    raise YamlTextError(f"a value of type {type(value).__name__} cannot be written")


def flow(value: object) -> str:
    """Return a result of `plain_value` as YAML on one line, lists as `[a, b]` and mappings as `{a: 1}`."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    if isinstance(value, str):
        is_bare = _compiled(_BARE).fullmatch(value) and value.lower() not in _WORDS_WITH_A_MEANING
        return value if is_bare else _quoted(value)
    if isinstance(value, float):
        text = repr(value).replace("inf", ".inf").replace("nan", ".nan")
        # YAML 1.1 reads `1e+16` as text.
        return text.replace("e", ".0e") if "e" in text and "." not in text else text
    if isinstance(value, date):
        return value.isoformat()
    return json.dumps(value)  # null, true, false, whole numbers


def _quoted(text: str) -> str:
    """Return `text` in double quotes, as a JSON string, which YAML reads alike except for a few characters."""
    quoted = json.dumps(text, ensure_ascii=False)
    if quoted.isprintable():  # no character that needs it
        return quoted
    return re.sub(_NEEDS_ESCAPE, lambda match: f"\\u{ord(match[0]):04x}", quoted)


def plain_mapping(header: str) -> dict[str, object] | None:
    """Return a header's values as YAML reads them, None if the header is not in the form that gitmem writes."""
    if len(header) > _LONGEST:
        return None
    found: dict[str, object] = {}
    inner: dict[str, object] | None = None  # the mapping on the lines below a key
    try:
        for line in header.split("\n")[:-1] if header.endswith("\n") else [""]:
            key = _compiled(_KEY).match(line)
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
    """Return the value that begins at `at`, and its end. Raises ValueError for a form that gitmem does not write."""
    scalar = _compiled(_SCALAR).match(line, at)
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
        key = _compiled(_BARE).match(line, at)
        if key is None or key[0] in pairs:
            raise ValueError
        pairs[key[0]], at = _value(line, _after(line, key.end(), ": "), depth + 1)
    return (values if opening == "[" else pairs), at + 1


def _after(line: str, at: int, expected: str) -> int:
    if not line.startswith(expected, at):
        raise ValueError
    return at + len(expected)


def _scalar(match: re.Match[str]) -> object:
    kind, text = match.lastgroup, match[0]
    if kind == "bare":
        if text.lower() in _WORDS_WITH_A_MEANING:
            raise ValueError
        return text
    if kind == "text":
        return json.loads(text)
    if kind == "moment":
        return datetime.fromisoformat(text)
    if kind == "day":
        return date.fromisoformat(text)
    return float(text) if kind == "share" else int(text)
