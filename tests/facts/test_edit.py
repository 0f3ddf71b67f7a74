"""Two clones that learn the same end with one fact after a sync; what they decide otherwise has one end on both."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType, Save
from gitmem.document.ids import make_id
from gitmem.facts.edit import confirm, edit, find_fact, retire, supersede_fact
from gitmem.facts.fact import Fact
from gitmem.facts.learn import learn
from gitmem.facts.validity import in_force
from gitmem.git.remote import Connection
from gitmem.platform.machine import Context
from gitmem.sessions.save import save
from gitmem.sessions.turns import Turn
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.sync.guard import Accept
from gitmem.sync.remotes import add_remote, find_remote
from gitmem.sync.rounds import Chance, Options, sync

SAID = ("Always run the linter before committing.", "always use pnpm, not npm", "my editor is vim")


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
        connection = Connection(store.repository.layout, self.context.environ, own=store.own_repository)
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


def test_the_same_facts_of_two_sessions_are_one_after_a_sync(clones):
    one, other = clones
    one.learn("s-1", *SAID)
    other.now += timedelta(hours=1)
    other.learn(
        "s-2", "please always run the linter before committing!", "Always use pnpm,  not npm", "My editor is vim."
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


def test_two_clones_that_decide_otherwise_have_one_end(clones):
    one, other = clones
    one.save("Use pnpm, not npm.")
    one.save("Use uv, not pnpm.")
    meet(one, other)
    first, second = sorted(known_facts(one.store), key=lambda fact: fact.id)
    supersede_fact(one.store, first, second)
    other.now += timedelta(hours=1)
    supersede_fact(other.store, *(find_fact(other.store, fact.id) for fact in (second, first)))
    meet(one, other)
    ends = [[fact.id for fact in in_force(known_facts(clone.store))] for clone in clones]
    assert len(ends[0]) == 1
    assert ends[0] == ends[1]
    for clone in clones:
        memory = (clone.store.read("memory.md") or b"").decode()
        assert [fact.id for fact in (first, second) if fact.id in memory] == ends[0]
    confirm(one.store, find_fact(one.store, second.id))
    meet(one, other)
    assert [[fact.id for fact in in_force(known_facts(clone.store))] for clone in clones] == [[second.id]] * 2


def test_what_one_machine_ended_and_the_other_reworded_is_told_on_neither(clones):
    one, other = clones
    fact = one.save("Use Redis for sessions.")
    meet(one, other)
    retire(one.store, fact, "")
    other.now += timedelta(hours=1)
    edit(other.store, find_fact(other.store, fact.id), "Use Valkey for sessions.")
    meet(one, other)
    for clone in clones:
        assert in_force(known_facts(clone.store)) == []
        assert fact.id.encode() not in (clone.store.read("memory.md") or b"")
    assert one.store.read("memory.md") == other.store.read("memory.md")


def test_memory_follows_facts_that_a_plain_git_command_changed(clones, bare_git):
    one, _ = clones
    redis, uv = one.save("Use Redis for sessions."), one.save("Use uv.")
    for word, gone in (("retired", True), ("active", False)):
        path = Path(one.root, redis.path)
        text = re.sub("(?m)^status: .*$", f"status: {word}", path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
        bare_git(Path(one.root), "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qam", "mine")
        one.save(f"Use what is {word}.")
        memory = (one.store.read("memory.md") or b"").decode()
        assert (redis.id in memory) is not gone
        assert uv.id in memory
