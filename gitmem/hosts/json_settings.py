"""Edit JSON with comments without changing other bytes: every value has its position in the text.

Libraries that keep comments (json-five, jsonc-parser's bindings) reformat a changed document, so taking an edit back
would not restore the bytes; here `remove` is the inverse of `append`. `Noted` records which objects and lists were
empty or missing before an edit, since the text does not show it afterwards. All editors raise SettingsError for another
kind of text, or if something else is at the place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NoReturn

from gitmem.values import Value

_GAP = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*|/\*(?:(?!\*/).)*+\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)\b")
_LINE_COMMENT = re.compile(r"(?:[ \t\r\n]++|/\*(?:(?!\*/).)*+\*/|//[^\r\n]*[\r\n])*//[^\r\n]*", re.DOTALL)
_BLANK = " \t\r\n"
_BOM = "\ufeff"
_MAX_DEPTH = 100
_DEFAULT_UNIT = "  "


class SettingsError(ValueError):
    """The settings cannot be edited; the message completes a sentence that begins with the file's name."""


class JsonNode(Value):
    """A value: `text[start:end]`. `items` is None for a scalar, whose value is `scalar`."""

    start: int
    end: int
    scalar: object
    items: tuple[JsonItem, ...] | None
    is_object: bool = False

    def get(self, key: str) -> JsonNode | None:
        """Return the last member of an object with this key, which counts; None if there is none."""
        nodes = [item.node for item in self.items or () if self.is_object and item.key == key]
        return nodes[-1] if nodes else None

    def plain(self) -> object:
        """Return the value as `json.loads` would."""
        if self.items is None:
            return self.scalar
        if self.is_object:
            return {item.key: item.node.plain() for item in self.items}
        return [item.node.plain() for item in self.items]


class JsonItem(Value):
    """A member of an object, or an element of an array: `text[start:end]`, and the position of the comma after it."""

    start: int
    end: int
    key: str
    node: JsonNode
    comma: int | None

    @property
    def after(self) -> int:
        """The position after it and its comma."""
        return self.end if self.comma is None else self.comma + 1


def parse(text: str) -> JsonNode | None:
    """Return the document's value, None for an empty document."""
    start = len(_BOM) if text.startswith(_BOM) else 0
    if not text[start:].strip(_BLANK):
        return None
    node = _value(text, _gap(text, start), 0)
    end = _gap(text, node.end)
    if end != len(text):
        _fail(text, end)
    return node


def append(text: str, container: JsonNode, value: object, key: str | None = None) -> str:
    """Append a value to an array, or under a new key to an object, formatted like the rest; return the text."""
    items = container.items or ()
    last = items[-1] if items else None
    anchor = last.after if last else container.start + 1
    gap = text[anchor : container.end - 1]
    place = anchor + len(gap.rstrip(_BLANK))
    newline = "\r\n" if "\r\n" in text else "\n"
    base, unit = _indentation(text, container.start), indent_unit(text)
    indent = None if last and not _starts_line(text, last.start) else base + unit
    if last and indent is not None:
        indent = _indentation(text, last.start)
    if indent is None and _LINE_COMMENT.fullmatch(gap.rstrip(_BLANK)):
        indent = base + unit
    new = (f"{newline}{indent}" if indent is not None else " ") + _written(value, key, indent, unit, newline)
    if last and last.comma is not None:
        new += ","
    if not last and not set(newline) & set(text[place : container.end - 1]):
        new += newline + base
    comma = "," if last and last.comma is None else ""
    end = last.end if last else anchor
    return text[:end] + comma + text[end:place] + new + text[place:]


def replace(text: str, item: JsonItem, value: object) -> str:
    """Return the text with an item replaced by another value."""
    indent = _indentation(text, item.start) if _starts_line(text, item.start) else None
    newline = "\r\n" if "\r\n" in text else "\n"
    return text[: item.start] + _written(value, None, indent, indent_unit(text), newline) + text[item.end :]


def remove(text: str, container: JsonNode, index: int) -> str:
    """Return the text without an item, the blanks before it, and its comma."""
    items = container.items or ()
    item, before = items[index], items[index - 1] if index else None
    anchor = before.after if before else container.start + 1
    gap = text[anchor : item.start].rstrip(_BLANK)
    start = anchor + len(gap)
    tail = text[item.end :] if item.comma is None else text[item.end : item.comma] + text[item.comma + 1 :]
    if _LINE_COMMENT.fullmatch(gap) and not tail.lstrip(" \t").startswith(("\r", "\n")):
        start = item.start  # the rest of the line would become part of the comment
    head = text[:start]
    if item.comma is None and before and before.comma is not None:
        head = head[: before.comma] + head[before.comma + 1 :]
    return head + tail


def _inside(text: str, container: JsonNode) -> str:
    return text[container.start + 1 : container.end - 1]


def indent_unit(text: str) -> str:
    """Return a document's indentation: the blanks of its first indented line."""
    match = re.search(r'[\r\n]([ \t]+)["{\[]', text)
    return match[1] if match else _DEFAULT_UNIT


def _line_start(text: str, position: int) -> int:
    return max(text.rfind("\n", 0, position), text.rfind("\r", 0, position)) + 1


def _starts_line(text: str, position: int) -> bool:
    start = _line_start(text, position)
    return start > 0 and not text[start:position].strip(" \t")


