"""Several machines and a remote between them: what each saved is on all of them, whatever happens on the way."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gitmem.errors import BusyError, ExitCode, GitmemError, RefusedError, StoreFormatError, UnreachableError
from gitmem.git.remote import Connection, PushRacedError
from gitmem.model.document import Document
from gitmem.model.kinds import MemoryType
from gitmem.model.log import entry_ids
from gitmem.memory.save import Save, save
from gitmem.store.context import Context
from gitmem.store.incoming import Accept
from gitmem.store.remotes import add_remote, find_remote
from gitmem.store.store import Store
from gitmem.store.sync import Chance, Options, Step, sync

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gitmem.store.sync import Synced
    from tests.conftest import RunsGit

QUICK = Chance(random=lambda: 0.0, sleep=lambda _: None)


class Machine:
    """One clone of a memory, as one machine has it."""

    def __init__(self, root: Path, name: str, environ: dict[str, str], home: Path, bare_git: RunsGit) -> None:
        self.root, self.name = root, name
        self.now = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
        self.context = Context(environ, str(home), name, self.clock)
        self._git = bare_git
        self._number = 0
        self.ids: set[str] = set()
        self.store = Store(str(root), self.context)

    def clock(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def save(self, text: str, type: MemoryType = MemoryType.NOTE) -> str:  # noqa: A002
        """Save a text; ids of two machines never meet."""
        from gitmem.model.ids import make_id

        self._number += 1
        moment = self.clock()
        identifier = make_id(
            int(moment.timestamp() * 1000), hashlib.sha256(f"{self.name} {self._number}".encode()).digest()
        )
        save(self.store, Save(identifier, moment, text, type))
        self.ids.add(identifier)
        return identifier

    def sync(self, *accept: Accept, **options: object) -> Synced:
        connection = Connection(self.store.repository.layout, self.context.environ, own=self.store.own_repository)
        given = {"chance": QUICK, "accept": accept, **options}
        return sync(self.store, find_remote(self.store, None), connection, Options(**given))

    def git(self, *args: str, stdin: bytes | None = None) -> str:
        return self._git(self.root, *args, stdin=stdin)

    @property
    def tip(self) -> str:
        return self.git("rev-parse", "HEAD")

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def entries(self) -> list[str]:
        """Return the ids of all entries in the daily logs, in order of the files."""
        found = []
        for path in sorted(self.root.glob("daily/**/*.md")):
            text = path.read_text(encoding="utf-8")
            found += [line.rsplit("^", 1)[1] for line in text.splitlines() if " ^" in line]
        return found

    def sound(self) -> None:
        """Work tree, index and tip are the same, and git finds nothing wrong."""
        assert self.git("status", "--porcelain") == ""
        assert self.git("diff-index", "--cached", "HEAD") == ""
        assert self.git("fsck", "--strict", "--no-dangling", "--no-progress") == ""
        assert self.store.marked() == self.tip
        assert not any("<<<<<<<" in path.read_text(errors="replace") for path in self.root.glob("**/*.md"))


@pytest.fixture
def remote(tmp_path: Path, bare_git: RunsGit) -> Path:
    """An empty bare repository."""
    path = tmp_path / "remote of all.git"
    bare_git(tmp_path, "init", "--bare", "--quiet", str(path))
    return path


@pytest.fixture
def machine(
    _template: Path, tmp_path: Path, home: Path, environ: dict[str, str], bare_git: RunsGit, remote: Path
) -> Callable[[str], Machine]:
    """Give a function that makes one more machine with a new store that has the remote."""

    def make(name: str, *, url: str | None = None) -> Machine:
        root = tmp_path / name / ".gitmem"
        shutil.copytree(_template, root)
        made = Machine(root, name, environ, home, bare_git)
        add_remote(made.store, "origin", url or str(remote))
        return made

    return make


@pytest.fixture
def pair(machine: Callable[[str], Machine]) -> tuple[Machine, Machine]:
    """Two machines that hold the same memory."""
    first, second = machine("laptop"), machine("desktop")
    first.sync()
    second.sync()
    return first, second


def converge(*machines: Machine) -> str:
    """Sync until all are at one commit; two rounds are enough."""
    for _ in range(2):
        for each in machines:
            each.sync()
    (tip,) = {each.tip for each in machines}
    saved = set().union(*(each.ids for each in machines))
    for each in machines:
        each.sound()
        entries = each.entries()
        assert sorted(entries) == sorted(saved), "each entry is there once"
    return tip


def test_the_first_sync_with_an_empty_remote(machine: Callable[[str], Machine], remote: Path, bare_git: RunsGit):
    first = machine("laptop")
    first.save("one")
    done = first.sync()
    assert (done.came, done.review) == (0, ())
    assert done.went > 0
    assert bare_git(remote, "rev-parse", "refs/heads/gitmem") == first.tip == done.commit
    assert bare_git(remote, "for-each-ref", "--format=%(refname)") == "refs/heads/gitmem"
    assert first.sync() == type(done)("origin", done.commit, 0, 0, (), 1, ())


def test_what_two_machines_saved_is_on_both(pair: tuple[Machine, Machine]):
    first, second = pair
    one = first.save("of the laptop", MemoryType.DECISION)
    first.sync()
    two = second.save("of the desktop")
    done = second.sync()
    assert (done.came, done.went) == (1, 1)
    first.sync()
    assert first.tip == second.tip
    assert set(first.entries()) == {one, two}
    assert {one, two} <= entry_ids(first.read("memory.md"))
    converge(*pair)


def test_both_machines_make_the_same_merge_commit(pair: tuple[Machine, Machine], tmp_path: Path, bare_git: RunsGit):
    first, second = pair
    first.save("of the laptop")
    second.save("of the desktop")
    copies = []
    for each, other in (pair, pair[::-1]):  # each merges the other's memory, without a word between them
        bare = tmp_path / f"{each.name}.git"
        bare_git(tmp_path, "clone", "--quiet", "--bare", str(other.root), str(bare))
        each.git("remote", "set-url", "origin", str(bare))
        copies.append((each, bare))
    tips = {each.sync().commit for each, _ in copies}
    assert len(tips) == 1
    assert first.tip == second.tip
    assert first.git("log", "-1", "--format=%an <%ae> %cn %s") == (
        f"gitmem <gitmem@localhost> gitmem {first.git('log', '-1', '--format=%s')}"
    )
    assert "Gitmem-Op: merge" in first.git("log", "-1", "--format=%b")
