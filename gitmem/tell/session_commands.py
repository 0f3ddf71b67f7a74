"""Find the shell commands of recorded sessions that may have changed a file, or that made a commit of the project.

Ended sessions' are in their transcripts, a running session's last ones in its working memory. What a command such as
`sed -i` or a script writes is nowhere recorded, so all this is likely at most.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cached_property, lru_cache

from gitmem.document.code_lines import normalized
from gitmem.model.command import form, has_effect, is_commit, only_reads
from gitmem.model.events import EDITORS
from gitmem.model.forbidden import DOCUMENTS
from gitmem.model.shell import commands
from gitmem.model.shell_reader import ShellCommand
from gitmem.record.working_memory import running
from gitmem.store.store import Store
from gitmem.store.transcripts import Transcript, sessions
from gitmem.values import Value

_CLEAR = 3  # characters of a line that is looked for in a command
_MOST = 30  # transcripts read for one line, the newest
_LONGEST_SESSION = timedelta(days=7)
_SECOND = timedelta(seconds=1)  # git's times are whole seconds
_COMMITTED = re.compile(r"^\[[^\]\n]* ([0-9a-f]{7,64})\]", re.MULTILINE)  # git's answer to a commit
_CALL, _RESULT, _COMMAND = b'"role": "call"', b'"role": "result"', b'"command": '
_COPIES = frozenset(("cp", "mv", "install"))
_KEEPS = frozenset(("sed", "gsed", "chmod", "chown", "touch"))  # the text of a file that they do not write in place
_NAME = r"[^\s'\"`=:;|&()<>,\[\]{}]*"  # characters of a path before its last part


class SessionCommand(Value):
    """A shell command of a session: when it began and ended, and its output."""

    session: str
    began: datetime
    ended: datetime
    command: str
    output: str = ""


class SessionCommands:
    """The commands of all recorded sessions; each transcript is read once."""

    def __init__(self, store: Store) -> None:
        self._store, self._by_transcript = store, dict[str, list[SessionCommand]]()
        self._found = dict[tuple[str, datetime | None, datetime], list[SessionCommand]]()

    @cached_property
    def _transcripts(self) -> list[Transcript]:
        return sorted(sessions(self._store), key=lambda transcript: transcript.started)

    @cached_property
    def _running(self) -> list[SessionCommand]:
        calls = ((memory.session, result) for memory in running(self._store) for result in memory.results)
        ran = ((session, result) for session, result in calls if " " in result.what and result.tool not in EDITORS)
        timed = ((session, datetime.fromisoformat(result.at), result.what) for session, result in ran)
        return [SessionCommand(session, at, at, command) for session, at, command in timed]

    def may_have_changed(self, path: str, since: datetime | None, until: datetime) -> list[SessionCommand]:
        """Return the commands between two moments that name a file and may have changed it, the newest first."""
        asked = path, since, until
        if asked not in self._found:
            self._found[asked] = [ran for ran in self._between(since, until) if _may_change(ran.command, path)]
        return self._found[asked]

    def that_made(self, commit: str, at: datetime) -> SessionCommand | None:
        """Return the command that made a commit at a moment, by git's answer or by its time; None without one."""
        ran = [ran for ran in self._between(at - _LONGEST_SESSION, at) if is_commit(ran.command)]
        by_answer = (each for each in ran if any(map(commit.startswith, _COMMITTED.findall(each.output))))
        by_time = (each for each in ran if each.began - _SECOND <= at <= each.ended + _SECOND)
        return next(by_answer, None) or next(by_time, None)

    def _between(self, since: datetime | None, until: datetime) -> list[SessionCommand]:
        begun = [each for each in self._transcripts if each.started <= until]
        if since is not None:
            begun = [each for each in begun if each.started >= since - _LONGEST_SESSION]
        newest = begun[-_MOST:]
        unread = [each for each in newest if each.oid not in self._by_transcript]
        for transcript, data in zip(unread, self._store.repository.blobs([each.oid for each in unread]), strict=True):
            self._by_transcript[transcript.oid] = list(_commands_in(transcript.session, data))
        ran = [*self._running, *(each for transcript in newest for each in self._by_transcript[transcript.oid])]
        within = (each for each in ran if each.began <= until + _SECOND)
        within = (each for each in within if since is None or each.began > since + _SECOND)
        return sorted(within, key=lambda each: each.began, reverse=True)


def _commands_in(session: str, data: bytes) -> Iterator[SessionCommand]:
    """Yield the commands in a stored transcript (L1)."""
    calls = dict[str, SessionCommand]()
    for line in data.split(b"\n"):
        is_call = _CALL in line and _COMMAND in line
        if not is_call and not (calls and _RESULT in line):
            continue
        with suppress(ValueError, TypeError, KeyError):
            part = json.loads(line)
            at, key = datetime.fromisoformat(part["at"]), str(part["id"])
            if is_call and part["tool"] not in EDITORS:
                calls[key] = SessionCommand(session, at, at, str(part["input"]["command"]))
            elif key in calls:
                yield calls.pop(key)._replace(ended=at, output=str(part["text"]))
    yield from calls.values()


@lru_cache(maxsize=10_000)
def _may_change(script: str, path: str) -> bool:
    """Return whether a script names a file in a command that may change it: not one that only reads or runs tests."""
    parsed = commands(script) if posixpath.basename(path) in script else []
    programs = {command.words[0] for command in parsed}
    return any(_changes(command, path, programs) for command in parsed)


def _changes(command: ShellCommand, path: str, programs: Collection[str]) -> bool:
    line, arguments = " ".join(command.words), [word for word in command.words[1:] if word[:1] != "-"]
    copies = [posixpath.join(arguments[-1], posixpath.basename(word)) for word in arguments[:-1]]
    written = (*command.writes(), *(copies if command.name in _COPIES else ()))
    if _is_named(written, path):
        return True
    checks = (form("tests").search(line) or form("checks").search(line)) and not has_effect(line)
    is_text = any(target.endswith(DOCUMENTS) for target in command.redirected)
    if checks or is_text or is_commit(line) or line.startswith("git add "):
        return False
    if _is_named((command.text, command.piped_text), path):  # a script or a patch
        return True
    words = [word for word in command.words[1:] if word not in programs]  # without the script that `python` runs
    return command.name not in _COPIES | _KEEPS and not only_reads(line) and _is_named(words, path)


def _is_named(texts: Iterable[str], path: str) -> bool:
    """Return whether texts have the path of a file, or its end, at the end of a name."""
    name = re.compile(rf"{_NAME}(?<![\w.-]){re.escape(posixpath.basename(path))}(?![\w-]|\.\w)")
    named = (match[0].removeprefix("./") for text in texts for match in name.finditer(text))
    short = (re.sub(r"^(?:\.\./)+", "", each) for each in named)
    return any(f"/{path}".endswith(f"/{each}") or f"/{each}".endswith(f"/{path}") for each in short)


def has_text(ran: SessionCommand, text: str) -> bool:
    """Return whether a command has the text of a line, which has more than a sign or two."""
    return len(normalized(text)) >= _CLEAR and normalized(text) in normalized(ran.command)
