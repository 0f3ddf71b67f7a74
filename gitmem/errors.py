"""What can go wrong, with the words and the exit code a user or a script gets.

Exit codes are an interface (docs/format.md, "Exit codes"): scripts may rely on them, so a number is never given a
second meaning.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of the `gitmem` command."""

    OK = 0
    FAILURE = 1  # what has no code of its own
    USAGE = 2  # the command line could not be understood
    NO_STORE = 3  # there is no store here
    STORE_FORMAT = 4  # the store was made by another version of gitmem
    BUSY = 5  # another process holds the store
    NOT_SAVED = 6  # what was handed over is not in a commit
    UNFINISHED = 7  # the store is in the middle of a merge, rebase, revert or bisect
    REFUSED = 8  # unsafe input: nothing was done
    NOT_FOUND = 9  # a revision, path, session or entry that is not there
    UNREACHABLE = 10  # a remote; everything is safe here and waits


class GitmemError(Exception):
    """An error with a message for the user, a remedy, and an exit code.

    `message` says what happened, `remedy` what to do next; both are one or more plain sentences without a newline
    at the end.
    """

    exit_code = ExitCode.FAILURE

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        """Return the message, also one that was made more exact on the way up."""
        return self.message


class UsageError(GitmemError):
    """The command line could not be understood."""

    exit_code = ExitCode.USAGE


class StoreNotFoundError(GitmemError):
    """No store belongs to the folder asked about."""

    exit_code = ExitCode.NO_STORE


class StoreFormatError(GitmemError):
    """The store's format version is not one this gitmem writes; nothing was touched."""

    exit_code = ExitCode.STORE_FORMAT


class BusyError(GitmemError):
    """Another live process holds a lock past the time the caller would wait."""

    exit_code = ExitCode.BUSY


class NotSavedError(GitmemError):
    """What the caller handed over could not be committed; the message says where it is now."""

    exit_code = ExitCode.NOT_SAVED


class UnfinishedError(GitmemError):
    """A git operation of the user's (merge, rebase, …) is in progress in the store; it is theirs to finish."""

    exit_code = ExitCode.UNFINISHED


class RefusedError(GitmemError):
    """Input that could leave the store, harm it, or not be stored on some platform; nothing was done."""

    exit_code = ExitCode.REFUSED


class DoesNotFitError(RefusedError):
    """More than a file of a store may hold."""


class NotFoundError(GitmemError):
    """A revision, path, session or entry that does not exist."""

    exit_code = ExitCode.NOT_FOUND


class UnreadableError(GitmemError):
    """A file that is there and whose bytes cannot be read: a disk that fails, or no file of bytes at all."""


class UnreachableError(GitmemError):
    """A remote that cannot be reached now, as when one is offline; nothing is lost by it."""

    exit_code = ExitCode.UNREACHABLE


class GitFailedError(GitmemError):
    """A git process failed; `status` is its exit status, `stderr` and `stdout` what it said (bounded)."""

    def __init__(self, message: str, *, status: int, stderr: str, remedy: str = "", stdout: str = "") -> None:
        super().__init__(message, remedy)
        self.status = status
        self.stderr = stderr
        self.stdout = stdout
