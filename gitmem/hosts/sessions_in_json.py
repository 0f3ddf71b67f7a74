"""Read a session that is one JSON document as lines: of Gemini CLI's older versions, `opencode export`, Cline.

The document is an object with a list `messages`. The part before the list becomes the first line, each message
another, so that a host's reader gets the lines it knows; a damaged end loses nothing before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

_LIST = re.compile(r'"messages"\s*:\s*\[')
_NEXT = re.compile(r"[\s,]*(?=[^\s,])")
_BEFORE = "\ufeff \t\r\n"
_MOST_HEAD = 65_536  # characters before the list of messages
_DAMAGED = "(the rest is damaged)\n"  # a line that no reader can parse, so that it is counted


def as_lines(lines: Iterable[str]) -> Iterator[str]:
    """Return the lines of a transcript; for a JSON document its parts, one per line."""
    head, rest = _begin(lines)
    if len(head) > 1 and _split("".join(head)) is not None:
        return document_lines("".join(chain(head, rest)))
    return document_lines(head[0]) if head and _split(head[0]) else chain(head, rest)


def first_line(lines: Iterable[str]) -> str:
    """Return the first line of a transcript; for a JSON document the part before its messages, as a line."""
    head, _ = _begin(lines)
    parts = _split("".join(head))
    return parts[0] if parts else "".join(head[:1])


def _begin(lines: Iterable[str]) -> tuple[list[str], Iterator[str]]:
    """Return the first line, or as many as show whether this is a JSON document, and the lines after them."""
    lines = iter(lines)
    head = list(islice(lines, 1))
    if not head or not head[0].lstrip(_BEFORE).startswith("{") or head[0].rstrip().endswith("}"):
        return head, lines
    size = 0
    while size < _MOST_HEAD and (line := next(lines, "")):
        head.append(line)
        size += len(line)
    return head, lines


def document_lines(text: str) -> Iterator[str]:
    """Yield the parts of a session's JSON document as lines of JSON; nothing for another text."""
    parts = _split(text)
    if parts is None:
        return
    head, at = parts
    yield head
    decode = json.JSONDecoder(strict=False).raw_decode
    while match := _NEXT.match(text, at):
        if text[match.end()] == "]":
            return
        try:
            item, at = decode(text, match.end())
        except (ValueError, RecursionError):
            break
        yield json.dumps(item) + "\n"
    yield _DAMAGED


def _split(text: str) -> tuple[str, int] | None:
    """Return the part before the list of messages, as a line of JSON, and where the list begins."""
    match = _LIST.search(text, 0, _MOST_HEAD)
    if match is None:
        return None
    try:
        head = json.loads(text[: match.start()].lstrip(_BEFORE).rstrip(" \t\r\n,") + "}", strict=False)
    except (ValueError, RecursionError):
        return None
    return (json.dumps(head) + "\n", match.end()) if isinstance(head, dict) else None
