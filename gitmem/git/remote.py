"""Fetch and push single refs of another repository by compare-and-swap, never forced.

The user's configuration counts, since it says how to reach a remote. The repository's does not: it could name programs
or another remote. So a fetch runs in an empty repository with gitmem's own common folder; once complete, its objects
move into the repository. Tested through `tests/sync/test_rounds.py`, and `tests/store/test_refusals.py` against real
servers.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitmem.errors import GitFailedError
from gitmem.git.address import S3, Remote, check_url, is_s3, is_ssh
from gitmem.git.layout import MEMORY_BRANCH, Layout
from gitmem.git.process import Git, unfiltered_settings
from gitmem.git.refusals import NO_SUCH_REF, explain_fetch, explain_push, is_dropped, is_locked, is_race, is_unforced
from gitmem.git.repository import SYNC, is_object_id
from gitmem.platform.safe_open import drop_file, read_text, write_text
from gitmem.values import Value

OWN_REFS = "refs/worktree"  # git keeps these refs in the git dir, not in the common dir
KNOWN = f"{OWN_REFS}/known-"
_PREFIX = "tmp_objdir-gitmem-"  # `git gc` removes such a folder of a killed process
_KEEP = b"fast-import"  # recovery removes a `.keep` with this word, if this process is killed


class Quarantine:
    """The folder of one fetch, inside the repository's `objects`, so that its files are moved, not copied."""

    def __init__(self, folder: str, git: Git, common_dir: str) -> None:
        self._folder, self._git, self._common = folder, git, common_dir
        self._objects = os.path.join(folder, "objects")
        self._settings = unfiltered_settings(str(git.git_dir))[1]["GIT_COMMON_DIR"]
        self.variables = {"GIT_DIR": folder, "GIT_OBJECT_DIRECTORY": self._objects}

    def cut_history(self) -> None:
        """Have git write its `shallow` file here, not in its common folder."""
        for name in ("config", os.path.join("info", "attributes")):
            os.makedirs(os.path.dirname(os.path.join(self._folder, name)), exist_ok=True)
            shutil.copyfile(os.path.join(self._settings, name), os.path.join(self._folder, name))
        self.variables["GIT_COMMON_DIR"] = self._folder

    def adopt(self, refs: Mapping[str, str]) -> None:
        """Move the fetched objects into the repository, with a `.keep` for each pack, and set these refs."""
        adopted = []
        try:
            for folder, _, names in os.walk(self._objects):
                target = os.path.join(self._common, "objects", os.path.relpath(folder, self._objects))
                # Git sees a pack as soon as its index is there.
                for name in sorted(names, key=lambda name: name.endswith(".idx")):
                    stem, suffix = os.path.splitext(name)
                    path = os.path.join(target, name)
                    if os.path.basename(folder) == "info" or os.path.exists(path):
                        continue
                    os.makedirs(target, exist_ok=True)
                    if suffix == ".pack":
                        adopted.append(os.path.join(target, f"{stem}.keep"))
                        with open(adopted[-1], "wb") as file:
                            file.write(_KEEP)
                    os.rename(os.path.join(folder, name), path)
            moved = (
                f"update {ref} {oid}\n"
                for ref, oid in refs.items()
                if read_text(os.path.join(self._common, ref)).strip() != oid
            )
            if os.path.exists(cut := os.path.join(self._folder, "shallow")):  # lists the commits without their parents
                os.replace(cut, os.path.join(self._common, "shallow"))
            if lines := "".join(moved):
                self._git.run(*SYNC, "update-ref", "-m", "gitmem fetch", "--stdin", stdin=lines.encode())
        finally:
            for path in adopted:
                drop_file(path)

    def fetched(self) -> dict[str, str]:
        """Return the fetched objects by ref name below `refs/worktree/`."""
        top = os.path.join(self._folder, *OWN_REFS.split("/"))
        paths = (os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names)
        return {os.path.relpath(path, top).replace(os.sep, "/"): read_text(path).strip() for path in paths}

    def check(self, git: Git) -> None:
        """Have git check the objects that were fetched; raises GitFailedError."""
        folder = os.path.join(self._objects, "pack")
        for name in [name for name in os.listdir(folder) if name.endswith(".pack")]:
            checked = os.path.join(self._folder, f"{name}.idx")
            git.run("index-pack", "--fsck-objects", "-o", checked, os.path.join(folder, name), env=self.variables)


@contextlib.contextmanager
def quarantine(git: Git, common_dir: str, known: Iterable[str]) -> Iterator[Quarantine]:
    """Yield an empty quarantine for the repository of `git`, which has the commits `known`."""
    objects = os.path.join(common_dir, "objects")
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=objects) as folder:
        os.makedirs(os.path.join(folder, "objects", "info"))
        os.makedirs(os.path.join(folder, "objects", "pack"))
        os.makedirs(os.path.join(folder, *KNOWN.split("/")[:-1]))
        quoted = "".join(f"\\{byte:03o}" for byte in os.fsencode(objects))  # any path, in git's quotes
        texts = {"HEAD": "ref: refs/heads/none", "objects/info/alternates": f'"{quoted}"'}
        texts |= {f"{KNOWN}{number}": oid for number, oid in enumerate(known)}
        for name, text in texts.items():
            write_text(os.path.join(folder, name), f"{text}\n")
        yield Quarantine(folder, git, common_dir)