def _indentation(text: str, position: int) -> str:
    start = _line_start(text, position)
    line = text[start:position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _written(value: object, key: str | None, indent: str | None, unit: str, newline: str) -> str:
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    if indent is None:
        return name + json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return name + f"{newline}{indent}".join(lines)


def _value(text: str, position: int, depth: int) -> JsonNode:
    first = text[position : position + 1]
    if first in {"{", "["} and first:
        if depth > _MAX_DEPTH:
            _fail(text, position, "is nested too deeply")
        return _container(text, position, depth)
    if first == '"':
        end, string = _string(text, position)
        return JsonNode(position, end, string, None)
    match = _SCALAR.match(text, position)
    if not match:
        _fail(text, position)
    return JsonNode(position, match.end(), json.loads(match[0]), None)


def _container(text: str, start: int, depth: int) -> JsonNode:
    is_object = text[start] == "{"
    closing = "}" if is_object else "]"
    items: list[JsonItem] = []
    position = _gap(text, start + 1)
    while text[position : position + 1] != closing:
        if items and items[-1].comma is None:
            _fail(text, position)
        begin, key = position, ""
        if is_object:
            position, key = _string(text, position)
            position = _gap(text, position)
            if text[position : position + 1] != ":":
                _fail(text, position)
            position = _gap(text, position + 1)
        node = _value(text, position, depth + 1)
        position = _gap(text, node.end)
        comma = position if text[position : position + 1] == "," else None
        items.append(JsonItem(begin, node.end, key, node, comma))
        if comma is not None:
            position = _gap(text, comma + 1)
    return JsonNode(start, position + 1, None, tuple(items), is_object)


def _string(text: str, position: int) -> tuple[int, str]:
    match = _STRING.match(text, position)
    if not match:
        _fail(text, position)
    try:
        return match.end(), str(json.loads(match[0]))
    except ValueError:
        _fail(text, position)


def _gap(text: str, position: int) -> int:
    match = _GAP.match(text, position)
    return match.end() if match else position


def _fail(text: str, position: int, what: str = "cannot be read") -> NoReturn:
    line = text.count("\n", 0, position) + 1
    column = position - _line_start(text, position) + 1
    where = "at its end" if position >= len(text) else f"in line {line}, column {column}"
    raise SettingsError(f"is not JSON: it {what} {where}")


FILE = "file"
Noted = Mapping[str, str]
"""What an edit needs to be taken back: blanks and comments of containers that were empty before install, by place
(`hooks/EVENT`, `hooks`, `` for the whole object, and `file` for an empty file), and what other editors note."""


def parse_object(text: str) -> JsonNode | None:
    """Return the object in a file, None if the file is empty."""
    root = parse(text)
    if root is not None and not root.is_object:
        raise SettingsError("does not contain a JSON object")
    return root


def with_object(text: str, noted: dict[str, str]) -> str:
    """Return the text, with an empty object if it has no value."""
    if parse_object(text) is not None:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    noted[FILE] = text
    return f"{text}{{{newline}}}{newline}"


def deepest(text: str, place: tuple[str, ...]) -> tuple[JsonNode, int]:
    """Return the last existing node on the way to a place, and its depth in keys."""
    node = parse_object(text)
    if node is None:
        raise SettingsError("is empty")
    for depth, key in enumerate(place):
        below = node.get(key)
        if below is None:
            return node, depth
        node = below
    return node, len(place)


def put(text: str, place: tuple[str, ...], value: object, noted: dict[str, str], *, in_list: bool = False) -> str:
    """Insert a value at a missing place, or with `in_list` at the end of the list there; return the text.

    `noted` gets the blanks and comments of a container that was empty.
    """
    node, depth = deepest(text, place)
    if not node.items:
        noted.setdefault("/".join(place[:depth]), _inside(text, node))
    if in_list and depth < len(place):
        value = [value]
    for key in reversed(place[depth + 1 :]):
        value = {key: value}
    return append(text, node, value, place[depth] if depth < len(place) else None)


def without_empty(text: str, path: tuple[str, ...], noted: Noted) -> str:
    """Remove the empty container at a path, or restore its former blanks and comments; return the text."""
    node, depth = deepest(text, path)
    if depth < len(path) or node.items:
        return text
    before = noted.get("/".join(path))
    if before is not None:
        return _restored(text, node, before)
    return text if _inside(text, node).strip() else without_member(text, path)  # keep a user's comment


def without_member(text: str, place: tuple[str, ...]) -> str:
    """Return the text without the member at a place; if the key is repeated, without the last, which counts."""
    container, _ = deepest(text, place[:-1])
    return remove(text, container, max(n for n, item in enumerate(container.items or ()) if item.key == place[-1]))


def without_empties(text: str, place: tuple[str, ...], noted: Noted) -> str:
    """Remove the empty containers on the way to a place; if nothing else is left, restore the original file."""
    for depth in range(len(place), 0, -1):
        text = without_empty(text, place[:depth], noted)
    root, _ = deepest(text, ())
    if not root.items and "" in noted:
        text = _restored(text, root, noted[""])
    if FILE in noted and not "".join(text.split()).strip("\ufeff").removeprefix("{}"):
        return noted[FILE]
    return text


def _restored(text: str, node: JsonNode, before: str) -> str:
    """Restore an empty container, unless a user wrote a comment into it; return the text."""
    if _inside(text, node).rstrip() != before.rstrip():
        return text
    return text[: node.start + 1] + before + text[node.end - 1 :]
