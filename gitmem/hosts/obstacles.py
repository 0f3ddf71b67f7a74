"""Find what in an agent's own settings prevents the installed hooks and server from running.

Checked are trust in a folder or hooks, answers to the agent's dialogs, switches, and an organization's policies. Each
host has a function that yields the obstacles at a place; it leaves out what it cannot know, as command-line options.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping

from gitmem.git.layout import find_layout
from gitmem.hosts.edits import SERVER, edits_of
from gitmem.hosts.host import Host, InstallPlace, Scope, is_gitmem_hook
from gitmem.hosts.install import is_present
from gitmem.hosts.json_settings import SettingsError, parse
from gitmem.hosts.settings import HOOKS, MCP, Edit, HooksEdit, ServerEdit, installed_events
from gitmem.hosts.text_settings import keys_of
from gitmem.platform.safe_open import folders_around, read_json, read_small
from gitmem.text.sentences import listed
from gitmem.values import Value


class Obstacle(Value):
    """Why hooks or server do not run, and the remedy; `asked`: the remedy is an answer at the agent's next start.

    With `partly` some sessions, or part of each, are recorded all the same.
    """

    part: str
    message: str
    remedy: str
    asked: bool = False
    since: float = float("inf")  # when the setting was written; a later event disproves the obstacle
    partly: bool = False


Found = Iterator[Obstacle]
_OPEN = "Take that setting out."
_POLICY = "Only your organization can change that."


def obstacles(host: Host, place: InstallPlace) -> list[Obstacle]:
    """Return what prevents a host from running what is installed at a place; changes no settings."""
    parts = {edit.part for edit in edits_of(host, place) if edit.part in {HOOKS, MCP} and is_present(edit)}
    if not parts:
        return []
    own = _READERS[host.name](host, place) if host.name in _READERS else ()
    found = [*_switched_off(host, place), *own, *_server_off(host, place), *_missing_hooks(host, place)]
    return [obstacle for obstacle in found if obstacle.part in parts]


def settings_paths(host: Host, place: InstallPlace) -> list[str]:
    """Return the files with a host's switches, those closest to the project first."""
    paths = []
    for scope in (scope for scope in (Scope.LOCAL, Scope.PROJECT, Scope.USER) if scope in host.scopes):
        at = place._replace(scope=scope)
        if host.name == "copilot":  # its hooks are in a separate file
            paths += [
                os.path.join(at.own(".copilot", "COPILOT_HOME"), name) for name in ("settings.json", "config.json")
            ]
        paths += [edit.path for edit in edits_of(host, at) if edit.part == HOOKS][:1]
    return [*dict.fromkeys(paths)]


def _switched_off(host: Host, place: InstallPlace) -> Found:
    """Yield the setting that switches off a host's hooks; the settings closest to the project count."""
    if host.off_switch is None:
        return
    keys, off = host.off_switch
    for path in [*_managed_paths(host.name), *settings_paths(host, place)]:
        value = _at(_settings(path), *keys)
        if isinstance(value, bool):
            if value is off:
                problem = f"{host.title} runs no hooks: {'.'.join(keys)} is {str(off).lower()} in {path}"
                remedy = _POLICY if path in _managed_paths(host.name) else _OPEN
                yield Obstacle(HOOKS, problem, remedy, since=os.path.getmtime(path))
            return


def _missing_hooks(host: Host, place: InstallPlace) -> Found:
    """Yield the hooks that settings lack which have others of gitmem's."""
    edits = [edit for edit in edits_of(host, place) if edit.part == HOOKS]
    missing = [name for edit in edits for name in _missing_names(edit)]
    if missing:
        where = edits[0].path if len(edits) == 1 else os.path.dirname(edits[0].path)
        message = f"{host.title} is recorded in part: {where} lacks gitmem's hooks for {listed(missing)}"
        yield Obstacle(HOOKS, message, f"'gitmem install {host.name} --{place.scope.value}' adds them.", partly=True)


def _missing_names(edit: Edit) -> list[str]:
    if isinstance(edit, HooksEdit):
        present = installed_events((read_small(edit.path) or b"").decode("utf-8", "surrogateescape"))
        return [event for event in edit.hooks if event not in present]
    return [os.path.basename(edit.path)] * (not os.path.lexists(edit.path))


def _server_off(host: Host, place: InstallPlace) -> Found:
    """Yield a server that its own entry switches off."""
    for edit in (edit for edit in edits_of(host, place) if isinstance(edit, ServerEdit)):
        entry = _at(_settings(edit.path), *edit.place)
        if _at(entry, "disabled") is True or _at(entry, "enabled") is False:
            yield _server_is_off(host, f"its entry in {edit.path} says so")


