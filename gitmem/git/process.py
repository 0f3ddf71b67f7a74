"""Start git so that no environment, configuration, hook or attribute of the caller changes a result.

- Every `GIT_*` variable but a short list is dropped, and what git needs is set explicitly.
- The user's and the system's configuration are not read, unless asked, for network operations.
- The repository's configuration, in branch mode the project's, is overridden key by key (`data/git.tsv`).
- Commands that compare a work tree with blobs or print a diff run as `Git.unfiltered`: in a common folder that ships
  with gitmem (`templates/git`), without refs and so with full ids, whose `info/attributes` takes precedence over every
  `.gitattributes`. Source: GIT_COMMON_DIR in git(1), gitrepository-layout(5), gitattributes(5).

A save imports this: plain classes and `os.path`, since `dataclasses` and `pathlib` are slow to import.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Container, Iterator, Mapping
from functools import cache

from gitmem.errors import BusyError, GitFailedError, GitmemError
from gitmem.git.layout import common_dir_of
from gitmem.git.left_behind import clear_left_behind, left_behind_after, lock_in_the_way
from gitmem.platform.machine import find_program, resource, table, with_absolute
from gitmem.platform.safe_open import read_text, write_text
from gitmem.platform.spawn import Child, ExpiredError, FloodedError
from gitmem.text.terminal import mask_urls
from gitmem.values import Self

OLDEST_GIT = (2, 38)  # `merge-tree --write-tree`
STDERR_LIMIT = 4096  # characters at the end of stderr that an error keeps
MOST_OUTPUT = 1 << 30  # bytes that are read into memory: a remote's commits and messages may be of any size
_GRACE = 2.0  # seconds between SIGTERM, on which git removes its lock files, and SIGKILL
_INSTALL = "Install git 2.38 or later (https://git-scm.com/downloads) and see that it is on the PATH."


@cache
def given(kind: str) -> dict[str, str]:
    """Return the rows of `data/git.tsv` of a kind; passed as environment variables, settings cost 0.1 ms a process."""
    return {name: value for section, name, value, _ in table("git.tsv") if section == kind}


def as_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that set configuration (git-config, GIT_CONFIG_COUNT); `-c` still takes precedence."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for index, (key, value) in enumerate(settings.items()):
        variables[f"GIT_CONFIG_KEY_{index}"] = key
        variables[f"GIT_CONFIG_VALUE_{index}"] = value
    return variables


def clean_environment(environ: Mapping[str, str], *, user_config: bool = False) -> dict[str, str]:
    """Copy `environ` without any repository, identity or configuration but gitmem's.

    `user_config` keeps the user's and the system's configuration, and the variables for reaching a remote: for
    network operations.
    """
    passed_on = (*given("kept"), *(given("remote") if user_config else ()))
    clean = {}
    for name, value in with_absolute(environ, "PATH", "GIT_EXEC_PATH").items():  # git finds `ssh` and helpers on these
        upper = name.upper()  # Windows does not tell `git_dir` from `GIT_DIR`
        if upper.startswith(("LC_", "LANGUAGE")) or (upper.startswith("GIT_") and not upper.startswith(passed_on)):
            continue
        clean[name] = value
    clean.update(given("variable"))
    if not user_config:
        clean.update(given("local"))
    clean.update(as_environment(given("setting")))
    return clean


def find_git(environ: Mapping[str, str]) -> str:
    """Return the absolute path of git on the `PATH` of `environ`; raises GitmemError where there is none.

    Relative entries of `PATH` and, on Windows, the current folder are skipped: a project could ship a `git` there.
    """
    program = find_program("git", environ)
    if program is None:
        raise GitmemError("There is no git on the PATH.", _INSTALL)
    return program


class Git:
    """Starts git for one repository, independent of its surroundings. Immutable.

    `git_dir` and `work_tree` are absolute paths; commands run with the work tree, else the git dir, as their current
    folder. `environ` is the caller's environment, which is cleaned here. `user_config` keeps the user's and the
    system's configuration: for network operations only. `settings` and `variables` are added to git's configuration and
    environment, and take precedence.
    """

    __slots__ = ("_environment", "_executable", "_folder", "_unfiltered", "_variables", "git_dir", "work_tree")

    git_dir: str | None
    work_tree: str | None

    def __init__(
        self,
        git_dir: os.PathLike[str] | str | None,
        work_tree: os.PathLike[str] | str | None,
        environ: Mapping[str, str],
        *,
        user_config: bool = False,
        settings: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.git_dir = None if git_dir is None else os.fspath(git_dir)
        self.work_tree = None if work_tree is None else os.fspath(work_tree)
        for path in (self.git_dir, self.work_tree):
            if path is not None and not os.path.isabs(path):
                raise ValueError(f"{path!r} is not an absolute path")
        self._environment = clean_environment(environ, user_config=user_config)
        self._unfiltered: Git | None = None
        self._executable = find_git(environ)
        self._folder = self.work_tree or self.git_dir or os.path.abspath(os.sep)
        if self.git_dir is not None:
            self._environment["GIT_DIR"] = self.git_dir
            self._environment["GIT_CEILING_DIRECTORIES"] = os.path.dirname(self._folder)
            if self.work_tree is not None:
                self._environment["GIT_WORK_TREE"] = self.work_tree
            else:  # as `git --bare` does; otherwise the current folder would be the work tree
                self._environment["GIT_IMPLICIT_WORK_TREE"] = "0"
        if settings:
            self._environment.update(as_environment({**given("setting"), **settings}))
        self._variables: dict[str, str] = {**(variables or {})}
        self._environment.update(self._variables)

    @property
    def unfiltered(self) -> Git:
        """The git for commands that compare the work tree with blobs, or print a diff; see `process.unfiltered`."""
        if self._unfiltered is None:
            assert self.git_dir is not None
            settings, variables = unfiltered_settings(self.git_dir)
            variables |= self._variables  # such as the quarantined objects of a push, in a hook
            self._unfiltered = Git(
                self.git_dir, self.work_tree, self._environment, settings=settings, variables=variables
            )
        return self._unfiltered

    def run(
        self,
        *args: str,
        stdin: bytes | None = None,
        timeout: float = 60.0,
        ok: Container[int] = (0,),
        env: Mapping[str, str] | None = None,
        past_locks: bool = True,
    ) -> bytes:
        """Run `git ARGS` and return its stdout; `past_locks`: wait for other gits' locks, remove those of killed ones.

        `stdin` is git's input (empty by default, never a terminal), `timeout` is in seconds, `ok` are the exit statuses
        that count as success, `env` is added to the cleaned environment (an identity, an index file).

        Raises:
            BusyError: another git command holds a lock.
            GitFailedError: any other status, a timeout, after which git is ended and reaped, or more output than
                `MOST_OUTPUT`.
        """
        end = None
        while True:
            try:
                return _output(self._start(args, env, stdin=stdin is not None), args, stdin, timeout, ok)
            except GitFailedError as error:
                lock = lock_in_the_way(error.stderr) if past_locks else ""
                if not lock:
                    raise
                end = end or time.monotonic() + left_behind_after(lock) + _GRACE
                if time.monotonic() >= end:
                    raise BusyError(f"Another git command holds {lock}.", "Try again when it is done.") from None
                clear_left_behind(lock)

    def spawn(self, *args: str, env: Mapping[str, str] | None = None) -> Child:
        """Start `git ARGS` with pipes for all three streams; the caller reads both outputs, waits, and checks."""
        return self._start(args, env, stdin=True)

    def _start(self, args: tuple[str, ...], env: Mapping[str, str] | None, *, stdin: bool) -> Child:
        try:
            os.stat(self._folder)  # git reports a missing folder with a misleading status
            return Child(
                (self._executable, "-C", self._folder, *args),
                self._environment if env is None else {**self._environment, **env},
                stdin=stdin,
            )
        except OSError as error:
            raise GitmemError(f"git could not be started in {self._folder}: {error.strerror}.") from error


class Dialogue:
    """A running git process to exchange lines with; a context manager that ends it. `_broke` once it ended early."""

    def __init__(self, git: Git, *args: str, env: Mapping[str, str] | None = None) -> None:
        self._git, self._args = git, args
        self._process = git.spawn(*args, env=env)
        self._broke = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process.returncode is None:
            self._process.kill()
            self._process.communicate()

    def output(self, timeout: float = 600.0) -> bytes:
        """Wait for git's end and return its stdout; raises GitFailedError."""
        return _output(self._process, self._args, None, timeout, (0,))

    def send(self, *parts: bytes) -> None:
        """Write to git."""
        stdin = self._process.stdin
        assert stdin is not None
        try:
            for part in parts:
                stdin.write(part)
            stdin.flush()
        except OSError:  # a broken pipe, which Windows calls an invalid argument
            raise self._died() from None

    def line(self, *, last: bool = False) -> bytes:
        """Read a line of git's answer with its newline; if git has ended, return "" if `last`, else raise."""
        line = self._process.stdout.readline()
        if not line.endswith(b"\n") and (line or not last):
            raise self._died()
        return line

    def data(self, size: int) -> bytes:
        """Read `size` bytes and the newline after them."""
        data = self._process.stdout.read(size + 1)
        if len(data) <= size:
            raise self._died()
        return data[:-1]

    def close(self, timeout: float) -> None:
        """Wait up to `timeout` seconds for git to end."""
        if self._broke:
            return
        try:
            self._process.communicate(timeout=timeout)
        except BaseException:  # an interrupt, too: nothing is left running
            self.kill()
            self._process.communicate()
            raise

    def kill(self) -> None:
        """Kill git at once, also from another thread; pending reads fail."""
        self._process.kill()

    def _died(self) -> Exception:
        self._broke = True
        _, stderr = self._process.communicate()
        return self._failure(self._args, self._process.wait(), stderr)

    def _failure(self, command: tuple[str, ...], status: int, stderr: bytes) -> Exception:
        return failure(command, status, stderr)


