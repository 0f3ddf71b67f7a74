"""Make the plugins, manifests, the man pages and the tables of pages, which ship beside the wheel, out of its sources.

    python packaging/generate.py              write `plugin/`, `gemini-extension/`, the marketplace, `server.json`, the
                                              man pages, and what stands between the marks `generated` in docs/
    python packaging/generate.py --released   fail unless these can be published: the address is set

`templates/claude` has the skills, commands and agents, `hooks/` the scripts that hosts run; `packaging/` what only a
plugin has. `tests/packaging/` fails where the output is not what this script makes, except for the man pages, whose
layout differs from one Python to the next: there it looks for the commands and options.
"""

# ruff: noqa: SLF001  # what a parser has, argparse says under private names only
from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem import __version__
from gitmem.cli.parser import build_parser, own_commands
from gitmem.cli.table import AS_JSON as WITH_JSON
from gitmem.cli.table import COMMANDS, GROUPS, PARTS, PLUMBING, sections
from gitmem.config.read import rules
from gitmem.config.values import Config
from gitmem.errors import ExitCode
from gitmem.hosts import claude_code, gemini
from gitmem.hosts.edits import SERVER, as_toml, edits_of
from gitmem.hosts.host import SCRIPT, InstallPlace, Scope, command, shared_server
from gitmem.hosts.registry import NAMES, find_host
from gitmem.hosts.settings import HOOKS, MCP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitmem.hosts.host import Host

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "templates" / "claude"
OWN = ROOT / "packaging" / "plugin"
PLUGIN, EXTENSION = "plugin", "gemini-extension"
MAN = "packaging/man"
NAME = "gitmem"
_USER = InstallPlace(Scope.USER, "", "", {})
SUMMARY = "A memory for coding agents that lives in git: every session remembered, every save a commit."
MAINTAINERS = {"name": "The gitmem developers"}
ADDRESS = "Repository"  # of [project.urls] in pyproject.toml: the one place that says where gitmem is published
_REGISTRY_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_MISSING = "missing.sh"
NONE = "\u2013"
AS_JSON = "print the result as JSON"
_SECONDS = 10
_SECONDS_OF_THE_END = 3  # Codex warns where it is more, and Claude Code waits for less


def generated() -> dict[str, bytes]:
    """Return all files but the man pages, by path; without an address there is no `server.json`."""
    files = {f"{PLUGIN}/{name}": data for name, data in plugin().items()}
    files |= {f"{EXTENSION}/{name}": data for name, data in extension().items()}
    files |= {
        f"docs/{name}": _with_tables(ROOT / "docs" / name, [make() for make in tables])
        for name, tables in TABLES.items()
    }
    files[".claude-plugin/marketplace.json"] = _json(marketplace())
    owner, repository = published()
    return files | ({"server.json": _json(registry(owner, repository))} if owner else {})


