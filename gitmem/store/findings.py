"""Findings of checks, and the failure log, in which alone failures of hooks are seen (`gitmem doctor`).

`log/gitmem.log` of the private folder has one JSON object a line; at 1 MB it becomes `gitmem.log.1`. Writing to it
raises no error, so that reporting a failure never adds one.
"""

from __future__ import annotations

import contextlib
import json
import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from gitmem.errors import GitmemError
from gitmem.platform.machine import datetime, local
from gitmem.platform.safe_open import make_last, read_end
from gitmem.redact.redact import redact
from gitmem.store.store import Store
from gitmem.values import Value

Check = Callable[[Store], Iterator["Finding"]]


class Level(StrEnum):
    """The severity of a finding: fine, for information, worth a look, the user has to act."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


class Finding(Value):
    """The result of a check; `details` lists the places, a line each, and `remedy` is an instruction."""

    check: str
    level: Level
    message: str
    remedy: str = ""
    details: tuple[str, ...] = ()


def judged(problem: Finding, fine: str, *, is_broken: object) -> Finding:
    """Return `problem` if the check failed, else a finding that says `fine`."""
    return problem if is_broken else Finding(problem.check, Level.OK, fine)


MAX_BYTES = 1_000_000
MAX_MESSAGE = 2_000  # characters
MAX_TRACEBACK = 16_000  # characters; the end, which has the reason, is kept
SLOW = "took longer than"  # in the message on an answer of a hook
_NEWEST_BYTES = 64_000
# The command that the log gives to words of a transcript missing in the store, and the reason if none is known.
WORDS, UNKNOWN = "words", "not saved"
MODEL = "model"  # the command that it gives to a failed question to a model; the message is the topic, then the reason
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


class LoggedFailure(Value):
    """A failure: its time, the command, the message, and the traceback of an unexpected error."""

    at: datetime
    command: str
    message: str
    traceback: str = ""

    @property
    def is_explained(self) -> bool:
        """Whether it lists the user's words that the store lacks, each with the reason."""
        return self.command == WORDS and f" {UNKNOWN}" not in self.message


def failure_of(at: datetime, command: str, problem: str | Exception) -> LoggedFailure:
    """Return a failure for a problem in words, or for an unexpected error, with its traceback."""
    if isinstance(problem, str):
        return LoggedFailure(at, command, problem)
    words = " ".join(f"{type(problem).__name__}: {problem}".split())
    return LoggedFailure(at, command, words, "".join(traceback.format_exception(problem)))


class FailureLog:
    """The failure log in the private folder of one store."""

    def __init__(self, private: str) -> None:
        self.path = os.path.join(private, "log", "gitmem.log")

    def record(self, failure: LoggedFailure) -> bool:
        """Add a failure, redacted; return False if it could not be written."""
        with contextlib.suppress(Exception):
            line = _line(failure)
            make_last(os.path.dirname(self.path))
            with contextlib.suppress(FileNotFoundError):
                if os.path.getsize(self.path) + len(line) > MAX_BYTES:
                    os.replace(self.path, f"{self.path}.1")
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_FOLLOW, 0o600)
            try:
                os.write(descriptor, line)  # in one call, so that lines of two processes do not mix
            finally:
                os.close(descriptor)
            return True
        return False

    def record_once(self, failure: LoggedFailure) -> None:
        """Add a failure unless the newest part of the log has it, as several processes may report the same one."""
        known = filter(None, map(_parse, read_end(self.path, _NEWEST_BYTES)[0].split(b"\n")))
        same = failure.command, _clean(failure.message)[:MAX_MESSAGE]
        if all((logged.command, logged.message) != same for logged in known):
            self.record(failure)

    def failures(self) -> list[LoggedFailure]:
        """Return the failures in the log, oldest first; skip damaged lines."""
        failures = []
        for path in (f"{self.path}.1", self.path):
            with contextlib.suppress(OSError), open(path, "rb") as file:
                failures += [failure for line in file.read(2 * MAX_BYTES).split(b"\n") if (failure := _parse(line))]
        return failures


def _line(failure: LoggedFailure) -> bytes:
    fields = {"time": failure.at.isoformat(timespec="seconds"), "command": failure.command}
    fields["message"] = _clean(failure.message)[:MAX_MESSAGE]
    if failure.traceback:
        fields["traceback"] = _clean(failure.traceback)[-MAX_TRACEBACK:]
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _clean(text: str) -> str:
    return redact(text).text


def _parse(line: bytes) -> LoggedFailure | None:
    try:
        fields = json.loads(line)
        at = datetime.fromisoformat(fields["time"])
        at = at if at.tzinfo else local(at)
        return LoggedFailure(at, str(fields["command"]), str(fields["message"]), str(fields.get("traceback", "")))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def examine(store: Store, checks: Sequence[Check], progress: Callable[[str], None] = lambda _: None) -> list[Finding]:
    """Run checks in order and return their findings, also for a check that fails; `progress` gets each check's name."""
    findings: list[Finding] = []
    for check in checks:
        name = getattr(check, "func", check).__name__.removeprefix("check_").replace("_", " ")
        progress(f"checking {name}")
        try:
            findings += check(store)
        except GitmemError as error:
            if error.message not in {finding.message for finding in findings}:
                findings.append(Finding(name, Level.PROBLEM, error.message, error.remedy))
        except Exception as error:  # noqa: BLE001  # the other checks must run
            words = " ".join(f"{type(error).__name__}: {error}".split())
            findings.append(Finding(name, Level.PROBLEM, f"The check failed. {words}"))
    return findings


def bytes_below(folder: str) -> int:
    """Return how many bytes the files below a folder take; no link is followed."""
    total, folders = 0, [folder]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    with contextlib.suppress(OSError):  # it was removed meanwhile
                        total += entry.stat(follow_symlinks=False).st_size
    return total
