"""Two clones that learn the same end with one fact after a sync; what they decide otherwise has one end on both."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gitmem.config import EmbeddingConfig, SummaryConfig
from gitmem.document.entry import MemoryType, Save
from gitmem.document.ids import make_id
from gitmem.facts.book import learn
from gitmem.facts.edit import confirm, edit, find_fact, judge, retire, supersede_fact
from gitmem.facts.fact import FactKind, make_fact
from gitmem.facts.file import render_fact
from gitmem.facts.validity import in_force
from gitmem.git.remote import Connection
from gitmem.llm.choose import make_embedder
from gitmem.llm.http import Patience
from gitmem.platform.clock import Context
from gitmem.sessions.background import tend
from gitmem.sessions.save import save
from gitmem.sessions.turns import Turn
from gitmem.store.headers import known_facts
from gitmem.store.remotes import add_remote, find_remote
from gitmem.store.status import check_log
from gitmem.store.store import Store
from gitmem.store.sync_guard import Accept
from gitmem.store.sync_memory import Chance, Options, sync
from gitmem.vectors.fill import fill
from tests.own_settings import own_file, own_settings

if TYPE_CHECKING:
    from gitmem.facts.fact import Fact


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
    confirm(one.store, find_fact(one.store, second.id), one.root)
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


def test_of_two_decisions_that_gave_way_to_each_other_the_later_keeps_its_line(clones):
    one, other = clones
    first, second = one.save("Deploy by hand."), one.save("Deploys run in CI.")
    meet(one, other)
    supersede_fact(one.store, first, second)
    other.now += timedelta(hours=1)
    supersede_fact(other.store, *(find_fact(other.store, fact.id) for fact in (second, first)))
    meet(one, other)
    for clone in clones:
        [end] = in_force(known_facts(clone.store))
        memory = (clone.store.read("memory.md") or b"").decode()
        assert [fact.id for fact in (first, second) if fact.id in memory] == [end.id]


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


def test_memory_follows_an_edit_of_a_facts_file(clones):
    one, _ = clones
    fact, other = one.save("Use Redis for sessions."), one.save("Use uv.")
    path = Path(one.root, fact.path)
    path.write_text(path.read_text(encoding="utf-8").replace("status: active", "status: retired"), encoding="utf-8")
    at = one.clock()
    save(one.store, Save(make_id(int(at.timestamp() * 1000), b"desk   "), at, "a note", MemoryType.NOTE), scan=True)
    memory = (one.store.read("memory.md") or b"").decode()
    assert fact.id not in memory
    assert other.id in memory


ONCE = Patience(tries=1, first=0.0, longest=0.0, random=lambda: 0.5)


@pytest.fixture
def asking(desk, home, model_server):
    own_settings(
        desk.store.context,
        f"summary:\n  provider: openai\n  base_url: {model_server.url}\n"
        "  model: fake-mini\n  large_model: fake-large\n",
    )
    for said in ("Use pnpm, not npm.", "Use uv, not pnpm.", "My editor is vim."):
        desk.clock.now += timedelta(hours=1)
        save(desk.store, desk.save(said, MemoryType.DECISION))
    desk.store = Store(desk.store.root, desk.store.context)
    return desk


def held(desk) -> dict[str, tuple[str, ...]]:
    return {fact.description: fact.review for fact in in_force(known_facts(desk.store))}


def says(verdict: str, text: str = "", reason: str = "It was said later."):
    return lambda *_: {"verdict": verdict, "text": text, "reason": reason}


@pytest.mark.parametrize(
    "verdict, left",
    [
        ("keep_new", {"Use uv, not pnpm."}),
        ("keep_old", {"Use pnpm, not npm."}),
        ("merge", {"Use uv, neither pnpm nor npm."}),
        ("both", {"Use pnpm, not npm.", "Use uv, not pnpm."}),
    ],
)
def test_what_the_model_says_is_done_once_in_its_name(asking, model_server, bare_git, verdict, left):
    model_server.reply = says(verdict, "Use uv, neither pnpm nor npm." if verdict == "merge" else "")
    judge(asking.store, lambda: False, ONCE)
    assert held(asking) == dict.fromkeys({*left, "My editor is vim."}, ())
    assert len(model_server.asked) == 1
    assert "fake-large" in str(model_server.asked[0])
    form = "--format=%an <%ae> %(trailers:key=Gitmem-Model,valueonly)"
    committed = bare_git(Path(asking.store.root), "log", "-1", form)
    assert committed.strip() == "fake-mini <gitmem@localhost> fake-mini"
    judge(asking.store, lambda: False, ONCE)
    assert len(model_server.asked) == 1


def test_what_is_no_answer_leaves_the_pair_for_a_person(asking, model_server):
    model_server.reply = says("merge")
    judge(asking.store, lambda: False, ONCE)
    [finding] = check_log(asking.store)
    assert "merges two facts into nothing" in finding.details[0]
    assert sum(bool(review) for review in held(asking).values()) == 2


def test_a_pair_that_shares_one_keyword_is_weighed(asking, model_server):
    model_server.reply = says("both")
    asking.clock.now += timedelta(hours=1)
    at = asking.clock.now
    said = "Always open the editor in a new window."
    learn(asking.store, "s-9", "claude-code", [Turn("s", "claude-code", said, at, at, said, "Done.")])
    asking.store = Store(asking.store.root, asking.store.context)
    judge(asking.store, lambda: False, ONCE)
    asked = [one["messages"][-1]["content"] for one in model_server.asked]
    assert len(asked) == 2  # the pair in review, and this one
    assert any("My editor is vim." in one and said in one for one in asked)


def test_it_is_done_behind_the_hooks_and_not_when_late(asking, model_server):
    model_server.reply = says("keep_new")
    judge(asking.store, lambda: True)
    assert model_server.asked == []
    tend(asking.store, lambda: False)
    assert set(held(asking)) == {"Use uv, not pnpm.", "My editor is vim."}


# Near by vectors


@pytest.fixture
def near(asking, home, provider):
    """Give facts without a common word, of which two mean the same to whoever gives vectors."""
    config = own_file(asking.store.context.environ, str(home))
    vectors = f"embedding:\n  provider: openai\n  base_url: {provider.url}/v1\n  model: fake\n"
    config.write_text(config.read_text() + vectors)
    del asking.store.context.environ["GITMEM_EMBEDDING_PROVIDER"]
    provider.same = {"linter": "ruff", "always": "every", "run": "call", "first": "before"}
    for said in ("Always run linter first.", "Every call: ruff before.", "We prefer short names."):
        asking.clock.now += timedelta(hours=1)
        fact = make_fact(FactKind.RULE, said, asking.clock.now)
        path = Path(asking.store.root, fact.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(render_fact(fact))
    asking.store = Store(asking.store.root, asking.store.context)
    return asking


def filled(desk) -> None:
    assert (
        fill(desk.store, make_embedder(desk.store.config.embedding, desk.store.context.environ), seconds=60).left == 0
    )


def asked_of(model_server) -> list[str]:
    return [said for one in model_server.asked for said in [one["messages"][-1]["content"]] if "linter" in said]


def test_what_is_near_by_vectors_is_weighed_and_nothing_is_sent_for_them(near, provider, model_server):
    model_server.reply = says("both")
    judge(near.store, lambda: False, ONCE)
    assert asked_of(model_server) == []  # there are no vectors yet
    filled(near)
    provider.asked.clear()
    model_server.reply = says("merge", "Always run ruff first.")
    judge(near.store, lambda: False, ONCE)
    [said] = asked_of(model_server)
    assert "Every call: ruff before." in said
    assert "Always run ruff first." in held(near)
    assert not {"Always run linter first.", "Every call: ruff before."} & held(near).keys()
    assert "We prefer short names." in held(near)
    assert provider.asked == []
    judge(near.store, lambda: False, ONCE)
    assert len(asked_of(model_server)) == 1


def test_without_vectors_or_a_model_nothing_is_weighed(near, model_server, provider):
    filled(near)
    near.store.config = near.store.config._replace(embedding=EmbeddingConfig(provider="none"))
    model_server.reply = says("both")
    judge(near.store, lambda: False, ONCE)
    assert asked_of(model_server) == []
    asked = len(model_server.asked)
    near.store.config = near.store.config._replace(summary=SummaryConfig())
    before = held(near)
    tend(near.store, lambda: False)
    assert held(near) == before
    assert len(model_server.asked) == asked


@pytest.mark.parametrize("content", ["", "no", "[]", "null", '{"a": 1}', '{"a": ["b"]}'])
def test_whatever_stands_in_the_cache_of_what_is_near(near, model_server, content):
    filled(near)
    Path(near.store.private, "known", "near").write_text(content)
    model_server.reply = says("both")
    judge(near.store, lambda: False, ONCE)
    assert len(asked_of(model_server)) == 1
