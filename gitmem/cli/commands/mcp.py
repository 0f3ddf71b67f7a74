"""`gitmem mcp`: serve the memory by the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli.arguments import count
from gitmem.errors import ExitCode, GitmemError, UsageError

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.mcp.documents import DocumentServer

TOKEN = "GITMEM_MCP_TOKEN"  # noqa: S105  # the name of the variable that holds it


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem mcp`."""
    parser.add_argument("--http", action="store_true", help="serve over HTTP, on this machine only, behind a token")
    parser.add_argument("--port", type=count, metavar="N", help="with --http: the port (default: a free one)")
    parser.add_argument("--json", action="store_true", help="with --http: print address and token as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Serve the memory to an agent by the Model Context Protocol, over standard input and output.

    'gitmem install claude' has Claude Code start it. It needs the extra 'mcp', and says how to install it.

    With --http it listens on 127.0.0.1 and answers requests with the header 'Authorization: Bearer TOKEN'. The token
    comes from the variable GITMEM_MCP_TOKEN; without it, one is made for this run and printed.

    With --json: {url, token}; token is null if it came from the variable.

    Examples:
      gitmem mcp
      gitmem mcp --http
      GITMEM_MCP_TOKEN="$(pass gitmem)" gitmem mcp --http --port 8790

    """
    if args.port is not None and not args.http:
        raise UsageError("--port goes with --http.", "Add --http, or leave it out.")
    try:
        from gitmem.mcp.calls import Memory
        from gitmem.mcp.server import make_server
    except ImportError as error:  # missing, or another version
        from gitmem.machine.installed import install_command

        remedy = f"Run {install_command('mcp')}"
        raise GitmemError(f"The MCP server needs the official SDK: {error}.", remedy) from error

    session = "" if args.http else door.session()
    server = make_server(Memory(lambda: door.settled(args), door.maintain_later, session))
    if args.http:
        _serve_http(args, door, server)
    else:
        from gitmem.mcp.stdio import serve

        serve(server, door.stdin)
    return ExitCode.OK


def _serve_http(args: argparse.Namespace, door: Door, server: DocumentServer) -> None:
    from gitmem.machine.loopback import LOOPBACK, check_token, listen, make_token
    from gitmem.mcp.http import PATH, serve

    given = door.environ.get(TOKEN)
    token = check_token(given) if given else make_token()
    with listen(args.port or 0) as listening:
        url = f"http://{LOOPBACK}:{listening.getsockname()[1]}{PATH}"
        shown = f"the token in {TOKEN}" if given else token
        door.answer(args, {"url": url, "token": None if given else token}, f"{url}\nAuthorization: Bearer {shown}")
        door.out.flush()
        serve(server, listening, token)
