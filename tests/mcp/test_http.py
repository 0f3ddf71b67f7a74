from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from gitmem.errors import GitmemError, RefusedError
from gitmem.machine.loopback import LOOPBACK, check_token, listen, make_token
from gitmem.mcp.http import make_app

TOKEN = "a-token-of-the-tests"
PORT = 8790
GOOD = {
    "host": f"{LOOPBACK}:{PORT}",
    "authorization": f"Bearer {TOKEN}",
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def post(memory, **headers: str | None) -> int:
    """Return the status that a request gets; a header that is None is left out."""
    sent = {name.replace("_", "-"): value for name, value in {**GOOD, **headers}.items() if value is not None}

    async def run() -> int:
        app = make_app(memory.server, PORT, TOKEN)
        async with memory.server.session_manager.run():
            transport = httpx2.ASGITransport(app)
            async with httpx2.AsyncClient(transport=transport, base_url=f"http://{LOOPBACK}:{PORT}") as client:
                return (await client.post("/mcp", json=HELLO, headers=sent)).status_code

    return anyio.run(run)


@pytest.mark.parametrize(
    "headers, status",
    [
        ({}, 200),
        ({"host": f"localhost:{PORT}"}, 200),
        ({"origin": f"http://{LOOPBACK}:{PORT}"}, 200),
        ({"authorization": None}, 401),
        ({"authorization": "Bearer "}, 401),
        ({"authorization": f"Bearer {TOKEN}x"}, 401),
        ({"authorization": f"Bearer {TOKEN[:-1]}"}, 401),
        ({"authorization": TOKEN}, 401),
        ({"authorization": "Bearer \u00ff"}, 401),
        ({"host": f"evil.example:{PORT}"}, 421),
        ({"host": f"{LOOPBACK}.evil.example:{PORT}"}, 421),
        ({"host": f"{LOOPBACK}:{PORT + 1}"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"host": "evil.example", "authorization": None}, 401),
    ],
)
def test_only_who_has_the_token_and_asks_for_this_address_gets_in(memory, headers, status):
    if "\u00ff" in (headers.get("authorization") or ""):
        headers = {"authorization": headers["authorization"].encode("latin-1")}
    assert post(memory, **headers) == status


def test_tokens_are_long_and_differ():
    assert check_token(make_token()) != make_token()
    for token in ("short", "x" * 201, "with a blank in the token", "\n" * 20, "한" * 20):
        with pytest.raises(RefusedError):
            check_token(token)


def test_it_listens_on_loopback_alone_and_a_port_that_is_taken_is_told():
    with listen(0) as listening:
        address, port = listening.getsockname()
        assert address == LOOPBACK
        with pytest.raises(GitmemError, match=f"Port {port} cannot be used"):
            listen(port)
    with pytest.raises(GitmemError):
        listen(10**6)


@pytest.mark.parametrize("given", [None, TOKEN])
def test_the_command_says_where_it_is_and_serves_a_client(memory, given):
    memory.put("knowledge/build.md", "We use uv, not pnpm.\n")
    environ = {**os.environ, "PYTHONPATH": os.getcwd()} | ({"GITMEM_MCP_TOKEN": given} if given else {})
    server = subprocess.Popen(
        [sys.executable, "-m", "gitmem", "mcp", "--http", "--json"],
        cwd=memory.root.parent,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with server:
        try:
            said = json.loads("".join(server.stdout.readline() for _ in range(4)))
            assert said["url"].startswith(f"http://{LOOPBACK}:")
            assert (said["token"] is None) == (given is not None)
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(urllib.request.Request(said["url"], data=b"{}"), timeout=20)
            headers = {"authorization": f"Bearer {given or said['token']}"}

            async def ask():
                async with httpx2.AsyncClient(headers=headers) as http:
                    transport = streamable_http_client(said["url"], http_client=http)
                    async with Client(transport) as client:
                        return await client.call_tool("memory_search", {"query": "pnpm"})

            assert "knowledge/build.md" in anyio.run(ask).content[0].text
        finally:
            server.terminate()
        assert TOKEN not in server.stderr.read()
