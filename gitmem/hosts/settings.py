"""What `gitmem install` writes: edits of text that can be taken back, blocks in files for people, skills and commands.

A block stands at the end of a file such as AGENTS.md and serves all agents that read it: its first line names them and
the digest of its text. A block that a person has changed is theirs: uninstall leaves its words and takes the marks.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial

from gitmem.hosts.json_settings import Emptied
from gitmem.hosts.settings_text import (
    Place,
    has_allowed,
    has_server,
    has_tables,
    installed_events,
    with_allowed,
    with_hooks,
    with_server,
    with_tables,
    without_allowed,
    without_hooks,
    without_server,
    without_tables,
)
from gitmem.hosts.settings_text import is_all as is_all_server
from gitmem.platform.programs import resource
from gitmem.values import Value

_BEGIN = "<!-- gitmem {}: {}. 'gitmem uninstall' takes this out. -->"
_END = "<!-- /gitmem -->"
_BLOCK = re.compile(
    r"<!-- gitmem (?P<digest>[0-9a-f]{8}): (?P<names>[a-z, ]+)\. 'gitmem uninstall' takes this out\. -->\r?\n"
    r"(?P<text>.*?)\r?\n<!-- /gitmem -->",
    re.DOTALL,
)
_BLANK_BEFORE, _LINE_BEFORE = re.compile(r"\r?\n\r?\n\Z"), re.compile(r"\r?\n\Z")
_LINE_AFTER = re.compile(r"\r?\n")


def with_block(text: str, words: str, name: str) -> str:
    """Return the text with the block, which names this agent, too; an older block of gitmem's gets these words."""
    newline = "\r\n" if "\r\n" in text else "\n"
    match = _BLOCK.search(text)
    if match is not None:
        names = dict.fromkeys([*match["names"].split(", "), name])
        kept = words.strip() if _is_ours(match) else match["text"]
        digest = _digest(words) if _is_ours(match) else match["digest"]
        return text[: match.start()] + _rendered(kept, [*names], digest, newline) + text[match.end() :]
    block = _rendered(words.strip(), [name], _digest(words), newline)
    if not text:
        return f"{block}{newline}"
    # Whether the text ended with a line end is said by whether the block does.
    return f"{text}{newline}{block}{newline}" if text.endswith("\n") else f"{text}{newline}{newline}{block}"


def without_block(text: str, name: str) -> str:
    """Return the text without this agent in the block, and without the block if it was the last one."""
    match = _BLOCK.search(text)
    if match is None or name not in match["names"].split(", "):
        return text
    names = [one for one in match["names"].split(", ") if one != name]
    before, after = text[: match.start()], text[match.end() :]
    if names:
        newline = "\r\n" if "\r\n" in text else "\n"
        return before + _rendered(match["text"], names, match["digest"], newline) + after
    if not _is_ours(match):
        return before + match["text"] + after
    if not before or after:
        return _LINE_BEFORE.sub("", before, count=1) * bool(before) + _LINE_AFTER.sub("", after, count=1)
    return _BLANK_BEFORE.sub("", before, count=1)


def has_block(text: str, name: str) -> bool:
    """Return whether the text has the block for this agent."""
    match = _BLOCK.search(text)
    return match is not None and name in match["names"].split(", ")


def is_block(text: str) -> bool:
    """Return whether the text is nothing but the block."""
    return _BLOCK.fullmatch(text.strip()) is not None


def _rendered(words: str, names: list[str], digest: str, newline: str) -> str:
    lines = [_BEGIN.format(digest, ", ".join(names)), *words.splitlines(), _END]
    return newline.join(lines)


def _is_ours(found: re.Match[str]) -> bool:
    return _digest(found["text"]) == found["digest"]


def _digest(words: str) -> str:
    """Return a digest that wrapping the lines anew does not change."""
    return hashlib.sha256(" ".join(words.split()).encode("utf-8", "surrogateescape")).hexdigest()[:8]


HOOKS, MCP, SKILL, COMMANDS, SUMMARIES = "hooks", "mcp", "skill", "commands", "summaries"
TRUST, ALLOW = "trust", "allow"
PARTS = (HOOKS, MCP, SKILL, COMMANDS)
"""The parts that `gitmem install` brings unless it is told otherwise."""


class Edit(Value):
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


class Shipped(Value):
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
    from gitmem.platform.programs import read_resource

    words = read_resource("templates", "hosts", "agents.md").decode()
    return Edit(
        SKILL,
        path,
        lambda text, known: (with_block(text, words, name), known),
        lambda text, _: without_block(text, name),
        partial(has_block, name=name),
        is_block,
    )


_HEADER = re.compile(r"---\n(?P<header>.*?)\n---\n+(?P<body>.*)", re.DOTALL)
_DESCRIPTION = re.compile(r"^description:[ \t]*(?P<text>.+)$", re.MULTILINE)
_ALL_WORDS = "$ARGUMENTS"
_SUMMARIES = "memory-rotate"  # a skill that comes with `--summaries`


def skills(folder: str) -> Iterator[Shipped]:
    """Yield the skills, each in a folder of its own, but for the one that sums up archives."""
    for parts, data in _files("skills"):
        if parts[0] != _SUMMARIES:
            yield Shipped(SKILL, os.path.join(folder, *parts), data)


def commands(
    folder: str, form: Callable[[str], tuple[str, str]] | None = None, apart: str = os.sep
) -> Iterator[Shipped]:
    """Yield the slash commands, `gitmem/NAME.md`; `form` turns the markdown into the host's ending and text."""
    for parts, data in _files("commands"):
        path, text = os.path.join(folder, f"gitmem{apart}{os.path.join(*parts)}"), data.decode()
        if form is not None:
            ending, text = form(text)
            path = path.removesuffix(".md") + ending
        yield Shipped(COMMANDS, path, text.encode())


def as_toml(text: str) -> tuple[str, str]:
    """Return a command in the form of Gemini CLI."""
    parts = _HEADER.match(text)
    body = parts["body"] if parts else text
    match = _DESCRIPTION.search(parts["header"]) if parts else None
    description = match["text"].strip().strip("\"'") if match else ""
    body = body.replace(_ALL_WORDS, "{{args}}")
    lines = [f"description = {json.dumps(description, ensure_ascii=False)}"] * bool(description)
    return ".toml", "\n".join([*lines, f"prompt = {json.dumps(body, ensure_ascii=False)}", ""])


def event_files(folder: str, lines: Mapping[str, str]) -> Iterator[Shipped]:
    """Yield an executable file an event, which runs the line; none on Windows, where hosts cannot start it."""
    for event, line in lines.items() if sys.platform != "win32" else ():
        text = f"#!/bin/sh\n# Written by 'gitmem install'. Without gitmem on the machine it does nothing.\n{line}\n"
        yield Shipped(HOOKS, os.path.join(folder, event), text.encode(), executable=True)


@cache
def _files(kind: str) -> tuple[tuple[list[str], bytes], ...]:
    """Return the shipped files of a kind with their paths below its folder, read once a process."""
    top = resource("templates", "claude", kind)
    found = []
    for folder, folders, names in os.walk(top):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found.append((os.path.relpath(path, top).split(os.sep), file.read()))
    return tuple(found)
