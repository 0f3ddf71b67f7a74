"""The server over standard input and output, and a request that the SDK (2.3) would leave without an answer.

Half of a character that takes two (a lone surrogate) is an escape that JSON allows, that JavaScript's `JSON.stringify`
writes, and that models come up with. The SDK's parser refuses the line and says nothing: the client waits for ever.
"""

from __future__ import annotations

import io
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO, TextIO

    from _typeshed import WriteableBuffer
    from mcp.server import MCPServer

# A pair of escapes is one character; so is any other escape, `\\` most of all, whose second half begins none.
_HALF = re.compile(
    rb"(?P<whole>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|(?P<other>\\.)"
)
_REPLACEMENT = rb"\ufffd"


def serve(server: MCPServer[None], stdin: TextIO) -> None:
    """Serve until standard input ends; nothing but the protocol goes to standard output."""
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_Mended(stdin.buffer)))
    server.run("stdio")


def mend(line: bytes) -> bytes:
    """Return a line of JSON with U+FFFD in the place of every half of a character."""
    if b"\\ud" not in line and b"\\uD" not in line:
        return line
    return _HALF.sub(lambda found: found[0] if found["whole"] or found["other"] else _REPLACEMENT, line)


class _Mended(io.RawIOBase):
    """What another stream says, line by line, mended."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._waiting = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill a buffer with what there is of a line; 0 at the end."""
        self._waiting = self._waiting or mend(self._source.readline())
        view = memoryview(buffer).cast("B")
        size = min(len(view), len(self._waiting))
        view[:size] = self._waiting[:size]
        self._waiting = self._waiting[size:]
        return size
