"""Machines that share a memory by a remote, for tests of sync."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from gitmem.document.entry import MemoryType
from gitmem.document.event import Save
from gitmem.git.address import Remote
from gitmem.git.remote import Connection
from gitmem.platform.machine import Context
from gitmem.record.save import save
from gitmem.store.remotes import find_remote
from gitmem.store.store import Store
from gitmem.sync.fetch import Synced
from gitmem.sync.guard import Accept
from gitmem.sync.proposals import Proposal, propose
from gitmem.sync.retries import Chance, Options
from gitmem.sync.rounds import sync
from gitmem.sync.sync import sync_transcripts
from tests.conftest import RunsGit
from tests.own_settings import own_file, own_settings

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LISTED = "purge:\n  machines: [laptop, desktop, phone, notebook, tablet, server, third]\n"  # of the user's own
QUICK = Chance(random=lambda: 0.0, sleep=lambda _: None)


def reached(store: Store) -> tuple[Store, Remote, Connection]:
    """Return a store with its remote, and how it gets there."""
    return (
        store,
        find_remote(store, None),
        Connection(store.repository.layout, store.context.environ, own=store.has_separate_repository),
    )


def sync_store(store: Store, *accept: Accept, **options: object) -> Synced:
    """Sync a store with its remote, without pauses."""
    return sync(*reached(store), Options(**{"chance": QUICK, "accept": accept, **options}))


class Machine:
    """One clone of a memory, as one machine has it."""

    def __init__(self, root: Path, name: str, context: Context, bare_git: RunsGit) -> None:
        self.root, self.name = root, name
        self.now = NOON
        self.context = context._replace(machine=name, clock=self.clock)
        self._git = bare_git
        self._number = 0
        self.ids: set[str] = set()
        if not own_file(context.environ, context.home).exists():
            own_settings(context, LISTED)
        self.reopen()

    def like(self, other: Machine) -> Self:
        """Go on where another one stood, of whose store this one's is a copy."""
        self.now, self._number, self.ids = other.now, other._number, set(other.ids)
        return self

    def clock(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def save(self, text: str, type: MemoryType = MemoryType.NOTE) -> str:  # noqa: A002
        """Save a text; ids of two machines never meet."""
        from gitmem.document.ids import make_id

        self._number += 1
        moment = self.clock()
        identifier = make_id(
            int(moment.timestamp() * 1000), hashlib.sha256(f"{self.name} {self._number}".encode()).digest()
        )
        saved = save(self.store, Save(identifier, moment, text, type))
        self.ids.add(saved.id)
        return saved.id

    def sync(self, *accept: Accept, **options: object) -> Synced:
        return sync_store(self.store, *accept, **options)

    def sync_transcripts(self, *accept: Accept) -> None:
        sync_transcripts(*reached(self.store), Options(accept, chance=QUICK))

    def propose(self, *ids: str, name: str = "") -> Proposal:
        return propose(*reached(self.store), Options(), ids=ids, name=name)

    def configure(self, text: str) -> None:
        """Have the user's own settings say this, and open the store again."""
        own_settings(self.context, text)
        self.reopen()

    def reopen(self) -> None:
        self.store = Store(str(self.root), self.context)

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
        assert self.git("fsck", "--strict", "--no-dangling", "--no-progress") == ""
        assert self.store.marked() == self.tip
        assert not any("<<<<<<<" in path.read_text(errors="replace") for path in self.root.glob("**/*.md"))


def make_pair(machine: Callable[[str], Machine]) -> tuple[Machine, Machine]:
    """Make two machines that hold the same memory."""
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
