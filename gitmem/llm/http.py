"""Post JSON to a server: with a deadline, a limit on the answer, and retries.

Redirects are not followed, since they would pass the key to another server.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from ipaddress import ip_address
from socket import SHUT_RDWR, socket
from threading import Timer
from urllib.parse import SplitResult, urlsplit

from gitmem.llm.protocol import (
    ONCE,
    AnswerError,
    ConnectionFailedError,
    DeadlineError,
    Patience,
    ProviderError,
    StatusError,
)

MOST_BYTES = 16_000_000  # of an answer
_BLOCK = 1 << 16
_SHOWN = 300  # characters of a server's message
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def post_json(
    url: str,
    value: object,
    *,
    headers: Mapping[str, str],
    deadline: float,
    patience: Patience = ONCE,
    environ: Mapping[str, str] | None = None,
    most: int = MOST_BYTES,
) -> object:
    """Post a value as JSON and return the JSON answer.

    `deadline`, in seconds of `time.monotonic`, covers all tries; `environ` has the proxies for https (`https_proxy`,
    `no_proxy`); an answer of more than `most` bytes is an error.

    Raises ProviderError, after the last try; its message has no value of a header.
    """
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    failures = 0
    while True:
        try:
            return _ask(url, body, headers=headers, deadline=deadline, environ=environ or {}, most=most)
        except ProviderError as error:
            failures += 1
            if not error.passing or failures >= patience.tries:
                raise
            pause = patience.pause(failures, error.wait)
            if time.monotonic() + pause >= deadline:
                raise
            patience.sleep(pause)


def is_private(url: str) -> bool:
    """Return whether a URL names localhost or an address of a private network."""
    host = (_address(url).hostname or "").lower()
    if host in _LOOPBACK or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_private
    except ValueError:
        return False


def _address(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        if parts.scheme in {"http", "https"} and parts.hostname and (parts.port is None or parts.port):
            return parts
    except ValueError:
        pass
    raise ProviderError(f"{url[:_SHOWN]!r} is not the address of a server.", "It begins with https:// or http://.")


def _ask(
    url: str, body: bytes, *, headers: Mapping[str, str], deadline: float, environ: Mapping[str, str], most: int
) -> object:
    """Make one request; return the JSON value of a successful answer."""
    parts = _address(url)
    where = parts.netloc.rpartition("@")[2]  # without user and password
    left = deadline - time.monotonic()
    if left <= 0:
        raise DeadlineError(f"There was no time left to ask {where}.")
    connection = _connection(parts, left, environ)
    late: list[bool] = []
    try:
        connection.connect()
        with _cut_at(deadline, connection.sock, late):
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            sent = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "gitmem"}
            connection.request("POST", path, body, {**sent, **headers})
            with connection.getresponse() as response:
                data = _read(response, where, most)
                if late:
                    raise DeadlineError(f"{where} did not answer in time.")
                if response.length:  # http.client accepts a truncated answer
                    raise ConnectionFailedError(f"The answer of {where} is truncated.")
                if response.status // 100 != 2:  # noqa: PLR2004  # RFC 9110, 15.3
                    asked = response.getheader("Retry-After", "")
                    raise _refused(where, response.status, data, asked, list(headers.values()))
        try:
            value: object = json.loads(data)
        except (ValueError, RecursionError):
            raise AnswerError(f"The answer of {where} is not JSON.", raw=data.decode("utf-8", "replace")) from None
        else:
            return value
    except ValueError:  # its message may contain a header
        raise ProviderError(f"The request to {where} cannot be made.", "Check the key and the address.") from None
    except (OSError, HTTPException) as error:
        if late or time.monotonic() >= deadline:
            raise DeadlineError(f"{where} did not answer in time.") from None
        reason = getattr(error, "strerror", None) or f"{error}" or type(error).__name__
        raise ConnectionFailedError(f"{where} could not be asked: {reason[:_SHOWN]}.") from None
    finally:
        connection.close()


@contextmanager
def _cut_at(deadline: float, sock: socket, late: list[bool]) -> Iterator[None]:
    """Shut a connection down at the deadline: the timeout of a socket restarts with each byte received."""

    def cut() -> None:
        late.append(True)
        with suppress(OSError):
            socket.shutdown(sock, SHUT_RDWR)  # without the closing handshake of TLS, which may block

    timer = Timer(max(deadline - time.monotonic(), 0), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _connection(parts: SplitResult, timeout: float, environ: Mapping[str, str]) -> HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "http":
        return HTTPConnection(host, parts.port, timeout=timeout)
    proxy = environ.get("https_proxy") or environ.get("HTTPS_PROXY")
    without = (environ.get("no_proxy") or environ.get("NO_PROXY") or "").lower().split(",")
    names = [name.strip().lstrip(".") for name in without if name.strip()]
    if not proxy or "*" in names or any(f".{host}".endswith(f".{name}") for name in names):
        return HTTPSConnection(host, parts.port, timeout=timeout)
    through = _address(proxy if "//" in proxy else f"http://{proxy}")
    connection = HTTPSConnection(through.hostname or "", through.port or 8080, timeout=timeout)
    connection.set_tunnel(host, parts.port or 443)
    return connection


def _read(response: HTTPResponse, where: str, most: int) -> bytes:
    blocks: list[bytes] = []
    size = 0
    while block := response.read1(_BLOCK):
        size += len(block)
        if size > most:
            raise AnswerError(f"The answer of {where} has more than {most:,} bytes.")
        blocks.append(block)
    return b"".join(blocks)


def _refused(where: str, status: int, data: bytes, retry_after: str, secrets: Sequence[str]) -> StatusError:
    """Return the error for a status (RFC 9110, 15), with the server's message, without secrets."""
    if status // 100 == 3:  # noqa: PLR2004  # RFC 9110, 15.4
        return StatusError(f"{where} redirects to another address ({status}).", "Name that address.", status=status)
    remedy = {
        401: "Check the key.",
        403: "Check the key and its permissions.",
        404: "Check the address and the name of the model.",
        429: "Its rate limit is reached; try again later.",
    }.get(status, "")
    message = _message(data)
    for secret in secrets:  # some servers repeat the key
        message = message.replace(secret.removeprefix("Bearer "), "[key]")
    return StatusError(f"{where} refused: {status} {message}".strip(), remedy, status=status, wait=_wait(retry_after))


def _message(data: bytes) -> str:
    """Return a server's error message, on one line."""
    text = data[: 4 * _SHOWN].decode("utf-8", "replace")
    with suppress(ValueError, TypeError, KeyError, RecursionError):
        error = json.loads(data)["error"]
        text = str(error["message"] if isinstance(error, dict) else error)
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_SHOWN]


def _wait(asked: str) -> float:
    """Return the seconds of a `Retry-After` header (RFC 9110, 10.2.3), or 0."""
    wait = asked.strip()
    if wait.isdigit():
        return float(wait[:9])
    try:
        return max(parsedate_to_datetime(wait).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0
