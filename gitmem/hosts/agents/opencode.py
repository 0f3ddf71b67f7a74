"""OpenCode: a plugin in JavaScript and sessions in a database (gitmem.hosts.opencode). Seen with OpenCode 1.18.33."""

from __future__ import annotations

from gitmem.hosts.opencode import make_host

HOST = make_host("opencode", "OpenCode")
