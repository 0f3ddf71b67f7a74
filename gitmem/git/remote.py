"""Fetch and push single refs of another repository, by compare-and-swap, never forced; say why one failed.

The person's configuration counts, which says how to reach a remote. The repository's does not: it could name programs
or another remote. So a fetch runs in an empty repository with a common folder of gitmem's, and what it brings joins the
repository once all of it is there. A failure is told with the server's own lines. Tested through
`tests/sync/test_rounds.py`, and `tests/store/test_refusals.py` against real servers.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from gitmem import errors
from gitmem.errors import GitFailedError, GitmemError, RefusedError, UnreachableError
from gitmem.git import MEMORY_BRANCH, Layout, is_object_id
from gitmem.git.process import Git, unfiltered_settings
from gitmem.git.quarantine import KNOWN, OWN_REFS, Quarantine, quarantine
from gitmem.platform.machine import table
from gitmem.platform.safe_open import read_text
from gitmem.text.terminal import mask_urls, plain
from gitmem.values import Value

# Allowed schemes: not `ext::`, which starts any program. `s3://` starts git-remote-s3 where the person allows it.
_S3 = "s3"
_SCHEMES = ("https://", "http://", "ssh://", "git://", "file://", "git+ssh://", f"{_S3}://")


class Remote(Value):
    """A remote: its name, and its URLs for fetch and push.

    `backup`: it is a file that is read once; `new`: its store is made now, and goes if that fails.
    """

    name: str
    url: str
    push_url: str
    backup: bool = False
    new: bool = False

    @property
    def called(self) -> str:
        """The name that a person knows the remote by."""
        return self.shown if self.backup or self.new else self.name

    @property
    def described(self) -> str:
        """The name and the address."""
        return self.shown if self.backup or self.new else f"{self.name} ({self.shown})"

    def to_accept(self, what: str) -> str:
        """Return the command that accepts a refused change; `what` names the kind of refusal."""
        first = f"'gitmem init', 'gitmem remote add {self.shown}' and " * self.new
        return f"'gitmem restore FILE --accept {what}'" if self.backup else f"{first}'gitmem sync --accept {what}'"

    @property
    def shown(self) -> str:
        """The URL without a password."""
        return mask_urls(self.url)


def is_ssh(url: str) -> bool:
    """Return whether git reaches a URL by ssh: `ssh://…`, or `host:path` that is no Windows drive."""
    if "://" in url:
        return url.startswith(("ssh://", "git+ssh://"))
    return bool(re.match(r"[^/\\:]{2,}:(?!:)", url))


def check_url(url: str) -> str:
    """Return a URL or path that is safe to pass to git.

    Raises RefusedError if it is an option, would start a program, or holds control characters.
    """
    bad = not url.strip() or url.startswith("-") or url.endswith("://") or any(ord(character) < 32 for character in url)  # noqa: PLR2004
    helper = re.match(r"[A-Za-z0-9+.-]+::", url)
    scheme = "://" in url and not url.lower().startswith(_SCHEMES)
    if bad or helper or scheme:
        raise RefusedError(
            f"{mask_urls(ascii(url))} is no address of a repository that gitmem goes to.",
            "Use an https, ssh, git, file or s3 URL, host:path, or a path.",
        )
    return url


def _is_s3(url: str) -> bool:
    return url.lower().startswith(f"{_S3}://")


_FETCHED = "fetched"
INBOX = "refs/gitmem/inbox"  # on a remote: commits of machines that lost the race for the branch, each a ref of its own
_INBOX_NAME = re.compile(r"inbox/[0-9a-z-]{1,80}-[0-9a-f]{12}")


# A connection that is silent for a minute ends before; at 50 kB a second this is enough for 180 MB.
SECONDS = 3600.0
_CONNECT_SECONDS = 20
_ALIVE = ("-o ServerAliveInterval=15", "-o ServerAliveCountMax=4")
_FETCH = (
    *("-c", "fetch.fsckObjects=true", "-c", "transfer.fsckObjects=true", "-c", "fetch.writeCommitGraph=false"),
    *("-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60", "fetch", "--quiet", "--no-tags", "--refmap="),
    *("--no-write-fetch-head", "--no-prune", "--no-recurse-submodules", "--no-auto-maintenance"),
    *("--no-show-forced-updates", "--no-progress"),
)
_PUSH = (
    *("-c", "push.gpgSign=false", "-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60"),
    *("push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-progress"),
)
_TRANSPORTS = ("file", "git", "http", "https", "ssh")
_LOCK_PAUSE = 0.5  # seconds; a push holds its ref's lock for less


class PushRacedError(Exception):
    """The remote's ref is not where it was expected: another machine pushed first."""


