"""Add tools that need no permission to Claude Code's settings and remove them; the rest of the text stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.hosts.settings.emptied import (
    Emptied,
    SettingsError,
    note,
    parse_object,
    root_of,
    with_object,
    without_empty,
    without_empty_object,
)
from gitmem.hosts.settings.jsonc import append, remove

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.hosts.settings.jsonc import Node

_PLACE = ("permissions", "allow")
_ADDED = "allowed"  # in the record: the names that were not there before


def with_allowed(text: str, tools: Sequence[str], known: Emptied | None = None) -> tuple[str, Emptied]:
    """Return the settings with these tools allowed, and what is to be noted: the containers that were empty, the names.

    Raises:
        SettingsError: the text is not JSON, or has something else at the place.

    """
    emptied = dict(known or {})
    text = with_object(text, emptied)
    for tool in (tool for tool in tools if tool not in _allowed(text)):
        root = root_of(text)
        permissions, listed = root.get(_PLACE[0]), _list(text)
        if permissions is None:
            note(emptied, "", text, root)
            text = append(text, root, {_PLACE[1]: [tool]}, _PLACE[0])
        elif listed is None:
            note(emptied, _PLACE[0], text, permissions)
            text = append(text, permissions, [tool], _PLACE[1])
        else:
            note(emptied, "/".join(_PLACE), text, listed)
            text = append(text, listed, tool)
        emptied[_ADDED] = f"{emptied.get(_ADDED, '')} {tool}".strip()
    return text, emptied


def without_allowed(text: str, tools: Sequence[str], emptied: Emptied) -> str:
    """Return the settings without those of the tools that were added; without a record they are the person's.

    Raises:
        SettingsError: the text is not JSON, or has something else at the place.

    """
    added = emptied.get(_ADDED, "").split()
    present = [tool for tool in tools if tool in added and tool in _allowed(text)]
    for tool in present:
        listed = _list(text)
        if listed is not None:
            text = remove(text, listed, _allowed(text).index(tool))
    if present:
        text = without_empty(text, _PLACE, emptied)
        text = without_empty(text, _PLACE[:1], emptied)
        text = without_empty_object(text, emptied)
    return text


def has_allowed(text: str, tools: Sequence[str]) -> bool:
    """Return whether all of the tools are allowed."""
    return all(tool in _allowed(text) for tool in tools)


def _allowed(text: str) -> list[object]:
    listed = _list(text)
    return [item.node.plain() for item in listed.items or ()] if listed else []


def _list(text: str) -> Node | None:
    node = parse_object(text)
    for key in _PLACE if node else ():
        node = node.get(key) if node else None
        if node is not None and not (node.is_list if key == _PLACE[-1] else node.is_object):
            raise SettingsError(f'has something else than expected under "{key}"')
    return node
