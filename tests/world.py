"""One world for all tests: a project with its memory, clones of it on other machines, and the ways into it.

A test changes memory by hand (`write`, `git`, `commit_file`), in one transaction (`commit`), as a save (`save`), or by
a command in this process (`run`); `tests/agent.py` has the sessions of agents. `sound` is what must be true after each.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Self

import pytest

from gitmem.document.entry import MemoryType
from gitmem.document.event import Save
from gitmem.document.ids import make_id
from gitmem.document.message import Message
from gitmem.git.address import Remote
from gitmem.git.remote import Connection
from gitmem.platform.machine import Context
from gitmem.record.save import Saved, save
from gitmem.store.remotes import add_remote, find_remote
from gitmem.store.store import Store
from gitmem.store.transact import TransactResult, transact
from gitmem.store.transaction import Transaction
from gitmem.sync.fetch import Chance, Options, Synced
from gitmem.sync.guard import Accept
from gitmem.sync.proposals import Proposal, propose
from gitmem.sync.rounds import sync
from gitmem.sync.transcripts import sync_transcripts
from tests.command_line import Ran, Runner
from tests.conftest import RunsGit
from tests.copies import FolderCopies, StoreCopies, run_git
from tests.own_settings import own_file, own_settings

SEOUL = timezone(timedelta(hours=9))
AFTERNOON = datetime(2026, 11, 21, 14, 3, 22, tzinfo=SEOUL)
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LISTED = "purge:\n  machines: [laptop, desktop, phone, notebook, tablet, server, third]\n"  # of the user's own
QUICK = Chance(random=lambda: 0.0, sleep=lambda _: None)
LONG = "a sentence that is long enough to fill a file soon, and to be followed by git"
_SMALL = "rotation:\n  threshold_tokens: 400\n  carryover_tokens: 100\n"


class Clock:
    """A clock that stands until it is moved, or moves on by a step at each look."""

    def __init__(self, now: datetime = AFTERNOON, step: timedelta = timedelta(0)) -> None:
        self.now, self.step = now, step

    def __call__(self) -> datetime:
        self.now += self.step
        return self.now


class Crash(BaseException):
    """The end of a process, as far as one process can tell of its own."""


class World:
    """A store, the ways users and gitmem change it, and what it holds."""

    def __init__(self, root: Path | str, context: Context) -> None:
        self.root, self.context = Path(root), context
        self._number = 0
        self.reopen()

    @property
    def project(self) -> Path:
        return self.root.parent

    @property
    def clock(self) -> Any:
        return self.context.clock

    def reopen(self) -> Store:
        self.store = Store(str(self.root), self.context)
        return self.store

    def accept(self) -> Self:
        """Say yes to the store, wherever the test copied it from."""
        self.store.acceptance.accept(())
        return self

    def by(self, name: str, machine: str = "box") -> World:
        """Open the store as another user does, who has a home and a name of git's of their own."""
        home = self.project.parent / name
        home.mkdir(exist_ok=True)
        address = f"{name.lower().replace(' ', '.')}@example.org"
        (home / ".gitconfig").write_text(f"[user]\n\tname = {name}\n\temail = {address}\n", encoding="utf-8")
        environ = {**self.context.environ, "HOME": str(home), "USERPROFILE": str(home)}
        user = World(self.root, Context(environ, str(home), machine, self.context.clock)).accept()
        user._number = zlib.crc32(name.encode())  # ids of two users never meet
        return user

    def git(self, *args: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> str:
        """Run what a user does with git in the store."""
        return run_git(self.root, *args, stdin=stdin, env=env)

    def write(self, path: str, content: str | bytes) -> Path:
        """Write what a user does with an editor."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def commit_file(self, path: str, content: str | bytes, message="Words", date="", author=None) -> None:
        """Write a file and commit it with plain git, perhaps in the name of somebody else, as variables of git's."""
        self.write(path, content)
        self.git("add", "-A")
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date} if date else {}
        self.git("commit", "-qm", message, env={**dates, **(author or {})})

    def configure(self, text: str) -> None:
        """Have the user's own settings say this, and open the store again."""
        own_settings(self.context, text)
        self.reopen()

    def event(self, text: str, kind: MemoryType = MemoryType.NOTE, *, at: datetime | None = None, **more: Any) -> Save:
        """Return what a door would save, with an id of its own."""
        self._number += 1
        at = at or self.context.clock()
        return Save(make_id(int(at.timestamp() * 1000), self._unique()), at, text, kind, **more)

    def _unique(self) -> bytes:
        return self._number.to_bytes(7, "big")

    def save(self, text: str, kind: MemoryType = MemoryType.NOTE, **more: Any) -> Saved:
        return save(self.store, self.event(text, kind, **more))

    def save_on(self, day: str, text: str, kind: MemoryType = MemoryType.NOTE) -> Save:
        """Save something on that day, when that day it was; the id is that of its entry."""
        today, self.clock.now = self.clock.now, datetime.fromisoformat(f"{day}T10:00:00+09:00")
        event = self.event(text, kind)
        saved = save(self.store, event)
        self.clock.now = today
        return event._replace(id=saved.id)

    def commit(self, changes: Mapping[str, bytes | None], *, scan=False, subject="put") -> TransactResult[bool]:
        """Have gitmem commit files in one transaction."""

        def plan(transaction: Transaction) -> bool:
            return transaction.commit(Message(subject, (("Gitmem-Op", "save"),)), changes)

        return transact(self.store, plan, purpose="test", scan=scan)

    def append(self, path: str, line: bytes, *, scan=False) -> TransactResult[bool]:
        """Have gitmem add a line to a file, whatever else is in it."""

        def plan(transaction: Transaction) -> bool:
            content = (transaction.read(path) or b"") + line
            return transaction.commit(Message("append", (("Gitmem-Op", "save"),)), {path: content})

        return transact(self.store, plan, purpose="test", scan=scan)

    def settle(self) -> TransactResult[None]:
        """Do what any command does that looks at the whole store."""
        return transact(self.store, lambda _: None, purpose="test", scan=True)

    def ran(self, *argv: str, cwd: Path | None = None, environ: Mapping[str, str] | None = None, **options: Any) -> Ran:
        """Run a command in the project, in this process."""
        return Runner(cwd or self.project, {**self.context.environ, **(environ or {})}).ran(*argv, **options)

    def run(self, *argv: str, **options: Any) -> Ran:
        """Run a command that succeeds."""
        ran = self.ran(*argv, **options)
        assert ran.code == 0, ran.err
        return ran

    def remember(self, text: str, *options: str) -> dict[str, Any]:
        """Save by the command; return what it says."""
        saved: dict[str, Any] = self.run("save", text, "--json", *options).json
        return saved

    def rotate(self) -> str:
        """Save until memory.md becomes an archive; return its path."""
        own_file(self.context.environ, self.context.home).write_text(_SMALL)
        for number in range(40):
            if archive := self.remember(f"filler {number} {LONG}", "--session", f"filler-{number}")["archive"]:
                return str(archive)
        raise AssertionError

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def text(self, path: str) -> str:
        """Return a file as the store reads it, "" where there is none."""
        return (self.store.read(path) or b"").decode()

    def files(self) -> dict[str, bytes]:
        found = {}
        for path in sorted(self.root.rglob("*")):
            name = path.relative_to(self.root).as_posix()
            if name.split("/")[0] not in {".git", ".tmp"} and path.is_file():
                found[name] = path.read_bytes()
        return found

    def tree(self, revision: str = "HEAD") -> dict[str, bytes]:
        repository = self.store.repository
        entries = repository.files(self.tip if revision == "HEAD" else repository.resolve(revision))
        found = repository.blobs([entry.oid for entry in entries])
        return {entry.path: data for entry, data in zip(entries, found, strict=True)}

    def subjects(self, span: str = "HEAD") -> list[str]:
        """Return the subjects of commits, the newest first."""
        return self.git("log", "--format=%s", span).splitlines()

    @property
    def tip(self) -> str:
        return self.git("rev-parse", "HEAD")

    def status(self) -> str:
        return self.git("status", "--porcelain")

    def entries(self) -> list[str]:
        """Return the ids of all entries in the daily logs, in order of the files."""
        texts = (path.read_text(encoding="utf-8") for path in sorted(self.root.glob("daily/**/*.md")))
        return [line.rsplit("^", 1)[1] for text in texts for line in text.splitlines() if " ^" in line]

    def sound(self, *, killed: bool = False) -> None:
        """Work tree, index and tip are the same, the repository is whole, and nothing is left over.

        What git was writing when it was `killed` itself is left to maintenance.
        """
        assert self.status() == ""
        assert self.files() == self.tree()
        self.whole(killed=killed)

    def whole(self, *, killed: bool = False) -> None:
        assert self.git("fsck", "--strict", "--no-dangling", "--no-progress") == ""
        assert self.store.recorded_checkout() == self.tip
        layout = self.store.repository.layout
        names = [path.name for folder in (layout.git_dir, layout.common_dir) for path in Path(folder).rglob("*")]
        litter = [name for name in names if name.endswith(".lock") or name.startswith(("fast_import_", "tmp_"))]
        assert [name for name in litter if not (killed and name.startswith("tmp_"))] == []
        assert not (self.root / ".tmp").exists() or os.listdir(self.root / ".tmp") == []


