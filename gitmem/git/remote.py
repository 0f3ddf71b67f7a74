"""Fetch and push single refs of another repository, by compare-and-swap, never forced.

The user's own configuration counts here, and only here: it says how to reach a remote and with which credentials.
Git prompts only if there is a person (`asks`). Configured refspecs, hooks, tags and pruning are off, and git checks
objects before it stores them.

Tested through `tests/store/sync/test_memory.py`.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import GitFailedError, GitmemError, RefusedError, UnreachableError
from gitmem.git.process.run import Git
from gitmem.git.repository import is_object_id
from gitmem.machine.beneath import read_text
from gitmem.text.urls import mask_urls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.git.layout import Layout

SECONDS = 600.0
_CONNECT_SECONDS = 20
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
_NO_SUCH_REF = "couldn't find remote ref"
# What a server says if another push came first.
_RACES = (
    *("stale info", "fetch first", "non-fast-forward", "failed to update ref", "cannot lock ref", "failed to lock"),
    *("incorrect old value", "reference already exists", "is at ", "Unable to create", "unable to update"),
)
_DENIED = (
    *("Authentication failed", "Permission denied", "could not read Username", "could not read Password"),
    *("terminal prompts disabled", "Invalid username", "error: 403", "error: 401", "Host key verification failed"),
    *("not authorized", "HTTP Basic: Access denied"),
)
_MISSING = ("does not appear to be a git repository", "not found", "does not exist", "no such", "No such file")
_UNSAFE = ("fsck error", "hasDot", "hasDotgit", "fullPathname", "in fsck_object", "fsck_objects")
_OFFLINE = (
    *("Could not resolve", "Couldn't resolve", "Failed to connect", "Connection refused", "Connection timed out"),
    *("Connection reset", "Network is unreachable", "No route to host", "Operation timed out", "timed out"),
    *("unable to connect", "Couldn't connect", "did not finish within", "Connection closed", "early EOF"),
    *("unexpected disconnect", "hung up unexpectedly", "RPC failed", "Name or service not known", "error: 50"),
)
# Allowed schemes: not `ext::`, which starts any program.
_SCHEMES = ("https://", "http://", "ssh://", "git://", "file://", "git+ssh://")
# Settings by which reaching a remote starts a program, allows one, or writes a file (git-config).
_PROGRAMS = (
    r"^(core\.(sshcommand|gitproxy|askpass)|credential\.(.*\.)?helper|remote\..*\.(uploadpack|receivepack|vcs)"
    r"|protocol\.(.*\.)?allow|http\.(.*\.)?(cookiefile|savecookies))$"
)


class PushRacedError(Exception):
    """The remote's ref is not where it was expected: another machine pushed first."""


_PARTIAL = "lacks these prerequisite commits"  # git of a bundle


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote: its name, and its URLs for fetch and push; `backup`: a file that is read once."""

    name: str
    url: str
    push_url: str
    backup: bool = False

    @property
    def called(self) -> str:
        """The name that a person knows the remote by."""
        return self.shown if self.backup else self.name

    def to_accept(self, what: str) -> str:
        """Return the command that accepts a refused change; `what` names the kind of refusal."""
        return f"'gitmem restore FILE --accept {what}'" if self.backup else f"'gitmem sync --accept {what}'"

    @property
    def shown(self) -> str:
        """The URL without a password."""
        return mask_urls(self.url)


@dataclass(frozen=True, slots=True)
class Connection:
    """How a repository here reaches its remotes; `asks`: a person can be asked for a password.

    `unattended`: no person started it, as behind a hook. The repository may have come with its configuration from
    elsewhere before anybody ran git in it, so no program that the configuration names is started.
    """

    layout: Layout
    environ: Mapping[str, str]
    own: bool = True
    asks: bool = False
    unattended: bool = False
    seconds: float = SECONDS

    def fetch(self, remote: Remote, ref: str, into: str) -> str | None:
        """Fetch a ref of a remote into `into`, overwriting it; return its commit, or None if it does not exist.

        Raises:
            UnreachableError: the remote could not be reached.
            GitmemError: it denied access, is no repository, or sent broken objects.
            RefusedError: its URL is invalid, or the repository's configuration names a program (`unattended`).

        """
        self._check(remote, remote.url)
        kept = ("-c", "fetch.unpackLimit=1") if self.own else ()
        git = self._git()
        try:
            self._run(git, remote.url, *kept, *_FETCH, "--", remote.url, f"+{ref}:{into}")
        except GitFailedError as error:
            if _NO_SUCH_REF in error.stderr:
                return None
            raise _explained(error, remote, "fetch from") from error
        fetched = read_text(os.path.join(self.layout.common_dir, into)).strip()
        if is_object_id(fetched):  # unless refs are kept elsewhere (reftable)
            return fetched
        return git.run("rev-parse", "--verify", "--end-of-options", f"{into}^{{commit}}").decode().strip()

    def push(self, remote: Remote, oid: str, ref: str, expected: str | None) -> None:
        """Move a ref of a remote from `expected` (None: missing) to a commit of this repository.

        The caller decides whether that must be a fast-forward: a lease is none.

        Raises:
            PushRacedError: the ref was elsewhere.
            UnreachableError: the remote could not be reached; whether it took the push is not known.
            GitmemError: it denied access, or refused the push.
            RefusedError: as `fetch`.

        """
        self._check(remote, remote.push_url)
        lease = f"--force-with-lease={ref}:{expected or ''}"
        try:
            self._run(self._git(), remote.push_url, *_PUSH, lease, "--", remote.push_url, f"{oid}:{ref}")
        except GitFailedError as error:
            output = f"{error.stdout}\n{error.stderr}"
            line = next((line for line in output.splitlines() if line.startswith("!")), "")
            if line and any(words in line for words in _RACES):
                raise PushRacedError(mask_urls(line)) from None
            if line:
                reason = mask_urls(line.split("\t")[-1])
                raise GitmemError(
                    f"{remote.name} ({remote.shown}) did not take what was pushed: {reason}.",
                    "What came from there is merged here. See that you may push to the branch, then sync again.",
                ) from error
            raise _explained(error, remote, "push to") from error

    def _check(self, remote: Remote, url: str) -> None:
        check_url(url)
        named = self._named_programs() if self.unattended else []
        if named:
            raise RefusedError(
                f"{remote.name} is not synced with in the background: the repository at {self.layout.common_dir} has "
                f"{', '.join(named)} in its configuration, which can start programs or write files.",
                "If it is yours: 'gitmem sync' uses it, and 'git config --global' makes it count always.",
            )

    def _named_programs(self) -> list[str]:
        """Return the settings in the repository's own configuration by which reaching a remote starts a program."""
        output = self._git().run(
            "config", "--show-scope", "--null", "--name-only", "--get-regexp", _PROGRAMS, ok=(0, 1)
        )
        words = output.decode("utf-8", "replace").split("\0")[:-1]
        found = zip(words[::2], words[1::2], strict=True)
        return sorted({ascii(name)[1:-1] for scope, name in found if scope in {"local", "worktree"}})

    def _git(self) -> Git:
        layout = self.layout
        return Git(layout.git_dir, layout.work_tree, self.environ, user_config=True)

    def _run(self, git: Git, url: str, *args: str) -> bytes:
        return git.run(*args, timeout=self.seconds, env=self._surroundings(git, url))

    def _surroundings(self, git: Git, url: str) -> dict[str, str]:
        """Return the variables that let git prompt on the terminal, or not at all."""
        if self.asks:
            return {"GIT_TERMINAL_PROMPT": "1"}
        quiet = {"GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never", "GCM_INTERACTIVE": "never"}
        if os.name == "posix":  # empty: no program prompts; elsewhere variables cannot be empty
            quiet["GIT_ASKPASS"] = ""
        command = self._ssh(git) if is_ssh(url) else None
        return {**quiet, "GIT_SSH_COMMAND": command} if command else quiet

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
        return f"{command} -o BatchMode=yes -o ConnectTimeout={_CONNECT_SECONDS}"


