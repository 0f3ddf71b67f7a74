"""The server over HTTP, for hosts that start no process: on the loopback address, always behind a token.

Loopback keeps other machines out. The token keeps out other users and programs of this machine, and the pages of a
browser. The SDK's check of `Host` and `Origin` keeps out pages that use DNS rebinding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse

from gitmem.machine import loopback

if TYPE_CHECKING:
    import socket

    from mcp.server import MCPServer
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"


def make_app(server: MCPServer[None], port: int, token: str) -> ASGIApp:
    """Return the application for a port, guarded by a token."""
    names = loopback.hosts(port)
    security = TransportSecuritySettings(allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names])
    return _Guard(server.streamable_http_app(streamable_http_path=PATH, transport_security=security), token)


def serve(server: MCPServer[None], listening: socket.socket, token: str) -> None:
    """Serve until the process is interrupted."""
    loopback.serve(make_app(server, listening.getsockname()[1], token), listening)


class _Guard:
    """Answers 401 to requests without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or (scope["type"] == "http" and self._has_token(scope)):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            body = {"error": "A bearer token is needed: the one that 'gitmem mcp --http' was started with."}
            await JSONResponse(body, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)

    def _has_token(self, scope: Scope) -> bool:
        return loopback.same(loopback.header(scope, b"authorization"), self._expected)
