"""The application: pages, their JSON twins, the acts, the style and the script."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import anyio.to_thread
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from gitmem.errors import GitmemError, NotFoundError, RefusedError, UnreadableError
from gitmem.history.records import read_records, resolve
from gitmem.platform import loopback
from gitmem.platform.programs import read_resource
from gitmem.store.headers import standing_of
from gitmem.store.store import Store
from gitmem.web.acts import MovedError, act
from gitmem.web.guard import Guard
from gitmem.web.pages.view import Kept, View, commit_value
from gitmem.web.render import TWIN, page_of, to_html, to_json

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp


FILES = {"gitmem.css": "text/css", "gitmem.js": "text/javascript", "gitmem.svg": "image/svg+xml"}
_MAX_FORM = 256_000  # bytes
_MAX_FIELDS = 20
_PATIENCE = 5.0  # seconds that reading the history waits for the first page
DONE = "done"  # the parameter with the commit that an act made


def make_app(open_store: Callable[[], Store], port: int, token: str, *, read_only: bool = False) -> ASGIApp:
    """Return the guarded application for a port; it opens the store anew for each request."""
    return _guarded(_Pages(open_store, forms=not read_only), port, token)


def _guarded(pages: _Pages, port: int, token: str) -> ASGIApp:
    routes = [Route("/{path:path}", pages.get, methods=["GET"]), Route("/{path:path}", pages.post, methods=["POST"])]
    return Guard(Starlette(routes=routes), port, token)


def serve(open_store: Callable[[], Store], listening: socket.socket, token: str, *, read_only: bool) -> None:
    """Serve until the process is interrupted."""
    pages = _Pages(open_store, forms=not read_only)
    threading.Thread(target=pages.warm, daemon=True).start()
    app = _guarded(pages, listening.getsockname()[1], token)
    loopback.serve(app, listening)


class _Pages:
    def __init__(self, open_store: Callable[[], Store], *, forms: bool) -> None:
        self._open = open_store
        self._kept = Kept()
        self._forms = forms
        self._reading = threading.Lock()  # while the facts are read for the first time
        self._shown = threading.Event()  # the first page

    def warm(self) -> None:
        """Read the facts before the first page, which waits for them, and the history after it."""
        with contextlib.suppress(GitmemError, OSError):  # a page that needs them reports the error
            with self._reading:
                view = View(self._open(), {}, self._kept)
                standing_of(view.facts)
            self._shown.wait(_PATIENCE)
            view.records()

    def get(self, request: Request) -> Response:
        """Answer with a page, its JSON twin, or a static file."""
        path = str(request.path_params["path"])
        if path in FILES:
            return Response(read_resource("templates", "web", path), media_type=FILES[path])
        with self._reading:  # else the first page would read them, too
            pass
        try:
            return self._page(request, path)
        finally:
            self._shown.set()

    def _page(self, request: Request, path: str) -> Response:
        twin = path.endswith(TWIN)
        try:
            view = View(self._open(), dict(request.query_params), self._kept)
            template, page = page_of(view, path.removesuffix(TWIN))
            if twin:
                return Response(to_json(page).encode("utf-8", "replace"), media_type="application/json")
            return self._html(template, page, note=self._note(view), back=_back(request))
        except (GitmemError, OSError) as error:
            return self._trouble(error, twin=twin)

    async def post(self, request: Request) -> Response:
        """Carry out the act of a form, then redirect to the page that shows it."""
        if not self._forms:
            return self._trouble(RefusedError("This viewer was started with --read-only."))
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _MAX_FORM:
                return self._trouble(RefusedError("The form is too large.", "Nothing was changed."))
        return await anyio.to_thread.run_sync(self._act, str(request.path_params["path"]), body)

    def _act(self, path: str, body: bytes) -> Response:
        try:
            fields = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
            form = {name: values[0].replace("\r\n", "\n") for name, values in fields.items()}
            done = act(View(self._open(), {}, self._kept), path, form)
        except MovedError as error:
            return self._html("moved", error.page, 409)
        except ValueError:
            return self._trouble(RefusedError("The form cannot be read.", "Nothing was changed."))
        except (GitmemError, OSError) as error:
            return self._trouble(error)
        parts = urlsplit(done.href)
        query = [*(pair for pair in parse_qs(parts.query).items() if pair[0] != DONE)]
        query += [(DONE, [done.commit])] if done.commit else []
        return RedirectResponse(f"{parts.path}{'?' if query else ''}{urlencode(query, doseq=True)}", 303)

    def _note(self, view: View) -> dict[str, Any] | None:
        """Return the commit that the act before this page made."""
        if not view.word(DONE):
            return None
        try:
            oid = resolve(view.store, view.word(DONE))
        except NotFoundError:
            return None
        return commit_value(read_records(view.store, [oid])[oid])

    def _html(self, template: str, page: dict[str, Any], status: int = 200, **around: Any) -> Response:
        text = to_html(template, page, forms=self._forms, **around)
        return HTMLResponse(text.encode("utf-8", "replace"), status)

    def _trouble(self, error: Exception, *, twin: bool = False) -> Response:
        statuses = ((NotFoundError, 404), (RefusedError, 422), (UnreadableError, 500), (GitmemError, 409))
        status = next((number for kind, number in statuses if isinstance(error, kind)), 500)
        page = {"message": getattr(error, "message", str(error)), "remedy": getattr(error, "remedy", "")}
        if twin:
            return Response(to_json(page).encode("utf-8", "replace"), status, media_type="application/json")
        return self._html("error", page, status)


def _back(request: Request) -> str:
    """Return the address of the page that is shown."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")
