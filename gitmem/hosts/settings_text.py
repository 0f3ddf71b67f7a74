"""Add hooks, MCP servers, permissions and TOML tables to the text of a host's settings, and remove them.

What removes takes back what added, byte for byte, and whatever a person changed meanwhile stays. What it cannot see
from the text, it is told: `Emptied`. Codex also records a person's trust in a hook: the SHA-256 of what the hook is, in
a table of `config.toml`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence

from gitmem.hosts.host import is_ours
from gitmem.hosts.json_settings import (
    FILE,
    Emptied,
    JsonItem,
    JsonNode,
    SettingsError,
    deepest,
    parse_object,
    put,
    remove,
    replace,
    starts_server,
    with_object,
    without_empty,
    without_empty_object,
    without_member,
)
from gitmem.values import Value

HOOKS = "hooks"
_COMMANDS = ("command", "bash")  # keys of a hook's command line


def with_hooks(
    text: str, hooks: Mapping[str, Mapping[str, object]], known: Emptied | None = None, *, flat: bool = False
) -> tuple[str, Emptied]:
    """Return the settings with these hooks by event, and the containers that were empty; replace other versions.

    `known` is what held nothing when those were put in. A hook whose command is there already is left as it is, with
    what a person has changed about it. With `flat`, an event's list has hooks and no groups of hooks.
    """
    emptied = dict(known or {})
    text = _brought_up_to_date(with_object(text, emptied), hooks, emptied)
    present = installed_events(text)
    for event in (event for event in hooks if event not in present):
        group = hooks[event] if flat else {HOOKS: [hooks[event]]}
        text = put(text, (HOOKS, event), group, emptied, in_list=True)
    return text, emptied


def without_hooks(text: str, emptied: Emptied) -> str:
    """Return the settings without gitmem's hooks and the containers that become empty."""
    events = installed_events(text)
    while (place := next(_places(text), None)) is not None:
        text = place.removed(text)
    for event in events:
        text = without_empty(text, (HOOKS, event), emptied)
    if events:
        text = without_empty(text, (HOOKS,), emptied)
        text = without_empty_object(text, emptied)
    return text


def installed_events(text: str) -> tuple[str, ...]:
    """Return the events with a hook of gitmem's."""
    return tuple(dict.fromkeys(place.event for place in _places(text)))


class _Place(Value):
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


def _places(text: str) -> Iterator[_Place]:
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
                yield _Place(event, listed, group, listed, group)
            hooks = element.node.get(HOOKS)
            for hook, item in enumerate(hooks.items or ()) if hooks else ():
                if hooks and is_ours(_command(item)):
                    yield _Place(event, listed, group, hooks, hook)


def _command(hook: JsonItem) -> object:
    nodes = (hook.node.get(key) for key in _COMMANDS)
    return next((node.scalar for node in nodes if node), None)


def _brought_up_to_date(text: str, hooks: Mapping[str, Mapping[str, object]], known: Emptied) -> str:
    """Return the text with one hook of gitmem's for each event that has any: the present one, or none."""
    for event in installed_events(text):
        while mine := [place for place in _places(text) if place.event == event]:
            hook = hooks.get(event)
            if hook is not None and len(mine) == 1:
                if _command(mine[0].item) != next(hook[key] for key in _COMMANDS if key in hook):
                    text = replace(text, mine[0].item, hook)
                break
            text = mine[-1].removed(text)
        else:
            text = without_empty(text, (HOOKS, event), known)
            text = without_empty(text, (HOOKS,), known)
    return text


def trusted(path: str, text: str) -> dict[str, Mapping[str, object]]:
    """Return the tables by which Codex trusts gitmem's hooks in the settings at `path` with this text."""
    tables: dict[str, Mapping[str, object]] = {}
    for one in _places(text):
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", one.event).lower()
        hook = one.item.node.plain()
        given = hook if isinstance(hook, dict) else {}
        known = {key: given.get(key) for key in ("type", "command", "timeout")} | {"async": False}
        identity = {"event_name": name, "hooks": [known]}
        said = json.dumps(identity, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        place = json.dumps(f"{path}:{name}:{one.group}:{one.hook}", ensure_ascii=False)
        tables[f"hooks.state.{place}"] = {"trusted_hash": f"sha256:{hashlib.sha256(said.encode()).hexdigest()}"}
    return tables


Tables = Mapping[str, Mapping[str, object]]
_NOTED = "table:"
_HEADER = re.compile(r"^[ \t]*\[\[?(?P<name>[^\r\n]*?)\]\]?[ \t]*(?:#[^\r\n]*)?\r?$", re.MULTILINE)


def with_tables(text: str, tables: Tables, known: Emptied | None = None) -> tuple[str, Emptied]:
    """Return the text with these tables added, and the blank lines put before each; a person's own table stays."""
    noted = dict(known or {})
    newline = "\r\n" if "\r\n" in text else "\n"
    for name, values in tables.items():
        there = _table(text, name)
        if there is not None:
            if there == dict(values) or _is_ours(there) or _NOTED + name not in noted:
                continue
            text = without_tables(text, {}, {_NOTED + name: noted[_NOTED + name]})  # an earlier value of gitmem's
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        lines = [
            f"[{name}]",
            *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()),
            "",
        ]
        noted[_NOTED + name] = gap
        text += gap + newline.join(lines)
        _parsed(text)
    return text, noted