def published() -> tuple[str, str]:
    """Return the owner and the address of the repository, as pyproject.toml says; both "" while it says nothing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = re.fullmatch(r"https://github\.com/([\w-]+)/[\w.-]+", project.get("urls", {}).get(ADDRESS, ""))
    return (found[1], found[0]) if found else ("", "")


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
        ".mcp.json": _json({"mcpServers": {SERVER: shared_server(_USER)}}),
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
        "mcpServers": {SERVER: server},
    }
    return {
        "gemini-extension.json": _json(manifest),
        "hooks/hooks.json": _json({"hooks": _hooks(gemini.GEMINI, '"${extensionPath}"/hooks', 1_000)}),
        **_scripts(),
        **_sources("skills"),
        **{
            f"commands/{NAME}/{path.stem}.toml": as_toml(path.read_text(encoding="utf-8"))[1].encode()
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


def marketplace() -> dict[str, object]:
    """Return the list of plugins of this repository: one."""
    listed = {"name": NAME, "source": f"./{PLUGIN}", "description": SUMMARY, "category": "productivity"}
    return {"name": NAME, "description": "gitmem, a memory in git", "owner": MAINTAINERS, "plugins": [listed]}


def registry(owner: str, repository: str) -> dict[str, object]:
    """Return the entry in the registry of MCP servers, which shows at most 100 characters of description.

    The registry finds its name in the page of the package, as a comment: README.md has to have it.
    """
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
        "name": f"io.github.{owner}/gitmem",
        "title": NAME,
        "description": SUMMARY,
        "version": __version__,
        "repository": {"url": repository, "source": "github"},
        "packages": [package],
    }


def man_pages() -> dict[str, bytes]:
    """Return the man pages by path, one of gitmem and one of each command, made by argparse-manpage."""
    from argparse_manpage.manpage import Manpage

    parsers = {NAME: (build_parser([]), "a memory for coding agents that lives in git")}
    for name in COMMANDS:
        if name not in PLUMBING:
            parsers[f"{NAME}-{name}"] = (
                {word: own for word, _, own in own_commands(build_parser([name]))}[name],
                sections()[name].line,
            )
    pages = {}
    for name, (parser, line) in parsers.items():
        parser.man_short_description, parser.prog = line, name if parser.prog == NAME else parser.prog
        # Without a date, so that it does not change from day to day.
        page = Manpage(parser, {"project_name": NAME, "version": __version__, "manual_title": "gitmem manual"})
        page.date = ""
        pages[f"{MAN}/{name}.1"] = _read_right(f"{page}\n", name).encode()
    return pages


def _read_right(page: str, name: str) -> str:
    """Return a man page with what argparse-manpage has wrong: its name, a title, quotes that begin a line."""
    page = re.sub(r"\A\.TH .*? \"1\"", f'.TH {name.upper()} "1"', page)
    page = re.sub(r"(?m)^\.SH COMMENTS\nexamples:", ".SH EXAMPLES", page)
    return re.sub(r"(?m)^(?=')", r"\\&", page)


def _with_tables(page: Path, tables: Iterable[str]) -> bytes:
    """Return a page with these between its marks."""
    text, left = page.read_text(encoding="utf-8"), list(tables)
    if len(_MARKED.findall(text)) != len(left):
        raise ValueError(f"{page} has not as many marks as tables")
    return _MARKED.sub(lambda found: f"{found[1]}\n{left.pop(0).strip()}\n\n{found[2]}", text).encode()


def settings_table() -> str:
    """Return the table of all settings: what is their default, what they may be, what a store's file may set."""
    lines = ["| setting | default | values | a store's file may set | what it is |", "| --- | --- | --- | --- | --- |"]
    for key, rule in rules().items():
        group, _, name = key.partition(".")
        default = getattr(getattr(Config(), group), name)
        if isinstance(default, bool):
            values, value = "true, false", str(default).lower()
        elif isinstance(default, int):
            values, value = f"{rule.minimum:,} to {rule.maximum:,}", f"{default:,}"
        elif isinstance(default, tuple):
            values, value = "texts", ""
        else:
            values = ", ".join(f"`{choice}`" for choice in rule.choices) or "a text"
            value = f"`{default}`" if default else ""
        tracked = f"{rule.tracked[0]:,} to {rule.tracked[1]:,}" if rule.tracked else NONE
        lines.append(f"| `{key}` | {value or 'none'} | {values} | {tracked} | {rule.help} |")
    return "\n".join(lines)