class Connection(Value):
    """How a repository here reaches its remotes; `asks`: a person can be asked for a password.

    The configuration of the repository does not count, only the person's own and the machine's. It fetches the newest
    commit alone if it is `shallow`, which a server may refuse.
    """

    layout: Layout
    environ: Mapping[str, str]
    own: bool = True
    asks: bool = False
    shallow: bool = False

    def fetch(self, remote: Remote, ref: str, into: str, inbox: dict[str, str] | None = None) -> str | None:
        """Fetch a ref of a remote into `into`, overwriting it; return its object, or None if it does not exist.

        With `inbox` the remote's inbox is fetched, too, and put there: commits by ref. No ref here holds them yet.

        Raises:
            UnreachableError: the remote could not be reached.
            GitmemError: it denied access, is no repository, or sent broken objects.
            RefusedError: its URL is invalid.
        """
        names = (f"refs/heads/{MEMORY_BRANCH}", into)
        known = (read_text(os.path.join(self.layout.common_dir, name)).strip() for name in names)
        with self._quarantine(filter(is_object_id, known)) as place:
            refs = [f"+{ref}:{OWN_REFS}/{_FETCHED}", *([] if inbox is None else [f"+{INBOX}/*:{OWN_REFS}/inbox/*"])]
            if not self._fetch(remote, place, *refs):
                return None
            fetched = place.fetched()
            place.adopt({into: fetched[_FETCHED]})
            if inbox is not None:
                own = sorted(filter(_INBOX_NAME.fullmatch, fetched))
                inbox.update({f"{INBOX}{name.removeprefix('inbox')}": fetched[name] for name in own})
            return fetched[_FETCHED]

    def fetch_all(
        self, remote: Remote, ref: str, ends: re.Pattern[str], into: str, known: Iterable[str]
    ) -> dict[str, str]:
        """Fetch the refs of a remote that begin with `ref` and end so, each into a ref that begins with `into`.

        Returns their objects by the ends of their names; `known` are commits that are here. Raises as `fetch`.
        """
        with self._quarantine(known) as place:
            self._fetch(remote, place, f"+{ref}*:{OWN_REFS}/{_FETCHED}*")
            fetched = ((name.removeprefix(_FETCHED), oid) for name, oid in sorted(place.fetched().items()))
            found = {end: oid for end, oid in fetched if ends.fullmatch(end)}
            place.adopt({f"{into}{end}": oid for end, oid in found.items()})
            return found

    def _quarantine(self, known: Iterable[str]) -> contextlib.AbstractContextManager[Quarantine]:
        here = Git(self.layout.git_dir, self.layout.work_tree, self.environ)
        return quarantine(here, self.layout.common_dir, known)

    def _fetch(self, remote: Remote, place: Quarantine, *refs: str) -> bool:
        """Fetch refs into a quarantine; return whether a ref that was named is there. Raises as `fetch`."""
        git, url = self._git(remote.url), remote.url
        kept = ("-c", "fetch.unpackLimit=1") if self.own else ()
        depth = ("--depth=1",) if self.shallow else ()
        if self.shallow:
            place.cut_history()
        try:
            self._run(git, url, *kept, *_FETCH, *depth, "--", url, *refs, env=place.variables)
            if _is_s3(url):  # git checks no objects that a program brings
                place.check(git)
        except GitFailedError as error:
            if NO_SUCH_REF in error.stderr:
                return False
            raise explain_fetch(error, remote) from error
        return True

    def push(self, remote: Remote, oid: str, ref: str, expected: str | None) -> None:
        """Move a ref of a remote from `expected` (None: missing) to a commit of this repository.

        The caller decides whether that must be a fast-forward. A push that finds the ref locked is
        tried once more.

        Raises:
            PushRacedError: the ref was elsewhere.
            UnreachableError: the remote could not be reached; whether it took the push is not known.
            GitmemError: it denied access, or refused the push.
            RefusedError: as `fetch`.
        """
        if remote.backup:  # it is read, and not written
            return
        git = self._git(remote.push_url)
        lease, force = f"--force-with-lease={ref}:{expected or ''}", ""
        with self._quarantine([oid]) as place:  # by name, since git-remote-s3 bundles no object that has none
            for is_first in (True, False):
                words = (*_PUSH, lease, "--", remote.push_url, f"{force}{KNOWN}0:{ref}")
                try:
                    self._run(git, remote.push_url, *words, env=place.variables)
                except GitFailedError as error:
                    if is_first and is_locked(error):
                        time.sleep(_LOCK_PAUSE)
                        continue
                    race = is_race(error)
                    if race or (race is None and self._tip(git, remote, ref) != expected):
                        raise PushRacedError from None
                    if is_first and is_unforced(error):  # git-remote-s3 is told of no lease
                        force = "+"
                        continue
                    raise explain_push(error, remote) from error
                else:
                    return

    def empty(self, remote: Remote, taken: Mapping[str, str]) -> None:
        """Delete refs of a remote that still are where they were seen; what fails is left to the next sync."""
        if remote.backup:
            return
        leases = [f"--force-with-lease={ref}:{oid}" for ref, oid in taken.items()]
        refs = [f":{ref}" for ref in taken]
        with contextlib.suppress(GitFailedError):
            self._run(self._git(remote.push_url), remote.push_url, *_PUSH, *leases, "--", remote.push_url, *refs)

    def _tip(self, git: Git, remote: Remote, ref: str) -> str | None:
        """Return the object that a ref of a remote points to now, None if it does not exist."""
        try:
            output = self._run(git, remote.push_url, "ls-remote", "--quiet", "--", remote.push_url, ref).decode()
        except GitFailedError as error:
            raise explain_push(error, remote) from error
        found = (line.split("\t") for line in output.splitlines())
        return next((oid for oid, name in found if name == ref), None)

    def _git(self, url: str) -> Git:
        """Return a git with the repository's objects and without its configuration, refs and hooks.

        Raises RefusedError if the URL is invalid.
        """
        check_url(url)
        settings, variables = unfiltered_settings(self.layout.git_dir)
        return Git(
            self.layout.git_dir,
            self.layout.work_tree,
            self.environ,
            user_config=True,
            # So that `includeIf "hasconfig:remote.*.url:…"` of the person's configuration knows where git goes.
            settings={**settings, "remote.gitmem.url": url},
            variables={**variables, "GIT_NO_LAZY_FETCH": "1"},
        )

    def _run(self, git: Git, url: str, *args: str, env: Mapping[str, str] | None = None) -> bytes:
        surroundings = {**(env or {}), **self._surroundings(git, url)}
        try:
            return git.run(*args, timeout=SECONDS, env=surroundings)
        except GitFailedError as error:
            if not is_dropped(error):
                raise
            return git.run(*args, timeout=SECONDS, env=surroundings)

    def _surroundings(self, git: Git, url: str) -> dict[str, str]:
        """Return the variables that let git use some transports, and prompt on the terminal or not at all."""
        allowed = {"GIT_ALLOW_PROTOCOL": ":".join(self._transports(git, url))}
        if self.asks:
            return {**allowed, "GIT_TERMINAL_PROMPT": "1"}
        quiet = {**allowed, "GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never", "GCM_INTERACTIVE": "never"}
        if os.name == "posix":  # empty: no program prompts; elsewhere variables cannot be empty
            quiet["GIT_ASKPASS"] = ""
        command = self._ssh(git) if is_ssh(url) else None
        return {**quiet, "GIT_SSH_COMMAND": command} if command else quiet

    def _transports(self, git: Git, url: str) -> Sequence[str]:
        """Return the transports git may use: S3 if the person's environment or configuration allows it."""
        own = self.environ.get("GIT_ALLOW_PROTOCOL")
        if own is not None:
            return [name for name in (*_TRANSPORTS, _S3) if name in own.split(":")]
        said = git.run("config", "--get", f"protocol.{_S3}.allow", ok=(0, 1)) if _is_s3(url) else b""
        return (*_TRANSPORTS, _S3) if said.strip() == b"always" else _TRANSPORTS

    def _ssh(self, git: Git) -> str | None:
        """Return the user's ssh command with options against prompts, or None if it is not OpenSSH."""
        command = self.environ.get("GIT_SSH_COMMAND")
        if command is None:
            command = (
                git.run("config", "--get", "core.sshCommand", ok=(0, 1)).decode("utf-8", "surrogateescape").strip()
            )
        if not command and self.environ.get("GIT_SSH"):
            command = shlex.quote(self.environ["GIT_SSH"])
        command = command or "ssh"
        try:
            program = os.path.basename(shlex.split(command)[0]).lower()
        except (ValueError, IndexError):
            return None
        if not re.fullmatch(r"ssh(\.exe)?", program):
            return None
        return " ".join((command, "-o BatchMode=yes", f"-o ConnectTimeout={_CONNECT_SECONDS}", *_ALIVE))


