"""The shape that all hosts share, the hosts by name, and which host wrote a payload or a transcript.

A host is data and small functions that convert its forms to gitmem's and back; its module is loaded when needed. Events
come in as JSON and become Claude Code's keys, which `gitmem.model.events` reads; an answer goes out in the host's
form; its transcripts become records; and what `gitmem install` writes is a list of edits.
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
_POSIX_LINES = {"claude", "codex", "copilot"}  # on Windows, too: in Git Bash, or beside a line for Windows alone
# for readers of a project's settings who have never heard of gitmem
_SAYS = "gitmem, where installed, remembers sessions"
_WORDS = f": '{_SAYS}'; "
_DIRECT = rf"gitmem hook [a-z]+ [A-Za-z]+; exit 0 # {_SAYS}"
_LINE = r'(: \'[^\']*\'; )?h=\S+/hook\.sh"?; \[ -r "\$h" \] && gitmem=[A-Za-z.-]+ \. "\$h"; exit 0'
_OLD_MARK = "gitmem="  # began the lines of 1,500 characters that gitmem wrote before there was a script
_PROGRAM = "gitmem_installed=''"


def command(event: str, host: str = "claude", folder: str = f"$HOME/{'/'.join(FOLDER)}") -> str:
    """Return the line for an event, in gitmem's word for it; `folder` is where the script is, as a shell reads it."""
    name, dot, when = event.partition(".")
    word = event if host == "claude" else f"{name}.{host}{dot}{when}"
    return _WORDS + f'h={folder}/{SCRIPT}; [ -r "$h" ] && gitmem={word} . "$h"; exit 0'


def direct_command(event: str, host: str) -> str:
    """Return a line for an event that PowerShell, cmd and POSIX shells read: cmd passes all words, `;` and `#` too."""
    return f"gitmem hook {host} {event.partition('.')[0]}; exit 0 # {_SAYS}"


# The MCP server in a project's settings: gitmem, or where it is not installed a server without tools, which does not
# fail in each session. It has a resource, since Gemini CLI and Qwen Code take an empty server for a failed one.
_ABLE = '"capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"gitmem","version":"0"}'
SERVER_LINE = f"""\
command -v gitmem >/dev/null && exec gitmem mcp; while read -r m; do i=${{m##*'"id":'}}; i=${{i%%[,\\}}]*}}; \
case $m in *'"initialize"'*) r='{{"protocolVersion":"2025-06-18",{_ABLE}}}';; \
*'"resources/list"'*) r='{{"resources":[{{"uri":"gitmem://none","name":"gitmem is not installed"}}]}}';; \
*'"id":'*) r='{{"tools":[]}}';; *) continue;; esac; \
printf '%s\\n' "{{\\"jsonrpc\\":\\"2.0\\",\\"id\\":$i,\\"result\\":$r}}"; done"""
# Ends of an event's name.
LATE = ".late"  # the host is shown its memory with the next prompt, not at this event
DUE = ".due"  # late answers go out with this event, since the host reads none at its prompts


def is_ours(text: object) -> bool:
    """Return whether the command of a hook is one of gitmem's, of whatever version."""
    return isinstance(text, str) and (text.startswith(_OLD_MARK) or bool(re.fullmatch(f"{_LINE}|{_DIRECT}", text)))


def script_path(home: str) -> str:
    """Return where the script stands on this machine."""
    return os.path.join(home, *FOLDER, SCRIPT)


def hook_script(program: str) -> bytes:
    """Return the script of hooks; `program` is the gitmem to start if the PATH has none, "" if unknown."""
    import shlex

    text = read_resource("hooks", SCRIPT).decode()
    return text.replace(_PROGRAM, f"gitmem_installed={shlex.quote(program)}").encode("utf-8", "surrogateescape")


def is_current(text: str) -> bool:
    """Return whether a script is the one of this version, whatever program it starts."""
    return re.sub(r"(?m)^gitmem_installed=.*$", _PROGRAM, text) == hook_script("").decode()


Payload = dict[str, object]
_PROMPT = "UserPromptSubmit"
_MOST_BYTES = 4_000_000  # of the first line of a transcript, which may hold an agent's instructions


class Scope(Enum):
    """Whose settings: the project's, which a team shares; a user's for this project; a user's for all."""

    PROJECT = "project"
    LOCAL = "local"
    USER = "user"


class InstallPlace(Value):
    """Where to install: whose settings, the top of the work tree, the home folder, the environment."""

    scope: Scope
    project: str
    home: str
    environ: Mapping[str, str]

    def folder(self, name: str, variable: str = "") -> str:
        """Return a host's folder of settings: below the project, or the user's, which a variable may name."""
        if self.scope is not Scope.USER:
            return os.path.join(self.project, name)
        return self.own(name, variable)

    def own(self, name: str, variable: str = "") -> str:
        """Return the user's folder of a host."""
        return self.environ.get(variable, "") or os.path.join(self.home, name)

    @property
    def server(self) -> dict[str, object]:
        """The program of the MCP server and its arguments; in a project's settings one that works on all machines."""
        if self.scope is Scope.PROJECT and not WINDOWS:
            return {"command": "sh", "args": ["-c", SERVER_LINE]}
        return {"command": "gitmem", "args": ["mcp"]}


