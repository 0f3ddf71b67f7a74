"""Change one value of a YAML mapping, in a header or config.yaml, and leave every other byte as it is.

Dumping again would sort keys, drop comments and turn `007` into 7. So an edit replaces the text of one value, and loads
the result to check that nothing else changed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import yaml

from gitmem.document.document import YamlTextError, flow, plain_value
from gitmem.text.sentences import newline_of

MAX_BYTES = 65_536
"""The longest text that is read, in UTF-8 bytes; also how many nodes it may have once its aliases are followed (without
aliases no text has more nodes than bytes)."""

MAX_DEPTH = 64
"""How deep a text may nest. libyaml's composer recurses on the C stack and takes the process down at some 25,000."""

LINE_END = re.compile(r"\r\n|\n|\r")


class YamlNode(NamedTuple):
    """The position of a value in the text, in characters; ends are exclusive."""

    start: int
    end: int
    after: int  # where a line after the value can be inserted
    text: str | None = None  # of a scalar
    is_mapping: bool = False
    is_flow: bool = False
    children: tuple[YamlNode, ...] = ()  # of a mapping: key, value, key, value …
    size: int = 1  # nodes in it, aliases followed
    height: int = 1

    @property
    def pairs(self) -> list[tuple[YamlNode, YamlNode]]:
        """The keys and values of a mapping."""
        return list(zip(self.children[::2], self.children[1::2], strict=True))

    def find(self, key: str) -> tuple[YamlNode, YamlNode] | None:
        """Return the key and the value of `key`, None if this is not a mapping that has it."""
        return next((pair for pair in self.pairs if pair[0].text == key), None) if self.is_mapping else None


