"""Containers that were empty before install: note their blanks and comments, and restore them at uninstall.

A file of settings is edited as text, so that everything else in it stays. Where an object or a list was empty, or not
there at all, cannot be seen from the text any more once something was in it: `Emptied` remembers.

Tested through `tests/hosts/settings/test_hooks.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from gitmem.hosts.settings.jsonc import JsoncError, Node, inside, parse, remove

FILE = "file"
Emptied = Mapping[str, str]
"""Blanks and comments of containers that were empty before install, by place: `hooks/EVENT`, `hooks`, `` for the whole
object, and `file` for an empty file."""


class SettingsError(ValueError):
    """The settings cannot be edited; the message is the end of a sentence that begins with the file's name."""


def parse_object(text: str) -> Node | None:
    """Return the object in a file, None if the file is empty.

    Raises:
        SettingsError: it holds something else.

    """
    try:
        root = parse(text)
    except JsoncError as error:
        raise SettingsError(f"is not JSON: it {error}") from None
    if root is not None and not root.is_object:
        raise SettingsError("does not hold a JSON object")
    return root


def root_of(text: str) -> Node:
    """Return the object that a file holds; see `parse_object`."""
    root = parse_object(text)
    if root is None:
        raise SettingsError("is empty")
    return root


def with_object(text: str, emptied: dict[str, str]) -> str:
    """Return the text, with an object begun in it if it was empty."""
    if parse_object(text) is not None:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    emptied[FILE] = text
    return f"{text}{{{newline}}}{newline}"


def note(emptied: dict[str, str], place: str, text: str, node: Node) -> None:
    """Note the blanks and comments of a container before it gets its first member."""
    if not node.items:
        emptied.setdefault(place, inside(text, node))


def without_empty(text: str, path: tuple[str, ...], emptied: Emptied) -> str:
    """Return the text without the empty container at a path, or with its former blanks and comments."""
    container = root_of(text)
    for key in path[:-1]:
        below = container.get(key)
        if below is None:
            return text
        container = below
    node = container.get(path[-1])
    if node is None or node.items:
        return text
    before = emptied.get("/".join(path))
    if before is not None:
        return _restored(text, node, before)
    if inside(text, node).strip():  # a comment of a person's
        return text
    return remove(text, container, max(n for n, item in enumerate(container.items or ()) if item.key == path[-1]))


def without_empty_object(text: str, emptied: Emptied) -> str:
    """Return the text with the file's former content if its object is empty."""
    root = root_of(text)
    if not root.items and "" in emptied:
        text = _restored(text, root, emptied[""])
    if FILE in emptied and not "".join(text.split()).strip("\ufeff").removeprefix("{}"):
        return emptied[FILE]
    return text


def _restored(text: str, node: Node, before: str) -> str:
    """Return the text with an empty container as it was, unless a person wrote a comment into it."""
    if inside(text, node).rstrip() != before.rstrip():
        return text
    return text[: node.start + 1] + before + text[node.end - 1 :]


def starts_server(command: object, arguments: object) -> bool:
    """Return whether a program with these arguments is gitmem's MCP server, by whatever path or by a shell's line."""
    if not isinstance(command, str) or not isinstance(arguments, list):
        return False
    name = os.path.basename(command.replace("\\", "/")).removesuffix(".exe")
    line = arguments[1] if name == "sh" and arguments[:1] == ["-c"] and len(arguments) == 2 else ""  # noqa: PLR2004
    return (name == "gitmem" and arguments[:1] == ["mcp"]) or (isinstance(line, str) and "exec gitmem mcp;" in line)
