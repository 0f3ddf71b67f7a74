"""The MCP server for agents, on the official SDK.

`gitmem.cli` starts it and passes it the store. The SDK takes a second to import and is an extra
(`gitmem-store[mcp]`), so only `gitmem mcp` imports this package.
"""
