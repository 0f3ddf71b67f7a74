"""Decide whether a repository may be used: who owns it, and whether the link to it is genuine.

Git checks the owner (`safe.directory`) only of a repository that it discovers itself; gitmem passes the git dir. So
owners are compared here, and if they differ, git's rules decide. Also find who commits, and whose signatures count, by
the user's configuration of git, never the repository's.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping

from gitmem.errors import GitFailedError, GitmemError, RefusedError
from gitmem.git.layout import Layout, linked_git_dir
from gitmem.platform.safe_open import read_text
from gitmem.values import Value

_agreed: set[str] = set()  # folders that git accepted, asked once a process
_SECONDS = 10.0
_REMEDY = "git config --global --add safe.directory "


def check_layout(layout: Layout, environ: Mapping[str, str]) -> None:
    """Raise RefusedError if a repository is another user's, or linked to the work tree of another store."""
    if not is_at_its_place(layout):
        linked = layout.git_dir != layout.common_dir
        raise RefusedError(
            f"The store at {layout.work_tree} was copied or moved: its file .git leads to {layout.git_dir}, which is "
            "not its own. So nothing is recorded in it.",
            f"'gitmem init' in {os.path.dirname(layout.work_tree)} connects it with its project again."
            if linked
            else f"Remove {os.path.join(layout.work_tree, '.git')} unless you put it there.",
        )
    check_owner(environ, layout.git_dir, layout.work_tree)
    if layout.common_dir != layout.git_dir:  # it has the configuration and the private folder
        beside = os.path.basename(layout.common_dir) == ".git"
        check_owner(environ, layout.common_dir, os.path.dirname(layout.common_dir) if beside else "")


def check_owner(environ: Mapping[str, str], git_dir: str, work_tree: str = "") -> None:
    """Raise RefusedError for a repository of another user that git refuses; `work_tree` is "" for a bare one."""
    if not _is_ours((git_dir, work_tree, os.path.join(work_tree, ".git")) if work_tree else (git_dir,)):
        ask_git(environ, work_tree or git_dir)


def _is_ours(paths: tuple[str, ...]) -> bool:
    """Return whether all of these belong to the effective user; False if unknown."""
    if os.name != "posix":
        return False
    user = os.geteuid()
    try:
        return all(os.lstat(path).st_uid == user for path in paths)
    except OSError:
        return False


def ask_git(environ: Mapping[str, str], folder: str) -> None:
    """Let git find the repository of a folder, by the user's configuration; raise RefusedError if git refuses it."""
    from gitmem.git.process import git_without_repository

    if folder in _agreed:
        return
    git = git_without_repository(environ, user_config=True)
    settings = {name: value for name, value in environ.items() if name.startswith("GIT_CONFIG_")}
    settings["GIT_CEILING_DIRECTORIES"] = os.path.dirname(folder)
    try:
        git.run("-C", folder, "rev-parse", "--git-dir", env=settings, timeout=_SECONDS)
    except GitFailedError as error:
        line = next((line.strip() for line in error.stderr.splitlines() if _REMEDY in line), "")
        if line:
            raise RefusedError(
                f"The repository at {folder} belongs to another user.", f"If you trust it: {line}"
            ) from error
        reason = error.stderr.splitlines()[0] if error.stderr else str(error)
        raise RefusedError(f"Git does not use the repository at {folder}: {reason}") from error
    _agreed.add(folder)


def recorded_link(git_dir: str) -> str:
    """Return the path of the `.git` file that git recorded for a linked work tree, or ""."""
    named = read_text(os.path.join(git_dir, "gitdir")).rstrip("\r\n")
    return os.path.normpath(os.path.join(git_dir, named)) if named else ""


def is_linked(work_tree: str) -> bool:
    """Return whether `.git` here is the file of a linked work tree, even a broken one."""
    git_dir = linked_git_dir(work_tree)
    return git_dir is not None and os.path.basename(os.path.dirname(git_dir)) == "worktrees"


def is_at_its_place(layout: Layout) -> bool:
    """Return whether a linked work tree is the one its repository has recorded.

    A repository `.git` without a record is that of the folder around it: a file in another folder, as an archive may
    bring one, does not lead there. Compare files, not paths: links, mounts and letter case give one file several paths.
    """
    if layout.git_dir == layout.common_dir:
        own = _recorded_work_tree(layout.git_dir)
        return not own or _same(own, layout.work_tree)
    inside = _same(os.path.join(layout.git_dir, "..", ".."), layout.common_dir)
    return inside and _same(recorded_link(layout.git_dir), os.path.join(layout.work_tree, ".git"))


def _recorded_work_tree(git_dir: str) -> str:
    """Return the work tree of a repository: `core.worktree`, else the folder around a `.git`; "" if unknown."""
    for line in read_text(os.path.join(git_dir, "config")).split("\n"):
        key, _, named = line.partition("=")
        if key.strip().casefold() == "worktree" and named.strip():
            return os.path.normpath(os.path.join(git_dir, named.strip().strip('"')))
    return os.path.dirname(git_dir) if os.path.basename(git_dir) == ".git" else ""


