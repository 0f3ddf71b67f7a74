"""Add tables to the text of a TOML file and remove them; the rest of the text stays.

Tested through `tests/hosts/agents/test_codex.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from gitmem.hosts.settings.emptied import Emptied, SettingsError, starts_server

Tables = Mapping[str, Mapping[str, object]]
_NOTED = "table:"
_HEADER = re.compile(r"^[ \t]*\[\[?(?P<name>[^\r\n]*?)\]\]?[ \t]*(?:#[^\r\n]*)?\r?$", re.MULTILINE)


def with_tables(text: str, tables: Tables, known: Emptied | None = None) -> tuple[str, Emptied]:
    """Return the text with these tables added, and the blank lines put before each; a person's own table stays.

    Raises:
        SettingsError: the text is not TOML.

    """
    noted = dict(known or {})
    newline = "\r\n" if "\r\n" in text else "\n"
    for name, values in tables.items():
        there = _table(text, name)
        if there is not None:
            if there == dict(values) or _is_ours(there) or _NOTED + name not in noted:
                continue
            text = without_tables(text, {}, {_NOTED + name: noted[_NOTED + name]})  # an earlier value of gitmem's
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        lines = [f"[{name}]", *(f"{key} = {_literal(value)}" for key, value in values.items()), ""]
        noted[_NOTED + name] = gap
        text += gap + newline.join(lines)
        _parsed(text)
    return text, noted


def without_tables(text: str, tables: Tables, emptied: Emptied) -> str:
    """Return the text without these tables and the noted ones.

    Raises:
        SettingsError: the text is not TOML.

    """
    noted = [key.removeprefix(_NOTED) for key in emptied if key.startswith(_NOTED)]
    for name in dict.fromkeys((*reversed(tuple(tables)), *reversed(noted))):
        span = _span(text, name)
        if span is not None and (_NOTED + name in emptied or _is_ours(_table(text, name))):
            start, end = span
            gap = emptied.get(_NOTED + name, "")
            if gap and text[:start].endswith(gap):
                start -= len(gap)
            text = text[:start] + text[end:]
    _parsed(text)
    return text


def has_tables(text: str, tables: Tables) -> bool:
    """Return whether the text has one of these tables, and it is gitmem's.

    Raises:
        SettingsError: the text is not TOML.

    """
    found = ((_table(text, name), values) for name, values in tables.items())
    return any(_is_ours(table) or table == dict(values) for table, values in found)


def _table(text: str, name: str) -> object:
    value: object = _parsed(text)
    for key in _keys(name):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _is_ours(table: object) -> bool:
    """Return whether a table is a server that starts gitmem, by whatever path."""
    return isinstance(table, dict) and starts_server(table.get("command"), table.get("args"))


def _parsed(text: str) -> dict[str, object]:
    import tomllib  # late: only hosts with TOML need it

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"is not TOML: {error}") from None


def _keys(name: str) -> list[str]:
    """Return the keys of a table's name, quoted ones without their quotes; none if it is no name."""
    import tomllib

    try:
        value: object = tomllib.loads(f"[{name}]")
    except tomllib.TOMLDecodeError:
        return [name]
    keys = []
    while isinstance(value, dict) and value:
        (key, value), *_ = value.items()
        keys.append(key)
    return keys


def _span(text: str, name: str) -> tuple[int, int] | None:
    """Return where a table with its tables below it stands: from its header to the next one of another table."""
    keys = _keys(name)
    start = None
    for found in _HEADER.finditer(text):
        inside = _keys(found["name"])[: len(keys)] == keys
        if start is None and inside:
            start = found.start()
        elif start is not None and not inside:
            return start, _end(text, start, found.start())
    return None if start is None else (start, _end(text, start, len(text)))


def _end(text: str, start: int, end: int) -> int:
    """Return where a table's last line ends; blank lines and comments after it belong to the next table."""
    lines = text[start:end].splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        end -= len(lines.pop())
    return end


def _literal(value: object) -> str:
    """Return a text, number, truth value or list of texts as TOML writes it."""
    return json.dumps(value, ensure_ascii=False)
