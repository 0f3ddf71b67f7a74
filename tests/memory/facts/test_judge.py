"""Facts that may contradict each other are weighed by a model where one is named, once a pair (spec V6, V9)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.config import EmbeddingConfig, SummaryConfig
from gitmem.llm.embedders import make_embedder
from gitmem.llm.http import Patience
from gitmem.memory.facts.judge import judge
from gitmem.memory.facts.learn import learn
from gitmem.memory.save.save import save
from gitmem.memory.sessions.background import tend
from gitmem.model.entry.kinds import MemoryType
from gitmem.model.fact.fact import FactKind, make_fact
from gitmem.model.fact.file import render_fact
from gitmem.model.fact.holds import in_force
from gitmem.model.session.turns import Turn
from gitmem.search.vectors.fill import fill
from gitmem.store.headers.facts import known_facts
from gitmem.store.health.quick import check_log
from gitmem.store.store import Store
from tests.own_settings import own_file, own_settings

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