def reached(store: Store) -> tuple[Store, Remote, Connection]:
    """Return a store with its remote, and how it gets there."""
    own = store.has_separate_repository
    return store, find_remote(store, None), Connection(store.repository.layout, store.context.environ, own=own)


def sync_store(store: Store, *accept: Accept, **options: object) -> Synced:
    """Sync a store with its remote, without pauses."""
    return sync(*reached(store), Options(**{"chance": QUICK, "accept": accept, **options}))


class Machine(World):
    """One clone of a memory, as one machine has it, which time moves on a second at each look; `ids` are its saves."""

    def __init__(self, root: Path, name: str, context: Context) -> None:
        self.name, self.ids = name, set[str]()
        if not own_file(context.environ, context.home).exists():
            own_settings(context, LISTED)
        super().__init__(root, context._replace(machine=name, clock=Clock(NOON, timedelta(seconds=1))))

    @property
    def now(self) -> datetime:
        return self.clock.now

    @now.setter
    def now(self, now: datetime) -> None:
        self.clock.now = now

    def like(self, other: Machine) -> Self:
        """Go on where another one stood, of whose store this one's is a copy."""
        self.clock.now, self._number, self.ids = other.clock.now, other._number, set(other.ids)
        return self

    def _unique(self) -> bytes:
        return hashlib.sha256(f"{self.name} {self._number}".encode()).digest()  # ids of two machines never meet

    def save(self, text: str, kind: MemoryType = MemoryType.NOTE, **more: Any) -> Saved:
        saved = super().save(text, kind, **more)
        self.ids.add(saved.id)
        return saved

    def sync(self, *accept: Accept, **options: object) -> Synced:
        return sync_store(self.store, *accept, **options)

    def sync_transcripts(self, *accept: Accept) -> None:
        sync_transcripts(*reached(self.store), Options(accept, chance=QUICK))

    def propose(self, *ids: str, name: str = "") -> Proposal:
        return propose(*reached(self.store), Options(), ids=ids, name=name)


