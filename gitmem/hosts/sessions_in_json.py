"""Read a session that is one JSON document as lines: of Gemini CLI's older versions, `opencode export`, Cline.

The document is an object with a list `messages`. What stands before the list becomes the first line, each
message one more, so that a host's reader sees the lines it knows; a damaged end costs nothing but itself.
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
    """Return the lines of a transcript; of one JSON document its parts, a line each."""
    head, rest = _begin(lines)
    if len(head) > 1 and _split("".join(head)) is not None:
        return document_lines("".join(chain(head, rest)))
    return document_lines(head[0]) if head and _split(head[0]) else chain(head, rest)


def first_line(lines: Iterable[str]) -> str:
    """Return the first line of a transcript; of one JSON document what stands before its messages, as a line."""
    head, _ = _begin(lines)
    parts = _split("".join(head))
    return parts[0] if parts else "".join(head[:1])


def _begin(lines: Iterable[str]) -> tuple[list[str], Iterator[str]]:
    """Return the first line, or as much as tells whether this is a JSON document, and the lines after that."""
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
    """Yield the parts of a session's JSON document as lines of JSON; none if it is no such document."""
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
    """Return what stands before the list of messages, as a line of JSON, and where the list begins."""
    match = _LIST.search(text, 0, _MOST_HEAD)
    if match is None:
        return None
    try:
        head = json.loads(text[: match.start()].lstrip(_BEFORE).rstrip(" \t\r\n,") + "}", strict=False)
    except (ValueError, RecursionError):
        return None
    return (json.dumps(head) + "\n", match.end()) if isinstance(head, dict) else None
