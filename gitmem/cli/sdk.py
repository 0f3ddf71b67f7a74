"""The official SDK of MCP, which comes with an extra.

Tested through `tests/cli/commands/test_mcp.py`.
"""

from __future__ import annotations


def needs_sdk() -> str:
    """Return the sentences that say what the MCP server needs, and how to install it."""
    from gitmem.machine.installed import install_command

    return f"The MCP server needs the official SDK, which is not installed. Run: {install_command('mcp')}"


def has_sdk() -> bool:
    """Return whether the SDK is installed, without importing it."""
    from importlib.util import find_spec

    return find_spec("mcp") is not None
