"""The guarded application: the pages of all projects, also as JSON, the acts, a stream of changes, and styles."""

from __future__ import annotations

import contextlib
import gc
import json
import socket
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gitmem.errors import GitmemError, NotFoundError, RefusedError, UnreadableError
from gitmem.history.marks import place_marks
from gitmem.history.records import read_records, resolve
from gitmem.platform import loopback
from gitmem.platform.loopback import header, hosts, make_token, same
from gitmem.platform.machine import read_resource
from gitmem.purge.unfinished import finish_purge
from gitmem.store.acceptance import known_stores
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store
from gitmem.text.sentences import count
from gitmem.web.acts import ELSEWHERE, MovedError, act
from gitmem.web.overview import waiting
from gitmem.web.render import FILES, FILTERED, TWIN, page_of, to_html, to_json
from gitmem.web.view import PageCache, ShownProject, View, commit_value

_MAX_FORM = 256_000  # bytes
_MAX_FIELDS = 300
_PATIENCE = 5.0  # seconds to wait for the first page before history is read
_EVENTS = "events"  # the address of the stream of changes
_EACH = 1.0  # seconds between two checks of the store
_STILL = 15  # checks after which the stream sends a keep-alive
_ZONE = "gitmem-zone"  # the cookie with the time zone of the reader's browser
DONE = "done"  # the parameter with the commits that an act made
_TOKEN = "token"  # noqa: S105  # the name of the parameter
_HEADERS = {
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


def make_app(pages: Pages, port: int, token: str) -> ASGIApp:
    """Return the guarded application for a port."""
    routes = [Route("/{path:path}", pages.get, methods=["GET"]), Route("/{path:path}", pages.post, methods=["POST"])]
    return Guard(Starlette(routes=routes), port, token)


def serve(open_store: Callable[[], Store], listening: socket.socket, token: str, *, read_only: bool) -> None:
    """Serve until the process is interrupted."""
    pages = Pages(open_store, forms=not read_only)
    threading.Thread(target=pages.warm, daemon=True).start()
    loopback.serve(make_app(pages, listening.getsockname()[1], token), listening)


class Pages:
    """Answers requests; it opens the store anew for each."""

    def __init__(self, open_store: Callable[[], Store], *, forms: bool) -> None:
        self._open = open_store
        self._kept: dict[str, PageCache] = defaultdict(PageCache)  # by the project's key, as below
        self._filters: dict[str, dict[str, str]] = defaultdict(dict)  # the query that each list was last asked for
        self._forms = forms
        self._reading = threading.Lock()  # while the facts are read for the first time
        self._shown = threading.Event()  # the first page

    def warm(self) -> None:
        """Read the facts, which the first page needs, and after that page the history."""
        with contextlib.suppress(GitmemError, OSError):  # a page that needs them reports the error
            with self._reading:
                view = View(self._open(), {}, self._kept[""])
                place_marks(view.store, view.facts)
            self._shown.wait(_PATIENCE)
            view.records()
        gc.collect()
        gc.freeze()  # later garbage collections skip what was read

    def get(self, request: Request) -> Response:
        """Answer with a page, its JSON twin, a static file, or the stream of changes."""
        path = str(request.path_params["path"])
        with self._reading:  # so that the first page does not read them again
            pass
        view = None
        try:
            view, path = self._view(path, request.query_params, request.cookies)
            return self._page(view, path)
        except (GitmemError, OSError) as error:
            return self._trouble(error, view, twin=path.endswith(TWIN))
        finally:
            self._shown.set()

    def _page(self, view: View, path: str) -> Response:
        name = path.removesuffix(TWIN)
        if name in FILES:
            return Response(read_resource("templates", "web", name), media_type=FILES[name])
        if name == _EVENTS:
            return StreamingResponse(_changes(view.store), media_type="text/event-stream")
        template, page = page_of(view, name)
        if path != name:
            return Response(to_json(page).encode("utf-8", "replace"), media_type="application/json")
        asked = {key: value for key, value in view.asked.items() if key not in (DONE, "after") and value}
        if name in FILTERED:
            self._filters[view.here.key][name] = f"?{urlencode(asked)}" if asked else ""
        back = f"/{name}?{urlencode(asked)}" if asked else f"/{name}"
        return self._html(template, page, view, note=self._note(view), back=back)

    def _view(self, path: str, asked: Mapping[str, str], cookies: Mapping[str, str]) -> tuple[View, str]:
        """Return the view of the project in the address, and the address within the project."""
        store = self._open()
        projects = [ShownProject("", store.root), *map(ShownProject.of, known_stores(store.context.home))]
        firsts = {project.root: project for project in reversed(projects)}
        projects = [project for project in projects if firsts[project.root] is project]
        first, _, rest = path.partition("/")
        key, _, rest = rest.partition("/") if first == "p" else ("", "", path)
        here = next((project for project in projects if project.key == key), None)
        if here is None:
            raise NotFoundError("There is no such project on this machine.", "The header of each page lists them.")
        if key:
            store = finish_purge(Store(here.root, store.context))
        return View(store, dict(asked), self._kept[key], here, tuple(projects), cookies.get(_ZONE, "")), rest

    async def post(self, request: Request) -> Response:
        """Carry out the act of a form, then redirect to the page that shows it."""
        if not self._forms:
            return self._trouble(RefusedError("This viewer was started with --read-only."))
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _MAX_FORM:
                return self._trouble(RefusedError("The form is too large.", "Nothing was changed."))
        path = str(request.path_params["path"])
        return await anyio.to_thread.run_sync(self._act, path, body, request.cookies)

    def _act(self, path: str, body: bytes, cookies: Mapping[str, str]) -> Response:
        view = None
        try:
            fields = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
            form = {name: values[0].replace("\r\n", "\n") for name, values in fields.items()}
            view, path = self._view(path, {}, cookies)
            done = act(view, path, form, fields.get("fact", ()))
            view.kept.pop("waiting", None)  # an answer may not move the tip
        except MovedError as error:
            return self._html("moved", error.page, view, 409)
        except ValueError:
            return self._trouble(RefusedError("The form cannot be read.", "Nothing was changed."), view)
        except (GitmemError, OSError) as error:
            return self._trouble(error, view)
        if done.ask is not None:
            return self._html("purge", done.ask, view)
        parts = urlsplit(done.href)
        query = [*(pair for pair in parse_qs(parts.query).items() if pair[0] != DONE)]
        query += [(DONE, [done.commit])] if done.commit else []
        address = f"{view.here.base}{parts.path}{'?' if query else ''}{urlencode(query, doseq=True)}"
        return RedirectResponse(address, 303)

    def _note(self, view: View) -> dict[str, Any] | None:
        """Return the last commit of the act before this page, with all the act's commits to undo."""
        made = view.word(DONE).split()
        here = [step for step in made if not step.startswith(ELSEWHERE)]
        if not here:
            return None
        try:
            oid = resolve(view.store, here[-1])
        except NotFoundError:
            return None
        others = f", and {count(len(here) - 1, 'more commit')}" if len(here) > 1 else ""
        about = commit_value(view.store, read_records(view.store, [oid])[oid])
        return {**about, "done": " ".join(made), "others": others}

    def _html(
        self, template: str, page: dict[str, Any], view: View | None, status: int = 200, **around: Any
    ) -> Response:
        values: dict[str, Any] = {}
        if view:
            base = view.here.base
            values = {
                "u": lambda address, of=base: of + address,
                "projects": view.projects,
                "project": view.here,
                "this_machine": view.store.context.machine,
                "filters": self._filters[view.here.key],
                "zone": view.zone,
                "live": {"at": f"{base}/{_EVENTS}", "tip": view.tip or "none"},
            }
            with contextlib.suppress(GitmemError, OSError):  # the page itself reports that
                values["waiting"] = waiting(view)
            try:
                view.store.check_writes()
            except GitmemError as error:
                values["shut"] = error.sentences
        forms = self._forms and not values.get("shut")
        text = to_html(template, page, forms=forms, **values, **around)
        return HTMLResponse(text.encode("utf-8", "replace"), status)

    def _trouble(self, error: Exception, view: View | None = None, *, twin: bool = False) -> Response:
        statuses = ((NotFoundError, 404), (RefusedError, 422), (UnreadableError, 500), (GitmemError, 409))
        status = next((number for kind, number in statuses if isinstance(error, kind)), 500)
        page = {"message": getattr(error, "message", str(error)), "remedy": getattr(error, "remedy", "")}
        if twin:
            return Response(to_json(page).encode("utf-8", "replace"), status, media_type="application/json")
        return self._html("error", page, view, status)


async def _changes(store: Store) -> AsyncIterator[str]:
    """Yield the tip and the number of waiting events when one of them changes, else a keep-alive now and then."""

    def state() -> str:
        tip, working = Store(store.root, store.context).tip, HookSpool(store.private).unfinished()
        return json.dumps({"tip": tip or "none", "working": working})

    before, looks = "", 0
    while True:
        try:
            now = await anyio.to_thread.run_sync(state)
        except (GitmemError, OSError):  # it is being moved, or purged
            now = before
        looks += 1
        if now != before or looks % _STILL == 0:
            yield f"data: {now}\n\n" if now != before else ": still here\n\n"
        before = now
        await anyio.sleep(_EACH)


class Guard:
    """Refuses requests without the token or from elsewhere, and adds security headers to every answer.

    The token in the printed address is valid for one request, which sets a cookie. Other users of this machine have
    neither. For pages of other sites the browser sends no cookie (`SameSite=Strict`), and their posts are refused
    (`Sec-Fetch-Site`). Requests through a name bound to this address (DNS rebinding) have another `Host`.
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app = app
        self._hosts = {name.encode() for name in hosts(port)}
        self._token: bytes | None = token.encode()  # None once it was used
        self._name = f"gitmem-{port}"  # cookies are shared by all ports
        self._cookie = make_token()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            answer = self._answer(scope)

            async def send_with_headers(message: Message) -> None:
                if message["type"] == "http.response.start":
                    MutableHeaders(scope=message).update(_HEADERS)
                await send(message)

            await (answer or self._app)(scope, receive, send_with_headers)

    def _answer(self, scope: Scope) -> Response | None:
        """Return the refusal of a request, or the redirect if it has the token; None to pass it on."""
        if header(scope, b"host") not in self._hosts:
            return PlainTextResponse("This server has another address.", 421)
        site = header(scope, b"sec-fetch-site")
        if scope["method"] not in _SAFE and site != b"same-origin":
            return PlainTextResponse("Only pages of this server may change something.", 403)
        token = parse_qs(scope["query_string"].decode("latin-1")).get(_TOKEN)
        if token and scope["path"] == "/":
            return self._admit(token[0].encode("utf-8", "replace"))
        if not self._has_cookie(scope):
            return PlainTextResponse(f"You are not signed in. {_AGAIN}", 401)
        return None

    def _admit(self, token: bytes) -> Response:
        if self._token is None or not same(token, self._token):
            return PlainTextResponse(f"This address was used before, or is not the one printed. {_AGAIN}", 403)
        self._token = None
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self._name, self._cookie, httponly=True, samesite="strict", path="/")
        return answer

    def _has_cookie(self, scope: Scope) -> bool:
        pairs = (part.strip().partition(b"=") for part in (header(scope, b"cookie") or b"").split(b";"))
        tokens = [value for name, _, value in pairs if name == self._name.encode()]
        return len(tokens) == 1 and same(tokens[0], self._cookie.encode())
