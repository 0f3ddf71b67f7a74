"""Add the MCP server to the text of a host's list of servers and remove it; the rest of the text stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gitmem.hosts.settings.emptied import (
    FILE,
    Emptied,
    SettingsError,
    note,
    parse_object,
    root_of,
    starts_server,
    with_object,
    without_empty,
)
from gitmem.hosts.settings.emptied import without_empty_object as without_empty_file
from gitmem.hosts.settings.jsonc import append, remove

if TYPE_CHECKING:
    from gitmem.hosts.settings.jsonc import Node

Place = tuple[str, ...]
"""The keys that lead to the server in the file, its own name last."""


def with_server(
    text: str, place: Place, server: Mapping[str, object], known: Emptied | None = None
) -> tuple[str, Emptied]:
    """Return the list with the server, and the containers that were empty.

    `known` is what held nothing when it was put in before. One of gitmem's that is there stays as a person has made it.

    Raises:
        SettingsError: the text is not JSON, or has something else at the place.

    """
    emptied = dict(known or {})
    text = with_object(text, emptied)
    container, depth = _deepest(text, place)
    if depth == len(place):
        if not _is_ours(container):
            raise SettingsError(f'has another server that is named "{place[-1]}"')
        return text, emptied
    if not container.is_object:
        raise SettingsError(f'has something else than an object under "{place[depth - 1]}"')
    note(emptied, "/".join(place[:depth]), text, container)
    value: object = dict(server)
    for key in reversed(place[depth + 1 :]):
        value = {key: value}
    return append(text, container, value, place[depth]), emptied


def without_server(text: str, place: Place, emptied: Emptied) -> str:
    """Return the list without gitmem's server and the objects that become empty.

    Raises:
        SettingsError: the text is not JSON.

    """
    if not has_server(text, place):
        return text
    container, _ = _deepest(text, place[:-1])
    places = [number for number, item in enumerate(container.items or ()) if item.key == place[-1]]
    text = remove(text, container, places[-1])
    for depth in range(len(place) - 1, 0, -1):
        text = without_empty(text, place[:depth], emptied)
    return without_empty_file(text, emptied)


def has_server(text: str, place: Place) -> bool:
    """Return whether the list has gitmem's server.

    Raises:
        SettingsError: the text is not JSON.

    """
    if parse_object(text) is None:
        return False
    node, depth = _deepest(text, place)
    return depth == len(place) and _is_ours(node)


def is_all(text: str, place: Place) -> bool:
    """Return whether nothing is left of a list without gitmem's server."""
    return has_server(text, place) and not without_server(text, place, {FILE: ""})


def _deepest(text: str, place: Place) -> tuple[Node, int]:
    """Return the last existing node on the way to a place, and how many keys led to it."""
    node = root_of(text)
    for depth, key in enumerate(place):
        below = node.get(key)
        if below is None:
            return node, depth
        node = below
    return node, len(place)


def _is_ours(node: Node) -> bool:
    """Return whether a server is gitmem's: it starts `gitmem mcp`, by whatever path."""
    server = node.plain()
    if not isinstance(server, dict):
        return False
    command, arguments = server.get("command"), server.get("args")
    if isinstance(command, list) and command:  # OpenCode has the program and its arguments in one list
        command, arguments = command[0], command[1:]
    return starts_server(command, arguments)