def make_pair(machine: Callable[[str], Machine]) -> tuple[Machine, Machine]:
    """Make two machines that hold the same memory."""
    first, second = machine("laptop"), machine("desktop")
    first.sync()
    second.sync()
    return first, second


def _new_machine(folder: Path, name: str, context: Context, new_store: StoreCopies, url: str) -> Machine:
    root = folder / name / ".gitmem"
    root.parent.mkdir()
    new_store(root.parent, context, NOON)  # of one machine, so that all begin with the same commits
    made = Machine(root, name, context)
    add_remote(made.store, "origin", url)
    return made


def make_machines(folder: Path, *names: str) -> list[Machine]:
    """Make machines with a remote in a folder of a property's own, whose examples share no fixture."""
    environ = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": "", "APPDATA": ""}
    run_git(folder, "init", "-q", "--bare", "remote.git")
    copies, context = StoreCopies(folder / "stores"), Context(environ, str(folder), "box", Clock(NOON))
    (folder / "stores").mkdir()
    return [_new_machine(folder, name, context, copies, str(folder / "remote.git")) for name in names]


def converge(*machines: Machine) -> str:
    """Sync until all are at one commit; two rounds are enough."""
    for _ in range(2):
        for each in machines:
            each.sync()
    (tip,) = {each.tip for each in machines}
    saved = set().union(*(each.ids for each in machines))
    for each in machines:
        each.sound()
        assert sorted(each.entries()) == sorted(saved), "each entry is there once"
        assert not any("<<<<<<<" in path.read_text(errors="replace") for path in each.root.glob("**/*.md"))
    return tip


@pytest.fixture
def context(home: Path, environ: dict[str, str]) -> Context:
    return Context(environ, str(home), "box", Clock(NOON))