def is_ssh(url: str) -> bool:
    """Return whether git reaches a URL by ssh: `ssh://…`, or `host:path` that is no Windows drive."""
    if "://" in url:
        return url.startswith(("ssh://", "git+ssh://"))
    return bool(re.match(r"[^/\\:]{2,}:(?!:)", url))


def check_url(url: str) -> str:
    """Return a URL or path that is safe to pass to git.

    Raises:
        RefusedError: it is an option, would start a program, or holds control characters.

    """
    bad = not url.strip() or url.startswith("-") or any(ord(character) < 32 for character in url)  # noqa: PLR2004
    helper = re.match(r"[A-Za-z0-9+.-]+::", url)
    scheme = "://" in url and not url.lower().startswith(_SCHEMES)
    if bad or helper or scheme:
        raise RefusedError(
            f"{mask_urls(ascii(url))} is no address of a repository that gitmem goes to.",
            "Use an https, ssh, git or file URL, host:path, or a path.",
        )
    return url


def _explained_file(error: GitFailedError, file: str) -> GitmemError:
    if _PARTIAL in error.stderr:
        return GitmemError(
            f"{file} is a part of a history: it builds on commits that are not here.",
            "'gitmem backup FILE' makes a whole one.",
        )
    return GitmemError(f"{file} cannot be read: {_last_line(error)}", "It may be damaged: take another backup.")


def _explained(error: GitFailedError, remote: Remote, what: str) -> GitmemError:
    output = f"{error.message}\n{error.stderr}"
    if remote.backup and not any(words in output for words in _UNSAFE):
        return _explained_file(error, remote.shown)
    name = remote.shown if remote.backup else f"{remote.name} ({remote.shown})"
    if any(words in output for words in _UNSAFE):
        return RefusedError(
            f"What {name} has was not taken: git finds it unsafe or damaged. {_last_line(error)}",
            "Run 'git fsck' in that repository.",
        )
    if any(words in output for words in _DENIED):
        return GitmemError(
            f"{name} let nobody in: {_last_line(error)}",
            f"See that 'git ls-remote {remote.shown}' works without a question: an ssh agent or a credential helper.",
        )
    if any(words in output for words in _OFFLINE):
        return UnreachableError(
            f"{name} cannot be reached: {_last_line(error)}", "Nothing is lost; sync again when you are online."
        )
    if any(words in output for words in _MISSING):
        return GitmemError(
            f"{name} is no repository that can be read: {_last_line(error)}",
            "See that the address is right and the repository exists: 'gitmem remote list'.",
        )
    return GitmemError(f"It was not possible to {what} {name}: {_last_line(error)}", "Nothing is lost; try again.")


def _last_line(error: GitFailedError) -> str:
    """Return the most telling line of git's messages."""
    lines = [line for line in error.stderr.splitlines() if line.strip()]
    telling = next((line for line in lines if line.startswith(("fatal:", "error:", "ssh:", "remote:"))), "")
    return mask_urls(telling or (lines[-1] if lines else error.message))
