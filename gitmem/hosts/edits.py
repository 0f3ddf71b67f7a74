"""What `gitmem install` writes for each agent: hooks, the MCP server, skills and commands, in the agent's own places.

Capture loads an agent's own file and not this one. Crush, Roo Code and VS Code's Copilot Chat have no other module.
Crush has one of the events that memory needs, the others none, so their sessions are not captured: they get the MCP
server, and words about the memory in AGENTS.md. None was tried with a real client.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial

from gitmem.hosts.host import Host, InstallPlace, Scope, command_hooks, direct_command, shared_server
from gitmem.hosts.install import FileEdit
from gitmem.hosts.settings import COMMANDS, HOOKS, SKILL, SUMMARIES, TRUST, AllowEdit, Edit, HooksEdit, ServerEdit
from gitmem.hosts.text_settings import BlockEdit, TablesEdit
from gitmem.platform.machine import read_resource, resource

SERVER = "gitmem"
# The tools that only read: without a permission Claude Code asks before the first use of each, and refuses it in `-p`.
READS = tuple(f"mcp__{SERVER}__memory_{name}" for name in ("search", "get", "load", "history", "why", "guide"))
_SERVERS = "mcpServers"
_BEGUN = '{\n  "version": 1\n}\n'
_DESCRIPTION = "description: "
_SUMMARIES = "memory-rotate"  # a skill that comes with `--summaries`
_SUMMARY_FILES = (("skills", _SUMMARIES, "SKILL.md"), ("agents", "memory-summarizer.md"))
_END_SECONDS = 3  # the most that Codex gives to the end of a session; a longer one is warned of
_CODEX_LINE = "gitmem hook codex {} 2>nul || exit /b 0"  # for `%COMSPEC% /C`, which reads no shell's line
_GEMINI_TIMEOUT = 10_000  # milliseconds
_CLINE_SECONDS = 30  # by default Cline waits three for the server's first answer, too few on a busy machine


Items = Sequence[Edit]


def edits_of(host: Host, place: InstallPlace) -> Items:
    """Return what `gitmem install` writes for an agent at a place."""
    return _EDITS[host.name](host, place)


def _usual(
    folder: str, hooks: Edit, listing: str, server: Mapping[str, object], *more: Edit, key: str = _SERVERS
) -> Items:
    """Return what most hosts get: hooks, the server in a list of servers, skills in a host's folder, and more."""
    return (hooks, ServerEdit(listing, (key, SERVER), server), *_skills(folder), *more)


def _skills(folder: str) -> Iterator[FileEdit]:
    """Yield the skills, each in a folder of its own, without the one that sums up archives."""
    for parts, data in _files("skills"):
        if parts[0] != _SUMMARIES:
            yield FileEdit(os.path.join(folder, "skills", *parts), SKILL, data)