def outline(text: str) -> YamlNode | None:
    """Return where everything in `text` (without a byte order mark) stands, None if it holds no value.

    It reads parser events, which come one after the other however deep the text nests. Raises `YamlTextError` for a key
    that is there twice and for text that is too long, too deep, or too large once its aliases are followed, and
    PyYAML's own errors for what is not YAML.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise YamlTextError("it has bytes that are not valid UTF-8") from error
    if size > MAX_BYTES:
        raise YamlTextError(f"it is longer than {MAX_BYTES // 1024} KiB")
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    events = yaml.parse(text, Loader=loader)
    reader = _Reader(text, events)
    for event in events:
        if isinstance(event, yaml.NodeEvent):
            node = reader.read(event)
            return None if node.start == node.end else node  # `---` alone has an empty scalar for a value
    return None


class _Reader:
    """Builds a `Node` from parser events."""

    def __init__(self, text: str, events: Iterator[Any]) -> None:
        self.text = text
        # Where each line after the first begins, and where the text ends.
        self.lines = [*(match.end() for match in LINE_END.finditer(text)), len(text)]
        self.events = events
        self.anchors: dict[str, YamlNode] = {}

    def read(self, event: Any, depth: int = 1) -> YamlNode:
        """Return the node that `event` begins. Raises `YamlTextError`."""
        if depth > MAX_DEPTH:
            raise YamlTextError(f"it nests more than {MAX_DEPTH} levels deep")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        node = self._scalar(event) if isinstance(event, yaml.ScalarEvent) else self._collection(event, depth)
        if node.size > MAX_BYTES:
            raise YamlTextError("its aliases expand it too far")
        if event.anchor in self.anchors:  # libyaml refuses it, PyYAML's own parser does not
            raise YamlTextError(f"the anchor &{event.anchor} is there twice")
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def _alias(self, event: Any, depth: int) -> YamlNode:
        target = self.anchors.get(event.anchor)
        if target is None:
            raise YamlTextError(f"*{event.anchor} refers to no anchor, or to itself")
        if depth + target.height - 1 > MAX_DEPTH:
            raise YamlTextError(f"its aliases nest more than {MAX_DEPTH} levels deep")
        end = event.end_mark.index
        return target._replace(start=event.start_mark.index, end=end, after=self._next_line(end))

    def _scalar(self, event: Any) -> YamlNode:
        start, end = event.start_mark.index, event.end_mark.index
        if event.style in ("|", ">"):  # such a mark ends behind the blank lines that belong to the value
            trimmed = start + len(self.text[start:end].rstrip(" \t\r\n"))
            return YamlNode(start, trimmed, end, event.value)
        return YamlNode(start, end, self._next_line(end), event.value)

    def _collection(self, event: Any, depth: int) -> YamlNode:
        children = []
        last = next(self.events)
        while isinstance(last, yaml.NodeEvent):
            children.append(self.read(last, depth + 1))
            last = next(self.events)
        # A block collection's end mark lies behind the comments that follow it; take that of its last child.
        end = last.end_mark.index if event.flow_style else children[-1].end
        node = YamlNode(
            start=event.start_mark.index,
            end=end,
            after=self._next_line(end) if event.flow_style else children[-1].after,
            is_mapping=isinstance(event, yaml.MappingStartEvent),
            is_flow=bool(event.flow_style),
            children=tuple(children),
            size=1 + sum(child.size for child in children),
            height=1 + max((child.height for child in children), default=0),
        )
        _check_keys(node)
        return node

    def _next_line(self, position: int) -> int:
        return self.lines[min(bisect_right(self.lines, position), len(self.lines) - 1)]


def _check_keys(node: YamlNode) -> None:
    seen = set()
    for key, _ in node.pairs if node.is_mapping else ():
        if key.text is None:
            raise YamlTextError("a list or a mapping stands where a key should")
        if key.text in seen:
            raise YamlTextError(f"the key '{key.text}' is there twice")
        seen.add(key.text)


_BOM = "\ufeff"


def load_mapping(text: str, *, load: Callable[..., object] | None = None) -> dict[str, object]:
    """Return the YAML mapping in `text`; nothing, or comments alone, is an empty mapping.

    Keys are the words that stand in the text (`on`, `2024`, `no`), never a bool, a number or a date. `load` reads the
    text in place of `yaml.load`, whose signature it has. Raises `YamlTextError` for anything but one mapping, for a
    key that is there twice, and for text that is too long, too deep, or too large once its aliases are followed.
    """
    with _readable_errors():
        text = text.removeprefix(_BOM)
        root = outline(text)
        data = (load or yaml.load)(text, Loader=_strict_loader())
    if root is None:
        return {}
    if not isinstance(data, dict):
        raise YamlTextError(f"it is not a mapping of keys to values but a {type(data).__name__}")
    return data


def set_value(text: str, path: tuple[str, ...], value: object, *, newline: str = "\n") -> str:
    """Return `text` with the value at `path` set; mappings that are missing on the way are made.

    `value` is made of None, bool, int, float, str, date, datetime, lists and mappings with text keys, and reads back as
    exactly that; the text stays the same where it says so already. A new key comes after the last one of its mapping.
    `newline` serves a text that has no line yet. Raises `YamlTextError`, also where the value is shared through an
    anchor, so that it cannot be changed alone.
    """
    value = plain_value(value)

    def put(bare: str) -> str:
        end, root = newline_of(bare, default=newline), outline(bare)
        if root is None:
            return _insert(bare, len(bare), _block(path[0], _nested(path[1:], value), "", end), end)
        return _put(bare, root, path, value, end)

    return _edited(text, path, lambda before: _with(before, path, value), put)


def remove_value(text: str, path: tuple[str, ...]) -> str:
    """Return `text` without the key at `path`, its value and the comment behind it.

    The text stays as it is where there is no such key. The mapping around the key stays, as `{}` when nothing is left
    in it. Raises `YamlTextError`.
    """
    return _edited(text, path, lambda before: _without(before, path), lambda bare: _cut(bare, path))


def _edited(
    text: str, path: tuple[str, ...], change: Callable[[dict[str, object]], object], edit: Callable[[str], str]
) -> str:
    """Return an edited text. Raise unless it means what `change` makes of its mapping.

    `repr` tells 1 from True and 1.0, and sees the order of keys and a NaN.
    """
    name = ".".join(path)
    if not path:
        raise YamlTextError("no key was named")
    with _readable_errors():
        before = load_mapping(text)
        wanted = change(before)
        if repr(wanted) == repr(before):
            return text
        edited = edit(text.removeprefix(_BOM))
        try:
            result = load_mapping(edited)
        except YamlTextError as error:
            raise YamlTextError(f"'{name}' cannot be changed in place: {error}") from error
        if repr(result) != repr(wanted):
            raise YamlTextError(f"'{name}' cannot be changed in place without changing something else")
    return (_BOM if text.startswith(_BOM) else "") + edited


def _with(mapping: object, path: tuple[str, ...], value: object) -> object:
    if not path:
        return value
    if mapping is None:
        mapping = {}
    if not isinstance(mapping, dict):
        raise YamlTextError(f"'{path[0]}' cannot be set in a value that is not a mapping")
    return {**mapping, path[0]: _with(mapping.get(path[0]), path[1:], value)}


def _without(mapping: dict[str, object], path: tuple[str, ...]) -> dict[str, object]:
    inner = mapping.get(path[0])
    if len(path) == 1:
        return {key: value for key, value in mapping.items() if key != path[0]}
    return {**mapping, path[0]: _without(inner, path[1:])} if isinstance(inner, dict) else mapping


@cache
def _strict_loader() -> type[yaml.SafeLoader]:
    """Return the safe loader, libyaml's if installed, with keys kept as their text."""
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class StrictLoader(base):  # type: ignore[misc]
        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            super().flatten_mapping(node)  # merges (`<<`) are resolved first
            node.value = [(_text_node(key), value) for key, value in node.value]

    def _text_node(key: yaml.Node) -> yaml.Node:
        # A new node: one that is an anchor's target keeps its own meaning where it is a value.
        return yaml.ScalarNode("tag:yaml.org,2002:str", key.value, key.start_mark, key.end_mark)

    return StrictLoader