def check_link(work_tree: str, git_dir: str) -> None:
    """Raise RefusedError if the `.git` file of a project's linked work tree is a copy or another user's."""
    dot_git = os.path.join(work_tree, ".git")
    if is_copy(work_tree, git_dir):
        raise RefusedError(
            f"{work_tree} is a copy of the linked work tree {os.path.dirname(recorded_link(git_dir))}.",
            f"Make a work tree of its own with 'git worktree add', or remove {dot_git}.",
        )
    if os.name == "posix" and os.lstat(dot_git).st_uid not in (os.geteuid(), os.lstat(git_dir).st_uid):
        raise RefusedError(f"{dot_git} belongs to another user, and leads to {git_dir}.", "Use another folder.")


def is_copy(work_tree: str, git_dir: str) -> bool:
    """Return whether the work tree recorded for this git dir exists and is not this one."""
    link = recorded_link(git_dir)
    if _same(link, os.path.join(work_tree, ".git")):
        return False
    recorded = linked_git_dir(os.path.dirname(link))
    return recorded is not None and _same(recorded, git_dir)


def _same(first: str, second: str) -> bool:
    try:
        return os.path.samefile(first, second)
    except OSError:
        return False


_IDENTITY_SECONDS = 5.0


class Identity(Value):
    """A name and an e-mail address for commits."""

    name: str
    email: str


GITMEM = Identity("gitmem", "gitmem@localhost")


class IdentityLookup:
    """Asks git for the user's name and address in the background, by the user's configuration, else `GITMEM`'s."""

    def __init__(self, git_dir: str, work_tree: str, environ: Mapping[str, str]) -> None:
        from gitmem.git.process import Git

        git = Git(git_dir, work_tree, environ, user_config=True)
        self._process = git.spawn("config", "--null", "--get-regexp", r"^user\.(name|email)$")
        self._result: Identity | None = None
        self.expired = False  # no answer came in time

    def result(self) -> Identity:
        """Return the identity; ignore a configuration that git cannot read."""
        if self._result is None:
            self._result = self._read()
        return self._result

    def _read(self) -> Identity:
        from gitmem.platform.spawn import ExpiredError

        try:
            stdout, _ = self._process.communicate(timeout=_IDENTITY_SECONDS)
        except ExpiredError:
            self.expired = True
            self._process.kill()
            self._process.communicate()
            return GITMEM
        values = {}
        for record in stdout.decode("utf-8", "replace").split("\0"):
            key, _, value = record.partition("\n")
            values[key] = value.strip()
        return Identity(values.get("user.name") or GITMEM.name, values.get("user.email") or GITMEM.email)


_GOOD = "G"  # of git's `%G?`: a good signature of a key that the user trusts
_SIGNING_SECONDS = 120.0  # a user may have to unlock a key
_MOST = 200  # commits whose signatures are checked to name those without


class Unsigned(Value):
    """A commit that no good signature covers."""

    oid: str
    author: str
    subject: str


class Signatures:
    """The signatures in a repository, as the user's git sees them."""

    def __init__(self, layout: Layout, environ: Mapping[str, str]) -> None:
        """Read no configuration yet."""
        from gitmem.git.process import Git, unfiltered_settings

        settings, variables = unfiltered_settings(layout.git_dir)
        self._git = Git(
            layout.git_dir, layout.work_tree, environ, user_config=True, settings=settings, variables=variables
        )

    def signers(self, commits: Collection[str]) -> dict[str, str]:
        """Return the addresses whose trusted keys signed commits, each with its history; of many, the first ones."""
        lines = self._log("%H%x09%G?%x09%GS", commits, "--no-walk=unsorted") if commits else []
        fields = (line.split("\t", 2) for line in lines)
        return {oid: name.rpartition("<")[2].partition(">")[0].strip() for oid, state, name in fields if state == _GOOD}

    def unsigned(self, commit: str, known: Iterable[str], here: str | None = None) -> list[Unsigned]:
        """Return the newest commits beyond `known` that no good signature in their history or that of `here` covers."""
        without = [f"^{oid}" for oid in known]
        rows = self._log("%H %G?", [commit, *filter(None, [here]), *without])
        signed = [f"^{line.split()[0]}" for line in rows if line.endswith(f" {_GOOD}")]
        lines = self._log("%H%x09%an%x09%s", [commit, *without, *signed])
        return [Unsigned(*line.split("\t", 2)) for line in lines]

    def sign(self, commit: str, message: str, author: Identity, date: str, parent: str = "") -> str:
        """Return a new signed commit with a commit's tree, and this commit, or another `parent`, as its parent."""
        who = {
            f"GIT_{role}_{field}": value
            for role in ("AUTHOR", "COMMITTER")
            for field, value in (("NAME", author.name), ("EMAIL", author.email), ("DATE", date))
        }
        try:
            tree = self._git.run("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}").decode().strip()
            command = ("commit-tree", "--gpg-sign", "-p", parent or commit, tree)
            new = self._git.run(*command, stdin=message.encode(), env=who, timeout=_SIGNING_SECONDS)
        except GitFailedError as error:
            raise GitmemError(
                f"git could not sign a commit: {error.stderr.strip() or error.message}",
                "'git config --global user.signingkey' names your key, gpg.format its kind.",
            ) from error
        return new.decode().strip()

    def _log(self, form: str, revisions: Iterable[str], *more: str) -> list[str]:
        names = "".join(f"{revision}\n" for revision in revisions)
        options = (f"--max-count={_MOST}", f"--format={form}", "--no-show-signature", *more, "--stdin")
        output = self._git.run("log", *options, stdin=names.encode(), timeout=_SIGNING_SECONDS)
        return output.decode("utf-8", "replace").split("\n")[:-1]  # a name may hold other ends of lines