def as_it_is(payload: Payload) -> Payload | None:
    """Return a payload that has Claude Code's keys already."""
    return payload


def nested_answer(event: str, text: str) -> Payload:
    """Return the answer that Claude Code and most others understand; `event` is the host's own name of it."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def nested_decision(event: str, decision: str, reason: str) -> Payload:
    """Return Claude Code's answer to a tool call that is to be asked about (`ask`) or refused (`deny`)."""
    told = {"permissionDecision": decision, "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": event, **told}}


class Host(Value):
    """An agent that gitmem remembers for.

    `name` is the word of the command line. `events` has gitmem's name of each of the host's events that it is asked
    for; `SessionStart` is answered at once, and `SessionStart` with `LATE` with the next prompt, or with the next event
    that has `DUE`. `folder`, below the home, shows that the host is there. `read` turns a payload into Claude Code's
    keys, or into None if memory does not need it; `recorded` adds to a payload that is to be answered what only the
    session's record says. `decide` makes the answer to a call to be asked about or refused, `hears_before` says
    whether the model is given what a hook says before a call. `edits` returns what `gitmem install` writes at a place.
    `records` reads the lines of a transcript; `lines` reads these from a path, or returns None if it is a text file.
    `sessions` are the paths of a project's transcripts; `transcript` makes the path of one from the environment, the
    home and the session's id, for hosts whose payloads name none. `subagents` are the paths of the transcripts of a
    session's subagents. `sign` is the key of a line in an answer that the host shows to the user, "" if it shows none.
    `trust` makes the tables by which the host trusts the hooks in a file with this path and text, if it asks for that;
    `note` says what a user has to do once after installing. `slash` is what the host has people type before a command's
    name. `programs` are its programs, if not its name alone. `off_switch` is the setting, by its keys, and the value
    with which the host runs no hooks.
    """

    name: str
    title: str
    folder: str
    events: Mapping[str, str]
    edits: Callable[[Host, InstallPlace], Edits]
    scopes: tuple[Scope, ...] = (Scope.PROJECT, Scope.USER)
    read: Callable[[Payload], Payload | None] = as_it_is
    recorded: Callable[[Payload], Payload] = dict
    answer: Callable[[str, str], Payload] = nested_answer
    decide: Callable[[str, str, str], Payload] = nested_decision
    hears_before: bool = True
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

    def tells_later(self, event: str) -> bool:
        """Return whether this event, by gitmem's name, is answered only with the next prompt."""
        return f"{event}{LATE}" in self.events.values()

    def tells_with(self, event: str) -> bool:
        """Return whether a late answer goes out with this event, in gitmem's name for it."""
        return event == _PROMPT or f"{event}{DUE}" in self.events.values()

    def commands(self) -> dict[str, str]:
        """Return the line to be run at each of the host's events."""
        line = direct_command if WINDOWS and self.name not in _POSIX_LINES else command
        return {event: line(ours, self.name) for event, ours in self.events.items()}


def command_hooks(host: Host, timeout: int = 10) -> dict[str, dict[str, object]]:
    """Return, by event, the hook in Claude Code's form; a host ends it after `timeout`, far more than it takes."""
    return {event: {"type": "command", "command": line, "timeout": timeout} for event, line in host.commands().items()}


def shared_server(place: InstallPlace) -> dict[str, object]:
    """Return gitmem's item in Claude Code's list of MCP servers; `alwaysLoad` spares a search for the tools."""
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
    """Return the transcripts below a folder whose first line says, under these keys, that they are of a project."""
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
    """Return the user's answers by question, as Claude Code tells the result of its tool `ASKS`."""
    return {"answers": {question: answer for question, answer in pairs if question and answer}}


def refused(words: str = "") -> str:
    """Return the result of a call that the user refused, with the words that they gave, in one form for all hosts."""
    return f"The user rejected this call. The user said: {words}" if words else "The user rejected this call."


def without_help(text: str) -> str:
    """Return what a tool printed, without the help that gitmem's plugin added after an error."""
    before, mark, told = text.rpartition(f'<{FENCE} at="error">')
    return before.rstrip() if mark and told.endswith(f"</{FENCE}>") else text


def named_as_claude(payload: Payload, tools: Mapping[str, str]) -> Payload:
    """Return a payload with Claude Code's name of its tool, from the host's own ones, and with a stripped prompt."""
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
WITH_FAILURES = (*EVENTS[:4], "PostToolUseFailure", *EVENTS[4:])  # of hosts that tell a failed call by an event
