"""Merge three versions of a header, field by field."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from gitmem.document.plain_header import YamlTextError, flow, plain_value
from gitmem.platform.machine import UTC, date, datetime
from gitmem.text.difference import ended, lines, merge_tokens

_MISSING = object()
# Counters, whose changes on both sides add up; the numbers of a summary do not.
_COUNTERS = frozenset({"uses", "retrievals", "hits", "successes", "failures", "count"})
_OLDEST, _NEWEST = "created", "updated"


def merge_headers(base: str | None, older: str | None, newer: str | None, newline: str) -> str | None:
    """Merge three headers, each of which may be None; `newer` decides remaining conflicts.

    Raises YamlTextError if one of them cannot be read, or the result cannot be written.
    """
    if newer in (older, base):
        return older
    if older == base:
        return newer
    from gitmem.document.yaml import load_mapping  # PyYAML: late, since few commands merge a header

    values = [{} if text is None else load_mapping(text) for text in (base, older, newer)]
    merged = merge_mappings(*values)
    texts = [text for text in (newer, older, _by_line(base, older, newer)) if text is not None]
    for text in reversed(texts):  # prefer the text with the comments of both sides
        if _says(text, merged):
            return text
    return _written(texts[0], merged, newline)


def merge_mappings(
    base: Mapping[str, object], older: Mapping[str, object], newer: Mapping[str, object]
) -> dict[str, object]:
    """Merge three mappings key by key, in the order of `newer`, then of `older`."""
    merged = {}
    for key in dict.fromkeys([*newer, *older]):
        value = _merged(key, *(mapping.get(key, _MISSING) for mapping in (base, older, newer)))
        if value is not _MISSING:
            merged[key] = value
    return merged


def _merged(key: str, base: object, older: object, newer: object) -> object:
    if _same(older, newer) or _same(newer, base):
        return older
    if _same(older, base):
        return newer
    if older is _MISSING or newer is _MISSING:  # the change wins over the removal
        return newer if older is _MISSING else older
    return _both_changed(key, base, older, newer)


def _both_changed(key: str, base: object, older: object, newer: object) -> object:
    if key in (_OLDEST, _NEWEST):
        return sorted((older, newer), key=moment_of)[0 if key == _OLDEST else 1]
    if isinstance(older, dict) and isinstance(newer, dict):
        return merge_mappings(base if isinstance(base, dict) else {}, older, newer)
    if isinstance(older, list) and isinstance(newer, list):
        return _sets(base if isinstance(base, list) else [], older, newer)
    counts = key in _COUNTERS or (key.endswith("_count") and key != "section_count")
    if counts and isinstance(older, int) and isinstance(newer, int):
        return older + newer - (base if isinstance(base, int) else 0)
    return newer


def _sets(base: list[object], older: list[object], newer: list[object]) -> list[object]:
    """Return the items of the base that neither side removed, then the added ones, sorted."""
    texts = [{_text(item): item for item in items} for items in (base, older, newer)]
    both = [item for text, item in texts[0].items() if text in texts[1] and text in texts[2]]
    added = {text: item for side in texts[1:] for text, item in side.items() if text not in texts[0]}
    return both + [added[text] for text in sorted(added)]


def moment_of(value: object) -> tuple[float, str]:
    """Return the sort key of a time; other values come first."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = datetime.fromisoformat(value.strip())
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    if not isinstance(value, datetime):
        return float("-inf"), repr(value)
    when = value if value.tzinfo else value.replace(tzinfo=UTC)
    return (when - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds(), value.isoformat()


def _same(first: object, second: object) -> bool:
    return first is second or (first is not _MISSING and second is not _MISSING and repr(first) == repr(second))


def _text(item: object) -> str:
    try:
        return flow(plain_value(item))
    except YamlTextError:
        return repr(item)


def _says(text: str, wanted: Mapping[str, object]) -> bool:
    from gitmem.document.yaml import load_mapping

    try:
        loaded = load_mapping(text)
    except YamlTextError:
        return False
    return {key: repr(value) for key, value in loaded.items()} == {key: repr(value) for key, value in wanted.items()}


def _by_line(base: str | None, older: str | None, newer: str | None) -> str | None:
    joined = merge_tokens(*(lines(text or "") for text in (base, older, newer)))
    return None if joined.conflicts else "".join(ended(joined.tokens))


def _written(text: str, wanted: Mapping[str, object], newline: str) -> str:
    """Return a header with the wanted values; lines of other fields stay."""
    from gitmem.document.yaml import load_mapping, remove_value, set_value

    present = load_mapping(text)
    for key in present:
        if key not in wanted:
            text = remove_value(text, (key,))
    for key, value in wanted.items():
        if key not in present or repr(present[key]) != repr(value):
            text = set_value(text, (key,), value, newline=newline)
    return text