def _server_is_off(host: Host, why: str, remedy: str = _OPEN) -> Obstacle:
    return Obstacle(MCP, f"{host.title} does not start the server gitmem: {why}", remedy)


def _settings(path: str) -> object:
    """Return the value of a JSON file, with or without comments; {} if it cannot be read."""
    with contextlib.suppress(SettingsError, RecursionError):
        node = parse((read_small(path) or b"").decode("utf-8", "surrogateescape"))
        return node.plain() if node else {}
    return {}


def _at(value: object, *keys: str) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _names(value: object, *keys: str) -> list[object]:
    value = _at(value, *keys)
    return value if isinstance(value, list) else []


def _roots(project: str) -> list[str]:
    """Return a repository's top, and for a linked work tree that of the main one; none if it is no repository."""
    layout = find_layout(project)
    main, name = (
        os.path.split(layout.common_dir) if layout else ("", "")
    )  # a submodule and a bare one have another name
    return [project, *[main] * (name == ".git" and main != project)] if layout else []


_MANAGED = {
    "claude": {
        "darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
        "win32": r"C:\Program Files\ClaudeCode\managed-settings.json",
        "linux": "/etc/claude-code/managed-settings.json",
    },
    "gemini": {
        "darwin": "/Library/Application Support/GeminiCli/settings.json",
        "win32": r"C:\ProgramData\gemini-cli\settings.json",
        "linux": "/etc/gemini-cli/settings.json",
    },
    "qwen": {
        "darwin": "/Library/Application Support/QwenCode/settings.json",
        "win32": r"C:\ProgramData\qwen-code\settings.json",
        "linux": "/etc/qwen-code/settings.json",
    },
    "codex": {"linux": "/etc/codex/requirements.toml", "darwin": "/etc/codex/requirements.toml"},
}


def _managed_paths(name: str) -> list[str]:
    """Return the files with an organization's policies, by precedence."""
    path = _MANAGED.get(name, {}).get(sys.platform, "")
    if name != "claude" or not path:
        return [path] * bool(path)
    more = f"{path.removesuffix('.json')}.d"
    with contextlib.suppress(OSError):
        return [*(os.path.join(more, name) for name in sorted(os.listdir(more), reverse=True)), path]
    return [path]


def _claude(host: Host, place: InstallPlace) -> Found:
    """Yield the obstacles in Claude Code's policies, its record of projects, and its settings.

    https://code.claude.com/docs/en/settings; the dialogs were seen in 2.1.330, each with No preselected.
    """
    for path in _managed_paths("claude"):
        policy = _settings(path)
        if _at(policy, "allowManagedHooksOnly") is True:
            problem = f"{host.title} runs no hooks but your organization's: allowManagedHooksOnly is true in {path}"
            yield Obstacle(HOOKS, problem, _POLICY)
        denied = any(_at(entry, "serverName") == SERVER for entry in _names(policy, "deniedMcpServers"))
        allowed = _at(policy, "allowedMcpServers")
        left_out = isinstance(allowed, list) and not any(_at(entry, "serverName") == SERVER for entry in allowed)
        if denied or left_out:
            yield _server_is_off(host, f"{path} does not allow it", _POLICY)
    own = os.path.join(place.environ.get("CLAUDE_CONFIG_DIR") or place.home, ".claude.json")
    projects = _at(read_json(own), "projects")
    asked_of = _roots(place.project) or folders_around(place.project)  # trust in a folder holds for no repository in it
    trusted = any(_at(projects, folder, "hasTrustDialogAccepted") is True for folder in asked_of)
    if place.scope is not Scope.USER and not trusted:
        asks = f"{host.title} asks at its next start whether you trust this folder"
        asks = f"{asks}. Until you do, only 'claude -p' is recorded"
        answer = "Choose 'Yes, I trust this folder': 'No' is preselected."
        yield Obstacle(HOOKS, asks, answer, asked=True, partly=True)
    if SERVER in _names(_at(projects, place.project), "disabledMcpServers"):
        yield _server_is_off(host, "you switched it off", "Type /mcp in it and enable gitmem.")
    if place.scope is Scope.PROJECT:
        yield from _claude_answer(host, place)


_ENABLED, _DISABLED = "enabledMcpjsonServers", "disabledMcpjsonServers"


def _claude_answers(host: Host, place: InstallPlace) -> Mapping[str, object]:
    """Return the settings in which Claude Code keeps the user's answers about a project's servers, by file."""
    own = os.path.join(place.environ.get("CLAUDE_CONFIG_DIR") or place.home, ".claude.json")
    here = _at(read_json(own), "projects", place.project)
    return {path: _settings(path) for path in settings_paths(host, place)} | {own: here}


