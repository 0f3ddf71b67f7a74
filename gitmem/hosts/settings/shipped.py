"""The skills and slash commands that gitmem brings, as files below a host's folders.

They are those of the plugin, which packaging/generate.py makes of the same sources, `templates/claude`.

Tested through `tests/cli/commands/test_install.py`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from gitmem.hosts.settings.edits import COMMANDS, HOOKS, SKILL, Shipped
from gitmem.machine.resources import resource

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
