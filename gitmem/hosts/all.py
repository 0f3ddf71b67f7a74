"""All hosts by name, and which of them a payload or a transcript is from; a host's file is loaded when it is needed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import chain

from gitmem.hosts.host import Host, Payload, text_of

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gitmem.sessions.transcript import Record, Unread

    Home = tuple[Mapping[str, str], str]  # the environment, the home folder


# By the word of the command line: the file, a part of the paths of its transcripts, and what their first line has.
_FILES = {
    "claude": ("claude_code", "/.claude/projects/", ""),
    "codex": ("codex", "/rollout-", '"payload":{'),
    "gemini": ("gemini", "/.gemini/tmp/", '"projectHash":'),
    "qwen": ("qwen", "/.qwen/projects/", '"provenance":'),
    "copilot": ("copilot", "/.copilot/session-state/", '"copilotVersion":'),
    "droid": ("droid", "/.factory/sessions/", '"type":"session_start"'),
    "pi": ("pi", "/.pi/agent/sessions/", '"type":"session","version":'),
    "cline": ("cline", ".messages.json", ""),
    "cursor": ("documented", "/.cursor/projects/", ""),
    "amp": ("documented", "", ""),
    "opencode": ("opencode", "", ""),
    "kilo": ("opencode", "", ""),
    "crush": ("documented", "", ""),
    "roo": ("documented", "", ""),
    "vscode": ("documented", "", ""),
}
NAMES = tuple(_FILES)
CLAUDE = "claude"
_DATABASE = ".db#"  # between the path of a database and the id of a session in it


def find_host(name: str) -> Host:
    """Return the host of a name.

    Raises:
        KeyError: there is none.

    """
    module = f"gitmem.hosts.agents.{_FILES[name][0]}"
    __import__(module)  # `importlib` takes half a millisecond
    hosts = vars(sys.modules[module])  # a file with one host calls it so, others call each by its name
    host: Host = hosts.get("HOST") or hosts[name.upper()]
    return host


def caller(payload: Mapping[str, object], named: str) -> str:
    """Return the name of the host that sent a payload; `named` is the host whose settings have the hook.

    Some hosts also run the hooks of Claude Code's settings and plugins: there, the payload says whose it is. Copilot
    names no transcript, or its own, and gives each event a time, which Claude Code does not.
    """
    if named != CLAUDE:
        return named if named in _FILES else CLAUDE
    if "turn_id" in payload:
        return "codex"
    if "generation_id" in payload:
        return "cursor"
    if "timestamp" in payload and "transcript_path" not in payload:
        return "copilot"
    return _writer(text_of(payload, "transcript_path"))


def read_payload(payload: Payload, named: str, event: str, home: Home) -> tuple[str, Payload | None]:
    """Return the label of the host that sent a payload, and the payload with Claude Code's keys, None if it is useless.

    `event` is gitmem's name of the event, for the hosts whose payloads do not say it; `home` leads to the
    transcripts that payloads do not name.
    """
    name = caller(payload, named)
    if name == CLAUDE:
        return "claude-code", payload
    host = find_host(name)
    read = host.read({"hook_event_name": event} | payload)
    if read is None or host.transcript is None:
        return host.label, read
    path = host.transcript(*home, text_of(read, "session_id"))
    return host.label, read | {"transcript_path": path}


def name_of(label: str) -> str:
    """Return the name of the host that entries call so."""
    return label if label in _FILES else CLAUDE


def file_of(transcript: str) -> str:
    """Return the file that a transcript is in; a database holds many, as `…/opencode.db#SESSION`."""
    before, mark, _ = transcript.rpartition(_DATABASE)
    return f"{before}.db" if mark else transcript


def read_transcript(
    path: str, lines: Callable[[str], Iterable[str]], unread: Unread | None = None, name: str = ""
) -> Iterator[Record]:
    """Yield the records of a transcript; `lines` reads a text file.

    Without the `name` of a host, the path or the first line says whose it is.
    """
    host = find_host(name or writer(path, lines))
    return _reader(host)((host.lines or lines)(path), unread)


def writer(path: str, lines: Callable[[str], Iterable[str]]) -> str:
    """Return the name of the host that wrote a transcript, as its path or its first line say."""
    named = _writer(path)
    return _writer_of(next(iter(lines(path)), "")) if named == CLAUDE else named


def read_records(lines: Iterable[str], unread: Unread | None = None, name: str = "") -> Iterator[Record]:
    """Yield the records in the lines of a transcript; without the `name` of a host, the first line says whose it is."""
    lines = iter(lines)
    first = next(lines, "")
    return _reader(find_host(name or _writer_of(first)))(chain([first], lines), unread)


def _reader(host: Host) -> Callable[[Iterable[str], Unread | None], Iterator[Record]]:
    """Return the function that reads the records of a host's transcripts; hooks need none."""
    from gitmem.sessions.transcript import records

    return host.records or records


def _writer_of(first: str) -> str:
    marks = ((known, mark) for known, (_, _, mark) in _FILES.items() if mark)
    return next((known for known, mark in marks if mark in first or mark.replace(":", ": ") in first), CLAUDE)


def _writer(path: str) -> str:
    path = path.replace("\\", "/")
    if _DATABASE in path:
        return "kilo" if "/kilo/" in path else "opencode"
    return next((name for name, (_, part, _) in _FILES.items() if part and part in path), CLAUDE)
