"""Two clones that learn the same end with one fact after a sync; what they decide otherwise has one end on both."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType
from gitmem.document.event import Save
from gitmem.document.ids import make_id
from gitmem.git.remote import Connection
from gitmem.learn.facts import learn
from gitmem.model.fact import Fact
from gitmem.model.turns import Turn
from gitmem.platform.machine import Context
from gitmem.record.fact_edits import find_fact
from gitmem.record.save import save
from gitmem.store.known_facts import known_facts
from gitmem.store.remotes import add_remote, find_remote
from gitmem.store.store import Store
from gitmem.sync.fetch import Chance, Options
from gitmem.sync.guard import Accept
from gitmem.sync.rounds import sync

SAID = ("Always run the linter before committing.", "always use pnpm, not npm", "preference: vim as the editor")


class Clone:
    def __init__(self, folder: Path, environ: dict[str, str], home: Path, remote: Path, new_store) -> None:
        folder.mkdir()
        self.now = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
        self.context = Context(environ, str(home), folder.name, self.clock)
        self.root = new_store(folder, self.context, self.now).root
        add_remote(self.store, "origin", str(remote))

    def clock(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    @property
    def store(self) -> Store:
        return Store(self.root, self.context)

    def learn(self, session: str, *prompts: str) -> None:
        at = self.clock()
        turns = [Turn(session, "claude-code", prompt, at, at, prompt, "Done.", closed=True) for prompt in prompts]
        learn(self.store, session, "claude-code", turns)

    def save(self, text: str, kind: MemoryType = MemoryType.DECISION) -> Fact:
        return find_fact(self.store, self.note(text, kind))

    def note(self, text: str, kind: MemoryType = MemoryType.NOTE) -> str:
        at = self.clock()
        event = Save(make_id(int(at.timestamp() * 1000), self.context.machine.encode().ljust(7)), at, text, kind)
        return save(self.store, event).id

    def sync(self) -> None:
        store = self.store
        connection = Connection(store.repository.layout, self.context.environ, own=store.has_separate_repository)
        chance = Chance(random=lambda: 0.0, sleep=lambda _: None)
        sync(store, find_remote(store, None), connection, Options((Accept.OTHER_PROJECT,), chance=chance))


@pytest.fixture
def clones(tmp_path, home, environ, bare_git, new_store) -> tuple[Clone, Clone]:
    remote = tmp_path / "remote.git"
    bare_git(tmp_path, "init", "-q", "--bare", str(remote))
    one, other = (Clone(tmp_path / name, environ, home, remote, new_store) for name in ("desk", "laptop"))
    return one, other


def meet(*clones: Clone) -> None:
    for clone in (*clones, *clones):
        clone.sync()
    assert len({clone.store.tip for clone in clones}) == 1


@pytest.mark.slow
def test_the_same_facts_of_two_sessions_are_one_after_a_sync(clones):
    one, other = clones
    one.learn("s-1", *SAID)
    other.now += timedelta(hours=1)
    other.learn(
        "s-2",
        "please always run the linter before committing!",
        "Always use pnpm,  not npm",
        "Preference: vim as the editor.",
    )
    paths = [sorted(fact.path for fact in known_facts(clone.store)) for clone in clones]
    assert paths[0] == paths[1]
    meet(one, other)
    for clone in clones:
        facts = known_facts(clone.store)
        assert sorted(fact.path for fact in facts) == paths[0]
        assert all(len(fact.sources) == 2 and not fact.review for fact in facts)
        assert all(fact.created.isoformat().startswith("2026-11-21T12:00") for fact in facts)
        assert [
            clone.store.read(fact.path).count(b"linter before") for fact in facts if "linter" in fact.description
        ] == [2]
