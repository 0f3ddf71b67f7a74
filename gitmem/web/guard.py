"""Check who may see the pages, and restrict what they may do in a browser.

A token in the printed address is good for one request, which sets a cookie. Other users of this machine have neither;
pages of other sites get no cookie sent (`SameSite=Strict`) and are refused when they post (`Sec-Fetch-Site`); a name
that is bound to this address for the purpose (DNS rebinding) is not the `Host` that is asked for.
"""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gitmem.platform.loopback import header, hosts, make_token, same

TOKEN = "token"  # noqa: S105  # the name of the parameter
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_SAFE = {"GET", "HEAD"}
_AGAIN = "Stop 'gitmem web' and start it again: it prints a new address, which is good once."


class Guard:
    """Refuses requests without the token or from elsewhere, and adds security headers to every answer."""

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app = app
        self._hosts = {name.encode() for name in hosts(port)}
        self._token: bytes | None = token.encode()  # None once it was used
        self._name = f"gitmem-{port}"  # cookies do not know ports
        self._cookie = make_token()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            answer = self._answer(scope)

            async def send_with_headers(message: Message) -> None:
                if message["type"] == "http.response.start":
                    MutableHeaders(scope=message).update(HEADERS)
                await send(message)

            await (answer or self._app)(scope, receive, send_with_headers)

    def _answer(self, scope: Scope) -> Response | None:
        """Return the refusal of a request, or the redirect of one that brings the token; None to pass it on."""
        if header(scope, b"host") not in self._hosts:
            return PlainTextResponse("This server has another address.", 421)
        site = header(scope, b"sec-fetch-site")
        if scope["method"] not in _SAFE and site != b"same-origin":
            return PlainTextResponse("Only pages of this server may change something.", 403)
        given = parse_qs(scope["query_string"].decode("latin-1")).get(TOKEN)
        if given and scope["path"] == "/":
            return self._admit(given[0].encode("utf-8", "replace"))
        if not self._has_cookie(scope):
            return PlainTextResponse(f"You are not signed in. {_AGAIN}", 401)
        return None

    def _admit(self, given: bytes) -> Response:
        if self._token is None or not same(given, self._token):
            return PlainTextResponse(f"This address was used before, or is not the one printed. {_AGAIN}", 403)
        self._token = None
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self._name, self._cookie, httponly=True, samesite="strict", path="/")
        return answer

    def _has_cookie(self, scope: Scope) -> bool:
        pairs = (part.strip().partition(b"=") for part in (header(scope, b"cookie") or b"").split(b";"))
        given = [value for name, _, value in pairs if name == self._name.encode()]
        return len(given) == 1 and same(given[0], self._cookie.encode())
