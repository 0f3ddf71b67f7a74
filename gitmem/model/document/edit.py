"""Change one value of a YAML mapping and leave every other byte of its text as it is.

Both a document's header and a config.yaml with comments are edited here. Dumping a header again would sort its keys,
drop its comments and turn `007` into 7. So an edit replaces the text of one value, and loads the result to check that
nothing else changed.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from gitmem.model.document.outline import LINE_END, Node, outline
from gitmem.model.document.scalars import YamlTextError, flow, plain_value
from gitmem.text.newlines import newline_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import yaml

__all__ = ["YamlTextError", "load_mapping", "remove_value", "set_value"]

_BOM = "\ufeff"


def load_mapping(text: str, *, load: Callable[..., object] | None = None) -> dict[str, object]:
    """Return the YAML mapping in `text`; nothing, or comments alone, is an empty mapping.

    Keys are the words that stand in the text (`on`, `2024`, `no`), never a bool, a number or a date. `load` reads the
    text in place of `yaml.load`, whose signature it has. Raises `YamlTextError` for anything but one mapping, for a
    key that is there twice, and for text that is too long, too deep, or too large once its aliases are followed.
    """
    import yaml

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
    if not path:
        raise YamlTextError("no key was named")
    value = plain_value(value)
    with _readable_errors():
        before = load_mapping(text)
        wanted = _with(before, path, value)
        if repr(wanted) == repr(before):
            return text
        bom, text = _BOM if text.startswith(_BOM) else "", text.removeprefix(_BOM)
        newline = newline_of(text, default=newline)
        root = outline(text)
        if root is None:
            edited = _insert(text, len(text), _block(path[0], _nested(path[1:], value), "", newline), newline)
        else:
            edited = _put(text, root, path, value, newline)
        _verify(edited, wanted, path)
    return bom + edited


def remove_value(text: str, path: tuple[str, ...]) -> str:
    """Return `text` without the key at `path`, its value and the comment behind it.

    The text stays as it is where there is no such key. The mapping around the key stays, as `{}` when nothing is left
    in it. Raises `YamlTextError`.
    """
    if not path:
        raise YamlTextError("no key was named")
    with _readable_errors():
        before = load_mapping(text)
        wanted = _without(before, path)
        if repr(wanted) == repr(before):
            return text
        bom, text = _BOM if text.startswith(_BOM) else "", text.removeprefix(_BOM)
        edited = _cut(text, path)
        _verify(edited, wanted, path)
    return bom + edited


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


def _verify(edited: str, wanted: object, path: tuple[str, ...]) -> None:
    """Raise unless `edited` means `wanted`. `repr` tells 1 from True and 1.0, and sees the order of keys and a NaN."""
    name = ".".join(path)
    try:
        result = load_mapping(edited)
    except YamlTextError as error:
        raise YamlTextError(f"'{name}' cannot be changed in place: {error}") from error
    if repr(result) != repr(wanted):
        raise YamlTextError(f"'{name}' cannot be changed in place without changing something else")


@cache
def _strict_loader() -> type[yaml.SafeLoader]:
    """Return the safe loader, libyaml's if installed, with keys kept as their text."""
    import yaml

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
    import yaml

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


def _put(text: str, mapping: Node, path: tuple[str, ...], value: object, newline: str) -> str:
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


def _flow_span(mapping: Node, pair: tuple[Node, Node]) -> tuple[int, int]:
    """Return the range to delete when `pair` leaves `mapping`, with one comma."""
    pairs = mapping.pairs
    index = pairs.index(pair)
    if index + 1 < len(pairs):
        return pair[0].start, pairs[index + 1][0].start
    return pairs[index - 1][1].end if index else pair[0].start, pair[1].end


def _add(text: str, mapping: Node, name: str, value: object, newline: str) -> str:
    if mapping.is_flow:
        at = mapping.children[-1].end if mapping.children else mapping.end - 1
        comma = ", " if mapping.children else ""
        return f"{text[:at]}{comma}{flow(name)}: {flow(value)}{text[at:]}"
    first = mapping.children[0]
    indent = text[_line_start(text, first) : first.start]
    return _insert(text, mapping.after, _block(name, value, indent, newline), newline)


def _replace(text: str, mapping: Node, pair: tuple[Node, Node], value: object, newline: str) -> str:
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


def _line_start(text: str, node: Node) -> int:
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