_FETCHED = "fetched"
INBOX = "refs/gitmem/inbox"  # on a remote: a ref for the commits of each machine that lost the race for the branch
_INBOX_NAME = re.compile(r"inbox/[0-9a-z-]{1,80}-[0-9a-f]{12}")
# For 180 MB at 50 kB a second; a connection that is silent for a minute ends earlier.
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
    """How a repository here reaches its remotes; `asks`: a user can be asked for a password.

    Only the user's and the machine's configuration count, not the repository's. `shallow`: fetch only the newest
    commit, which a server may refuse.
    """

    layout: Layout
    environ: Mapping[str, str]
    own: bool = True
    asks: bool = False
    shallow: bool = False

    def fetch(self, remote: Remote, ref: str, into: str, inbox: dict[str, str] | None = None) -> str | None:
        """Fetch a ref of a remote into `into`, overwriting it; return its object, or None if it does not exist.

        With `inbox`, also fetch the remote's inbox into it: commits by ref. No local ref protects them yet.

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
        """Fetch the refs of a remote named `ref` with an end that matches `ends`, each into `into` with the same end.

        Returns their objects by the ends of their names; `known` are commits that are here. Raises as `fetch`.
        """
        with self._quarantine(known) as place:
            self._fetch(remote, place, f"+{ref}*:{OWN_REFS}/{_FETCHED}*")
            fetched = ((name.removeprefix(_FETCHED), oid) for name, oid in sorted(place.fetched().items()))
            by_end = {end: oid for end, oid in fetched if ends.fullmatch(end)}
            place.adopt({f"{into}{end}": oid for end, oid in by_end.items()})
            return by_end

    def _quarantine(self, known: Iterable[str]) -> contextlib.AbstractContextManager[Quarantine]:
        here = Git(self.layout.git_dir, self.layout.work_tree, self.environ)
        return quarantine(here, self.layout.common_dir, known)

    def _fetch(self, remote: Remote, place: Quarantine, *refs: str) -> bool:
        """Fetch refs into a quarantine; return whether a ref that was named is there. Raises as `fetch`."""
        git, url = self._git(remote.url), remote.url
        options = ("-c", "fetch.unpackLimit=1") if self.own else ()
        depth = ("--depth=1",) if self.shallow else ()
        if self.shallow:
            place.cut_history()
        try:
            self._run(git, url, *options, *_FETCH, *depth, "--", url, *refs, env=place.variables)
            if is_s3(url):  # git does not check objects that a remote helper brings
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
        if remote.backup:  # read only
            return
        git = self._git(remote.push_url)
        lease, force = f"--force-with-lease={ref}:{expected or ''}", ""
        with self._quarantine([oid]) as place:  # as a ref, since git-remote-s3 bundles no object without one
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
                    if is_first and is_unforced(error):  # git passes no lease to git-remote-s3
                        force = "+"
                        continue
                    raise explain_push(error, remote) from error
                else:
                    return

    def empty(self, remote: Remote, taken: Mapping[str, str]) -> None:
        """Delete refs of a remote that have not moved since they were read; failures are left to the next sync."""
        if remote.backup:
            return
        leases = [f"--force-with-lease={ref}:{oid}" for ref, oid in taken.items()]
        refs = [f":{ref}" for ref in taken]
        with contextlib.suppress(GitFailedError):
            self._run(self._git(remote.push_url), remote.push_url, *_PUSH, *leases, "--", remote.push_url, *refs)

    def branches(self, remote: Remote) -> list[str]:
        """Return the names of the branches of a remote that is pushed to. Raises as `fetch`."""
        git, url = self._git(remote.push_url), remote.push_url
        try:
            output = self._run(git, url, "ls-remote", "--quiet", "--heads", "--", url).decode("utf-8", "replace")
        except GitFailedError as error:
            raise explain_push(error, remote) from error
        return [line.partition("\t")[2] for line in output.splitlines()]

    def _tip(self, git: Git, remote: Remote, ref: str) -> str | None:
        """Return the object that a ref of a remote points to now, None if it does not exist."""
        try:
            output = self._run(git, remote.push_url, "ls-remote", "--quiet", "--", remote.push_url, ref).decode()
        except GitFailedError as error:
            raise explain_push(error, remote) from error
        rows = (line.split("\t") for line in output.splitlines())
        return next((oid for oid, name in rows if name == ref), None)

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
            # The user's configuration may have an `includeIf "hasconfig:remote.*.url:…"`.
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
        """Return the variables that set git's transports, and whether it prompts on the terminal."""
        allowed = {"GIT_ALLOW_PROTOCOL": ":".join(self._transports(git, url))}
        if self.asks:
            return {**allowed, "GIT_TERMINAL_PROMPT": "1"}
        quiet = {**allowed, "GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never", "GCM_INTERACTIVE": "never"}
        if os.name == "posix":  # empty: no program prompts; Windows has no empty variables
            quiet["GIT_ASKPASS"] = ""
        command = self._ssh(git) if is_ssh(url) else None
        return {**quiet, "GIT_SSH_COMMAND": command} if command else quiet

    def _transports(self, git: Git, url: str) -> Sequence[str]:
        """Return the transports git may use: S3 if the user's environment or configuration allows it."""
        own = self.environ.get("GIT_ALLOW_PROTOCOL")
        if own is not None:
            return [name for name in (*_TRANSPORTS, S3) if name in own.split(":")]
        setting = git.run("config", "--get", f"protocol.{S3}.allow", ok=(0, 1)) if is_s3(url) else b""
        return (*_TRANSPORTS, S3) if setting.strip() == b"always" else _TRANSPORTS

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
