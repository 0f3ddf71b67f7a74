"""The description of a host, and helpers that several hosts share.

A host is data and small functions that convert its forms to gitmem's and back; its module is loaded when needed. Events
arrive as JSON and are converted to Claude Code's keys, which `gitmem.record.read` reads; answers are converted to the
host's form, transcripts to records; and `gitmem install` applies a list of edits.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum

from gitmem.platform.machine import read_resource
from gitmem.platform.safe_open import open_regular
from gitmem.text.terminal import FENCE
from gitmem.values import TYPE_CHECKING, Any, Value

if TYPE_CHECKING:
    from gitmem.model.transcript import Record, Unread

Home = tuple[Mapping[str, str], str]  # the environment, the home folder
Edits = Sequence[Any]  # each a `gitmem.hosts.settings.Edit`, which no hook loads
SCRIPT = "hook.sh"
FOLDER = (".local", "share", "gitmem")
WINDOWS = os.name == "nt"
_POSIX_LINES = {"claude", "codex", "copilot"}  # also on Windows: in Git Bash, or beside a line for Windows
# for readers of a project's settings who have never heard of gitmem
_SAYS = "gitmem, where installed, remembers sessions"
_WORDS = f": '{_SAYS}'; "
_DIRECT = rf"gitmem hook [a-z]+ [A-Za-z]+; exit 0 # {_SAYS}"
_LINE = r'(: \'[^\']*\'; )?h=\S+/hook\.sh"?; \[ -r "\$h" \] && gitmem=[A-Za-z.-]+ \. "\$h"; exit 0'
_OLD_MARK = "gitmem="  # began the long lines that gitmem wrote before it had a script
_PROGRAM = "gitmem_installed=''"


def command(event: str, host: str = "claude", folder: str = f"$HOME/{'/'.join(FOLDER)}") -> str:
    """Return the line for an event, by gitmem's name; `folder` is the script's, in shell syntax."""
    name, dot, when = event.partition(".")
    word = event if host == "claude" else f"{name}.{host}{dot}{when}"
    return _WORDS + f'h={folder}/{SCRIPT}; [ -r "$h" ] && gitmem={word} . "$h"; exit 0'


def direct_command(event: str, host: str) -> str:
    """Return a line for an event that PowerShell, cmd and POSIX shells can run; cmd passes also `;` and `#` on."""
    return f"gitmem hook {host} {event.partition('.')[0]}; exit 0 # {_SAYS}"


# The MCP server in a project's settings: gitmem, or if it is not installed a server without tools, so that sessions
# show no error. It has a resource, since Gemini CLI and Qwen Code treat an empty server as failed.
_ABLE = '"capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"gitmem","version":"0"}'
SERVER_LINE = f"""\
command -v gitmem >/dev/null && exec gitmem mcp; while read -r m; do i=${{m##*'"id":'}}; i=${{i%%[,\\}}]*}}; \
case $m in *'"initialize"'*) r='{{"protocolVersion":"2025-06-18",{_ABLE}}}';; \
*'"resources/list"'*) r='{{"resources":[{{"uri":"gitmem://none","name":"gitmem is not installed"}}]}}';; \
*'"id":'*) r='{{"tools":[]}}';; *) continue;; esac; \
printf '%s\\n' "{{\\"jsonrpc\\":\\"2.0\\",\\"id\\":$i,\\"result\\":$r}}"; done"""
# Suffixes of an event's name.
LATE = ".late"  # the host is shown its memory with the next prompt, not at this event
DUE = ".due"  # late answers are sent with this event, since the host reads none at prompts


def is_gitmem_hook(text: object) -> bool:
    """Return whether the command of a hook is gitmem's, of any version."""
    return isinstance(text, str) and (text.startswith(_OLD_MARK) or bool(re.fullmatch(f"{_LINE}|{_DIRECT}", text)))


def script_path(home: str) -> str:
    """Return the path of the script on this machine."""
    return os.path.join(home, *FOLDER, SCRIPT)


def hook_script(program: str) -> bytes:
    """Return the hooks' script; `program` is the gitmem to start if the PATH has none, "" if unknown."""
    import shlex

    text = read_resource("hooks", SCRIPT).decode()
    return text.replace(_PROGRAM, f"gitmem_installed={shlex.quote(program)}").encode("utf-8", "surrogateescape")


