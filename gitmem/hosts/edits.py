"""The edits of `gitmem install` that several agents share, in each agent's own places.

Each agent's own module combines them. Capture loads only that module.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from gitmem.hosts.host import Host, InstallPlace
from gitmem.hosts.install import FileEdit
from gitmem.hosts.settings import COMMANDS, HOOKS, SKILL, Edit, ServerEdit
from gitmem.hosts.text_settings import BlockEdit
from gitmem.platform.machine import read_resource, resource

SERVER = "gitmem"
# Read-only tools: without a permission Claude Code asks before the first use of each, and with `-p` refuses it.
READS = tuple(f"mcp__{SERVER}__memory_{name}" for name in ("search", "get", "load", "history", "why", "guide"))
SERVERS = "mcpServers"
BEGUN = '{\n  "version": 1\n}\n'
_DESCRIPTION = "description: "
_SUMMARIES = "memory-rotate"  # the skill that only `--summaries` installs
Items = Sequence[Edit]


def edits_of(host: Host, place: InstallPlace) -> Items:
    """Return what `gitmem install` writes for an agent at a place."""
    items: Items = host.edits(host, place)
    return items


def usual_edits(
    folder: str, hooks: Edit, listing: str, server: Mapping[str, object], *more: Edit, key: str = SERVERS
) -> Items:
    """Return the edits of most hosts: hooks, the server in a list of servers, skills in a host's folder, and `more`."""
    return (hooks, ServerEdit(listing, (key, SERVER), server), *skills(folder), *more)


def skills(folder: str) -> Iterator[FileEdit]:
    """Yield the skills, each in its own folder, without the one that summarizes archives."""
    for parts, data in _files("skills"):
        if parts[0] != _SUMMARIES:
            yield FileEdit(os.path.join(folder, "skills", *parts), SKILL, data)


def slash_commands(
    folder: str, form: Callable[[str], tuple[str, str]] | None = None, apart: str = os.sep
) -> Iterator[FileEdit]:
    """Yield the slash commands, `gitmem/NAME.md`; `form` turns the markdown into the host's ending and text."""
    for parts, data in _files("commands"):
        path, text = os.path.join(folder, "commands", f"gitmem{apart}{os.path.join(*parts)}"), data.decode()
        if form is not None:
            ending, text = form(text)
            path = path.removesuffix(".md") + ending
        yield FileEdit(path, COMMANDS, text.encode())


def as_toml(text: str) -> tuple[str, str]:
    """Return a command in the form of Gemini CLI; `'''` needs no escapes for other quotes in the prompt."""
    _, header, body = text.split("---\n", 2)
    description = next(line for line in header.splitlines() if line.startswith(_DESCRIPTION)).removeprefix(_DESCRIPTION)
    prompt = body.strip().replace("$ARGUMENTS", "{{args}}")
    return ".toml", f"description = {json.dumps(description, ensure_ascii=False)}\nprompt = '''\n{prompt}\n'''\n"


@cache
def _files(kind: str) -> tuple[tuple[list[str], bytes], ...]:
    """Return the shipped files of a kind with their paths below its folder; cached for the process."""
    top = resource("templates", "claude", kind)
    files = []
    for folder, folders, names in os.walk(top):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                files.append((os.path.relpath(path, top).split(os.sep), file.read()))
    return tuple(files)


def plugin_file(name: str, *path: str) -> FileEdit:
    """Return a plugin in JavaScript or TypeScript, `templates/hosts/NAME`, at a path."""
    return FileEdit(os.path.join(*path), HOOKS, read_resource("templates", "hosts", name))


def config_folder(host: Host, place: InstallPlace) -> str:
    """Return a host's folder in `~/.config`, or in the folder that replaces it."""
    return os.path.join(place.environ.get("XDG_CONFIG_HOME") or os.path.join(place.home, ".config"), host.name)


def agents_block(host: Host, place: InstallPlace) -> Edit:
    """Return the edit that adds a block about the memory to a project's AGENTS.md."""
    return BlockEdit(os.path.join(place.project, "AGENTS.md"), host.name)
