"""The official SDK of MCP, which comes with an extra.

Tested through `tests/cli/commands/test_mcp.py`.
"""

from __future__ import annotations

EXTRA = "pip install 'gitmem-store[mcp]'"
NEEDS_EXTRA = f"The MCP server needs the official SDK, which is not installed. Run: {EXTRA}"


def has_sdk() -> bool:
    """Return whether the SDK is installed, without importing it."""
    from importlib.util import find_spec

    return find_spec("mcp") is not None
