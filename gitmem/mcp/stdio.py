"""The server over standard input and output; lone surrogates in requests are replaced.

JSON allows the escape of a lone surrogate, JavaScript's `JSON.stringify` writes it, and models produce it. The SDK
(2.3) refuses such a line without an answer, and the client waits for ever.
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

# A pair of surrogates is one character, and the second half of another escape, such as `\\`, begins no escape.
_LONE = re.compile(
    rb"(?P<whole>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|(?P<other>\\.)"
)
_REPLACEMENT = rb"\ufffd"


def serve(server: MCPServer[None], stdin: TextIO) -> None:
    """Serve until standard input ends; only the protocol goes to standard output."""
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_Mended(stdin.buffer)))
    server.run("stdio")


def replace_surrogates(line: bytes) -> bytes:
    """Return a line of JSON with U+FFFD in place of each lone surrogate."""
    if b"\\ud" not in line and b"\\uD" not in line:
        return line
    return _LONE.sub(lambda match: match[0] if match["whole"] or match["other"] else _REPLACEMENT, line)


class _Mended(io.RawIOBase):
    """The lines of another stream, without lone surrogates."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._waiting = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Copy up to a line into a buffer; return the number of bytes, 0 at the end."""
        self._waiting = self._waiting or replace_surrogates(self._source.readline())
        view = memoryview(buffer).cast("B")
        size = min(len(view), len(self._waiting))
        view[:size] = self._waiting[:size]
        self._waiting = self._waiting[size:]
        return size
