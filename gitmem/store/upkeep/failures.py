"""The failure log, which `gitmem doctor` shows (spec R12): a hook's failures are not seen otherwise.

`log/gitmem.log` of the private folder has one JSON object a line; at 1 MB it becomes `gitmem.log.1`. Writing to it
raises no error, so that reporting a failure never adds one.
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
MAX_TRACEBACK = 16_000  # characters; the end is kept, which has the reason
_NEWEST_BYTES = 64_000
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure: its time, the command, the message, and the traceback of an unexpected error."""

    at: datetime
    command: str
    message: str
    traceback: str = ""


class FailureLog:
    """The failure log in the private folder of one store."""

    def __init__(self, private: str) -> None:
        self.path = os.path.join(private, "log", "gitmem.log")

    def record(self, failure: Failure) -> bool:
        """Add a failure, redacted; return False if it could not be written."""
        with contextlib.suppress(Exception):
            line = _line(failure)
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
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

    def record_once(self, failure: Failure) -> None:
        """Add a failure unless the newest part of the log has it: several processes may meet the same one."""
        with contextlib.suppress(OSError), open(self.path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _NEWEST_BYTES))
            known = filter(None, map(_parse, file.read(_NEWEST_BYTES).split(b"\n")))
            if any(
                (one.command, one.message) == (failure.command, _clean(failure.message)[:MAX_MESSAGE]) for one in known
            ):
                return
        self.record(failure)

    def failures(self) -> list[Failure]:
        """Return the failures in the log, oldest first; skip damaged lines."""
        failures = []
        for path in (f"{self.path}.1", self.path):
            with contextlib.suppress(OSError), open(path, "rb") as file:
                failures += [failure for line in file.read(2 * MAX_BYTES).split(b"\n") if (failure := _parse(line))]
        return failures


def _line(failure: Failure) -> bytes:
    fields = {"time": failure.at.isoformat(timespec="seconds"), "command": failure.command}
    fields["message"] = _clean(failure.message)[:MAX_MESSAGE]
    if failure.traceback:
        fields["traceback"] = _clean(failure.traceback)[-MAX_TRACEBACK:]
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _clean(text: str) -> str:
    from gitmem.redact.redact import redact

    return redact(text).text


def _parse(line: bytes) -> Failure | None:
    try:
        fields = json.loads(line)
        at = datetime.fromisoformat(fields["time"])
        at = at if at.tzinfo else local(at)
        return Failure(at, str(fields["command"]), str(fields["message"]), str(fields.get("traceback", "")))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
