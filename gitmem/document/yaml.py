"""Read YAML headers strictly, and change one value of a mapping while all other lines stay as they are.

gitmem writes plain lines (`document.plain_header`). All other headers, from other tools, an agent's memory or edits by
hand, are read here by python-frontmatter with a custom handler. Dumping again would sort keys, drop comments and turn
`007` into 7: so an edit replaces the text of one value, and loads the result to check that nothing else changed.
Aliases and merges are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import yaml
from frontmatter import parse
from frontmatter.default_handlers import BaseHandler

from gitmem.document.plain_header import YamlTextError, flow, newline_of, plain_value

MAX_BYTES = 65_536  # of a text, in UTF-8
MAX_DEPTH = 64
"""How deep a text may nest. libyaml's composer recurses on the C stack and takes the process down at some 25,000."""

LINE_END = re.compile(r"\r\n|\n|\r")
_BOM = "\ufeff"
_IN_PLACE = "it is written in a way that cannot be changed in place"


def load_mapping(text: str) -> dict[str, object]:
    """Return the YAML mapping in `text`; nothing, or comments alone, is an empty mapping.

    Keys are text as written (`on`, `2024`, `no`), never a bool, a number or a date. Raises `YamlTextError` for
    anything but one mapping, a duplicate key, an alias, and text that is too long or too deep.
    """
    with _readable_errors():
        text = text.removeprefix(_BOM)
        has_value = _check(text)
        data = yaml.load(text, Loader=_strict_loader())  # noqa: S506  # it is a safe one
    if not has_value:
        return {}
    if not isinstance(data, dict):
        raise YamlTextError(f"it is not a mapping of keys to values but a {type(data).__name__}")
    return data


def _check(text: str) -> bool:
    """Return whether a text has a value; raise `YamlTextError` for a text that a loader could not handle.

    It reads parser events, which need no recursion however deep the text nests.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise YamlTextError("it has bytes that are not valid UTF-8") from error
    if size > MAX_BYTES:
        raise YamlTextError(f"it is longer than {MAX_BYTES // 1024} KiB")
    depth, has_value = 0, False
    for event in yaml.parse(text, Loader=_strict_loader()):
        if isinstance(event, yaml.AliasEvent):
            raise YamlTextError(f"*{event.anchor} is an alias, which is not read")
        if isinstance(event, yaml.NodeEvent):
            if depth >= MAX_DEPTH:
                raise YamlTextError(f"it nests more than {MAX_DEPTH} levels deep")
            is_empty = isinstance(event, yaml.ScalarEvent) and not (event.value or event.style)  # after `---` alone
            has_value = has_value or not is_empty
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
    return has_value


def set_value(text: str, path: tuple[str, ...], value: object, *, newline: str = "\n") -> str:
    """Return `text` with the value at `path` set; mappings that are missing on the way are made.

    `value` is made of None, bool, int, float, str, date, datetime, lists and mappings with text keys, and reads back as
    exactly that; a text that already has the value stays the same. A new key comes after the last one of its mapping.
    `newline` is for a text without a line. Raises `YamlTextError`.
    """
    value = plain_value(value)
    return _edited(text, path, lambda before: _with(before, path, value), newline)


def remove_value(text: str, path: tuple[str, ...]) -> str:
    """Return `text` without the key at `path`, its value and the comment behind it.

    A text without the key is unchanged. The mapping around the key stays, as `{}` if it is then empty. Raises
    `YamlTextError`.
    """
    return _edited(text, path, lambda before: _without(before, path), "\n")


def _edited(
    text: str, path: tuple[str, ...], change: Callable[[dict[str, object]], dict[str, object]], newline: str
) -> str:
    """Return an edited text.

    Raise unless it loads as what `change` makes of its mapping. The comparison by `repr` distinguishes 1, True and 1.0,
    and covers the order of keys and NaN.
    """
    name = ".".join(path)
    if not path:
        raise YamlTextError("no key was named")
    with _readable_errors():
        before = load_mapping(text)
        wanted = change(before)
        if repr(wanted) == repr(before):
            return text
        bare = text.removeprefix(_BOM)
        root = yaml.compose(bare, Loader=_strict_loader())
        edited = _put(bare, root if isinstance(root, yaml.MappingNode) else None, path, wanted, newline)
        try:
            result = load_mapping(edited)
        except YamlTextError as error:
            raise YamlTextError(f"'{name}' cannot be changed in place: {error}") from error
        if repr(result) != repr(wanted):
            raise YamlTextError(f"'{name}' cannot be changed in place without changing something else")
    return text[: len(text) - len(bare)] + edited


def _with(mapping: object, path: tuple[str, ...], value: object) -> Any:
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
def _strict_loader() -> Any:
    """Return the safe loader, libyaml's if installed, with keys kept as their text, each once in its mapping."""
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class StrictLoader(base):  # type: ignore[misc]
        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            """Read all keys as text, also `<<`, which would merge another mapping."""
            seen = set[str]()
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise YamlTextError("a list or a mapping stands where a key should")
                if key.value in seen:
                    raise YamlTextError(f"the key '{key.value}' is there twice")
                seen.add(key.value)
                key.tag = "tag:yaml.org,2002:str"

    return StrictLoader


