"""Edits by `gitmem install` of files other than JSON: TOML tables, and a block of text for agents.

The block is at the end of a file such as AGENTS.md, for all agents that read it: its first line has their names and the
digest of its text. A block that a user changed is theirs: uninstall keeps its text and removes the marks.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence

from gitmem.hosts.json_settings import Noted, SettingsError
from gitmem.hosts.settings import MCP, SKILL, Edit, starts_gitmem
from gitmem.platform.machine import read_resource

_NOTED = "table:"
_TABLE = re.compile(r"^[ \t]*\[\[?(?P<name>[^\r\n]*?)\]\]?[ \t]*(?:#[^\r\n]*)?\r?$", re.MULTILINE)
# Comments and strings, since a line of a multi-line string may look like a table's header.
_STRINGS = re.compile(
    r"""(?s:(?P<long>["]{3}(?:\\.|[^\\])*?["]{3}|'{3}.*?'{3}))|#[^\n]*|"(?:\\.|[^"\\\n])*+(?:"|(?=\n)|\Z)|'[^'\n]*'"""
)


class TablesEdit(Edit):
    """Tables by name in a TOML file, including those by which a host trusts hooks; a user's own table is kept."""

    tables: Mapping[str, Mapping[str, object]]
    part: str = MCP

    def put(self, text: str, noted: dict[str, str]) -> str:
        """See `Edit`; noted are the blank lines before each table."""
        newline = "\r\n" if "\r\n" in text else "\n"
        for name, values in self.tables.items():
            present = _table(text, name)
            if present is not None:
                if present == dict(values) or starts_gitmem(present) or _NOTED + name not in noted:
                    continue
                text = _without_tables(text, (), {_NOTED + name: noted[_NOTED + name]})  # an earlier version's value
            gap = "" if not text else newline if text.endswith("\n") else newline * 2
            lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
            noted[_NOTED + name] = gap
            text += gap + newline.join([f"[{name}]", *lines, ""])
            _parsed(text)
        return text

    def take(self, text: str, noted: Noted) -> str:
        return _without_tables(text, tuple(self.tables), noted)

    def present(self, text: str) -> bool:
        tables = ((_table(text, name), values) for name, values in self.tables.items())
        return any(starts_gitmem(table) or table == dict(values) for table, values in tables)


def _without_tables(text: str, names: Sequence[str], noted: Noted) -> str:
    """Return the text without these tables and the noted ones."""
    before = {key.removeprefix(_NOTED): gap for key, gap in noted.items() if key.startswith(_NOTED)}
    for name in dict.fromkeys((*reversed(names), *reversed(before))):
        span = _span(text, name)
        if span is not None and (name in before or starts_gitmem(_table(text, name))):
            start, end = span
            gap = before.get(name, "")
            if gap and text[:start].endswith(gap):
                start -= len(gap)
            text = text[:start] + text[end:]
    _parsed(text)
    return text


def _table(text: str, name: str) -> object:
    value: object = _parsed(text)
    for key in keys_of(name):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _parsed(text: str) -> dict[str, object]:
    import tomllib  # late: a status lists the agents, and reads none of these files

    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"is not TOML: {error}") from None


def keys_of(name: str) -> list[str]:
    """Return the keys of a table's name without quotes; none if it is invalid."""
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
    """Return the range of a table and its subtables: from its header to that of the next other table."""
    keys = keys_of(name)
    start = None
    for match in _TABLE.finditer(_STRINGS.sub(lambda match: " " * len(match[0]) if match["long"] else match[0], text)):
        inside = keys_of(match["name"])[: len(keys)] == keys
        if start is None and inside:
            start = match.start()
        elif start is not None and not inside:
            return start, _end(text, start, match.start())
    return None if start is None else (start, _end(text, start, len(text)))


def _end(text: str, start: int, end: int) -> int:
    """Return the end of a table's last line; blank lines and comments after it belong to the next table."""
    lines = text[start:end].splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        end -= len(lines.pop())
    return end


_BEGIN = "<!-- gitmem {}: {}. 'gitmem uninstall' takes this out. -->"
_BLOCK_END = "<!-- /gitmem -->"
_BLOCK = re.compile(
    r"<!-- gitmem (?P<digest>[0-9a-f]{8}): (?P<names>[a-z, ]+)\. 'gitmem uninstall' takes this out\. -->\r?\n"
    r"(?P<text>.*?)\r?\n<!-- /gitmem -->",
    re.DOTALL,
)
_BLANK_BEFORE, _LINE_BEFORE = re.compile(r"\r?\n\r?\n\Z"), re.compile(r"\r?\n\Z")
_LINE_AFTER = re.compile(r"\r?\n")


class BlockEdit(Edit):
    """The block about the memory in a file that users write; this edit adds the host `name` to it."""

    name: str
    words: str = ""
    part = SKILL

    def put(self, text: str, noted: dict[str, str]) -> str:  # noqa: ARG002  # nothing is noted
        """See `Edit`; add this agent to the block, and update an older block's text."""
        words = self.words or read_resource("templates", "hosts", "agents.md").decode()
        newline = "\r\n" if "\r\n" in text else "\n"
        match = _BLOCK.search(text)
        if match is not None:
            names = dict.fromkeys([*match["names"].split(", "), self.name])
            rest = words.strip() if _is_ours(match) else match["text"]
            digest = _digest(words) if _is_ours(match) else match["digest"]
            return text[: match.start()] + _rendered(rest, [*names], digest, newline) + text[match.end() :]
        block = _rendered(words.strip(), [self.name], _digest(words), newline)
        if not text:
            return f"{block}{newline}"
        # The block ends with a line end if the text before it did.
        return f"{text}{newline}{block}{newline}" if text.endswith("\n") else f"{text}{newline * 2}{block}"

    def take(self, text: str, noted: Noted) -> str:  # noqa: ARG002  # nothing is noted
        """See `Edit`; remove the block with its last agent."""
        match = _BLOCK.search(text)
        if match is None or not self.present(text):
            return text
        names = [part for part in match["names"].split(", ") if part != self.name]
        before, after = text[: match.start()], text[match.end() :]
        if names:
            newline = "\r\n" if "\r\n" in text else "\n"
            return before + _rendered(match["text"], names, match["digest"], newline) + after
        if not _is_ours(match):
            return before + match["text"] + after
        if not before or after:
            return _LINE_BEFORE.sub("", before, count=1) * bool(before) + _LINE_AFTER.sub("", after, count=1)
        return _BLANK_BEFORE.sub("", before, count=1)

    def present(self, text: str) -> bool:
        match = _BLOCK.search(text)
        return match is not None and self.name in match["names"].split(", ")


def _rendered(words: str, names: list[str], digest: str, newline: str) -> str:
    lines = [_BEGIN.format(digest, ", ".join(names)), *words.splitlines(), _BLOCK_END]
    return newline.join(lines)


def _is_ours(match: re.Match[str]) -> bool:
    return _digest(match["text"]) == match["digest"]


def _digest(words: str) -> str:
    """Return a digest that does not depend on line breaks."""
    return hashlib.sha256(" ".join(words.split()).encode("utf-8", "surrogateescape")).hexdigest()[:8]
