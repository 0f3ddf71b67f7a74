"""Say why a fetch or push failed, with the server's own lines.

Tested through `tests/store/test_refusals.py`, against real servers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import GitFailedError, GitmemError, ProtectedError, RefusedError, UnreachableError
from gitmem.text.terminal import mask_urls, plain

if TYPE_CHECKING:
    from gitmem.git.remote import Remote


NO_SUCH_REF = "couldn't find remote ref"
_MOVED = "stale info"  # the remote named another value than the expected one
_UNFORCED = "is not ancestor of"  # git-remote-s3, of a push that replaces history
_RACES = (
    *("fetch first", "non-fast-forward", "is at ", "incorrect old value", "reference already exists"),
    *("stale remote", _UNFORCED),
)
_LOCKS = (
    *("cannot lock ref", "failed to lock", "Unable to create", "failed to update ref", "unable to update"),
    *("ref lock", "PreconditionFailed"),
)
_DROPPED = (
    *("early EOF", "unexpected disconnect", "hung up unexpectedly", "RPC failed", "Connection reset", "error: 50"),
    *("expected flush after", "unexpected EOF", "Could not read from remote", "status -13"),  # the last: SIGPIPE
)
_PARTIAL = "lacks these prerequisite commits"  # git of a bundle
# How lines begin that this machine's git writes; of the rest ssh passes on what the server said.
_OWN_LINES = (
    *("fatal:", "error:", "hint:", "warning:", "remote:", "ssh:", "send-pack:", "fetch-pack:", "!", "To ", "Done"),
    *("Everything up-to-date", "Please make sure", "and the repo", "Warning: Permanently added"),
)
_MOST_LINES = 6
_MOST_CHARACTERS = 300


class _Kind(NamedTuple):
    """A kind of failure: the words of git or a server that tell it, what happened, what to do; `error`: its type."""

    words: tuple[str, ...]
    happened: str
    remedy: str
    error: type[GitmemError] = GitmemError


# The first that fits: a server that refuses often hangs up as well, as one does that cannot be reached.
_REFUSALS = (
    _Kind(
        ("No space left", "Disk quota exceeded", "over quota", "unable to create temporary object directory"),
        "{name} cannot store what was pushed: its disk is full, or your account may not write there",
        "Nothing is lost. Make room there, then sync again.",
    ),
    _Kind(
        ("HTTP 413", "error: 413", "maximum allowed size", "Entity Too Large"),
        "{name} takes no push of this size",
        "Nothing is lost. Have its limit raised (nginx: client_max_body_size; git: receive.maxInputSize), "
        "then sync again.",
    ),
    _Kind(  # GitHub, GitLab, Gitea and Bitbucket
        ("protected branch", "GH006", "GH013", "via a pull request", "via pull request", "branch is protected"),
        "{name} takes changes of the memory only by a pull request",
        "'gitmem propose' makes one of your facts.",
        ProtectedError,
    ),
    _Kind(
        (
            *("read only", "read-only", "Read-only", "DENIED by", "Write access", "deploy key", "error: 403"),
            *("HTTP 403", "insufficient permission", "not allowed to push", "service not enabled", "denied to"),
            "not authorized",
        ),
        "{name} lets you read, but not push",
        "Nothing is lost. Have your key or account given the right to push, then sync again.",
    ),
    _Kind(
        ("(non-fast-forward)", "denying non-fast-forward", "force push", "force-push", "Cannot force"),
        "{name} takes no push that replaces history",
        "Have it allow that once (receive.denyNonFastForwards, or the branch's protection), then sync again.",
    ),
    _Kind(
        _LOCKS,
        "{name} has a lock in the way of the push, which no push that runs seems to hold",
        "Nothing is lost. If no push is running there, remove the lock file that the server names, then sync again.",
    ),
)
_FAILURES = (
    _Kind(
        ("transport 's3' not allowed", "remote helper for 's3'"),
        "{name} is reached by a program, git-remote-s3, that is not there or that you have not allowed",
        "'pip install git-remote-s3' and 'git config --global protocol.s3.allow always'.",
    ),
    _Kind(
        ("fsck error", "hasDot", "hasDotgit", "fullPathname", "in fsck_object", "fsck_objects"),
        "What {name} has was not taken: git finds it unsafe or damaged",
        "Run 'git fsck' in that repository.",
        RefusedError,
    ),
    _Kind(
        (
            *("Authentication failed", "Permission denied", "could not read Username", "could not read Password"),
            *("terminal prompts disabled", "Invalid username", "error: 403", "error: 401", "HTTP Basic: Access denied"),
            *("Host key verification failed", "not authorized", "DENIED by"),
        ),
        "{name} let nobody in",
        "See that 'git ls-remote {url}' works without a question: an ssh agent or a credential helper of your own "
        "configuration.",
    ),
    _Kind(
        (
            *("Could not resolve", "Couldn't resolve", "Failed to connect", "Connection refused"),
            *("Connection timed out", "Network is unreachable", "No route to host", "timed out", "unable to connect"),
            *("Couldn't connect", "did not finish within", "Connection closed", "Name or service not known"),
        ),
        "{name} cannot be reached",
        "Nothing is lost; sync again when you are online.",
        UnreachableError,
    ),
    _Kind(
        ("does not appear to be a git repository", "not found", "does not exist", "no such", "No such file"),
        "{name} is no repository that can be read",
        "See that the address is right and the repository exists: 'gitmem remote list'.",
    ),
    _Kind(
        _DROPPED,
        "The connection to {name} broke off, and once more when it was tried again",
        "Nothing is lost; sync again.",
        UnreachableError,
    ),
)


def is_race(error: GitFailedError) -> bool | None:
    """Return whether a push failed since the remote's ref had moved; None if that is not known."""
    line = _rejection(error)
    if _MOVED in line:
        return True
    return None if any(words in line for words in (*_RACES, *_LOCKS)) else False


