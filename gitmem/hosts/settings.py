"""What `gitmem install` writes: edits of text that can be taken back, and files that are gitmem's as a whole.

What takes an edit back restores the file byte for byte, and whatever a person changed meanwhile stays. What it cannot
see from the text, it is told: `Noted`. A block stands at the end of a file such as AGENTS.md and serves all agents
that read it: its first line names them and the digest of its text. A block that a person has changed is theirs:
uninstall leaves its words and takes the marks.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence

from gitmem.hosts import is_ours
from gitmem.hosts.json_settings import (
    FILE,
    JsonItem,
    JsonNode,
    Noted,
    SettingsError,
    deepest,
    parse_object,
    put,
    remove,
    replace,
    with_object,
    without_empties,
    without_empty,
    without_member,
)
from gitmem.platform.machine import read_resource
from gitmem.values import Value

HOOKS, MCP, SKILL, COMMANDS, SUMMARIES = "hooks", "mcp", "skill", "commands", "summaries"
TRUST, ALLOW = "trust", "allow"
PARTS = (HOOKS, MCP, SKILL, COMMANDS)
"""The parts that `gitmem install` brings unless it is told otherwise."""
Place = tuple[str, ...]
"""The keys that lead to a value in a file, its own name last."""


class Edit(Value):
    """An edit of a settings file; raises SettingsError where a text is not what it edits, or has another's there."""

    path: str
    part = ""
    executable = False

    def put(self, text: str, noted: dict[str, str]) -> str:
        """Return the text with the edit; `noted` has what an earlier installation noted, and gets more."""
        raise NotImplementedError

    def take(self, text: str, noted: Noted) -> str:
        """Return the text without the edit."""
        raise NotImplementedError

    def present(self, text: str) -> bool:
        """Return whether the text has the edit."""
        raise NotImplementedError

    def is_all(self, text: str) -> bool:  # noqa: ARG002  # for those that two hosts share
        """Return whether a text is gitmem's from end to end: two hosts may share a file that the first one made."""
        return False


_COMMANDS = ("command", "bash")  # keys of a hook's command line


class HooksEdit(Edit):
    """Hooks by event in JSON settings.

    In most hosts an event has a list of groups, each with a list of hooks; with `flat` it has a list of hooks. A file
    that is not there yet begins with the text `begun`. Other versions of gitmem's hooks are replaced. A hook whose
    command is there already is left as it is, with what a person has changed about it.
    """

    hooks: Mapping[str, Mapping[str, object]]
    flat: bool = False
    begun: str = ""
    part = HOOKS

    def put(self, text: str, noted: dict[str, str]) -> str:
        """See `Edit`."""
        text = self._brought_up_to_date(with_object(text or self.begun, noted), noted)
        present = installed_events(text)
        for event in (event for event in self.hooks if event not in present):
            group = self.hooks[event] if self.flat else {HOOKS: [self.hooks[event]]}
            text = put(text, (HOOKS, event), group, noted, in_list=True)
        return text

    def take(self, text: str, noted: Noted) -> str:
        """See `Edit`."""
        events = installed_events(text)
        while (place := next(hook_places(text), None)) is not None:
            text = place.removed(text)
        for event in events:
            text = without_empties(text, (HOOKS, event), noted)
        is_begun = self.begun and "".join(text.split()) == "".join(self.begun.split())  # a person may have formatted it
        return "" if is_begun else text

    def present(self, text: str) -> bool:
        """See `Edit`."""
        return bool(installed_events(text))

    def _brought_up_to_date(self, text: str, known: Noted) -> str:
        """Return the text with one hook of gitmem's for each event that has any: the present one, or none."""
        for event in installed_events(text):
            while mine := [place for place in hook_places(text) if place.event == event]:
                hook = self.hooks.get(event)
                if hook is not None and len(mine) == 1:
                    if _command(mine[0].item) != next(hook[key] for key in _COMMANDS if key in hook):
                        text = replace(text, mine[0].item, hook)
                    break
                text = mine[-1].removed(text)
            else:
                text = without_empty(text, (HOOKS, event), known)
                text = without_empty(text, (HOOKS,), known)
        return text


def installed_events(text: str) -> tuple[str, ...]:
    """Return the events with a hook of gitmem's."""
    return tuple(dict.fromkeys(place.event for place in hook_places(text)))


class HookPlace(Value):
    """A hook of gitmem's: the list of its event, its group in the list, and itself in the group's hooks.

    In flat settings the group is the hook, and `hooks` the list of the event.
    """

    event: str
    listed: JsonNode
    group: int
    hooks: JsonNode
    hook: int

    @property
    def item(self) -> JsonItem:
        """The hook in the text."""
        return (self.hooks.items or ())[self.hook]

    def removed(self, text: str) -> str:
        """Return the text without the hook, and without its group unless a person added a hook of their own to it."""
        if self.hooks is not self.listed and all(is_ours(_command(item)) for item in self.hooks.items or ()):
            return remove(text, self.listed, self.group)
        return remove(text, self.hooks, self.hook)


