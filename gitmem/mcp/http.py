"""The server over HTTP, for hosts that start no process: on the loopback address, always behind a token.

Loopback keeps other machines out. The token keeps out other users and programs of this machine, and the pages of a
browser. The SDK's check of `Host` and `Origin` keeps out pages that use DNS rebinding.
"""

from __future__ import annotations

import hmac
import re
import secrets
import socket
from typing import TYPE_CHECKING

from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse

from gitmem.errors import GitmemError, RefusedError

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
PATH = "/mcp"
_VISIBLE = r"[\x21-\x7e]{16,200}"
_TOKEN_BYTES = 32
_LAST_PORT = 65_535
_GRACE = 2  # seconds that open streams get when the server ends


def make_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def check_token(token: str) -> str:
    """Return a token that the user chose.

    Raises:
        RefusedError: it is too short, or has characters that no header can hold.

    """
    if not re.fullmatch(_VISIBLE, token):
        raise RefusedError("The token is refused: it must be 16 to 200 visible ASCII characters.", "Make a longer one.")
    return token


def listen(port: int) -> socket.socket:
    """Return a socket that listens on the loopback address; port 0 is any free port.

    Raises:
        GitmemError: the port is taken, or not allowed.

    """
    if port > _LAST_PORT:
        raise GitmemError(f"There is no port {port}.", f"Ports go up to {_LAST_PORT}.")
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise GitmemError(
            f"Port {port} cannot be used: {error}.", "Name another port, or none for a free one."
        ) from error


def make_app(server: MCPServer[None], port: int, token: str) -> ASGIApp:
    """Return the application for a port, guarded by a token."""
    names = [f"{name}:{port}" for name in (LOOPBACK, "localhost")]
    security = TransportSecuritySettings(allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names])
    return _Guard(server.streamable_http_app(streamable_http_path=PATH, transport_security=security), token)


def serve(server: MCPServer[None], listening: socket.socket, token: str) -> None:
    """Serve until the process is interrupted."""
    import uvicorn

    app = make_app(server, listening.getsockname()[1], token)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=_GRACE
    )
    uvicorn.Server(config).run(sockets=[listening])


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
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._expected)
