"""A store to work on: made once, copied for each test; and what must be true of it after each command."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.document.message import Message
from gitmem.platform.machine import Context
from gitmem.store.remotes import add_remote
from gitmem.store.store import Store
from gitmem.store.transact import TransactResult, transact
from gitmem.store.transaction import Transaction
from tests.conftest import RunsGit
from tests.copies import FolderCopies, StoreCopies
from tests.store.machines import NOON, Machine, make_pair

BEGAN = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class Crash(BaseException):
    """The end of a process, as far as one process can tell of its own."""


class Clock:
    """Time that moves on a minute at each look."""

    def __init__(self) -> None:
        self.now = BEGAN

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


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


def make_context(environ: Mapping[str, str], home: Path) -> Context:
    return Context(environ, str(home), "box", Clock())


class Box:
    """A store, the ways people and gitmem change it, and what it holds."""

    def __init__(self, root: Path, context: Context, bare_git: RunsGit) -> None:
        self.root = root
        self.context = context
        self._git = bare_git
        self.store = self.reopen()
        self.store.acceptance.give(())  # wherever the test copied it from

    def reopen(self) -> Store:
        self.store = Store(str(self.root), self.context)
        return self.store

    def git(self, *args: str, stdin: bytes | None = None) -> str:
        """What a user does with git in the store."""
        return self._git(self.root, *args, stdin=stdin)

    def put(
        self, changes: Mapping[str, bytes | None], *, scan: bool = False, subject: str = "put"
    ) -> TransactResult[bool]:
        """Have gitmem commit files in one transaction."""

        def plan(transaction: Transaction) -> bool:
            return transaction.commit(Message(subject, (("Gitmem-Op", "save"),)), changes)

        return transact(self.store, plan, purpose="test", scan=scan)

    def append(self, path: str, line: bytes, *, scan: bool = False) -> TransactResult[bool]:
        """Have gitmem add a line to a file, whatever else is in it."""

        def plan(transaction: Transaction) -> bool:
            return transaction.commit(
                Message("append", (("Gitmem-Op", "save"),)), {path: (transaction.read(path) or b"") + line}
            )

        return transact(self.store, plan, purpose="test", scan=scan)

    def settle(self) -> TransactResult[None]:
        """What any command does that looks at the whole store."""
        return transact(self.store, lambda _: None, purpose="test", scan=True)

    def write(self, path: str, content: bytes) -> None:
        """What a user does with an editor."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(content)

    def files(self) -> dict[str, bytes]:
        found = {}
        for path in sorted(self.root.rglob("*")):
            name = path.relative_to(self.root).as_posix()
            if name.split("/")[0] not in {".git", ".tmp"} and path.is_file():
                found[name] = path.read_bytes()
        return found

    def tree(self, revision: str = "HEAD") -> dict[str, bytes]:
        repository = self.store.repository
        entries = repository.files(self.tip() if revision == "HEAD" else repository.resolve(revision))
        found = repository.blobs([entry.oid for entry in entries])
        return {entry.path: data for entry, data in zip(entries, found, strict=True)}

    def subjects(self, span: str = "HEAD") -> list[str]:
        """The subjects of commits, the newest first."""
        return self.git("log", "--format=%s", span).splitlines()

    def tip(self) -> str:
        return self.git("rev-parse", "HEAD")

    def status(self) -> str:
        return self.git("status", "--porcelain")

    def sound(self, *, killed: bool = False) -> None:
        """Work tree, index and tip are the same, the repository is whole, and nothing is left over.

        What git was writing when it was `killed` itself is left to maintenance.
        """
        assert self.status() == ""
        assert self.files() == self.tree()
        self.whole(killed=killed)

    def whole(self, *, killed: bool = False) -> None:
        assert self.git("fsck", "--strict", "--no-dangling") == ""
        assert self.store.marked() == self.tip()
        layout = self.store.repository.layout
        names = [path.name for folder in (layout.git_dir, layout.common_dir) for path in Path(folder).rglob("*")]
        litter = [name for name in names if name.endswith(".lock") or name.startswith(("fast_import_", "tmp_"))]
        assert [name for name in litter if not (killed and name.startswith("tmp_"))] == []
        assert not (self.root / ".tmp").exists() or os.listdir(self.root / ".tmp") == []


@pytest.fixture
def context(home: Path, environ: dict[str, str]) -> Context:
    return make_context(environ, home)


@pytest.fixture
def box(new_store: StoreCopies, tmp_path: Path, context: Context, bare_git: RunsGit) -> Box:
    """A store with the files it begins with, of a project that is no git repository."""
    project = tmp_path / "project"
    project.mkdir()
    new_store(project, context, BEGAN)
    return Box(project / ".gitmem", context, bare_git)


@pytest.fixture
def boxes(context: Context, bare_git: RunsGit):
    """Open any store as a box."""
    return lambda root: Box(Path(root), context, bare_git)


# Where a process can end once the branch has moved; each is what docs/architecture.md, "Order of writes", lets happen.
CRASHES = {
    "no file is written": "gitmem.git.worktree.WorkTree.publish",
    "one file is written": "gitmem.git.worktree.WorkTree.publish",
    "the files are written, the index is not": "gitmem.git.index.IndexUpdate.finish",
    "all is written, the mark is not": "gitmem.store.store.Store.mark",
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
def machine(
    new_store: StoreCopies, context: Context, tmp_path: Path, bare_git: RunsGit, remote: Path
) -> Callable[[str], Machine]:
    """Give a function that makes one more machine with a new store that has the remote."""

    def make(name: str, *, url: str | None = None) -> Machine:
        root = tmp_path / name / ".gitmem"
        root.parent.mkdir()
        new_store(root.parent, context, NOON)  # of one machine, so that all begin with the same commits
        made = Machine(root, name, context, bare_git)
        add_remote(made.store, "origin", url or str(remote))
        return made

    return make


@pytest.fixture(scope="session")
def made() -> dict[str, tuple[Machine, ...]]:
    """Give the machines that `made_once` has made, by what made them, as they stood then."""
    return {}


@pytest.fixture
def made_once(  # noqa: PLR0917
    made: dict[str, tuple[Machine, ...]],
    folder_copies: FolderCopies,
    context: Context,
    bare_git: RunsGit,
    remote: Path,
    machine: Callable[[str], Machine],
) -> Callable[[Callable[..., tuple[Machine, ...]]], tuple[Machine, ...]]:
    """Give a function that gives machines as another function makes them of `machine`, which it does once."""

    def copy(each: Machine) -> Machine:
        return Machine(remote.parent / each.name / ".gitmem", each.name, context, bare_git).like(each)

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