def hook_places(text: str) -> Iterator[HookPlace]:
    """Yield the hooks of gitmem's; of a repeated key the last counts, as for a host."""
    root = parse_object(text)
    mapping = root.get(HOOKS) if root else None
    if mapping is not None and not mapping.is_object:
        raise SettingsError(f'has something else than an object under "{HOOKS}"')
    members = (mapping.items or ()) if mapping else ()
    for member in members:
        if member.node.items is None or member.node.is_object:
            raise SettingsError(f'has something else than a list under "{HOOKS}", "{member.key}"')
    for event, listed in {member.key: member.node for member in members}.items():
        for group, element in enumerate(listed.items or ()):
            if is_ours(_command(element)):
                yield HookPlace(event, listed, group, listed, group)
            hooks = element.node.get(HOOKS)
            for hook, item in enumerate(hooks.items or ()) if hooks else ():
                if hooks and is_ours(_command(item)):
                    yield HookPlace(event, listed, group, hooks, hook)


def _command(hook: JsonItem) -> object:
    nodes = (hook.node.get(key) for key in _COMMANDS)
    return next((node.scalar for node in nodes if node), None)


class ServerEdit(Edit):
    """The MCP server in a JSON list of servers; one of gitmem's stays as a person has made it."""

    place: Place
    server: Mapping[str, object]
    part = MCP

    def put(self, text: str, noted: dict[str, str]) -> str:
        """See `Edit`."""
        text = with_object(text, noted)
        container, depth = deepest(text, self.place)
        if depth == len(self.place):
            if not starts_gitmem(container.plain()):
                raise SettingsError(f'has another server that is named "{self.place[-1]}"')
            return text
        if not container.is_object:
            raise SettingsError(f'has something else than an object under "{self.place[depth - 1]}"')
        return put(text, self.place, dict(self.server), noted)

    def take(self, text: str, noted: Noted) -> str:
        """See `Edit`."""
        if not self.present(text):
            return text
        return without_empties(without_member(text, self.place), self.place[:-1], noted)

    def present(self, text: str) -> bool:
        """See `Edit`."""
        if parse_object(text) is None:
            return False
        node, depth = deepest(text, self.place)
        return depth == len(self.place) and starts_gitmem(node.plain())

    def is_all(self, text: str) -> bool:
        """See `Edit`."""
        return self.present(text) and not self.take(text, {FILE: ""})


def starts_gitmem(server: object) -> bool:
    """Return whether a server is gitmem's: it starts `gitmem mcp`, by whatever path or by a shell's line."""
    if not isinstance(server, dict):
        return False
    command, arguments = server.get("command"), server.get("args")
    if isinstance(command, list) and command:  # OpenCode has the program and its arguments in one list
        command, arguments = command[0], command[1:]
    if not isinstance(command, str) or not isinstance(arguments, list):
        return False
    name = os.path.basename(command.replace("\\", "/")).removesuffix(".exe")
    line = arguments[1] if name == "sh" and arguments[:1] == ["-c"] and len(arguments) == 2 else ""  # noqa: PLR2004
    return (name == "gitmem" and arguments[:1] == ["mcp"]) or (isinstance(line, str) and "exec gitmem mcp;" in line)


_ALLOWED = ("permissions", "allow")
_ADDED = "allowed"  # in the record: the names that were not there before


class AllowEdit(Edit):
    """Tools that Claude Code is to allow without a question; without a record those that are there are the person's."""

    tools: Sequence[str]
    part = ALLOW

    def put(self, text: str, noted: dict[str, str]) -> str:
        """See `Edit`."""
        text = with_object(text, noted)
        for tool in (tool for tool in self.tools if tool not in _allowed(text)):
            text = put(text, _ALLOWED, tool, noted, in_list=True)
            noted[_ADDED] = f"{noted.get(_ADDED, '')} {tool}".strip()
        return text

    def take(self, text: str, noted: Noted) -> str:
        """See `Edit`."""
        added = noted.get(_ADDED, "").split()
        present = [tool for tool in self.tools if tool in added and tool in _allowed(text)]
        for tool in present:
            text = remove(text, deepest(text, _ALLOWED)[0], _allowed(text).index(tool))
        return without_empties(text, _ALLOWED, noted) if present else text

    def present(self, text: str) -> bool:
        """See `Edit`."""
        return all(tool in _allowed(text) for tool in self.tools)


def _allowed(text: str) -> list[object]:
    root = parse_object(text)
    value = root.plain() if root else None
    for key, kind in zip(_ALLOWED, (dict, list), strict=True):
        value = value.get(key) if isinstance(value, dict) else None
        if value is not None and not isinstance(value, kind):
            raise SettingsError(f'has something else than expected under "{key}"')
    return value if isinstance(value, list) else []


