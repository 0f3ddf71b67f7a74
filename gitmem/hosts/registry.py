"""All agents by name, and which of them wrote a payload or a transcript."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from gitmem.errors import UnreadableError
from gitmem.hosts.host import CLAUDE, Home, Host, Payload, text_of
from gitmem.platform.safe_open import open_regular
from gitmem.values import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmem.model.transcript import Record, Unread

# By name on the command line: the module, a part of its transcripts' paths, a mark in their first line.
_HOSTS = {
    "claude": ("claude_code", "/.claude/projects/", ""),
    "codex": ("codex", "/rollout-", '"payload":{'),
    "gemini": ("gemini", "/.gemini/tmp/", '"projectHash":'),
    "qwen": ("gemini", "/.qwen/projects/", '"provenance":'),
    "copilot": ("copilot", "/.copilot/session-state/", '"copilotVersion":'),
    "droid": ("droid", "/.factory/sessions/", '"type":"session_start"'),
    "pi": ("plugins", "/.pi/agent/sessions/", '"type":"session","version":'),
    "cline": ("cline", ".messages.json", ""),
    "cursor": ("cursor", "/.cursor/projects/", ""),
    "amp": ("plugins", "", ""),
    "opencode": ("plugins", "", '"id":"ses_'),
    "kilo": ("plugins", "", ""),
    "crush": ("tools_only", "", ""),
    "roo": ("tools_only", "", ""),
    "vscode": ("tools_only", "", ""),
}
NAMES = tuple(_HOSTS)
_DATABASE = ".db#"  # between the path of a database and the id of a session in it


def find_host(name: str) -> Host:
    """Return the host with this name. Raises KeyError if there is none."""
    module = f"gitmem.hosts.{_HOSTS[name][0]}"
    __import__(module)  # `importlib` takes half a millisecond
    hosts = vars(sys.modules[module])  # `HOST` in a module with one host, else the host's name
    host: Host = hosts.get("HOST") or hosts[name.upper()]
    return host


def sender(payload: Mapping[str, object], named: str) -> str:
    """Return the name of the host that sent a payload; `named` is the host whose settings contain the hook.

    Some hosts also run the hooks of Claude Code's settings and plugins; the payload then identifies the host. Copilot
    names no transcript, or its own, and adds a time to each event, unlike Claude Code.
    """
    if named != CLAUDE:
        return named if named in _HOSTS else CLAUDE
    if "turn_id" in payload:
        return "codex"
    if "generation_id" in payload:
        return "cursor"
    if "timestamp" in payload and "transcript_path" not in payload:
        return "copilot"
    return _writer_by_path(text_of(payload, "transcript_path"))


def read_payload(payload: Payload, named: str, event: str, home: Home) -> tuple[str, Payload | None]:
    """Return the label of the host that sent a payload, and the payload with Claude Code's keys, None if not needed.

    `event` is gitmem's name of the event, for hosts whose payloads lack it; `home` is used to find transcripts that
    payloads do not name.
    """
    name = sender(payload, named)
    if name == CLAUDE:
        return "claude-code", payload
    host = find_host(name)
    read = host.read({"hook_event_name": event} | payload)
    if read is None or host.transcript is None:
        return host.label, read
    path = host.transcript(*home, text_of(read, "session_id"))
    return host.label, read | {"transcript_path": path}


def host_name(label: str) -> str:
    """Return the name of the host with this label in entries."""
    return label if label in _HOSTS else CLAUDE


def transcript_file(transcript: str) -> str:
    """Return the file that contains a transcript; a database contains many, as `…/opencode.db#SESSION`."""
    before, mark, _ = transcript.rpartition(_DATABASE)
    return f"{before}.db" if mark else transcript


MAX_TRANSCRIPT = 256 * 1024 * 1024  # bytes that are read


def read_lines(path: str) -> Iterator[str]:
    """Yield the lines of a transcript, none if the file is missing. Raises UnreadableError if reading fails."""
    from gitmem.model.transcript import MAX_LINE

    file = open_regular(path)
    if file is None:
        return
    with file:
        left = MAX_TRANSCRIPT
        try:
            while left > 0 and (line := file.readline(min(left, MAX_LINE))):
                left -= len(line)
                yield line.decode("utf-8", "replace")
        except OSError as error:
            message = f"The transcript {path} cannot be read: {error.strerror or error}."
            raise UnreadableError(message, f"'gitmem replay {path}' saves it once it can be.") from error


def read_transcript(path: str, unread: Unread | None = None, name: str = "") -> Iterator[Record]:
    """Yield the records of a transcript; `unread` counts unreadable lines.

    `name` is the transcript's host, by default found by path or first line.
    """
    from gitmem.hosts.sessions_in_json import as_lines

    host = find_host(name or writer(path))

    def read(path: str, unread: Unread | None = None) -> Iterator[Record]:
        own = host.lines(path) if host.lines else None
        return _reader(host)(as_lines(read_lines(path)) if own is None else own, unread)

    if host.subagents is None:
        return read(path, unread)
    from gitmem.hosts.subagents import with_subagents

    return with_subagents(read(path, unread), host.subagents(path), read)


def writer(path: str) -> str:
    """Return the name of the host that wrote a transcript, by its path or its first line."""
    from gitmem.hosts.sessions_in_json import first_line

    named = _writer_by_path(path)
    return _writer_by_first_line(first_line(read_lines(path))) if named == CLAUDE else named


def read_records(lines: Iterable[str], unread: Unread | None = None, name: str = "") -> Iterator[Record]:
    """Yield the records in the lines of a transcript; without a `name`, the host is found by the first line."""
    lines = iter(lines)
    first = next(lines, "")
    return _reader(find_host(name or _writer_by_first_line(first)))(chain([first], lines), unread)


def _reader(host: Host) -> Callable[[Iterable[str], Unread | None], Iterator[Record]]:
    """Return the function that reads the records of a host's transcripts; hooks need none."""
    from gitmem.model.transcript import records

    return host.records or records


def _writer_by_first_line(first: str) -> str:
    marks = ((known, mark) for known, (_, _, mark) in _HOSTS.items() if mark)
    return next((known for known, mark in marks if mark in first or mark.replace(":", ": ") in first), CLAUDE)


def _writer_by_path(path: str) -> str:
    path = path.replace("\\", "/")
    if _DATABASE in path:
        return "kilo" if "/kilo/" in path else "opencode"
    return next((name for name, (_, part, _) in _HOSTS.items() if part and part in path), CLAUDE)