def noted_answers(host: Host, place: InstallPlace) -> Iterator[str]:
    """Yield a line for each file in which an agent itself noted the user's answer about the server."""
    for path, value in _claude_answers(host, place).items() if host.name == "claude" else ():
        if SERVER in (*_names(value, _ENABLED), *_names(value, _DISABLED)):
            yield f"{host.title}'s own note of your answer on the server stays in {path}."


def _claude_answer(host: Host, place: InstallPlace) -> Found:
    """Yield the user's refusal of a project's servers, or that they will be asked."""
    answers = _claude_answers(host, place)
    if path := next((path for path, value in answers.items() if SERVER in _names(value, _DISABLED)), ""):
        yield _server_is_off(host, f"{_DISABLED} names it in {path}", f'Take "{SERVER}" out there.')
    elif not any(
        SERVER in _names(value, _ENABLED) or _at(value, "enableAllProjectMcpServers") is True
        for value in answers.values()
    ):
        asks = f"{host.title} asks at its next start about the MCP server {SERVER}"
        remedy = "Choose 'Use this MCP server'; the preselected answer refuses it."
        yield Obstacle(MCP, asks, remedy, asked=True)


def _codex(host: Host, place: InstallPlace) -> Found:
    """Yield what Codex does not trust yet: the project, then each hook, by digest."""
    own = os.path.join(place.own(".codex", "CODEX_HOME"), "config.toml")
    config = _toml(own)
    for path in _managed_paths("codex"):
        if _at(_toml(path), "allow_managed_hooks_only") is True:
            problem = f"{host.title} runs no hooks but your organization's: allow_managed_hooks_only is true in {path}"
            yield Obstacle(HOOKS, problem, _POLICY)
    for key in ("hooks", "codex_hooks"):
        if _at(config, "features", key) is False:
            yield Obstacle(HOOKS, f"{host.title} runs no hooks: features.{key} is false in {own}", _OPEN)
    roots = _roots(place.project) or [place.project]
    level = next(filter(None, (_at(config, "projects", root, "trust_level") for root in roots)), None)
    if place.scope is Scope.PROJECT and level != "trusted":
        part = "the hooks and the server of this project"
        if level is None:
            asks = f"{host.title} asks at its next start whether you trust this folder. Until you do, it ignores {part}"
            answer = "Choose Yes. 'codex exec' does not ask."
        else:
            asks, answer = f"{host.title} ignores {part}: {own} does not trust this folder", "Change trust_level there."
        yield from (Obstacle(kind, asks, answer, asked=level is None) for kind in (HOOKS, MCP))
    yield from _codex_hooks(host, place._replace(project=roots[-1]), config)
    listing = os.path.join(place.folder(".codex", "CODEX_HOME"), "config.toml")
    if _at(_toml(listing), "mcp_servers", SERVER, "enabled") is False:
        yield _server_is_off(host, f"its entry in {listing} says so")


def _codex_hooks(host: Host, place: InstallPlace, config: object) -> Found:
    """Yield the hooks that the user has not allowed in Codex yet.

    Codex reads a repository's hooks in its main work tree, also for a linked one (seen in 0.169.0).
    """
    edit = next(edit for edit in edits_of(host, place) if edit.part == HOOKS)
    if not is_present(edit):
        problem = f"{host.title} runs the hooks of the main work tree only, and {edit.path} has none of gitmem's"
        yield Obstacle(HOOKS, problem, f"Run: gitmem -C {shlex.quote(place.project)} install {host.name}")
        return
    text = (read_small(edit.path) or b"").decode("utf-8", "surrogateescape")
    tables = host.trust(edit.path, text) if host.trust else {}
    states = {name: _at(config, *keys_of(name)) for name in tables}
    if any(_at(state, "enabled") is False for state in states.values()):
        yield Obstacle(
            HOOKS, f"{host.title} runs no hook that you switched off", "Type /hooks in it and enable gitmem's."
        )
    elif any(_at(states[name], "trusted_hash") != table["trusted_hash"] for name, table in tables.items()):
        problem = f"{host.title} does not run gitmem's hooks before you trust them"
        remedy = f"Type /hooks in it and trust them, or run 'gitmem install {host.name} --{place.scope.value} --trust'."
        remedy += " 'codex exec' does not ask: it leaves them out."
        yield Obstacle(HOOKS, problem, remedy, asked=True)


