"""Fixtures of the fault tests: a project with a store, the real command, and a store's invariants."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest

from gitmem.document.entry import find_entries
from gitmem.platform.machine import Context, now
from tests.command_line import Runner
from tests.copies import accept
from tests.own_settings import own_file

_ROOT = Path(__file__).resolve().parents[2]
_ROOT_COMMIT = "2095db24769db9317474e619655ebe957eb19dc8"  # every store's first
_SECONDS = 120.0
_PASS_OVER_PERMISSIONS = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
_DROP = 24  # PR_CAPBSET_DROP, prctl(2)
_GIT = ("git", "-c", "safe.directory=*")  # whoever owns the store
_LITTER = re.compile(r"\.lock$|\.keep$|^(fast_import_crash_|index\.gitmem|checkout\.)")


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> Any:
        return json.loads(self.out)


def run_gitmem(
    cwd: Path,
    *args: str,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    bound: bool = False,
    seconds: float = _SECONDS,
    limits: Mapping[int, int] | None = None,
) -> Done:
    """Run the real command in a process of its own; with `bound`, permissions bind it even if it is root's."""

    def limit() -> None:
        for kind, value in (limits or {}).items():
            import resource

            resource.setrlimit(kind, (value, value))
        if bound and sys.platform == "linux":
            for capability in _PASS_OVER_PERMISSIONS:
                ctypes.CDLL(None).prctl(_DROP, capability, 0, 0, 0)

    run = subprocess.run(
        gitmem_command(*args),
        cwd=cwd,
        env=environment(env),
        input=stdin,
        capture_output=True,
        timeout=seconds,
        check=False,
        preexec_fn=limit if limits or bound else None,
    )
    return Done(run.returncode, run.stdout.decode("utf-8"), run.stderr.decode("utf-8"))


def gitmem_command(*args: str) -> list[str]:
    return [sys.executable, "-m", "gitmem", *args]


# Variables of the running test: the process that forks victims saw those of the first test.
_HOMES = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "XDG_CONFIG_HOME")


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    # The tests run from a checkout, whether or not gitmem is installed.
    return {**os.environ, "PYTHONPATH": str(_ROOT), "PYTHONDONTWRITEBYTECODE": "1", **(more or {})}


