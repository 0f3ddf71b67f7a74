"""Sessions that are one JSON file: their messages one after the other, without reading a large file whole.

Tested through `tests/hosts/agents/test_cline.py`.
"""

from __future__ import annotations

import contextlib
import json
import re
from typing import TextIO

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK = 65_536  # characters
_MOST = 16 * 1024 * 1024  # characters of one object; a file with a larger one is read up to it
_MOST_OF_ALL = 1_000_000  # characters of a file that is read whole
_BETWEEN = re.compile(r"[\s,\ufeff]*")


def session_lines(path: str, ending: str) -> Iterator[str]:
    """Yield a session's messages as lines of JSON, after one with the session's id and folder.

    The messages are under that word in a file with this ending; what is said of the session is in a file beside it.
    They are yielded up to where the file is no JSON any more.
    """
    known = about(path, ending)
    yield json.dumps({"sessionId": known.get("session_id"), "cwd": known.get("cwd")}) + "\n"
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        yield from _items(file, "messages")


def about(path: str, ending: str) -> dict[str, object]:
    """Return what the file beside a session's messages says of it, nothing if it cannot be read."""
    beside = path.removesuffix(ending) + ".json"
    with contextlib.suppress(OSError, ValueError, RecursionError), open(beside, encoding="utf-8") as file:
        value = json.loads(file.read(_MOST_OF_ALL))
        return value if isinstance(value, dict) else {}
    return {}


def _items(file: TextIO, key: str) -> Iterator[str]:
    buffer, begins = "", re.compile(rf'"{re.escape(key)}"\s*:\s*\[')
    while (found := begins.search(buffer)) is None:
        more = file.read(_CHUNK)
        if not more:
            return
        buffer = buffer[-len(key) - _CHUNK // 2 :] + more
    buffer = buffer[found.end() :]
    decode = json.JSONDecoder(strict=False).raw_decode
    while True:
        buffer = buffer[_end_of_blanks(buffer) :]
        try:
            item, end = decode(buffer) if buffer else (None, 0)
        except (ValueError, RecursionError):
            item, end = None, 0
        if end:
            if isinstance(item, dict):
                yield buffer[:end].replace("\r", " ").replace("\n", " ") + "\n"
            buffer = buffer[end:]
            continue
        if buffer.startswith("]") or len(buffer) > _MOST:
            return
        more = file.read(max(_CHUNK, len(buffer)))  # twice as much each time: an object is tried a few times only
        if not more:
            return
        buffer += more


def _end_of_blanks(text: str) -> int:
    found = _BETWEEN.match(text)
    return found.end() if found else 0