def is_current(text: str) -> bool:
    """Return whether a script is this version's, whatever program it starts."""
    return re.sub(r"(?m)^gitmem_installed=.*$", _PROGRAM, text) == hook_script("").decode()


Payload = dict[str, object]
_PROMPT = "UserPromptSubmit"
_MOST_BYTES = 4_000_000  # of a transcript's first line, which may contain an agent's instructions


class Scope(Enum):
    """The settings to edit: the project's, which a team shares; a user's for this project; a user's for all."""

    PROJECT = "project"
    LOCAL = "local"
    USER = "user"


class InstallPlace(Value):
    """Where to install: scope of the settings, top of the work tree, home folder, environment."""

    scope: Scope
    project: str
    home: str
    environ: Mapping[str, str]

    def folder(self, name: str, variable: str = "") -> str:
        """Return a host's settings folder: in the project, or the user's, which a variable may name."""
        if self.scope is not Scope.USER:
            return os.path.join(self.project, name)
        return self.own(name, variable)

    def own(self, name: str, variable: str = "") -> str:
        """Return the user's folder of a host."""
        return self.environ.get(variable, "") or os.path.join(self.home, name)

    @property
    def server(self) -> dict[str, object]:
        """The MCP server's program and arguments; in a project's settings they work on all machines."""
        if self.scope is Scope.PROJECT and not WINDOWS:
            return {"command": "sh", "args": ["-c", SERVER_LINE]}
        return {"command": "gitmem", "args": ["mcp"]}


def unchanged(payload: Payload) -> Payload | None:
    """Return a payload unchanged, as it already has Claude Code's keys."""
    return payload


def nested_answer(event: str, text: str) -> Payload:
    """Return the answer that Claude Code and most others understand; `event` is the host's own name of it."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def nested_decision(event: str, decision: str, reason: str) -> Payload:
    """Return Claude Code's answer by which the user is asked about a tool call (`ask`), or it is refused (`deny`)."""
    output = {"permissionDecision": decision, "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": event, **output}}


class Host(Value):
    """An agent that gitmem remembers for.

    `name` is the word of the command line; `programs` are its programs, if not its name alone. `folder`, below the
    home, shows that the host is there. `events` maps each of its events that get a hook to gitmem's name; an event with
    `LATE` is answered with the next prompt, or with the next event that has `DUE`. `read` returns a payload with Claude
    Code's keys, or None if memory does not need it; `recorded` adds what only the transcript says. `decide` makes the
    answer that refuses a call, or has the user asked; `context_before_tools` says whether the model is given what a
    hook says before a call. `edits` returns what `gitmem install` writes at a place. `records` reads the lines of a
    transcript; `lines` reads these from a path, or returns None if it is a text file. `sessions` returns the paths of a
    project's transcripts, `subagents` those of a session's subagents. `transcript` makes the path of one from the
    environment, the home and the session's id, for hosts whose payloads name none. `sign` is the key of a line in an
    answer that the host shows to the user, "" if it shows none. `trust` makes the tables by which the host trusts the
    hooks in a file with this path and text, if it asks for that; `note` says what a user has to do once after
    installing. `slash` is what users type before a command's name. `off_switch` is the setting, by its keys, and the
    value with which the host runs no hooks.
    """

    name: str
    title: str
    folder: str
    events: Mapping[str, str]
    edits: Callable[[Host, InstallPlace], Edits]
    scopes: tuple[Scope, ...] = (Scope.PROJECT, Scope.USER)
    read: Callable[[Payload], Payload | None] = unchanged
    recorded: Callable[[Payload], Payload] = dict
    answer: Callable[[str, str], Payload] = nested_answer
    decide: Callable[[str, str, str], Payload] = nested_decision
    context_before_tools: bool = True
    records: Callable[[Iterable[str], Unread | None], Iterator[Record]] | None = None
    lines: Callable[[str], Iterator[str] | None] | None = None
    sessions: Callable[[InstallPlace], list[str]] | None = None
    transcript: Callable[[Mapping[str, str], str, str], str] | None = None
    subagents: Callable[[str], list[str]] | None = None
    sign: str = "systemMessage"
    trust: Callable[[str, str], Mapping[str, Mapping[str, object]]] | None = None
    note: str = ""
    slash: str = "/gitmem:"
    programs: tuple[str, ...] = ()
    off_switch: tuple[tuple[str, ...], bool] | None = None

    @property
    def label(self) -> str:
        """What entries call it."""
        return "claude-code" if self.name == CLAUDE else self.name

    def answers_late(self, event: str) -> bool:
        """Return whether this event, by gitmem's name, is only answered with the next prompt."""
        return f"{event}{LATE}" in self.events.values()

    def sends_late_answers(self, event: str) -> bool:
        """Return whether late answers are sent with this event, by gitmem's name."""
        return event == _PROMPT or f"{event}{DUE}" in self.events.values()

    def commands(self) -> dict[str, str]:
        """Return the line to run for each of the host's events."""
        line = direct_command if WINDOWS and self.name not in _POSIX_LINES else command
        return {event: line(ours, self.name) for event, ours in self.events.items()}