def _output(process: Child, args: tuple[str, ...], stdin: bytes | None, timeout: float, ok: Container[int]) -> bytes:
    """Wait for the end of `git ARGS` and return its stdout; see `Git.run`."""
    try:
        stdout, stderr = process.communicate(stdin, timeout, MOST_OUTPUT)
    except FloodedError:
        output = _end(process)
        message = f"git {_command(args)} says more than {MOST_OUTPUT:,} bytes."
        raise GitFailedError(message, status=process.returncode or 0, stderr=_readable(output)) from None
    except ExpiredError:
        output = _end(process)
        message = f"git {_command(args)} did not finish within {timeout:g} s."
        raise GitFailedError(message, status=process.returncode or 0, stderr=_readable(output)) from None
    except BaseException:  # an interrupt, most of all: leave nothing running
        _end(process)
        raise
    status = process.wait()
    if status not in ok:
        raise failure(args, status, stderr, stdout)
    return stdout


def git_without_repository(environ: Mapping[str, str], *, user_config: bool = False) -> Git:
    """Return a git in the root folder without a repository, for `init PATH`, `--version`, `config --global`."""
    return Git(None, None, environ, user_config=user_config)


def git_version(environ: Mapping[str, str]) -> tuple[int, int]:
    """Return the version of the git on the `PATH`; raises GitmemError if it is missing or older than `OLDEST_GIT`."""
    output = git_without_repository(environ).run("--version").decode(errors="replace").strip()
    match = re.search(r"(\d{1,9})\.(\d{1,9})", output)
    version = (int(match[1]), int(match[2])) if match else (0, 0)
    if version < OLDEST_GIT:
        raise GitmemError(f"{output!r} is too old for gitmem.", _INSTALL)
    return version


