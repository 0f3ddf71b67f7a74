"""What `gitmem install` writes: edits of text that can be taken back, and whole files.

Tested through `tests/hosts/test_install.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from gitmem.hosts.settings.allowed import has_allowed, with_allowed, without_allowed
from gitmem.hosts.settings.block import has_block, is_block, with_block, without_block
from gitmem.hosts.settings.hooks import installed_events, with_hooks, without_hooks
from gitmem.hosts.settings.servers import Place, has_server, with_server, without_server
from gitmem.hosts.settings.servers import is_all as is_all_server
from gitmem.hosts.settings.tables import has_tables, with_tables, without_tables

if TYPE_CHECKING:
    from gitmem.hosts.settings.emptied import Emptied

HOOKS, MCP, SKILL, COMMANDS, SUMMARIES = "hooks", "mcp", "skill", "commands", "summaries"
TRUST, ALLOW = "trust", "allow"
PARTS = (HOOKS, MCP, SKILL, COMMANDS)
"""The parts that `gitmem install` brings unless it is told otherwise."""


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit of a settings file: its part, the path, and how it is put in, taken out and found in the text.

    `put` is told what was noted at an earlier installation, and returns the new text and what is to be noted. `is_all`
    says whether a text is gitmem's from end to end: two hosts may share a file that the first one made.
    """

    part: str
    path: str
    put: Callable[[str, Emptied], tuple[str, Emptied]]
    take: Callable[[str, Emptied], str]
    present: Callable[[str], bool]
    is_all: Callable[[str], bool] = lambda _: False


@dataclass(frozen=True, slots=True)
class Shipped:
    """A file that is gitmem's as a whole."""

    part: str
    path: str
    data: bytes
    executable: bool = False


def hooks_edit(path: str, hooks: Mapping[str, Mapping[str, object]], *, flat: bool = False, begun: str = "") -> Edit:
    """Return the edit that puts hooks, by event, into JSON settings.

    In most hosts an event has a list of groups, each with a list of hooks; with `flat` it has a list of hooks. A file
    that is not there yet begins with the text `begun`.
    """

    def take(text: str, emptied: Emptied) -> str:
        left = without_hooks(text, emptied)
        is_begun = begun and "".join(left.split()) == "".join(begun.split())  # a person may have formatted it
        return "" if is_begun else left

    return Edit(
        HOOKS,
        path,
        lambda text, known: with_hooks(text or begun, hooks, known, flat=flat),
        take,
        lambda text: bool(installed_events(text)),
    )


def server_edit(path: str, place: Place, server: Mapping[str, object]) -> Edit:
    """Return the edit that puts the MCP server into a JSON list of servers; `place` are the keys that lead to it."""
    return Edit(
        MCP,
        path,
        lambda text, known: with_server(text, place, server, known),
        lambda text, emptied: without_server(text, place, emptied),
        partial(has_server, place=place),
        partial(is_all_server, place=place),
    )


def allow_edit(path: str, tools: Sequence[str]) -> Edit:
    """Return the edit that has Claude Code allow tools without a question."""
    return Edit(
        ALLOW,
        path,
        lambda text, known: with_allowed(text, tools, known),
        lambda text, emptied: without_allowed(text, tools, emptied),
        partial(has_allowed, tools=tools),
    )


def tables_edit(part: str, path: str, tables: Mapping[str, Mapping[str, object]]) -> Edit:
    """Return the edit that puts tables, by their name, into a TOML file."""
    return Edit(
        part,
        path,
        lambda text, known: with_tables(text, tables, known),
        lambda text, emptied: without_tables(text, tables, emptied),
        lambda text: has_tables(text, tables),
    )


def block_edit(path: str, name: str) -> Edit:
    """Return the edit that puts words about the memory into a file that people write, for the host of this name."""
    from gitmem.machine.resources import read_resource

    words = read_resource("templates", "hosts", "agents.md").decode()
    return Edit(
        SKILL,
        path,
        lambda text, known: (with_block(text, words, name), known),
        lambda text, _: without_block(text, name),
        partial(has_block, name=name),
        is_block,
    )