def command_hooks(host: Host, timeout: int = 10) -> dict[str, dict[str, object]]:
    """Return hooks in Claude Code's form by event; a host kills one after `timeout`, far longer than it takes."""
    return {event: {"type": "command", "command": line, "timeout": timeout} for event, line in host.commands().items()}


def shared_server(place: InstallPlace) -> dict[str, object]:
    """Return gitmem's item in Claude Code's list of MCP servers; `alwaysLoad` saves a search for the tools."""
    return {"type": "stdio"} | place.server | {"alwaysLoad": True}


def first_object(path: str) -> Payload:
    """Return the JSON object on the first line of a transcript, an empty one if there is none."""
    from gitmem.model.transcript import objects

    file = open_regular(path)
    if file is None:
        return {}
    with file:
        return next(objects(file.readline(_MOST_BYTES).decode("utf-8", "replace")), {})


def begun_below(project: str, top: str, *keys: str) -> list[str]:
    """Return the transcripts below a folder whose first line names the project under these keys."""
    paths = (os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names)
    return [path for path in paths if path.endswith(".jsonl") and is_below(text_of(first_object(path), *keys), project)]


def text_of(payload: Mapping[str, object], *keys: str) -> str:
    """Return the text that these keys lead to in nested JSON, "" if there is none."""
    value: object = payload
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


ASKS = "AskUserQuestion"  # Claude Code's name of the tool with which an agent asks the user


def answered(pairs: Iterable[tuple[str, str]]) -> Payload:
    """Return the user's answers by question, in the form of a result of Claude Code's tool `ASKS`."""
    return {"answers": {question: answer for question, answer in pairs if question and answer}}


def refused(words: str = "") -> str:
    """Return the result of a call that the user refused, with their words, in one form for all hosts."""
    return f"The user rejected this call. The user said: {words}" if words else "The user rejected this call."


def without_help(text: str) -> str:
    """Return a tool's output without the help that gitmem's plugin added after an error."""
    before, mark, help_text = text.rpartition(f'<{FENCE} at="error">')
    return before.rstrip() if mark and help_text.endswith(f"</{FENCE}>") else text


def named_as_claude(payload: Payload, tools: Mapping[str, str]) -> Payload:
    """Return a payload with the host's tool name replaced by Claude Code's, and with a stripped prompt."""
    tool = text_of(payload, "tool_name")
    return payload | {"tool_name": tools.get(tool, tool), "prompt": text_of(payload, "prompt").strip()}


def folder_name(project: str) -> str:
    """Return the name that several hosts give to a project's folder of transcripts: its path with dashes."""
    return "".join(character if character.isascii() and character.isalnum() else "-" for character in project)


def transcripts_in(*folders: str) -> list[str]:
    """Return the transcripts in a folder, given by its parts; none if it is missing."""
    folder = os.path.join(*folders)
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".jsonl")]
    except (OSError, ValueError):  # ValueError: a path with a null byte
        return []


def is_below(path: str, folder: str) -> bool:
    """Return whether a path is a folder or something in it."""
    return path == folder or path.startswith(os.path.join(folder, ""))


CLAUDE = "claude"


EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "PreCompact", "SessionEnd")
WITH_FAILURES = (*EVENTS[:4], "PostToolUseFailure", *EVENTS[4:])  # for hosts with an event for failed calls
