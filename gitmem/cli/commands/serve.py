"""`gitmem mcp` serves the memory to an agent, `gitmem web` to a browser, where it can be corrected."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from gitmem.cli.app import OWN, App
from gitmem.cli.arguments import Args
from gitmem.errors import GitmemError, NotFoundError, UsageError
from gitmem.platform.loopback import LOOPBACK, check_token, listen, make_token
from gitmem.platform.machine import install_command
from gitmem.store.store import Store
from gitmem.values import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmem.mcp.server import DocumentServer


_LEFT = "\nLeft out: private memories, your own of every project, transcripts."
TOKEN = "GITMEM_MCP_TOKEN"  # noqa: S105  # name of the environment variable


@contextlib.contextmanager
def _needs(extra: str, message: str) -> Iterator[None]:
    """Report a failed import, for example of a missing or old package, with the command that installs the extra."""
    try:
        yield
    except ImportError as error:
        raise GitmemError(f"{message}: {error}.", f"Run {install_command(extra)}") from error


def run_mcp(args: Args, app: App) -> None:
    if args.port is not None and not args.http:
        raise UsageError("--port goes with --http.", "Add --http, or leave it out.")
    with _needs("mcp", "The MCP server needs the official SDK"):
        from gitmem.mcp.server import make_server, serve_stdio
        from gitmem.mcp.tools import ServedMemory

    session = "" if args.http else app.session()

    def opened() -> Store:
        store = app.settled()
        store.acceptance.check()  # show an agent nothing of a store that came with the project
        return store

    server = make_server(ServedMemory(opened, Store.maintain_later, session))
    if args.http:
        _serve_http(args, app, server)
    else:
        serve_stdio(server, app.stdin)


def _serve_http(args: Args, app: App, server: DocumentServer) -> None:
    from gitmem.mcp.server import PATH, serve_http

    given = app.environ.get(TOKEN)
    token = check_token(given) if given else make_token()
    with listen(args.port or 0) as listening:
        url = f"http://{LOOPBACK}:{listening.getsockname()[1]}{PATH}"
        shown = f"the token in {TOKEN}" if given else token
        app.answer({"url": url, "token": None if given else token}, f"{url}\nAuthorization: Bearer {shown}", OWN)
        app.out.flush()
        serve_http(server, listening, token)


def run_web(args: Args, app: App) -> None:
    if args.export is not None and (args.port is not None or args.read_only or args.open):
        raise UsageError("--export goes without the other options.", "It starts no server.")
    with _needs("web", "The viewer needs packages that are not installed"):
        from gitmem.web.app import serve
        from gitmem.web.render import export

    if args.export is not None:
        folder = app.path(args.export)
        try:
            store = app.settled()
            pages = export(store, folder)
        except OSError as error:
            raise NotFoundError(f"{error.filename or folder} cannot be written: {error.strerror}.") from error
        left = "" if store.is_private else _LEFT
        app.answer({"folder": folder, "pages": pages}, f"{pages} pages in {folder}: open index.html there.{left}", OWN)
        return
    app.settled()
    token = make_token()
    with listen(args.port or 0) as listening:
        url = f"http://{LOOPBACK}:{listening.getsockname()[1]}/?token={token}"
        app.answer({"url": url}, f"{url}\nThe address is good once. Ctrl-C ends it.", OWN)
        app.out.flush()
        if args.open:
            import webbrowser

            webbrowser.open(url)
        serve(app.open, listening, token, read_only=args.read_only)