@contextmanager
def _readable_errors() -> Iterator[None]:
    """Turn every error of PyYAML, whose constructors raise ValueError, KeyError, …, into a `YamlTextError`."""
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


def _put(text: str, node: Any, path: tuple[str, ...], wanted: Mapping[str, Any], newline: str) -> str:
    """Return a text whose node has the wanted mapping, which differs from the present one only at `path`."""
    name, newline = path[0], newline_of(text, default=newline)
    if node is None:
        return _insert(text, len(text), _block(name, wanted[name], "", newline), newline)
    if node.flow_style:  # rewritten as a whole, as one line contains no comment
        start, end = node.start_mark.index, node.end_mark.index
        if LINE_END.search(text, start, end):
            raise YamlTextError(_IN_PLACE)
        return text[:start] + flow(plain_value(wanted)) + text[end:]
    pair = next((pair for pair in node.value if pair[0].value == name), None)
    if pair is None:
        indent = text[_line_start(text, node.value[0][0]) : node.value[0][0].start_mark.index]
        return _insert(text, _after(text, node), _block(name, wanted[name], indent, newline), newline)
    key, old = pair
    if name not in wanted:
        return text[: _line_start(text, key)] + text[_after(text, old) :]
    if path[1:] and isinstance(old, yaml.MappingNode) and (wanted[name] or old.flow_style):
        return _put(text, old, path[1:], wanted[name], newline)
    return _replaced(text, key, old, wanted[name], newline)


def _replaced(text: str, key: Any, old: Any, value: object, newline: str) -> str:
    """Return a text with another value behind a key of a block mapping."""
    start = old.start_mark.index
    at = text.find(":", key.end_mark.index, start) + 1  # behind the colon
    if not at:
        raise YamlTextError(f"'{key.value}' has no colon")
    on_own_lines = LINE_END.search(text, at, start) is not None
    after = _after(text, old)
    if isinstance(value, dict) and value and (on_own_lines or start == old.end_mark.index):
        indent = text[_line_start(text, key) : key.start_mark.index] + "  "
        lines = "".join(_block(name, item, indent, newline) for name, item in value.items())
        line = _line_start(text, old) if on_own_lines else after
        return _insert(text[:line] + text[after:], line, lines, newline)
    if on_own_lines:  # the comments between the key and its value stay where they are
        return f"{text[:at]} {flow(plain_value(value))}{text[at : _line_start(text, old)]}{text[after:]}"
    last = _last(old)
    end = last.end_mark.index
    if _is_block_scalar(last):  # its end mark is after the blank lines that belong to the value
        end = last.start_mark.index + len(text[last.start_mark.index : end].rstrip(" \t\r\n"))
    return f"{text[:at]}{text[at:start] or ' '}{flow(plain_value(value))}{text[end:]}"


def _last(node: Any) -> Any:
    """Return the scalar or flow collection that ends a value, since a block's end mark is after following comments."""
    while isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return node


def _after(text: str, node: Any) -> int:
    """Return where a line after a value can be inserted."""
    last = _last(node)
    if _is_block_scalar(last):
        return int(last.end_mark.index)
    line = LINE_END.search(text, last.end_mark.index)
    return line.end() if line else len(text)


def _is_block_scalar(node: Any) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"}


def _line_start(text: str, node: Any) -> int:
    """Return where the line of a node begins; raises `YamlTextError` if anything but blanks precedes it."""
    at = node.start_mark.index
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    if text[start:at].strip():
        raise YamlTextError(_IN_PLACE)
    return start


def _insert(text: str, at: int, lines: str, newline: str) -> str:
    gap = newline if at and text[at - 1] not in "\r\n" else ""
    return text[:at] + gap + lines + text[at:]


def _block(name: str, value: object, indent: str, newline: str) -> str:
    if isinstance(value, dict) and value:
        inner = (_block(key, item, indent + "  ", newline) for key, item in value.items())
        return f"{indent}{flow(name)}:{newline}{''.join(inner)}"
    return f"{indent}{flow(name)}: {flow(plain_value(value))}{newline}"


_FENCE = "---\n"


class StrictHeader(BaseHandler):
    """The header between two fences of ours, as strict YAML: no alias, no key twice, within bounds."""

    START_DELIMITER = END_DELIMITER = _FENCE.rstrip()

    def __init__(self) -> None:
        """Set no fence pattern: `document.Document` has already found the fences."""

    def split(self, text: str) -> tuple[str, str]:
        """Return the header between the fences, and no content."""
        return text[len(_FENCE) : -len(_FENCE.rstrip())], ""

    def load(self, fm: str) -> dict[str, object]:
        """Return the values of a header; raises `YamlTextError`."""
        return load_mapping(fm)


def read_header(header: str) -> dict[str, object]:
    """Return the values of a header, without its fences. Raises `YamlTextError`."""
    metadata: dict[str, object] = parse(f"{_FENCE}{header}{_FENCE}", handler=StrictHeader())[0]
    return metadata
