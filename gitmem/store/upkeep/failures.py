"""The log of failures, for `gitmem doctor` (spec R12): what failed behind a hook's back can be read later.

One JSON object a line, in `log/gitmem.log` of the private folder; at 1 MB it becomes `gitmem.log.1`. Writing to it
never fails: what reports a failure must not become one.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from datetime import datetime

from gitmem.machine.moment import local

MAX_BYTES = 1_000_000
MAX_MESSAGE = 2_000  # characters
MAX_TRACEBACK = 16_000  # characters, from the end, where the reason stands
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure: when, of which command, what was said of it, and where in the program, if that matters."""

    at: datetime
    command: str
    message: str
    traceback: str = ""


class FailureLog:
    """The log of one store, by its private folder."""

    def __init__(self, private: str) -> None:
        self.path = os.path.join(private, "log", "gitmem.log")

    def record(self, failure: Failure) -> bool:
        """Add a failure, without the secrets in it; False where that was not possible."""
        with contextlib.suppress(Exception):
            line = _line(failure)
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                if os.path.getsize(self.path) + len(line) > MAX_BYTES:
                    os.replace(self.path, f"{self.path}.1")
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_FOLLOW, 0o600)
            try:
                os.write(descriptor, line)  # at once: lines of two processes do not mix
            finally:
                os.close(descriptor)
            return True
        return False

    def failures(self) -> list[Failure]:
        """Return what the log holds, oldest first; lines that are damaged are passed over."""
        found = []
        for path in (f"{self.path}.1", self.path):
            with contextlib.suppress(OSError), open(path, "rb") as file:
                found += [failure for line in file.read(2 * MAX_BYTES).split(b"\n") if (failure := _parse(line))]
        return found


def _line(failure: Failure) -> bytes:
    said = {"time": failure.at.isoformat(timespec="seconds"), "command": failure.command}
    said["message"] = _clean(failure.message)[:MAX_MESSAGE]
    if failure.traceback:
        said["traceback"] = _clean(failure.traceback)[-MAX_TRACEBACK:]
    return json.dumps(said, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _clean(text: str) -> str:
    from gitmem.redact.redact import redact

    return redact(text).text


def _parse(line: bytes) -> Failure | None:
    try:
        said = json.loads(line)
        at = datetime.fromisoformat(said["time"])
        at = at if at.tzinfo else local(at)
        return Failure(at, str(said["command"]), str(said["message"]), str(said.get("traceback", "")))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
