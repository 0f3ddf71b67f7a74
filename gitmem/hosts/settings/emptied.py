"""What held nothing before something of gitmem's was put into it: noted, and given back when that is taken out.

A file of settings is edited as text, so that everything else in it stays. Where an object or a list was empty, or not
there at all, cannot be seen from the text any more once something was in it: `Emptied` remembers.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitmem.hosts.settings.jsonc import JsoncError, Node, inside, parse, remove

FILE = "file"
Emptied = Mapping[str, str]
"""By place (`hooks/EVENT`, `hooks`, `` for the whole object): the blanks and comments in what held nothing else; under
`file` those of a file that held nothing at all."""


class SettingsError(ValueError):
    """The settings cannot be edited; the message is the end of a sentence that begins with the file's name."""


def parse_object(text: str) -> Node | None:
    """Return the object that a file holds, None where the file is empty.

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
    """Return a text that holds an object: itself, or one begun in the file that held nothing."""
    if parse_object(text) is not None:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    emptied[FILE] = text
    return f"{text}{{{newline}}}{newline}"


def note(emptied: dict[str, str], place: str, text: str, node: Node) -> None:
    """Note what an object or a list held that is about to get its first member."""
    if not node.items:
        emptied.setdefault(place, inside(text, node))


def without_empty(text: str, path: tuple[str, ...], emptied: Emptied) -> str:
    """Return the text without the member at a path if nothing is left in it, or with what it held before."""
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
    """Return the text with what the file held before, if nothing is left in its object."""
    root = root_of(text)
    if not root.items and "" in emptied:
        text = _restored(text, root, emptied[""])
    if FILE in emptied and not "".join(text.split()).strip("\ufeff").removeprefix("{}"):
        return emptied[FILE]
    return text


def _restored(text: str, node: Node, before: str) -> str:
    """Return the text with an empty container as it was; if a person wrote a comment into it meanwhile, as it is."""
    if inside(text, node).rstrip() != before.rstrip():
        return text
    return text[: node.start + 1] + before + text[node.end - 1 :]