def is_dropped(error: GitFailedError) -> bool:
    """Return whether a connection broke off that had begun, and no one refused anything."""
    output = f"{_rejection(error)}\n{error.message}\n{error.stderr}"
    kind = None if _fitting(_REFUSALS, output) else _fitting(_FAILURES, output)
    return (kind is None or kind.error is UnreachableError) and any(words in output for words in _DROPPED)


def is_unforced(error: GitFailedError) -> bool:
    """Return whether a push failed since it replaces history and git-remote-s3 was not told to."""
    return _UNFORCED in _rejection(error)


def is_locked(error: GitFailedError) -> bool:
    """Return whether a push failed at a lock of the server's ref."""
    return any(words in _rejection(error) for words in _LOCKS)


def explain_fetch(error: GitFailedError, remote: Remote) -> GitmemError:
    """Return the error to raise for a failed fetch."""
    output = f"{error.message}\n{error.stderr}"
    if remote.backup and not any(words in output for words in _FAILURES[0].words):
        return _explain_file(error, remote.shown)
    kind = _fitting(_FAILURES, output)
    if kind is None:
        kind = _Kind((), "It was not possible to fetch from {name}", "Nothing is lost; try again.")
    return _made(kind, error, remote)


def explain_push(error: GitFailedError, remote: Remote) -> GitmemError:
    """Return the error to raise for a failed push, other than a race."""
    rejection = _rejection(error)
    kind = _fitting(_REFUSALS, f"{rejection}\n{error.stderr}")
    if kind is None and rejection:
        remedy = "What came from there is merged here. See that you may push to the branch, then sync again."
        kind = _Kind((), "{name} did not take what was pushed", remedy)
    kind = kind or _fitting(_FAILURES, f"{error.message}\n{error.stderr}")
    kind = kind or _Kind((), "It was not possible to push to {name}", "Nothing is lost; try again.")
    return _made(kind, error, remote)


def _made(kind: _Kind, error: GitFailedError, remote: Remote) -> GitmemError:
    """Return the error of a kind, with the reason that git gives and the lines of the server."""
    said = _server_lines(error)
    told = f" The server says: {' / '.join(said)}" if said else ""
    happened, remedy = (text.format(name=remote.described, url=remote.shown) for text in (kind.happened, kind.remedy))
    return kind.error(f"{happened}: {_reason(error)}{told}", remedy)


def _fitting(kinds: tuple[_Kind, ...], output: str) -> _Kind | None:
    return next((kind for kind in kinds if any(words in output for words in kind.words)), None)


def _rejection(error: GitFailedError) -> str:
    """Return the line about the ref that `git push --porcelain` prints where the server refused it, or ""."""
    return next((line for line in error.stdout.splitlines() if line.startswith("!") and "rejected]" in line), "")


def _server_lines(error: GitFailedError) -> list[str]:
    """Return what the server said, in its own words, bounded."""
    lines = [line.strip() for line in error.stderr.splitlines()]
    said = [line.removeprefix("remote:").strip() for line in lines if line.startswith("remote:")]
    said += [line for line in lines if not line.startswith(_OWN_LINES)]
    return [mask_urls(plain(line))[:_MOST_CHARACTERS] for line in dict.fromkeys(filter(None, said))][:_MOST_LINES]


def _explain_file(error: GitFailedError, file: str) -> GitmemError:
    if _PARTIAL in error.stderr:
        return GitmemError(
            f"{file} is a part of a history: it builds on commits that are not here.",
            "'gitmem backup FILE' makes a whole one.",
        )
    return GitmemError(f"{file} cannot be read: {_reason(error)}", "It may be damaged: take another backup.")


def _reason(error: GitFailedError) -> str:
    """Return the most telling line of git's messages."""
    rejection = _rejection(error)
    if rejection:
        return mask_urls(plain(rejection.split("\t")[-1])) + "."
    lines = [line for line in error.stderr.splitlines() if line.strip()]
    telling = next((line for line in lines if line.startswith(("fatal:", "error:", "ssh:", "remote:"))), "")
    return mask_urls(plain(telling or (lines[-1] if lines else error.message)))