def without_tables(text: str, tables: Tables, emptied: Emptied) -> str:
    """Return the text without these tables and the noted ones."""
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
    """Return whether the text has one of these tables, and it is gitmem's."""
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
    for match in _HEADER.finditer(text):
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


Place = tuple[str, ...]
"""The keys that lead to the server in the file, its own name last."""


def with_server(
    text: str, place: Place, server: Mapping[str, object], known: Emptied | None = None
) -> tuple[str, Emptied]:
    """Return the list with the server, and the containers that were empty.

    `known` is what held nothing when it was put in before. One of gitmem's stays as a person has made it.
    """
    emptied = dict(known or {})
    text = with_object(text, emptied)
    container, depth = deepest(text, place)
    if depth == len(place):
        if not _starts_gitmem(container):
            raise SettingsError(f'has another server that is named "{place[-1]}"')
        return text, emptied
    if not container.is_object:
        raise SettingsError(f'has something else than an object under "{place[depth - 1]}"')
    return put(text, place, dict(server), emptied), emptied


def without_server(text: str, place: Place, emptied: Emptied) -> str:
    """Return the list without gitmem's server and the objects that become empty."""
    if not has_server(text, place):
        return text
    text = without_member(text, place)
    for depth in range(len(place) - 1, 0, -1):
        text = without_empty(text, place[:depth], emptied)
    return without_empty_object(text, emptied)


def has_server(text: str, place: Place) -> bool:
    """Return whether the list has gitmem's server."""
    if parse_object(text) is None:
        return False
    node, depth = deepest(text, place)
    return depth == len(place) and _starts_gitmem(node)


def is_all(text: str, place: Place) -> bool:
    """Return whether nothing is left of a list without gitmem's server."""
    return has_server(text, place) and not without_server(text, place, {FILE: ""})


def _starts_gitmem(node: JsonNode) -> bool:
    """Return whether a server is gitmem's: it starts `gitmem mcp`, by whatever path."""
    server = node.plain()
    if not isinstance(server, dict):
        return False
    command, arguments = server.get("command"), server.get("args")
    if isinstance(command, list) and command:  # OpenCode has the program and its arguments in one list
        command, arguments = command[0], command[1:]
    return starts_server(command, arguments)


_PLACE = ("permissions", "allow")
_ADDED = "allowed"  # in the record: the names that were not there before


def with_allowed(text: str, tools: Sequence[str], known: Emptied | None = None) -> tuple[str, Emptied]:
    """Return the settings with these tools allowed, and what to note: the containers that were empty, the names."""
    emptied = dict(known or {})
    text = with_object(text, emptied)
    for tool in (tool for tool in tools if tool not in _allowed(text)):
        text = put(text, _PLACE, tool, emptied, in_list=True)
        emptied[_ADDED] = f"{emptied.get(_ADDED, '')} {tool}".strip()
    return text, emptied


def without_allowed(text: str, tools: Sequence[str], emptied: Emptied) -> str:
    """Return the settings without those of the tools that were added; without a record they are the person's."""
    added = emptied.get(_ADDED, "").split()
    present = [tool for tool in tools if tool in added and tool in _allowed(text)]
    for tool in present:
        text = remove(text, deepest(text, _PLACE)[0], _allowed(text).index(tool))
    if present:
        text = without_empty(text, _PLACE, emptied)
        text = without_empty(text, _PLACE[:1], emptied)
        text = without_empty_object(text, emptied)
    return text


def has_allowed(text: str, tools: Sequence[str]) -> bool:
    """Return whether all of the tools are allowed."""
    return all(tool in _allowed(text) for tool in tools)


def _allowed(text: str) -> list[object]:
    root = parse_object(text)
    value = root.plain() if root else None
    for key, kind in zip(_PLACE, (dict, list), strict=True):
        value = value.get(key) if isinstance(value, dict) else None
        if value is not None and not isinstance(value, kind):
            raise SettingsError(f'has something else than expected under "{key}"')
    return value if isinstance(value, list) else []