class Project:
    """A project with a store, and the texts saved there.

    `kept` are the texts whose save said that it was done, by id; `perhaps` those whose save was killed or failed, which
    may be there once or not at all, `promised` those that wait in the spool, `forgotten` those that are lost and were
    said to be, `undone` the ids of what was taken back; `edits` are lines written by hand. `settings` ends every
    configuration of it.
    """

    def __init__(self, root: Path, *, store: Path | None = None) -> None:
        self.root = root
        self.store = store or root / ".gitmem"
        self.kept: dict[str, str] = {}
        self.perhaps: set[str] = set()
        self.promised: set[str] = set()
        self.forgotten: set[str] = set()
        self.undone: set[str] = set()
        self.edits: list[str] = []
        self.settings = ""
        self._number = 0

    @cached_property
    def common(self) -> Path:
        """The folder git keeps objects and branches in."""
        return Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir"))

    @property
    def private(self) -> Path:
        return self.common / "gitmem"

    def gitmem(self, *args: str, **more: Any) -> Done:
        return run_gitmem(self.root, *args, **more)

    def here(self, *args: str) -> Done:
        """Run a command in this process, which is a third of the work: one that is not what is under test."""
        return Done(*Runner(self.root, environment())(*args))

    def start(self, *args: str, cwd: Path | None = None, **files: Any) -> subprocess.Popen[bytes]:
        """Start Python with the code under test, in a process group of its own."""
        command = [sys.executable, *args]
        return subprocess.Popen(command, cwd=cwd or self.root, env=environment(), start_new_session=True, **files)

    def save(self, text: str, *args: str, **more: Any) -> str:
        """Save a text, which must succeed, and remember that it must be there; with `more` in a process of its own."""
        words = ("save", "--json", *args, "--", text)
        done = self.gitmem(*words, **more) if more else self.here(*words)
        assert done.code == 0, done
        self.saved(done.said["id"], text)
        return str(done.said["id"])

    def saved(self, identifier: str, text: str) -> None:
        assert identifier not in self.kept
        self.kept[identifier] = text

    def text(self, what: str = "said") -> str:
        """Return a unique text of several lines in two scripts."""
        self._number += 1
        return f"{what} number {self._number}\nzweite Zeile ☕ 기억 {self._number}\n\n  and an indented one"

    def edit(self, path: str = "memory.md", size: int = 0) -> None:
        """Append a line to a document, as a user would whose editor sees when the file was replaced under it."""
        self._number += 1
        line = f"A line by hand, number {self._number}." + " lorem" * (size // 6)
        replaced = True
        while replaced:
            with (self.store / path).open("ab", buffering=0) as file:
                file.write(f"{line}\n".encode())
                replaced = not os.path.samestat(os.fstat(file.fileno()), (self.store / path).stat())
        self.edits.append(line)

    def configure(self, text: str) -> None:
        """Write the user's own settings, and commit edits by hand."""
        own_file(os.environ, os.environ["HOME"]).write_text(text + self.settings)
        assert self.here("check").code == 0

    def git(self, *args: str, ok: Sequence[int] = (0,)) -> str:
        run = subprocess.run(
            [*_GIT, *args], cwd=self.store, env=os.environ, capture_output=True, timeout=_SECONDS, check=False
        )
        assert run.returncode in ok, f"git {args}: {run.returncode} {run.stderr.decode(errors='replace')}"
        return run.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")

    def files(self, commit: str = "HEAD") -> dict[str, str]:
        """Return the documents of a commit by their paths."""
        listed = [line.split("\t", 1) for line in self.git("ls-tree", "-r", "-z", commit).split("\0") if line]
        ids = "".join(f"{meta.split()[2]}\n" for meta, _ in listed)
        run = subprocess.run(
            [*_GIT, "cat-file", "--batch"],
            cwd=self.store,
            env=os.environ,
            input=ids.encode(),
            capture_output=True,
            check=True,
        )
        texts, position = {}, 0
        for _, path in listed:
            newline = run.stdout.index(b"\n", position)
            size = int(run.stdout[position:newline].split()[2])
            texts[path] = run.stdout[newline + 1 : newline + 1 + size].decode("utf-8", "surrogateescape")
            position = newline + size + 2
        return texts

    def ids(self) -> set[str]:
        """Return the ids of the entries in the daily logs."""
        return {
            entry.id for path, text in self.files().items() if path.startswith("daily/") for entry in find_all(text)
        }

    def archives(self) -> list[str]:
        return sorted(
            path for path in self.git("ls-tree", "-r", "--name-only", "HEAD").split("\n") if "archive/" in path
        )

    def waiting(self) -> list[str]:
        spool = self.private / "spool"
        return sorted(path.name for path in spool.glob("*.json")) if spool.is_dir() else []

    def aside(self) -> list[str]:
        folder = self.private / "spool" / "aside"
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []

    def check(self) -> None:
        """Assert the invariants of a store whose last command was not killed."""
        self.check_repository()
        self.check_in_step()
        self.check_tidy()
        self.check_entries()

    def check_repository(self) -> None:
        fsck = subprocess.run(
            [*_GIT, "fsck", "--strict", "--no-dangling", "--no-progress"],
            cwd=self.store, env=os.environ, capture_output=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
        assert fsck.returncode == 0, fsck.stderr.decode()
        assert (fsck.stdout, fsck.stderr) == (b"", b"")
        roots = self.git("rev-list", "--max-parents=0", "HEAD")
        assert (roots, self.git("rev-list", "--merges", "HEAD")) == (_ROOT_COMMIT, ""), "history is one line from there"

    def check_in_step(self) -> None:
        """Assert that work tree and index equal the tip: byte by byte, whatever git has cached of the files' times."""
        assert self.git("status", "--porcelain") == ""
        tree = self.git("ls-tree", "-r", "-z", "HEAD").replace(" blob ", " ").rstrip("\0").split("\0")
        index = self.git("ls-files", "-s", "-z").replace(" 0\t", "\t").rstrip("\0").split("\0")
        assert index == tree
        for line in tree:
            meta, path = line.split("\t", 1)
            content = (self.store / path).read_bytes()
            assert hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest() == meta.split()[1], path
        head = self.git("rev-parse", "HEAD")
        assert (self.private / "checkout").read_text() == head + "\n"

    def check_tidy(self) -> None:
        """Assert that nothing is left over: no unfinished file, no event, no lock of git's."""
        assert self.waiting() == []
        temporary = self.store / ".tmp"
        assert not temporary.exists() or list(temporary.iterdir()) == []
        assert self.litter() == []

    def litter(self) -> list[Path]:
        """Return the files that killed processes left, but for packs and objects, which maintenance removes."""
        return sorted(path for path in self._git_folders() if _LITTER.search(path.name))

    def age(self) -> int:
        """Age the files left behind; return the number of unfinished events."""
        long_ago = time.time() - 48 * 3600
        unfinished = [path for path in map((self.private / "spool").joinpath, self.waiting()) if not _is_whole(path)]
        for path in (*unfinished, *self.litter()):
            with contextlib.suppress(FileNotFoundError):  # a child of a killed saver may end its work meanwhile
                os.utime(path, (long_ago, long_ago))
        return len(unfinished)

    def _git_folders(self) -> Iterator[Path]:
        for folder in {self.common, Path(self.git("rev-parse", "--absolute-git-dir"))}:
            yield from folder.rglob("*")

    def check_entries(self, *, edits: bool = True, promises: bool = True) -> None:
        """Assert that each saved text is there once, whole, and nothing else; by flag also promises and edits."""
        files = self.files()
        days = [entry for path, text in files.items() if path.startswith("daily/") for entry in find_all(text)]
        ids = collections.Counter(entry.id for entry in days)
        assert set(ids.values()) <= {1}, "an entry stands in a daily log twice"
        there = {entry.id: entry.text for entry in days}
        missing = {name: text for name, text in self.kept.items() if there.get(name) != text}
        assert not missing, "what was saved is not there, or not as it was said"
        others = collections.Counter(text for name, text in there.items() if name not in self.kept)
        assert set(others) <= self.perhaps | self.promised, "nobody said that, or it was said to be lost"
        assert set(others.values()) <= {1}, "what was said once is there twice"
        assert not promises or self.promised <= set(others), "what was accepted is not there"
        rolling = [text for path, text in files.items() if path == "memory.md" or path.startswith("archive/")]
        seen: dict[str, str] = {}
        for text in rolling:
            entries = find_all(text)
            assert len({entry.id for entry in entries}) == len(entries), "an entry stands in a document twice"
            seen.update({entry.id: entry.text for entry in entries})
        assert seen == there, "memory.md with its archives, and the daily logs, hold the same"
        form = (
            "--format=%(trailers:key=Gitmem-Op,valueonly,separator=)%(trailers:key=Gitmem-Entry,valueonly,separator=)"
        )
        saves = [line.removeprefix("save") for line in self.git("log", form).split("\n") if line.startswith("save")]
        assert sorted(saves) == sorted([*there, *self.undone]), "one save is one commit"
        beside = [path for path in files if ".edited-" in path]
        assert not beside, "what could be merged was not"
        everything = "".join(files.values())
        assert not edits or [line for line in self.edits if line not in everything] == [], "an edit by hand is lost"


def _is_whole(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return True


def find_all(text: str) -> list[Any]:
    return [found.entry for found in find_entries(text)]


class Victims:
    """Runs commands that end themselves at a step (see victim.py); one process forks them all."""

    def __init__(self) -> None:
        self._number = 0
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("victim.py"))],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(
        self,
        cwd: Path,
        *args: str,
        at: int | None = None,
        how: str = "alone",
        since: str = "",
        after: float | None = None,
        env: Mapping[str, str] | None = None,
        wait: bool = True,
    ) -> Victim:
        """Run a command and kill it before its step number `at`, or `after` so many seconds.

        Steps are counted from the first whose name contains `since`: how many come before differs from run to run.

        With 0 for `at` it is only watched. `how` is "alone" or "group": with all it started, as a power cut does. With
        "gc" it is not killed: git's own clean-up runs in the store at that step.
        Returns when none of them runs any more, unless `wait` is off.
        """
        job = {
            "args": args,
            "cwd": str(cwd),
            "at": at,
            "how": how,
            "since": since,
            "after": after,
            "env": {**{name: os.environ[name] for name in _HOMES if name in os.environ}, **(env or {})},
            "wait": wait,
        }
        answer = self._ask(job)
        assert not answer.pop("left"), f"{args} left a process running"
        return Victim(**{**answer, "steps": tuple(answer["steps"])})

    def wait(self, victim: Victim) -> None:
        """Wait until every process a victim started has ended."""
        assert not self._ask({"group": victim.group})["left"]

    def _ask(self, job: Mapping[str, object]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._number += 1
        self._process.stdin.write(json.dumps({**job, "number": self._number}).encode() + b"\n")
        self._process.stdin.flush()
        while line := self._process.stdout.readline():
            answer = dict(json.loads(line))
            if answer.pop("number") == self._number:  # not what a test that ran out of time has asked for
                return answer
        raise AssertionError("victim.py ended")

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(_SECONDS)
        self._process.stdout.close()


@dataclass(frozen=True, slots=True)
class Victim:
    """The end of a command: its exit code, or minus the signal, and the steps it reached.

    `group` is the process group it ran in, `seconds` how long it took.
    """

    code: int
    out: str
    err: str
    steps: tuple[str, ...] = field(repr=False)
    seconds: float
    group: int

    @property
    def killed(self) -> bool:
        return self.code < 0

    @property
    def said(self) -> Any:
        return json.loads(self.out)


_PLANTED = """\
#!/bin/sh
number=1
while ! mkdir "$PLANTED/$number" 2>/dev/null; do number=$((number + 1)); done
[ "$number" = "$PLANTED_AT" ] || exec "$PLANTED_GIT" "$@"
case $PLANTED_HOW in
  works*) "$PLANTED_GIT" "$@" ;;
esac
case $PLANTED_HOW in
  *fails) echo 'fatal: planted' >&2; exit 128 ;;
  vanishes) kill -9 $$ ;;
esac
exec "$PLANTED_GIT" "$@"
"""


class PlantedGit:
    """A git that fails at its k-th start.

    It "fails", "vanishes", or "works and fails".
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._round = 0
        (folder / "bin").mkdir(parents=True)
        script = folder / "bin" / "git"
        script.write_text(_PLANTED)
        script.chmod(0o755)

    def environ(self, call: int, how: str) -> dict[str, str]:
        """Return the variables to run a command with, which begin to count anew."""
        self._round += 1
        self._calls.mkdir()
        return {
            "PATH": f"{self._folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PLANTED": str(self._calls),
            "PLANTED_AT": str(call),
            "PLANTED_HOW": how,
            "PLANTED_GIT": shutil.which("git") or "git",
        }

    @property
    def _calls(self) -> Path:
        return self._folder / f"calls-{self._round}"

    @property
    def calls(self) -> int:
        """Return how often git was started."""
        return len(list(self._calls.iterdir()))


@pytest.fixture
def planted_git(tmp_path: Path) -> PlantedGit:
    return PlantedGit(tmp_path / "planted")


@pytest.fixture(scope="session")
def victims(_isolated: Path) -> Iterator[Victims]:
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    running = Victims()
    yield running
    running.close()


@pytest.fixture
def project(projects: Callable[..., Project]) -> Project:
    """Give a project that is a git repository, with a store in it."""
    return projects()


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Give a function that returns a project to copy, with a store or without one."""
    folder = tmp_path_factory.mktemp("projects")

    @cache
    def template(*, store: bool) -> Path:
        return _new_project(folder / f"project {store}", *(() if store else (None,)))

    return template


@pytest.fixture
def projects(tmp_path: Path, home: Path, templates: Callable[..., Path]) -> Callable[..., Project]:
    """Give a function that makes projects: `projects(name, *init_options)`, None for a project without a store.

    What `init` makes without options names no folder, so that copies will do. Settings are in `home`.
    """

    def make(name: str | Path = "project", *options: str | None) -> Project:
        root = tmp_path / name
        if options in ((), (None,)):
            shutil.copytree(templates(store=not options), root, symlinks=True)
            if not options:
                accept(root, Context(os.environ, str(home), "box", now))
        else:
            _new_project(root, *options)
        return Project(root)

    return make


def _new_project(root: Path, *options: str | None) -> Path:
    root.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", "-b", "main", str(root)], env=os.environ, check=True)
    ada = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *ada, "commit", "-q", "--allow-empty", "-m", "Begin"], cwd=root, env=os.environ, check=True)
    if options != (None,):
        done = run_gitmem(root, "init", *filter(None, options))
        assert done.code == 0, done
    return root