@contextmanager
def _readable_errors() -> Iterator[None]:
    """Turn every error of PyYAML into a `YamlTextError` of one line.

    Its constructors raise ValueError (`2024-13-45`), KeyError (`!!bool x`) or AttributeError (`!!timestamp x`).
    """
    try:
        yield
    except YamlTextError:
        raise
    except yaml.MarkedYAMLError as error:
        line = f" (line {error.problem_mark.line + 1})" if error.problem_mark else ""
        reason = ": ".join(filter(None, (error.context, error.problem)))
        raise YamlTextError(f"it is not valid YAML: {reason}{line}") from error
    except (yaml.YAMLError, ValueError, KeyError, AttributeError, TypeError, OverflowError) as error:
        raise YamlTextError(f"it is not valid YAML: {' '.join(str(error).split())}") from error


def _put(text: str, mapping: YamlNode, path: tuple[str, ...], value: object, newline: str) -> str:
    rest = _nested(path[1:], value)
    pair = mapping.find(path[0])
    if pair is None:
        return _add(text, mapping, path[0], rest, newline)
    if len(path) == 1 or not pair[1].is_mapping:
        return _replace(text, mapping, pair, rest, newline)
    return _put(text, pair[1], path[1:], value, newline)


def _cut(text: str, path: tuple[str, ...]) -> str:
    mapping, outer, holder = outline(text), None, None
    for name in path[:-1]:
        outer, holder = mapping, mapping.find(name) if mapping else None
        mapping = holder[1] if holder else None
    pair = mapping.find(path[-1]) if mapping else None
    if mapping is None or pair is None:
        raise YamlTextError(f"'{'.'.join(path)}' comes from a merge and cannot be removed here")
    if mapping.is_flow:
        start, end = _flow_span(mapping, pair)
        return text[:start] + text[end:]
    if outer and holder and len(mapping.pairs) == 1:
        return _replace(text, outer, holder, {}, "\n")
    return text[: _line_start(text, pair[0])] + text[pair[1].after :]


def _flow_span(mapping: YamlNode, pair: tuple[YamlNode, YamlNode]) -> tuple[int, int]:
    """Return the range to delete when `pair` leaves `mapping`, with one comma."""
    pairs = mapping.pairs
    index = pairs.index(pair)
    if index + 1 < len(pairs):
        return pair[0].start, pairs[index + 1][0].start
    return pairs[index - 1][1].end if index else pair[0].start, pair[1].end


def _add(text: str, mapping: YamlNode, name: str, value: object, newline: str) -> str:
    if mapping.is_flow:
        at = mapping.children[-1].end if mapping.children else mapping.end - 1
        comma = ", " if mapping.children else ""
        return f"{text[:at]}{comma}{flow(name)}: {flow(value)}{text[at:]}"
    first = mapping.children[0]
    indent = text[_line_start(text, first) : first.start]
    return _insert(text, mapping.after, _block(name, value, indent, newline), newline)


def _replace(text: str, mapping: YamlNode, pair: tuple[YamlNode, YamlNode], value: object, newline: str) -> str:
    key, old = pair
    at = text.find(":", key.end, old.start) + 1  # behind the colon
    if not at:
        raise YamlTextError(f"'{key.text}' has no colon")
    on_own_lines = not mapping.is_flow and LINE_END.search(text, at, old.start) is not None
    is_empty = old.start == old.end
    if isinstance(value, dict) and value and not mapping.is_flow and (on_own_lines or is_empty):
        indent = text[_line_start(text, key) : key.start] + "  "
        lines = "".join(_block(name, item, indent, newline) for name, item in value.items())
        line = _line_start(text, old) if on_own_lines else old.after
        return _insert(text[:line] + text[old.after :], line, lines, newline)
    if on_own_lines:  # the comments between the key and its value stay where they are
        return f"{text[:at]} {flow(value)}{text[at : _line_start(text, old)]}{text[old.after :]}"
    return f"{text[:at]}{text[at : old.start] or ' '}{flow(value)}{text[old.end :]}"


def _line_start(text: str, node: YamlNode) -> int:
    """Return where the line of `node` begins, if nothing but blanks stands before it. Raises `YamlTextError`."""
    start = max(text.rfind("\n", 0, node.start), text.rfind("\r", 0, node.start)) + 1
    if text[start : node.start].strip():
        raise YamlTextError("it is written in a way that cannot be changed in place")
    return start


def _insert(text: str, at: int, lines: str, newline: str) -> str:
    gap = newline if at and text[at - 1] not in "\r\n" else ""
    return text[:at] + gap + lines + text[at:]


def _nested(path: tuple[str, ...], value: object) -> object:
    for name in reversed(path):
        value = {name: value}
    return value


def _block(name: str, value: object, indent: str, newline: str) -> str:
    if isinstance(value, dict) and value:
        inner = (_block(key, item, indent + "  ", newline) for key, item in value.items())
        return f"{indent}{flow(name)}:{newline}{''.join(inner)}"
    return f"{indent}{flow(name)}: {flow(value)}{newline}"
