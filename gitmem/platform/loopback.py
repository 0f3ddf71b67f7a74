"""Serve this machine only: the loopback address, tokens, and the allowed values of `Host`.

`gitmem mcp --http` and `gitmem web` share it. Tested through `tests/mcp/test_transport.py` and
`tests/web/test_app_guard.py`.
"""

from __future__ import annotations

import hmac
import re
import secrets
import socket
from collections.abc import Mapping
from typing import Any

from gitmem.errors import GitmemError, RefusedError, UsageError

LOOPBACK = "127.0.0.1"
_VISIBLE = r"[\x21-\x7e]{16,200}"
_TOKEN_BYTES = 32
_LAST_PORT = 65_535
_GRACE = 2  # seconds for open streams to close when the server ends


def make_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def check_token(token: str) -> str:
    """Return a token that the user chose; raise RefusedError if it is too short, or unfit for a header."""
    if not re.fullmatch(_VISIBLE, token):
        raise RefusedError("The token is refused: it must be 16 to 200 visible ASCII characters.", "Make a longer one.")
    return token


def listen(port: int) -> socket.socket:
    """Return a socket that listens on the loopback address; port 0 is any free port."""
    if port > _LAST_PORT:
        raise UsageError(f"There is no port {port}.", f"Ports go up to {_LAST_PORT}.")
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise GitmemError(
            f"Port {port} cannot be used: {error}.", "Name another port, or none for a free one."
        ) from error


def hosts(port: int) -> list[str]:
    """Return the values of `Host` that name this server; any other one is DNS rebinding."""
    return [f"{name}:{port}" for name in (LOOPBACK, "localhost")]


def header(scope: Mapping[str, Any], name: bytes) -> bytes | None:
    """Return the value of a header of an ASGI request, None if it is missing or there is more than one."""
    values = [value for key, value in scope["headers"] if key == name]
    return values[0] if len(values) == 1 else None


def same(value: bytes | None, expected: bytes) -> bool:
    """Return whether a secret is the expected one; the time does not reveal where they differ."""
    return value is not None and hmac.compare_digest(value, expected)


def serve(app: Any, listening: socket.socket) -> None:
    """Serve an ASGI application until the process is interrupted."""
    import uvicorn

    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=_GRACE
    )
    uvicorn.Server(config).run(sockets=[listening])
