"""Errors, with a message for the user and an exit code.

Exit codes are an interface (docs/commands.md, "Exit codes"): scripts may rely on them, so a number never changes its
meaning.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of the `gitmem` command, each with its meaning; the one table of them."""

    meaning: str

    def __new__(cls, number: int, meaning: str) -> ExitCode:
        """Return the code of a number."""
        code = int.__new__(cls, number)
        code._value_, code.meaning = number, meaning
        return code

    OK = 0, "done"
    FAILURE = 1, "failed, without a code of its own"
    USAGE = 2, "the command line is wrong"
    NO_STORE = 3, "there is no store here"
    STORE_FORMAT = 4, "the store has another format version"
    BUSY = 5, "another process holds the store, or writes settings"
    NOT_SAVED = 6, "not saved: the message names the text, the reason and its place"
    UNFINISHED = 7, "the store is in the middle of a merge, rebase, revert or bisect"
    REFUSED = 8, "refused, and nothing was done: the input is unsafe, empty or no text, or a yes is missing"
    NOT_FOUND = 9, "no such folder, revision, path, session or entry"
    UNREACHABLE = 10, "the remote cannot be reached; everything is safe and waits for the next sync"
    INTERRUPTED = 130, "interrupted, as by Ctrl-C"


class GitmemError(Exception):
    """An error with a message for the user, a remedy, and an exit code.

    `message` says what happened, `remedy` what to do next; both are one or more plain sentences without a newline
    at the end.
    """

    exit_code = ExitCode.FAILURE

    def __init_subclass__(cls, exit_code: ExitCode | None = None) -> None:
        cls.exit_code = exit_code or cls.exit_code

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        """Return the message with the additions of callers."""
        return self.message

    @property
    def sentences(self) -> str:
        """The message and the remedy."""
        return f"{self.message} {self.remedy}".strip()


class UsageError(GitmemError, exit_code=ExitCode.USAGE):
    """The command line could not be understood."""


class StoreNotFoundError(GitmemError, exit_code=ExitCode.NO_STORE):
    """No store belongs to the folder asked about."""


class StoreFormatError(GitmemError, exit_code=ExitCode.STORE_FORMAT):
    """The store's format version is not one this gitmem writes; nothing was touched."""


class BusyError(GitmemError, exit_code=ExitCode.BUSY):
    """Another live process holds a lock past the time the caller would wait."""


class UnfinishedPurgeError(BusyError):
    """A purge of the store was interrupted; whoever opens the store next finishes it."""


class NotSavedError(GitmemError, exit_code=ExitCode.NOT_SAVED):
    """The input could not be committed; the message says where it is now."""


class UnfinishedError(GitmemError, exit_code=ExitCode.UNFINISHED):
    """A merge, rebase, revert or bisect of the user is in progress in the store."""


class RefusedError(GitmemError, exit_code=ExitCode.REFUSED):
    """Input that could leave the store, harm it, or not be stored on some platform; nothing was done."""


class ProtectedError(RefusedError):
    """The remote takes pushes to its memory branch only by a pull request."""


class CopyError(RefusedError):
    """A file is a copy that another program left beside one of the memory."""


class DoesNotFitError(RefusedError):
    """Content larger than a file of a store may be."""


class NotFoundError(GitmemError, exit_code=ExitCode.NOT_FOUND):
    """A revision, path, session or entry that does not exist."""


class UnreadableError(GitmemError):
    """A file exists and cannot be read: a failing disk, or no regular file."""


class UnreachableError(GitmemError, exit_code=ExitCode.UNREACHABLE):
    """A remote cannot be reached now; everything is safe in the store."""


class GitFailedError(GitmemError):
    """A git process failed, with its exit status and its bounded output."""

    def __init__(self, message: str, *, status: int, stderr: str, stdout: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.stderr = stderr
        self.stdout = stdout

    @property
    def reason(self) -> str:
        """Git's last line without its mark, else the message."""
        lines = [line for line in self.stderr.splitlines() if line.strip()]
        return lines[-1].removeprefix("fatal: ").removeprefix("error: ") if lines else self.message


@contextlib.contextmanager
def disk_errors(failed: str, kind: type[GitmemError] = NotSavedError) -> Iterator[None]:
    """Raise an error that begins with `failed` in place of an OSError, as of a disk that is full or read-only."""
    try:
        yield
    except OSError as error:
        raise disk_error(failed, error, kind) from error


def disk_error(failed: str, error: OSError, kind: type[GitmemError] = NotSavedError) -> GitmemError:
    """Return the error that begins with `failed` and says what is wrong with the disk."""
    place = str(error.filename or "")
    place = place if os.path.exists(place) else os.path.dirname(place)  # no name of a temporary file
    reason = f"{error.strerror or error}" + f" ({place})" * bool(place)
    return kind(f"{failed}: {reason}.", "Make room or give access, then try again.")