@pytest.fixture
def world(new_store: StoreCopies, tmp_path: Path, home: Path, environ: dict[str, str]) -> World:
    """A store with the files it begins with, of a project that is no git repository, on an afternoon in Seoul."""
    project = tmp_path / "프로젝트 with a blank"
    project.mkdir()
    clock = Clock()
    context = Context(environ, str(home), "desk-machine", clock)
    new_store(project, context, clock.now)
    return World(project / ".gitmem", context)


@pytest.fixture
def autumn(world: World) -> World:
    """Give a store with days of three months."""
    world.decision = world.save_on("2026-09-28", "uv를 쓴다, pnpm이 아니라", MemoryType.DECISION)
    world.note = world.save_on("2026-09-29", "The loader reads its settings in layers.")
    world.issue = world.save_on("2026-10-20", "긴 경로에서 저장이 실패합니다", MemoryType.ISSUE)
    world.save_on("2026-11-02", "The parser of the loader is faster by half since it caches tokens.")
    world.save_on("2026-11-20", "Yesterday's work on the store.")
    return world


@pytest.fixture
def opened(context: Context) -> Callable[[Path | str], World]:
    """Open any store as a world."""
    return lambda root: World(root, context).accept()


# Where a process can end once the branch has moved; each is what docs/architecture.md, "Order of writes", lets happen.
CRASHES = {
    "no file is written": "gitmem.git.worktree.WorkTree.publish",
    "one file is written": "gitmem.git.worktree.WorkTree.publish",
    "the files are written, the index is not": "gitmem.git.index.IndexUpdate.finish",
    "all is written, the mark is not": "gitmem.store.store.Store.record_checkout",
}


@pytest.fixture
def crashing(monkeypatch: pytest.MonkeyPatch):
    """Give a context manager in which a transaction ends at one of the points of `CRASHES`."""

    @contextlib.contextmanager
    def crash(point: str) -> Iterator[None]:
        where = CRASHES[point]
        owner, _, name = where.rpartition(".")
        module, _, class_name = owner.rpartition(".")
        target = getattr(__import__(module, fromlist=[class_name]), class_name)
        real = getattr(target, name)

        def end(self, first, *more):
            if point == "one file is written":
                real(self, list(first)[:1])
            raise Crash

        with monkeypatch.context() as patch:
            patch.setattr(target, name, end)
            with pytest.raises(Crash):
                yield

    return crash


@pytest.fixture
def remote(tmp_path: Path, bare_git: RunsGit) -> Path:
    """An empty bare repository."""
    path = tmp_path / "remote of all.git"
    bare_git(tmp_path, "init", "--bare", "--quiet", str(path))
    return path


@pytest.fixture
def machine(new_store: StoreCopies, context: Context, tmp_path: Path, remote: Path) -> Callable[[str], Machine]:
    """Give a function that makes one more machine with a new store that has the remote."""

    return lambda name, url="": _new_machine(tmp_path, name, context, new_store, url or str(remote))


@pytest.fixture(scope="session")
def made() -> dict[str, tuple[Machine, ...]]:
    """Give the machines that `made_once` has made, by what made them, as they stood then."""
    return {}


@pytest.fixture
def made_once(
    made: dict[str, tuple[Machine, ...]],
    folder_copies: FolderCopies,
    context: Context,
    remote: Path,
    machine: Callable[[str], Machine],
) -> Callable[..., tuple[Machine, ...]]:
    """Give a function that gives machines as another function makes them of `machine`, which it does once."""

    def copy(each: Machine) -> Machine:
        return Machine(remote.parent / each.name / ".gitmem", each.name, context).like(each)

    def give(make: Callable[..., tuple[Machine, ...]], *names: str) -> tuple[Machine, ...]:
        what = f"{make.__module__}.{make.__name__}"

        def fill() -> None:
            made[what] = tuple(copy(each) for each in make(machine))

        folder_copies(what, remote.parent, (remote.name, *names), fill)
        return tuple(copy(each) for each in made[what])

    return give


@pytest.fixture
def pair(made_once: Callable[..., tuple[Machine, Machine]]) -> tuple[Machine, Machine]:
    """Two machines that hold the same memory."""
    return made_once(make_pair, "laptop", "desktop")


def forget_private(folder: Path) -> None:
    """Delete the private folder but the store's token, without which the user is asked."""
    for path in folder.iterdir():
        if path.name != "machine":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def listing(folder: Path) -> dict[str, tuple[int, ...]]:
    """List a folder with everything about its files that a write would change."""
    listed = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        status = path.lstat()
        listed[str(path)] = (status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return listed
