"""The positions of all nodes in a YAML text, and whether the text is safe to load.

Tested through `tests/model/document/test_edit.py`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

from gitmem.model.document.scalars import YamlTextError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

MAX_BYTES = 65_536
"""The longest text that is read, in UTF-8 bytes; also how many nodes it may have once its aliases are followed (without
aliases no text has more nodes than bytes)."""

MAX_DEPTH = 64
"""How deep a text may nest. libyaml's composer recurses on the C stack and takes the process down at some 25,000."""

LINE_END = re.compile(r"\r\n|\n|\r")


class Node(NamedTuple):
    """The position of a value in the text, in characters; ends are exclusive."""

    start: int
    end: int
    after: int  # where a line after the value can be inserted
    text: str | None = None  # of a scalar
    is_mapping: bool = False
    is_flow: bool = False
    children: tuple[Node, ...] = ()  # of a mapping: key, value, key, value …
    size: int = 1  # nodes in it, aliases followed
    height: int = 1

    @property
    def pairs(self) -> list[tuple[Node, Node]]:
        """The keys and values of a mapping."""
        return list(zip(self.children[::2], self.children[1::2], strict=True))

    def find(self, key: str) -> tuple[Node, Node] | None:
        """Return the key and the value of `key`, None if this is not a mapping that has it."""
        return next((pair for pair in self.pairs if pair[0].text == key), None) if self.is_mapping else None


def outline(text: str) -> Node | None:
    """Return where everything in `text` (without a byte order mark) stands, None if it holds no value.

    It reads parser events, which come one after the other however deep the text nests. Raises `YamlTextError` for a key
    that is there twice and for text that is too long, too deep, or too large once its aliases are followed, and
    PyYAML's own errors for what is not YAML.
    """
    import yaml

    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise YamlTextError("it has bytes that are not valid UTF-8") from error
    if size > MAX_BYTES:
        raise YamlTextError(f"it is longer than {MAX_BYTES // 1024} KiB")
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    events = yaml.parse(text, Loader=loader)
    reader = _Reader(text, events, yaml)
    for event in events:
        if isinstance(event, yaml.NodeEvent):
            node = reader.read(event)
            return None if node.start == node.end else node  # `---` alone has an empty scalar for a value
    return None


class _Reader:
    """Builds a `Node` from parser events."""

    def __init__(self, text: str, events: Iterator[Any], yaml: ModuleType) -> None:
        self.text = text
        # Where each line after the first begins, and where the text ends.
        self.lines = [*(found.end() for found in LINE_END.finditer(text)), len(text)]
        self.events = events
        self.yaml = yaml  # imported once for all nodes
        self.anchors: dict[str, Node] = {}

    def read(self, event: Any, depth: int = 1) -> Node:
        """Return the node that `event` begins. Raises `YamlTextError`."""
        if depth > MAX_DEPTH:
            raise YamlTextError(f"it nests more than {MAX_DEPTH} levels deep")
        if isinstance(event, self.yaml.AliasEvent):
            return self._alias(event, depth)
        node = self._scalar(event) if isinstance(event, self.yaml.ScalarEvent) else self._collection(event, depth)
        if node.size > MAX_BYTES:
            raise YamlTextError("its aliases expand it too far")
        if event.anchor in self.anchors:  # libyaml refuses it, PyYAML's own parser does not
            raise YamlTextError(f"the anchor &{event.anchor} is there twice")
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def _alias(self, event: Any, depth: int) -> Node:
        target = self.anchors.get(event.anchor)
        if target is None:
            raise YamlTextError(f"*{event.anchor} refers to no anchor, or to itself")
        if depth + target.height - 1 > MAX_DEPTH:
            raise YamlTextError(f"its aliases nest more than {MAX_DEPTH} levels deep")
        end = event.end_mark.index
        return target._replace(start=event.start_mark.index, end=end, after=self._next_line(end))

    def _scalar(self, event: Any) -> Node:
        start, end = event.start_mark.index, event.end_mark.index
        if event.style in ("|", ">"):  # such a mark ends behind the blank lines that belong to the value
            trimmed = start + len(self.text[start:end].rstrip(" \t\r\n"))
            return Node(start, trimmed, end, event.value)
        return Node(start, end, self._next_line(end), event.value)

    def _collection(self, event: Any, depth: int) -> Node:
        children = []
        last = next(self.events)
        while isinstance(last, self.yaml.NodeEvent):
            children.append(self.read(last, depth + 1))
            last = next(self.events)
        # A block collection's end mark lies behind the comments that follow it; take that of its last child.
        end = last.end_mark.index if event.flow_style else children[-1].end
        node = Node(
            start=event.start_mark.index,
            end=end,
            after=self._next_line(end) if event.flow_style else children[-1].after,
            is_mapping=isinstance(event, self.yaml.MappingStartEvent),
            is_flow=bool(event.flow_style),
            children=tuple(children),
            size=1 + sum(child.size for child in children),
            height=1 + max((child.height for child in children), default=0),
        )
        _check_keys(node)
        return node

    def _next_line(self, position: int) -> int:
        return self.lines[min(bisect_right(self.lines, position), len(self.lines) - 1)]


def _check_keys(node: Node) -> None:
    seen = set()
    for key, _ in node.pairs if node.is_mapping else ():
        if key.text is None:
            raise YamlTextError("a list or a mapping stands where a key should")
        if key.text in seen:
            raise YamlTextError(f"the key '{key.text}' is there twice")
        seen.add(key.text)
