"""`gitmem mcp`: the server that agents ask through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli.searching import settled
from gitmem.errors import ExitCode, GitmemError

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door

EXTRA = "gitmem-store[mcp]"


def configure_mcp(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem mcp`."""


def run_mcp(args: argparse.Namespace, door: Door) -> int:
    """Serve the memory to an agent by the Model Context Protocol, over standard input and output.

    'gitmem install claude --mcp' has Claude Code start it. It needs the extra: pip install "gitmem-store[mcp]".

    Examples:
      gitmem mcp

    """
    _check_extra()
    from gitmem.mcp.server import make_server

    server = make_server(lambda: settled(args, door))
    server.run("stdio")
    return ExitCode.OK


def _check_extra() -> None:
    """Refuse to go on without the SDK, by words rather than by a traceback."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise GitmemError(
            "The MCP server needs the official SDK, which is not installed.", f"Install it: pip install '{EXTRA}'"
        )