NO_SUCH_REF = "couldn't find remote ref"
_MOVED = "stale info"  # the remote named another value than the expected one
_UNFORCED = "is not ancestor of"  # git-remote-s3, of a push that replaces history
_PARTIAL = "lacks these prerequisite commits"  # git of a bundle
# How lines begin that this machine's git writes; of the rest ssh passes on what the server said.
_OWN_LINES = (
    *("fatal:", "error:", "hint:", "warning:", "remote:", "ssh:", "send-pack:", "fetch-pack:", "!", "To ", "Done"),
    *("Everything up-to-date", "Please make sure", "and the repo", "Warning: Permanently added"),
)
_MOST_LINES = 6
_MOST_CHARACTERS = 300


_PUSH_KINDS, _ANY_KINDS = ("push", "locked"), ("s3", "any", "dropped")


class _Failure(Value):
    """A row of `data/refusals.tsv`: the words that tell it, what happened, what to do, the type of the error."""

    kind: str
    words: tuple[str, ...]
    happened: str
    remedy: str
    error: type[GitmemError] = GitmemError

    def fits(self, output: str) -> bool:
        """Return whether git or a server says so."""
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
    """Return whether a push failed since the remote's ref had moved; None if the server refused it in other words."""
    line = _rejection(error)
    return True if _MOVED in line else None if line else False


