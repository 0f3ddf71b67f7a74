"""Serve over standard input and output, or over HTTP on the loopback address, always behind a token.

Lone surrogates in requests are replaced: JavaScript's `JSON.stringify` writes them, and the SDK (2.3) refuses such a
line without an answer. The token keeps out other users and programs of this machine and the pages of a browser; the
SDK's check of `Host` and `Origin` keeps out pages that use DNS rebinding.
"""

from __future__ import annotations

import io
import re
import socket
import sys
from typing import TYPE_CHECKING, BinaryIO, TextIO

from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse

from gitmem.platform import loopback

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from mcp.server import MCPServer
    from starlette.types import ASGIApp, Receive, Scope, Send


# A pair of surrogates is one character, and the second half of another escape, such as `\\`, begins no escape.
_LONE = re.compile(
    rb"(?P<whole>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|(?P<other>\\.)"
)
_REPLACEMENT = rb"\ufffd"


def serve_stdio(server: MCPServer[None], stdin: TextIO) -> None:
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


PATH = "/mcp"


def make_app(server: MCPServer[None], port: int, token: str) -> ASGIApp:
    """Return the application for a port, guarded by a token."""
    names = loopback.hosts(port)
    security = TransportSecuritySettings(allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names])
    return _Guard(server.streamable_http_app(streamable_http_path=PATH, transport_security=security), token)


def serve_http(server: MCPServer[None], listening: socket.socket, token: str) -> None:
    """Serve until the process is interrupted."""
    loopback.serve(make_app(server, listening.getsockname()[1], token), listening)


class _Guard:
    """Answers 401 to requests without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = loopback.header(scope, b"authorization") if scope["type"] == "http" else None
        if scope["type"] == "lifespan" or loopback.same(given, self._expected):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            body = {"error": "A bearer token is needed: the one that 'gitmem mcp --http' was started with."}
            await JSONResponse(body, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