def failure(args: tuple[str, ...], status: int, stderr: bytes, stdout: bytes = b"") -> GitFailedError:
    """Return the error for `git ARGS` that ended with `status` and `stderr`, with URLs masked."""
    output = _readable(stderr)
    lines = output.splitlines() or [""]
    reason = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1])
    message = f"git {_command(args)} failed with status {status}" + (f": {reason}" if reason else ".")
    if damaged := re.search(r"not a git repository: '(/[^'\n]+)'", output):
        message = f"{damaged[1]} is damaged: git does not read it."
    return GitFailedError(message, status=status, stderr=output, stdout=_readable(stdout[-STDERR_LIMIT:]))


def _command(args: tuple[str, ...]) -> str:
    """Return the subcommand; other arguments may hold the user's text or secrets."""
    names = iter(args)
    for name in names:
        if name in {"-c", "-C"}:
            next(names, None)
        elif not name.startswith("-"):
            return name
    return args[0] if args else ""


def _readable(stderr: bytes) -> str:
    return mask_urls(stderr.decode("utf-8", "replace").strip())[-STDERR_LIMIT:]


def _end(process: Child) -> bytes:
    """End a process and return its stderr; SIGTERM first, on which git removes its locks and ends its children."""
    process.terminate()
    try:
        return process.communicate(timeout=_GRACE)[1]
    except ExpiredError as expired:
        process.kill()
        process.wait()
        return expired.stderr
    finally:
        process.close()


# The settings with which `git init` describes this repository's file system.
_FACTS = ("core.fileMode", "core.ignoreCase", "core.precomposeUnicode")


def unfiltered_settings(git_dir: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return settings and variables for a git on the same objects, index and work tree, but without attributes."""
    common = common_dir_of(git_dir)
    values = _values(read_text(os.path.join(common, "config")))
    variables = {
        "GIT_COMMON_DIR": resource("templates", "git", "sha256" if values.get("objectformat") == "sha256" else "sha1"),
        "GIT_OBJECT_DIRECTORY": os.path.join(common, "objects"),
    }
    shallow = os.path.join(common, "shallow")
    if os.path.exists(shallow):
        variables["GIT_SHALLOW_FILE"] = shallow
    facts = {key: values.get(key.removeprefix("core.").lower(), "") for key in _FACTS}
    return {key: value for key, value in facts.items() if value in {"true", "false"}}, variables


@contextlib.contextmanager
def head_at(commit: str) -> Iterator[dict[str, str]]:
    """Yield variables (`env` of `Git.run`) with which `git.unfiltered` has this commit as `HEAD`, and no index."""
    import tempfile  # 6 ms

    with tempfile.TemporaryDirectory(prefix="gitmem-") as folder:
        write_text(os.path.join(folder, "HEAD"), f"{commit}\n")
        yield {"GIT_DIR": folder}


def _values(config: str) -> dict[str, str]:
    """Return the last value of each key of a configuration, whatever its section, in lower case."""
    lines = (line.partition("=") for line in config.lower().splitlines())  # compiling patterns takes 0.4 ms
    return {key.strip(): value.strip().strip('"') for key, _, value in lines}
