"""Explain why a fetch or a push failed: reason and remedy (`data/refusals.tsv`), and the server's own lines.

Tested through `tests/store/test_refusals.py` against real servers.
"""

from __future__ import annotations

from functools import cache

from gitmem import errors
from gitmem.errors import GitFailedError, GitmemError, UnreachableError
from gitmem.git.address import Remote
from gitmem.platform.machine import table
from gitmem.text.terminal import mask_urls, plain
from gitmem.values import Value

NO_SUCH_REF = "couldn't find remote ref"
_MOVED = "stale info"  # the remote's ref does not have the expected value
_UNFORCED = "is not ancestor of"  # git-remote-s3 about a push that replaces history
_PARTIAL = "lacks these prerequisite commits"  # git about a bundle
# Prefixes of lines that the local git writes; other lines come from the server, by ssh.
_OWN_LINES = (
    *("fatal:", "error:", "hint:", "warning:", "remote:", "ssh:", "send-pack:", "fetch-pack:", "!", "To ", "Done"),
    *("Everything up-to-date", "Please make sure", "and the repo", "Warning: Permanently added"),
)
_MOST_LINES = 6
_MOST_CHARACTERS = 300
_PUSH_KINDS, _ANY_KINDS = ("push", "locked"), ("s3", "any", "dropped")


class _Failure(Value):
    """A row of `data/refusals.tsv`: the words that identify it, what happened, what to do, the type of the error."""

    kind: str
    words: tuple[str, ...]
    happened: str
    remedy: str
    error: type[GitmemError] = GitmemError

    def fits(self, output: str) -> bool:
        """Return whether the output has these words."""
        return any(words in output for words in self.words)


@cache
def _failures() -> tuple[_Failure, ...]:
    return tuple(
        _Failure(kind, tuple(words.split(" | ")), happened, remedy, getattr(errors, error or "GitmemError"))
        for kind, words, happened, remedy, error in table("refusals.tsv")
    )


def _fitting(kinds: tuple[str, ...], output: str) -> _Failure | None:
    return next((row for row in _failures() if row.kind in kinds and row.fits(output)), None)


def is_race(error: GitFailedError) -> bool | None:
    """Return whether a push failed because the remote's ref had moved; None if the server gave another reason."""
    line = _rejection(error)
    return True if _MOVED in line else None if line else False


def is_dropped(error: GitFailedError) -> bool:
    """Return whether an established connection broke off without a refusal."""
    output = f"{_rejection(error)}\n{error.message}\n{error.stderr}"
    failure = None if _fitting(_PUSH_KINDS, output) else _fitting(_ANY_KINDS, output)
    return (failure is None or failure.error is UnreachableError) and _fitting(("dropped",), output) is not None


def is_unforced(error: GitFailedError) -> bool:
    """Return whether git-remote-s3 refused a push because it replaces history without force."""
    return _UNFORCED in _rejection(error)


def is_locked(error: GitFailedError) -> bool:
    """Return whether a push failed at a lock of the server's ref."""
    return _fitting(("locked",), _rejection(error)) is not None


def explain_fetch(error: GitFailedError, remote: Remote) -> GitmemError:
    """Return the error to raise for a failed fetch."""
    output = f"{error.message}\n{error.stderr}"
    if remote.backup and not _fitting(("s3",), output):
        return _explain_file(error, remote.shown)
    failure = _fitting(_ANY_KINDS, output)
    return _made(failure or _other("It was not possible to fetch from {name}"), error, remote)


def explain_push(error: GitFailedError, remote: Remote) -> GitmemError:
    """Return the error to raise for a failed push, other than a race."""
    rejection = _rejection(error)
    failure = _fitting(_PUSH_KINDS, f"{rejection}\n{error.stderr}")
    if failure is None and rejection:
        remedy = "What came from there is merged here. See that you may push to the branch, then sync again."
        failure = _other("{name} did not take what was pushed", remedy)
    failure = failure or _fitting(_ANY_KINDS, f"{error.message}\n{error.stderr}")
    return _made(failure or _other("It was not possible to push to {name}"), error, remote)


def _other(happened: str, remedy: str = "Nothing is lost; try again.") -> _Failure:
    return _Failure("", (), happened, remedy)


def _made(failure: _Failure, error: GitFailedError, remote: Remote) -> GitmemError:
    """Return the error of a failure, with the reason that git gives and the lines of the server."""
    server_lines = _server_lines(error)
    server_words = f" The server says: {' / '.join(server_lines)}" if server_lines else ""
    happened, remedy = (
        text.format(name=remote.described, url=remote.shown) for text in (failure.happened, failure.remedy)
    )
    message = f"{happened}: {_reason(error)}{server_words}"
    return failure.error(message if message.endswith((".", "!", "?")) else f"{message}.", remedy)


def _rejection(error: GitFailedError) -> str:
    """Return the line of `git push --porcelain` about a ref that the server refused, or ""."""
    return next((line for line in error.stdout.splitlines() if line.startswith("!") and "rejected]" in line), "")


def _server_lines(error: GitFailedError) -> list[str]:
    """Return the server's own lines, shortened."""
    lines = [line.strip() for line in error.stderr.splitlines()]
    shown = [line.removeprefix("remote:").strip() for line in lines if line.startswith("remote:")]
    shown += [line for line in lines if not line.startswith(_OWN_LINES)]
    return [mask_urls(plain(line))[:_MOST_CHARACTERS] for line in dict.fromkeys(filter(None, shown))][:_MOST_LINES]


def _explain_file(error: GitFailedError, file: str) -> GitmemError:
    if _PARTIAL in error.stderr:
        return GitmemError(
            f"{file} is a part of a history: it builds on commits that are not here.",
            "'gitmem backup FILE' makes a whole one.",
        )
    why = "It may be damaged, or name its objects by another hash than this store"
    return GitmemError(f"{file} cannot be read: {_reason(error)}", f"{why}: take another backup.")


def _reason(error: GitFailedError) -> str:
    """Return the most informative line of git's messages."""
    rejection = _rejection(error)
    if rejection:
        return mask_urls(plain(rejection.split("\t")[-1])) + "."
    lines = [line for line in error.stderr.splitlines() if line.strip()]
    telling = next((line for line in lines if line.startswith(("fatal:", "error:", "ssh:", "remote:"))), "")
    words = telling or (lines[-1] if lines else error.message)
    return mask_urls(plain(words.removeprefix("fatal: ").removeprefix("error: ")))
