"""Edits of JSON settings by `gitmem install`, and how they are taken back.

Taking an edit back restores the file byte for byte, except for a user's later changes. `Noted` records what the text
alone does not show.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from gitmem.hosts.host import is_gitmem_hook
from gitmem.hosts.json_settings import (
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
from gitmem.values import Value

HOOKS, MCP, SKILL, COMMANDS, SUMMARIES = "hooks", "mcp", "skill", "commands", "summaries"
TRUST, ALLOW = "trust", "allow"
PARTS = (HOOKS, MCP, SKILL, COMMANDS)  # that `gitmem install` writes by default
Place = tuple[str, ...]  # the keys that lead to a value in a file, its own name last


class Edit(Value):
    """An edit of a settings file; raises SettingsError if the text or the value at its place is of another kind."""

    path: str
    part = ""
    executable = False

    def put(self, text: str, noted: dict[str, str]) -> str:
        """Return the text with the edit; `noted` has the notes of an earlier installation, and gets new ones."""
        raise NotImplementedError

    def take(self, text: str, noted: Noted) -> str:
        """Return the text without the edit."""
        raise NotImplementedError

    def present(self, text: str) -> bool:
        """Return whether the text has the edit."""
        raise NotImplementedError


_COMMANDS = ("command", "bash")  # keys of a hook's command line


class HooksEdit(Edit):
    """Hooks by event in JSON settings.

    In most hosts an event has a list of groups, each with a list of hooks; with `flat` it has a list of hooks. A new
    file begins with the text `begun`. Other versions of gitmem's hooks are replaced. A hook with the same command
    stays as it is, with a user's changes.
    """

    hooks: Mapping[str, Mapping[str, object]]
    flat: bool = False
    begun: str = ""
    part = HOOKS

    def put(self, text: str, noted: dict[str, str]) -> str:
        text = self._brought_up_to_date(with_object(text or self.begun, noted), noted)
        present = installed_events(text)
        for event in (event for event in self.hooks if event not in present):
            group = self.hooks[event] if self.flat else {HOOKS: [self.hooks[event]]}
            text = put(text, (HOOKS, event), group, noted, in_list=True)
        return text

    def take(self, text: str, noted: Noted) -> str:
        events = installed_events(text)
        while (place := next(hook_places(text), None)) is not None:
            text = place.removed(text)
        for event in events:
            text = without_empties(text, (HOOKS, event), noted)
        is_begun = self.begun and "".join(text.split()) == "".join(self.begun.split())  # a user may have formatted it
        return "" if is_begun else text

    def present(self, text: str) -> bool:
        return bool(installed_events(text))

    def outdated(self, text: str) -> list[str]:
        """Return the events that have other hooks of gitmem's than this version's one."""
        lines: dict[str, list[object]] = {}
        for place in hook_places(text):
            lines.setdefault(place.event, []).append(_command(place.item))
        return [event for event, found in lines.items() if found != [_line(self.hooks.get(event, {}))]]

    def _brought_up_to_date(self, text: str, known: Noted) -> str:
        """Keep one gitmem hook per event, in this version's form; remove those of events that are not in `hooks`."""
        for event in installed_events(text):
            while places := [place for place in hook_places(text) if place.event == event]:
                hook = self.hooks.get(event)
                if hook is not None and len(places) == 1:
                    if _command(places[0].item) != _line(hook):
                        text = replace(text, places[0].item, hook)
                    break
                text = places[-1].removed(text)
            else:
                text = without_empty(text, (HOOKS, event), known)
                text = without_empty(text, (HOOKS,), known)
        return text


def installed_events(text: str) -> tuple[str, ...]:
    """Return the events that have a gitmem hook."""
    return tuple(dict.fromkeys(place.event for place in hook_places(text)))


class HookPlace(Value):
    """A gitmem hook: the list of its event, the index of its group, the group's hooks, and its index among them."""

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
        """Return the text without the hook, and without its group unless a user added another hook to it."""
        if self.hooks is not self.listed and all(is_gitmem_hook(_command(item)) for item in self.hooks.items or ()):
            return remove(text, self.listed, self.group)
        return remove(text, self.hooks, self.hook)


def hook_places(text: str) -> Iterator[HookPlace]:
    """Yield gitmem's hooks; of a repeated key the last counts, as for a host."""
    root = parse_object(text)
    mapping = root.get(HOOKS) if root else None
    if mapping is not None and not mapping.is_object:
        raise SettingsError(f'has something else than an object under "{HOOKS}"')
    members = [item for item in mapping.items or () if not isinstance(item.node.scalar, bool)] if mapping else []
    for member in members:
        if member.node.items is None or member.node.is_object:
            raise SettingsError(f'has something else than a list under "{HOOKS}", "{member.key}"')
    for event, listed in {member.key: member.node for member in members}.items():
        for group, element in enumerate(listed.items or ()):
            if is_gitmem_hook(_command(element)):
                yield HookPlace(event, listed, group, listed, group)
            hooks = element.node.get(HOOKS)
            for hook, item in enumerate(hooks.items or ()) if hooks else ():
                if hooks and is_gitmem_hook(_command(item)):
                    yield HookPlace(event, listed, group, hooks, hook)


def _command(hook: JsonItem) -> object:
    nodes = (hook.node.get(key) for key in _COMMANDS)
    return next((node.scalar for node in nodes if node), None)


def _line(hook: Mapping[str, object]) -> object:
    return next((hook[key] for key in _COMMANDS if key in hook), None)


class ServerEdit(Edit):
    """The MCP server in a JSON list of servers; an existing gitmem server keeps a user's changes."""

    place: Place
    server: Mapping[str, object]
    part = MCP

    def put(self, text: str, noted: dict[str, str]) -> str:
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
        if not self.present(text):
            return text
        return without_empties(without_member(text, self.place), self.place[:-1], noted)

    def present(self, text: str) -> bool:
        if parse_object(text) is None:
            return False
        node, depth = deepest(text, self.place)
        return depth == len(self.place) and starts_gitmem(node.plain())


def starts_gitmem(server: object) -> bool:
    """Return whether a server starts `gitmem mcp`, by any path or through a shell."""
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
_ADDED = "allowed"  # key of the record for the names that the edit added


class AllowEdit(Edit):
    """Tools that Claude Code may use without asking; without a record, those in the file are the user's."""

    tools: Sequence[str]
    part = ALLOW

    def put(self, text: str, noted: dict[str, str]) -> str:
        text = with_object(text, noted)
        for tool in (tool for tool in self.tools if tool not in _allowed(text)):
            text = put(text, _ALLOWED, tool, noted, in_list=True)
            noted[_ADDED] = f"{noted.get(_ADDED, '')} {tool}".strip()
        return text

    def take(self, text: str, noted: Noted) -> str:
        added = noted.get(_ADDED, "").split()
        present = [tool for tool in self.tools if tool in added and tool in _allowed(text)]
        for tool in present:
            text = remove(text, deepest(text, _ALLOWED)[0], _allowed(text).index(tool))
        return without_empties(text, _ALLOWED, noted) if present else text

    def present(self, text: str) -> bool:
        return all(tool in _allowed(text) for tool in self.tools)


def _allowed(text: str) -> list[object]:
    root = parse_object(text)
    value = root.plain() if root else None
    for key, kind in zip(_ALLOWED, (dict, list), strict=True):
        value = value.get(key) if isinstance(value, dict) else None
        if value is not None and not isinstance(value, kind):
            raise SettingsError(f'has something else than expected under "{key}"')
    return value if isinstance(value, list) else []
