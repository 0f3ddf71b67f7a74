"""Make the plugins, manifests and the man page, which ship beside the wheel, out of the sources in the wheel.

    python packaging/generate.py      write `plugin/`, `gemini-extension/`, the marketplace, `server.json`, the man page

`templates/claude` has the skills, commands and agents, `hooks/` the scripts that hosts run; `packaging/` what only a
plugin has. `tests/packaging/` fails where the output is not what this script makes, except for the man page, whose
layout differs from one Python to the next: there it looks for the commands and options.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import frontmatter

from gitmem import __version__
from gitmem.hosts.agents import claude_code, gemini
from gitmem.hosts.host import SCRIPT, Place, Scope, command, shared_server

if TYPE_CHECKING:
    from gitmem.hosts.host import Host

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "templates" / "claude"
OWN = ROOT / "packaging" / "plugin"
PLUGIN, EXTENSION = "plugin", "gemini-extension"
MAN = "packaging/gitmem.1"
NAME = "gitmem"
_USER = Place(Scope.USER, "", "", {})
SUMMARY = "A memory for coding agents that lives in git: every session remembered, every save a commit."
MAINTAINERS = {"name": "The gitmem developers"}
# The release fills in who publishes: the repository's owner, and the repository (.github/workflows/release.yml).
REGISTERED = "io.github.OWNER/gitmem"
_REGISTRY_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_MISSING = "missing.sh"
_SECONDS = 10
_SECONDS_OF_THE_END = 3  # Codex warns where it is more, and Claude Code waits for less


def generated() -> dict[str, bytes]:
    """Return all files but the man page, by path."""
    files = {f"{PLUGIN}/{name}": data for name, data in plugin().items()}
    files |= {f"{EXTENSION}/{name}": data for name, data in extension().items()}
    return files | {".claude-plugin/marketplace.json": _json(marketplace()), "server.json": _json(registry())}


def plugin() -> dict[str, bytes]:
    """Return the plugin in Claude's format, which Codex, Copilot, Qwen Code and droid install, too."""
    manifest = {
        "name": NAME,
        "version": __version__,
        "description": SUMMARY,
        "author": MAINTAINERS,
        "license": "MIT",
        "keywords": ["memory", "git", "markdown", "mcp"],
        "icon": "./icon.png",
    }
    return {
        ".claude-plugin/plugin.json": _json(manifest),
        ".mcp.json": _json({"mcpServers": {claude_code.SERVER: shared_server(_USER)}}),
        "hooks/hooks.json": _json(
            {
                "description": "Remember sessions with gitmem",
                "hooks": _hooks(claude_code.HOST, '"${CLAUDE_PLUGIN_ROOT}"/hooks', 1),
            }
        ),
        **_scripts(),
        **_sources("skills"),
        **_sources("agents"),
        **_sources("commands"),
        "README.md": (OWN / "README.md").read_bytes(),
        "icon.png": (OWN / "icon.png").read_bytes(),
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
    }


def _hooks(host: Host, folder: str, second: int) -> dict[str, list[dict[str, object]]]:
    """Return a host's hooks by event, with a hint for machines without gitmem; `second` is one in the host's unit.

    The scripts are in the plugin's own folder, so that they are there without `gitmem install`.
    """
    listed = {}
    for event, ours in host.events.items():
        seconds = _SECONDS_OF_THE_END if event == "SessionEnd" else _SECONDS
        commands = [command(ours, host.name, folder)]
        if event == "SessionStart":
            commands.append(f'h={folder}/{_MISSING}; [ -r "$h" ] && . "$h"; exit 0')
        hooks = [{"type": "command", "command": line, "timeout": seconds * second} for line in commands]
        listed[event] = [{"hooks": hooks}]
    return listed


def extension() -> dict[str, bytes]:
    """Return the extension for Gemini CLI, with hooks and commands in its own format."""
    server = _USER.server
    manifest = {
        "name": NAME,
        "version": __version__,
        "description": SUMMARY,
        "mcpServers": {claude_code.SERVER: server},
    }
    return {
        "gemini-extension.json": _json(manifest),
        "hooks/hooks.json": _json({"hooks": _hooks(gemini.HOST, '"${extensionPath}"/hooks', 1_000)}),
        **_scripts(),
        **_sources("skills"),
        **{
            f"commands/{NAME}/{path.stem}.toml": _toml(path.read_text(encoding="utf-8"))
            for path in sorted((SOURCES / "commands").glob("*.md"))
        },
        "README.md": (ROOT / "packaging" / "gemini" / "README.md").read_bytes(),
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
    }


def _scripts() -> dict[str, bytes]:
    return {
        f"hooks/{SCRIPT}": (ROOT / "hooks" / SCRIPT).read_bytes(),
        f"hooks/{_MISSING}": (OWN / _MISSING).read_bytes(),
    }


def _toml(markdown: str) -> bytes:
    """Return a command as Gemini CLI reads it; `'''` keeps the prompt as it is, whatever quotes it has."""
    parts = frontmatter.loads(markdown)
    prompt = parts.content.replace("$ARGUMENTS", "{{args}}")
    if "'''" in prompt:
        raise ValueError("a command for Gemini CLI cannot have ''' in it")
    description = json.dumps(parts["description"], ensure_ascii=False)
    return f"description = {description}\nprompt = '''\n{prompt}\n'''\n".encode()


def marketplace() -> dict[str, object]:
    """Return the list of plugins of this repository: one."""
    listed = {"name": NAME, "source": f"./{PLUGIN}", "description": SUMMARY, "category": "productivity"}
    return {"name": NAME, "description": "gitmem, a memory in git", "owner": MAINTAINERS, "plugins": [listed]}


def registry() -> dict[str, object]:
    """Return the entry in the registry of MCP servers, which shows at most 100 characters of description."""
    package = {
        "registryType": "pypi",
        "identifier": "gitmem-store",
        "version": __version__,
        "runtimeHint": "uvx",
        "runtimeArguments": [{"type": "named", "name": "--with", "value": "mcp>=2.3,<3"}],
        "packageArguments": [{"type": "positional", "value": "mcp"}],
        "transport": {"type": "stdio"},
    }
    return {
        "$schema": _REGISTRY_SCHEMA,
        "name": REGISTERED,
        "title": NAME,
        "description": SUMMARY,
        "version": __version__,
        "repository": {"url": "https://github.com/OWNER/REPO", "source": "github"},
        "packages": [package],
    }


def man_page() -> bytes:
    """Return the man page, made of the parsers of all commands by argparse-manpage."""
    from argparse_manpage.manpage import Manpage

    from gitmem.cli.main import COMMANDS, PLUMBING, build_parser

    parser = build_parser([name for name in COMMANDS if name not in PLUMBING])
    parser.man_short_description = "a memory for coding agents that lives in git"
    # Without a date, so that it does not change from day to day.
    page = Manpage(parser, {"project_name": NAME, "version": __version__, "manual_title": "gitmem manual"})
    page.date = ""
    return f"{page}\n".encode()


def _sources(folder: str) -> dict[str, bytes]:
    found = sorted(path for path in (SOURCES / folder).rglob("*") if path.is_file())
    return {path.relative_to(SOURCES).as_posix(): path.read_bytes() for path in found}


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def main() -> int:
    for folder in (PLUGIN, EXTENSION):
        shutil.rmtree(ROOT / folder, ignore_errors=True)
    for name, data in (generated() | {MAN: man_page()}).items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
