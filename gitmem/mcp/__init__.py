"""The MCP server that agents ask through (spec J2, J4, J5, J8), on the official SDK, which is imported with it.

A room, not a door: `gitmem.cli` starts it and hands it the stores, as it reads the environment for all commands. The
SDK takes a second to import and is an extra (`gitmem-store[mcp]`), so nothing but `gitmem mcp` imports this.
"""
