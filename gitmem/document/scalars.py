"""Write a Python value on one line so that YAML reads back exactly that value.

YAML 1.1 gives bare words a type: `no` is false, `12:30` is 750 (https://yaml.org/type/). So text stays bare only if it
begins with a letter and is no such word. Tested through `tests/document/test_yaml.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


_LETTER = r"A-Za-z\u00c0-\u024f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3"
# Explicit ranges instead of `\w`: Pythons with other Unicode tables have to write the same bytes.
BARE = re.compile(rf"[{_LETTER}](?:[{_LETTER}0-9 _./@()+'-]*[{_LETTER}0-9_./@()+'-])?")
WORDS_WITH_A_MEANING = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})  # of YAML 1.1 and 1.2
_NEEDS_ESCAPE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")  # fine in JSON strings, not in YAML's

_EXACT: tuple[tuple[type, Callable[[Any], object]], ...] = (
    (type(None), lambda value: value),
    (bool, bool),
    (int, int),
    (float, float),
    (str, str.__str__),  # a member of a string enum is its value, not its name
    (datetime, lambda value: datetime.fromisoformat(value.isoformat())),  # any time zone becomes its offset
    (date, lambda value: date.fromisoformat(value.isoformat())),
)


class YamlTextError(ValueError):
    """A YAML text cannot be parsed or changed; the message gives the reason in one line."""


def plain_value(value: object) -> object:
    """Return `value` in the types that YAML gives, so that `repr` can compare it with the loaded one.

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
    """Return a value that `plain_value` gave as YAML on one line, lists as `[a, b]` and mappings as `{a: 1}`."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    if isinstance(value, str):
        is_bare = BARE.fullmatch(value) and value.lower() not in WORDS_WITH_A_MEANING
        return value if is_bare else _quoted(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, date):
        return value.isoformat()
    return json.dumps(value)  # null, true, false, whole numbers


def _quoted(text: str) -> str:
    """Return `text` in double quotes: a JSON string, which is one of YAML's too but for a few characters."""
    quoted = json.dumps(text, ensure_ascii=False)
    return _NEEDS_ESCAPE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _float(value: float) -> str:
    text = repr(value).replace("inf", ".inf").replace("nan", ".nan")
    # YAML 1.1 takes `1e+16` for a word.
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def as_text(value: object) -> str:
    """Return a value of a header as a text, "" for none, a list or a mapping."""
    return "" if value is None or isinstance(value, list | dict) else str(value)


def as_line(value: object) -> str:
    """Return a value of a header as a text on one line, "" for none, a list or a mapping."""
    return " ".join(as_text(value).split())


def as_texts(value: object) -> tuple[str, ...]:
    """Return a list of a header as texts, without empty ones; a single value counts as a list."""
    return tuple(filter(None, map(as_text, value if isinstance(value, list) else [value])))


def as_moment(value: object) -> datetime | None:
    """Return a date of a header as a moment, in UTC if it names no zone; YAML loads one as a date, a time or text."""
    try:
        if isinstance(value, datetime):
            moment = value
        elif isinstance(value, date):
            moment = datetime.combine(value, datetime.min.time())
        else:
            moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