def _toml(path: str) -> object:
    import tomllib  # late: few agents have such settings

    with contextlib.suppress(ValueError, RecursionError):
        return tomllib.loads((read_small(path) or b"").decode())
    return {}


def _gemini(host: Host, place: InstallPlace) -> Found:
    """Yield the obstacles in the settings of Gemini CLI, or Qwen Code, its fork, for folders, hooks and servers."""
    paths = [*_managed_paths(host.name), *settings_paths(host, place)]
    settings_of = {path: _settings(path) for path in paths}
    for path, settings in settings_of.items():
        if any(is_gitmem_hook(name) for name in _names(settings, "hooksConfig", "disabled")):
            yield Obstacle(HOOKS, f"{host.title} runs no hook that hooksConfig.disabled names in {path}", _OPEN)
        allowed = _at(settings, "mcp", "allowed")
        if SERVER in _names(settings, "mcp", "excluded") or (isinstance(allowed, list) and SERVER not in allowed):
            yield _server_is_off(host, f"'mcp' in {path} leaves it out")
    folder = place.own(host.folder)
    switches = os.path.join(folder, "mcp-server-enablement.json")
    if _at(_settings(switches), SERVER, "enabled") is False:
        yield _server_is_off(host, "you switched it off", f"In it: /mcp enable {SERVER}")
    wanted = [_at(settings, "security", "folderTrust", "enabled") for settings in settings_of.values()]
    asks_trust = next((value for value in wanted if isinstance(value, bool)), host.name == "gemini")
    if place.scope is Scope.PROJECT and asks_trust and place.environ.get("GEMINI_CLI_TRUST_WORKSPACE") != "true":
        named = place.environ.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH", "") if host.name == "gemini" else ""
        yield from _folder(
            host, _trusted_by_gemini(named or os.path.join(folder, "trustedFolders.json"), place.project)
        )


def _trusted_by_gemini(path: str, project: str) -> bool | None:
    """Return whether a list of folders trusts this one; None if no rule matches it."""
    rules = _settings(path)
    for folder in folders_around(project):
        for named, rule in rules.items() if isinstance(rules, dict) else ():
            whole = os.path.dirname(str(named)) if rule == "TRUST_PARENT" else str(named)
            if os.path.realpath(whole) == folder:
                return bool(rule != "DO_NOT_TRUST")
    return None


def _folder(host: Host, trusted: bool | None) -> Found:  # the agent's own setting
    """Yield that an agent ignores a project's settings in a folder that it does not trust."""
    ignored = "it ignores the hooks and the server of this project"
    message = f"{host.title} asks at its next start whether you trust this folder. Until you do, {ignored}"
    remedy = "Answer that you trust the folder; without a terminal it is not asked and nothing runs."
    if trusted is False:
        message, remedy = f"{host.title} does not trust this folder: {ignored}", "Have it trust the folder."
    if not trusted:
        yield from (Obstacle(part, message, remedy, asked=trusted is None) for part in (HOOKS, MCP))


def _copilot(host: Host, place: InstallPlace) -> Found:
    if place.scope is not Scope.PROJECT:
        return
    folder = place.own(".copilot", "COPILOT_HOME")
    listed = [
        os.path.realpath(name)
        for file in ("config.json", "settings.json")
        for key in ("trustedFolders", "trusted_folders")
        for name in _names(_settings(os.path.join(folder, file)), key)
        if isinstance(name, str)
    ]
    yield from _folder(host, True if any(around in listed for around in folders_around(place.project)) else None)


def _pi(host: Host, place: InstallPlace) -> Found:
    path = os.path.join(place.folder(host.folder if place.scope is Scope.USER else ".pi"), "settings.json")
    left_out = [str(name) for name in _names(_settings(path), "extensions") if str(name)[:1] in {"-", "!"}]
    if any("gitmem" in name for name in left_out):
        yield Obstacle(HOOKS, f"{host.title} loads no extension that 'extensions' leaves out in {path}", _OPEN)
    if "-builtin:mcp" in left_out:
        yield _server_is_off(host, f"'extensions' leaves builtin:mcp out in {path}")
    if place.scope is Scope.USER:
        return
    folder = place.own(host.folder)
    answers, usual = (_settings(os.path.join(folder, name)) for name in ("trust.json", "settings.json"))
    decided = (value for around in folders_around(place.project) if isinstance(value := _at(answers, around), bool))
    by_default = {"always": True, "never": False}.get(str(_at(usual, "defaultProjectTrust")))
    yield from _folder(host, next(decided, by_default))


_READERS: Mapping[str, Callable[[Host, InstallPlace], Found]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "qwen": _gemini,
    "copilot": _copilot,
    "pi": _pi,
}