def is_dropped(error: GitFailedError) -> bool:
    """Return whether a connection broke off that had begun, and no one refused anything."""
    output = f"{_rejection(error)}\n{error.message}\n{error.stderr}"
    failure = None if _fitting(_PUSH_KINDS, output) else _fitting(_ANY_KINDS, output)
    return (failure is None or failure.error is UnreachableError) and _fitting(("dropped",), output) is not None


def is_unforced(error: GitFailedError) -> bool:
    """Return whether a push failed since it replaces history and git-remote-s3 was not told to."""
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
    said = _server_lines(error)
    told = f" The server says: {' / '.join(said)}" if said else ""
    happened, remedy = (
        text.format(name=remote.described, url=remote.shown) for text in (failure.happened, failure.remedy)
    )
    message = f"{happened}: {_reason(error)}{told}"
    return failure.error(message if message.endswith((".", "!", "?")) else f"{message}.", remedy)


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
    why = "It may be damaged, or name its objects by another hash than this store"
    return GitmemError(f"{file} cannot be read: {_reason(error)}", f"{why}: take another backup.")


def _reason(error: GitFailedError) -> str:
    """Return the most telling line of git's messages."""
    rejection = _rejection(error)
    if rejection:
        return mask_urls(plain(rejection.split("\t")[-1])) + "."
    lines = [line for line in error.stderr.splitlines() if line.strip()]
    telling = next((line for line in lines if line.startswith(("fatal:", "error:", "ssh:", "remote:"))), "")
    return mask_urls(plain(telling or (lines[-1] if lines else error.message)))
