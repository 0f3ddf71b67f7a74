"""Kilo: a plugin in JavaScript and sessions in a database (gitmem.hosts.opencode). Seen with Kilo 7.7.7."""

from __future__ import annotations

from gitmem.hosts.opencode import make_host

HOST = make_host("kilo", "Kilo")