def hosts_table() -> str:
    """Return the files that `gitmem install` changes for each host: of a project, and of a user (`--user`)."""
    lines = ["| agent | hooks | with `--user` | MCP server | with `--user` |", "| --- | --- | --- | --- | --- |"]
    for name in sorted(NAMES):
        host = find_host(name)
        cells = [_files(host, scope, part) for part in (HOOKS, MCP) for scope in (Scope.PROJECT, Scope.USER)]
        lines.append(f"| {host.title}: `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


_WORDS = ("a prompt", "a second message", "an answer", "a refusal", "queued", "subagents' edits", "notices told apart")


def words_table() -> str:
    """Return what each host says of its user's words and its subagents."""
    lines = [f"| agent | {' | '.join(_WORDS)} |", "| --- |" + " --- |" * len(_WORDS)]
    text = (ROOT / "tests" / "data" / "hosts" / "words.tsv").read_text(encoding="utf-8")
    _, *rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return "\n".join([*lines, *(f"| {find_host(name).title} | {' | '.join(says)} |" for name, *says in rows)])


def _files(host: Host, scope: Scope, part: str) -> str:
    if scope not in host.scopes:
        return NONE
    edits = edits_of(host, InstallPlace(scope, "", "~", {}))
    files = [edit.path.lstrip("/") if scope is Scope.PROJECT else edit.path for edit in edits if edit.part == part]
    if len(files) > 1:  # an executable file an event
        return f"`{os.path.dirname(files[0])}/`: " + ", ".join(f"`{os.path.basename(file)}`" for file in files)
    return "".join(f"`{file}`" for file in files) or NONE


def commands_reference() -> str:
    """Return the reference of all commands, made of their parsers."""
    parsers = {name: own for name, _, own in own_commands(build_parser([*COMMANDS]))}
    parts = []
    for title, group in {**GROUPS, "more": PARTS["more"]}.items():
        parts.append(f"## {title[:1].upper()}{title[1:]}")
        names = [one for name in group for one in (name, *PARTS.get(name, ()))]
        parts += [part for name in names for part in _command(name, sections()[name].line, parsers[name])]
    codes = "\n".join(f"| {int(code)} | {code.meaning} |" for code in ExitCode)
    return "\n\n".join([*parts, "## Exit codes", f"| code | meaning |\n| --- | --- |\n{codes}"])


def examples() -> str:
    """Return the transcripts that the tests run, as one page."""
    trips = sorted((ROOT / "tests" / "transcripts").glob("*.md"))
    return "\n\n".join(f"#{path.read_text(encoding='utf-8').strip()}" for path in trips)


def _command(name: str, line: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the paragraphs about a command: usage, description, arguments, its own commands, examples."""
    yield f"### gitmem {name}"
    yield f"`{_usage(name, parser)}`: {line}"
    yield _escaped(parser.description or "")
    own = [*own_commands(parser)]
    examples, _, as_json = (parser.epilog or "").removeprefix("examples:\n").partition(f"\n\n{WITH_JSON}")
    examples = examples.rstrip()
    if own:
        yield "| command | | example |\n| --- | --- | --- |\n" + "\n".join(
            f"| `{_cell(_usage(f'{name} {word}', one))}` | {_cell(sentence)} "
            f"| `{_cell(_example(examples, f'{name} {word}'))}` |"
            for word, sentence, one in own
        )
    rows = [row for one in (parser, *(one for _, _, one in own)) for row in _arguments(one)]
    if rows:
        yield "| | |\n| --- | --- |\n" + "\n".join(dict.fromkeys(rows))
    if examples:
        yield "```\n" + "\n".join(example.removeprefix("  ") for example in examples.split("\n")) + "\n```"
    if as_json:
        yield _escaped(WITH_JSON + as_json)


def _example(examples: str, words: str) -> str:
    """Return the first example of a command; itself, where it needs no arguments."""
    found = re.search(rf"^ *(.*\bgitmem {words}\b.*?)(?:   .*)?$", examples, re.MULTILINE)
    return found[1] if found else f"gitmem {words}"


def _usage(words: str, parser: argparse.ArgumentParser) -> str:
    """Return a command with its arguments; argparse lays its own lines out differently from one Python to the next."""
    parts = ["gitmem", words]
    for action in _shown(parser):
        if not action.option_strings:
            name = _metavar(action)
            parts.append({"?": f"[{name}]", "*": f"[{name}...]", "+": f"{name}..."}.get(str(action.nargs), name))
    return " ".join([*parts, *(["..."] if any(own_commands(parser)) else [])])


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield a row for each argument that has a help text."""
    formatter = argparse.HelpFormatter("gitmem")
    for action in _shown(parser):
        if action.help and action.help != AS_JSON:
            value = "" if action.nargs == 0 else f" {_metavar(action)}"
            name = ", ".join(action.option_strings) + value if action.option_strings else _metavar(action)
            yield f"| `{_cell(name)}` | {_cell(formatter._expand_help(action))} |"


def _shown(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    hidden = argparse._HelpAction | argparse._SubParsersAction
    return [one for one in parser._actions if not isinstance(one, hidden) and one.help != argparse.SUPPRESS]


def _metavar(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    return "|".join(map(str, action.choices)) if action.choices else action.dest.upper()


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def _escaped(text: str) -> str:
    """Return a description as markdown: indented lines as they are, and what looks like a tag is text."""
    blocks = re.sub(r"(?m)^(?:  .*\n?)+", lambda block: f"```\n{block[0].rstrip()}\n```\n", text)
    return re.sub(r"(?<![`\w])<([\w/-]+)>", r"`<\1>`", blocks).rstrip()


TABLES = {
    "settings.md": (settings_table,),
    "hosts.md": (words_table, hosts_table),
    "commands.md": (commands_reference,),
    "examples.md": (examples,),
}
_MARKED = re.compile(r"(<!-- generated by packaging/generate.py -->\n).*?\n(<!-- end -->)", re.DOTALL)


def _sources(folder: str) -> dict[str, bytes]:
    found = sorted(path for path in (SOURCES / folder).rglob("*") if path.is_file())
    return {path.relative_to(SOURCES).as_posix(): path.read_bytes() for path in found}


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def unpublishable() -> str:
    """Return what is missing for a release, "" if nothing is."""
    owner, _ = published()
    if not owner:
        return f"pyproject.toml names no {ADDRESS} on GitHub in [project.urls]: CONTRIBUTING.md says what to set."
    if f"<!-- mcp-name: io.github.{owner}/gitmem -->" not in (ROOT / "README.md").read_text(encoding="utf-8"):
        return f"README.md lacks the line <!-- mcp-name: io.github.{owner}/gitmem -->."
    return "" if (ROOT / "server.json").is_file() else "server.json is missing: run python packaging/generate.py"


def main() -> int:
    if sys.argv[1:] == ["--released"]:
        print(unpublishable() or "The address is set.")
        return bool(unpublishable())
    for folder in (PLUGIN, EXTENSION, MAN):
        shutil.rmtree(ROOT / folder, ignore_errors=True)
    for name, data in (generated() | man_pages()).items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