def _commands(
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
    """Return a command in the form of Gemini CLI; `'''` keeps the prompt as it is, whatever other quotes it has."""
    _, header, body = text.split("---\n", 2)
    description = next(line for line in header.splitlines() if line.startswith(_DESCRIPTION)).removeprefix(_DESCRIPTION)
    prompt = body.strip().replace("$ARGUMENTS", "{{args}}")
    return ".toml", f"description = {json.dumps(description, ensure_ascii=False)}\nprompt = '''\n{prompt}\n'''\n"


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


def _plugin(name: str, *path: str) -> FileEdit:
    """Return a plugin in JavaScript or TypeScript, `templates/hosts/NAME`, at a path."""
    return FileEdit(os.path.join(*path), HOOKS, read_resource("templates", "hosts", name))


def _claude(host: Host, place: InstallPlace) -> Items:
    """Return what Claude Code gets.

    A project's list of servers is a file of its own, which a team shares; the two of a user's are in Claude Code's
    own file, the one for a project under the top of its repository (https://code.claude.com/docs/en/mcp).
    """
    own = os.path.join(place.environ.get("CLAUDE_CONFIG_DIR") or place.home, ".claude.json")
    listing = os.path.join(place.project, ".mcp.json") if place.scope is Scope.PROJECT else own
    above = ("projects", place.project) if place.scope is Scope.LOCAL else ()
    # A user cannot allow tools for a team, and `claude -p` takes no permission from a project's shared settings.
    allowing = place._replace(scope=Scope.LOCAL) if place.scope is Scope.PROJECT else place
    folder = os.path.dirname(_claude_settings(place))
    return (
        HooksEdit(_claude_settings(place), command_hooks(host)),
        ServerEdit(listing, (*above, _SERVERS, SERVER), shared_server(place)),
        AllowEdit(_claude_settings(allowing), READS),
        *_skills(folder),
        *_commands(folder),
        *(
            FileEdit(os.path.join(folder, *parts), SUMMARIES, read_resource("templates", "claude", *parts))
            for parts in _SUMMARY_FILES
        ),
    )


def _claude_settings(place: InstallPlace) -> str:
    name = "settings.local.json" if place.scope is Scope.LOCAL else "settings.json"
    return os.path.join(place.folder(".claude", "CLAUDE_CONFIG_DIR"), name)


def _codex(host: Host, place: InstallPlace) -> Items:
    folder, hooks = place.folder(".codex", "CODEX_HOME"), command_hooks(host)
    hooks["SessionEnd"]["timeout"] = _END_SECONDS
    hooks = {event: {**hook, "commandWindows": _CODEX_LINE.format(event)} for event, hook in hooks.items()}
    return (
        HooksEdit(os.path.join(folder, "hooks.json"), hooks),
        TablesEdit(os.path.join(folder, "config.toml"), {"mcp_servers.gitmem": place.server}),
        *_skills(folder),
        TablesEdit(os.path.join(place.own(".codex", "CODEX_HOME"), "config.toml"), {}, TRUST),
    )


def _copilot(host: Host, place: InstallPlace) -> Items:
    """Return what Copilot CLI gets; on Windows, where it runs PowerShell, it takes the line of that name."""
    own = place.scope is Scope.USER
    folder = place.folder(".copilot" if own else ".github", "COPILOT_HOME")
    server = {"type": "local"} | place.server | {"tools": ["*"]}
    # A project's list is Claude Code's.
    listing = os.path.join(folder, "mcp-config.json") if own else os.path.join(place.project, ".mcp.json")
    lines = {event: {"powershell": direct_command(ours, host.name)} for event, ours in host.events.items()}
    hooks = {event: hook | lines[event] for event, hook in command_hooks(host).items()}
    edit = HooksEdit(os.path.join(folder, "hooks", "gitmem.json"), hooks, begun=_BEGUN)
    return _usual(folder, edit, listing, server if own else shared_server(place))


def _droid(host: Host, place: InstallPlace) -> Items:
    folder = place.folder(host.folder)
    hooks = HooksEdit(os.path.join(folder, "settings.json"), command_hooks(host))
    named = _commands(folder, apart="-")  # droid names a command by its file alone
    return _usual(folder, hooks, os.path.join(folder, "mcp.json"), {"type": "stdio"} | place.server, *named)


def _gemini(host: Host, place: InstallPlace) -> Items:
    folder = place.folder(host.folder)
    settings = os.path.join(folder, "settings.json")
    hooks = HooksEdit(settings, command_hooks(host, _GEMINI_TIMEOUT))
    return _usual(folder, hooks, settings, place.server, *_commands(folder, as_toml))


def _qwen(host: Host, place: InstallPlace) -> Items:
    folder = place.folder(host.folder)
    settings = os.path.join(folder, "settings.json")
    return _usual(folder, HooksEdit(settings, command_hooks(host)), settings, place.server, *_commands(folder))


def _opencode(host: Host, place: InstallPlace) -> Items:
    folder, settings = os.path.join(place.project, f".{host.name}"), os.path.join(place.project, f"{host.name}.json")
    if place.scope is Scope.USER:
        folder = _in_config(host, place)
        settings = os.path.join(folder, f"{host.name}.json")
    plugin = _plugin("opencode.js", folder, "plugins", "gitmem.js")
    named = plugin.data.replace(b'const HOST = "opencode"', f'const HOST = "{host.name}"'.encode())
    words = place.server["args"]
    started = [place.server["command"], *(words if isinstance(words, list) else ())]
    server = {"type": "local", "command": started, "enabled": True}
    return _usual(folder, plugin._replace(data=named), settings, server, *_commands(folder), key="mcp")


def _in_config(host: Host, place: InstallPlace) -> str:
    return os.path.join(place.environ.get("XDG_CONFIG_HOME") or os.path.join(place.home, ".config"), host.name)


def _pi(host: Host, place: InstallPlace) -> Items:
    folder = place.folder(host.folder if place.scope is Scope.USER else ".pi")
    server = place.server | {"exposure": "direct"}
    return _usual(folder, _plugin("pi.js", folder, "extensions", "gitmem.js"), os.path.join(folder, "mcp.json"), server)


def _cline(host: Host, place: InstallPlace) -> Items:
    """Return what Cline gets; a project has no list of servers of its own."""
    folder = place.folder(host.folder, "CLINE_DIR")
    data = place.environ.get("CLINE_DATA_DIR") or os.path.join(place.own(host.folder, "CLINE_DIR"), "data")
    started = place.server | {"disabled": False, "timeout": _CLINE_SECONDS}
    server = ServerEdit(os.path.join(data, "settings", "cline_mcp_settings.json"), (_SERVERS, SERVER), started)
    return (
        *_event_files(os.path.join(folder, "hooks"), host),
        *[server] * (place.scope is Scope.USER),
        *_skills(folder),
    )


def _event_files(folder: str, host: Host) -> Iterator[FileEdit]:
    """Yield an executable file an event, which runs the line; none on Windows, where hosts cannot start it."""
    for event, line in host.commands().items() if sys.platform != "win32" else ():
        text = f"#!/bin/sh\n# Written by 'gitmem install'. Without gitmem on the machine it does nothing.\n{line}\n"
        yield FileEdit(os.path.join(folder, event), HOOKS, text.encode(), executable=True)


def _amp(host: Host, place: InstallPlace) -> Items:
    own = place.scope is Scope.USER
    folder = place.folder(host.folder if own else ".amp")
    return (
        _plugin("amp.ts", folder, "plugins", "gitmem.ts"),
        ServerEdit(os.path.join(folder, "settings.json"), ("amp.mcpServers", SERVER), place.server),
        *_skills(folder if own else os.path.join(place.project, ".agents")),
    )


def _cursor(host: Host, place: InstallPlace) -> Items:
    folder = place.folder(host.folder)
    lines = {event: {"command": line} for event, line in host.commands().items()}
    hooks = HooksEdit(os.path.join(folder, "hooks.json"), lines, flat=True, begun=_BEGUN)
    return _usual(folder, hooks, os.path.join(folder, "mcp.json"), place.server)


def _crush(host: Host, place: InstallPlace) -> Items:
    server = {"type": "stdio"} | place.server
    if place.scope is Scope.USER:
        folder = _in_config(host, place)
        return (ServerEdit(os.path.join(folder, "crush.json"), ("mcp", SERVER), server), *_skills(folder))
    return (ServerEdit(os.path.join(place.project, "crush.json"), ("mcp", SERVER), server), _block(host, place))


def _listed(servers: str, host: Host, place: InstallPlace) -> Items:
    """Return what a host gets that reads AGENTS.md and a project's `mcp.json`, with its list under this key."""
    listing = os.path.join(place.project, host.folder, "mcp.json")
    return (ServerEdit(listing, (servers, SERVER), place.server), _block(host, place))


def _block(host: Host, place: InstallPlace) -> Edit:
    return BlockEdit(os.path.join(place.project, "AGENTS.md"), host.name)


_EDITS: Mapping[str, Callable[[Host, InstallPlace], Items]] = {
    "claude": _claude,
    "codex": _codex,
    "copilot": _copilot,
    "droid": _droid,
    "gemini": _gemini,
    "qwen": _qwen,
    "opencode": _opencode,
    "kilo": _opencode,
    "pi": _pi,
    "cline": _cline,
    "amp": _amp,
    "cursor": _cursor,
    "crush": _crush,
    "roo": partial(_listed, _SERVERS),
    # https://code.visualstudio.com/docs/agents/reference/mcp-configuration
    "vscode": partial(_listed, "servers"),
}


def _tools_only(name: str, title: str, folder: str, *scopes: Scope) -> Host:
    note = f"Nobody has tried this with {title} yet. Its sessions are not captured: it has tools for the memory only."
    return Host(name=name, title=title, folder=folder, events={}, scopes=scopes, note=note)


CRUSH = _tools_only("crush", "Crush", os.path.join(".config", "crush"), Scope.PROJECT, Scope.USER)
ROO = _tools_only("roo", "Roo Code", ".roo", Scope.PROJECT)
VSCODE = _tools_only("vscode", "Copilot Chat in VS Code", ".vscode", Scope.PROJECT)