_NOTED = "table:"
_TABLE = re.compile(r"^[ \t]*\[\[?(?P<name>[^\r\n]*?)\]\]?[ \t]*(?:#[^\r\n]*)?\r?$", re.MULTILINE)
# Comments and strings; a line of a string over several lines may look like a table's.
_STRINGS = re.compile(
    r"""(?s:(?P<long>["]{3}(?:\\.|[^\\])*?["]{3}|'{3}.*?'{3}))|#[^\n]*|"(?:\\.|[^"\\\n])*"|'[^'\n]*'"""
)


class TablesEdit(Edit):
    """Tables, by their name, in a TOML file, also those by which a host trusts hooks; a person's own table stays."""

    tables: Mapping[str, Mapping[str, object]]
    part: str = MCP

    def put(self, text: str, noted: dict[str, str]) -> str:
        """See `Edit`; noted are the blank lines before each table."""
        newline = "\r\n" if "\r\n" in text else "\n"
        for name, values in self.tables.items():
            there = _table(text, name)
            if there is not None:
                if there == dict(values) or starts_gitmem(there) or _NOTED + name not in noted:
                    continue
                text = _without_tables(text, (), {_NOTED + name: noted[_NOTED + name]})  # an earlier value of gitmem's
            gap = "" if not text else newline if text.endswith("\n") else newline * 2
            lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
            noted[_NOTED + name] = gap
            text += gap + newline.join([f"[{name}]", *lines, ""])
            _parsed(text)
        return text

    def take(self, text: str, noted: Noted) -> str:
        """See `Edit`."""
        return _without_tables(text, tuple(self.tables), noted)

    def present(self, text: str) -> bool:
        """See `Edit`."""
        found = ((_table(text, name), values) for name, values in self.tables.items())
        return any(starts_gitmem(table) or table == dict(values) for table, values in found)


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
    for key in _keys(name):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _parsed(text: str) -> dict[str, object]:
    import tomllib  # late: only hosts with TOML need it

    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
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
    for match in _TABLE.finditer(_STRINGS.sub(lambda one: " " * len(one[0]) if one["long"] else one[0], text)):
        inside = _keys(match["name"])[: len(keys)] == keys
        if start is None and inside:
            start = match.start()
        elif start is not None and not inside:
            return start, _end(text, start, match.start())
    return None if start is None else (start, _end(text, start, len(text)))


def _end(text: str, start: int, end: int) -> int:
    """Return where a table's last line ends; blank lines and comments after it belong to the next table."""
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
    """The block of words about the memory in a file that people write, for the host of this name."""

    name: str
    words: str = ""
    part = SKILL

    def put(self, text: str, noted: dict[str, str]) -> str:  # noqa: ARG002  # nothing is noted
        """See `Edit`; the block names this agent, too, and an older block of gitmem's gets these words."""
        words = self.words or read_resource("templates", "hosts", "agents.md").decode()
        newline = "\r\n" if "\r\n" in text else "\n"
        match = _BLOCK.search(text)
        if match is not None:
            names = dict.fromkeys([*match["names"].split(", "), self.name])
            kept = words.strip() if _is_ours(match) else match["text"]
            digest = _digest(words) if _is_ours(match) else match["digest"]
            return text[: match.start()] + _rendered(kept, [*names], digest, newline) + text[match.end() :]
        block = _rendered(words.strip(), [self.name], _digest(words), newline)
        if not text:
            return f"{block}{newline}"
        # Whether the text ended with a line end is said by whether the block does.
        return f"{text}{newline}{block}{newline}" if text.endswith("\n") else f"{text}{newline * 2}{block}"

    def take(self, text: str, noted: Noted) -> str:  # noqa: ARG002  # nothing is noted
        """See `Edit`; the block goes with the last agent in it."""
        match = _BLOCK.search(text)
        if match is None or not self.present(text):
            return text
        names = [one for one in match["names"].split(", ") if one != self.name]
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
        """See `Edit`."""
        match = _BLOCK.search(text)
        return match is not None and self.name in match["names"].split(", ")

    def is_all(self, text: str) -> bool:
        """See `Edit`."""
        return _BLOCK.fullmatch(text.strip()) is not None


def _rendered(words: str, names: list[str], digest: str, newline: str) -> str:
    lines = [_BEGIN.format(digest, ", ".join(names)), *words.splitlines(), _BLOCK_END]
    return newline.join(lines)


def _is_ours(found: re.Match[str]) -> bool:
    return _digest(found["text"]) == found["digest"]


def _digest(words: str) -> str:
    """Return a digest that wrapping the lines anew does not change."""
    import hashlib

    return hashlib.sha256(" ".join(words.split()).encode("utf-8", "surrogateescape")).hexdigest()[:8]
