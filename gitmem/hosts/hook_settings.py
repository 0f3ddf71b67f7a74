"""Add hooks to the text of a host's settings and remove them; the rest of the text stays.

`without_hooks` takes back what `with_hooks` did, byte for byte, and whatever a person changed meanwhile stays. What it
cannot see from the text, it is told: `Emptied`. Codex also records a person's trust in a hook: the SHA-256 of what the
hook is, in a table of `config.toml`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping

from gitmem.hosts.host import is_ours
from gitmem.hosts.json_settings import (
    Emptied,
    Item,
    Node,
    SettingsError,
    parse_object,
    put,
    remove,
    replace,
    with_object,
    without_empty,
    without_empty_object,
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
    listed: Node
    group: int
    hooks: Node
    hook: int

    @property
    def item(self) -> Item:
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


def _command(hook: Item) -> object:
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
