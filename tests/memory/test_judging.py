"""Facts that may contradict each other are weighed by a model where one is named, once a pair (spec V6, V9)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.llm.http import Patience
from gitmem.memory.background import tend
from gitmem.memory.facts import learn
from gitmem.memory.judging import judge
from gitmem.memory.knownfacts import in_force, known_facts
from gitmem.model.turns import Turn
from gitmem.store.store import Store

ONCE = Patience(tries=1, first=0.0, longest=0.0, random=lambda: 0.5)


@pytest.fixture
def asking(desk, home, model_server):
    Path(home, ".gitmem").mkdir()
    Path(home, ".gitmem", "config.yaml").write_text(
        f"summary:\n  provider: openai\n  base_url: {model_server.url}\n  model: fake-mini\n  large_model: fake-large\n"
    )
    for number, said in enumerate(("use pnpm, not npm", "use uv, not pnpm", "my editor is vim")):
        desk.clock.now += timedelta(hours=1)
        at = desk.clock.now
        learn(desk.store, f"s-{number}", "claude-code", [Turn("s", "claude-code", said, at, at, said, "Done.")])
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
def test_what_the_model_says_is_done_once(asking, model_server, verdict, left):
    model_server.reply = says(verdict, "Use uv, neither pnpm nor npm." if verdict == "merge" else "")
    assert judge(asking.store, lambda: False, ONCE) == []
    assert held(asking) == dict.fromkeys({*left, "My editor is vim."}, ())
    assert len(model_server.asked) == 1
    assert "fake-large" in str(model_server.asked[0])
    assert judge(asking.store, lambda: False, ONCE) == []
    assert len(model_server.asked) == 1


def test_what_is_no_answer_leaves_the_pair_for_a_person(asking, model_server):
    model_server.reply = says("merge")
    [why] = judge(asking.store, lambda: False, ONCE)
    assert "merges two facts into nothing" in why
    assert sum(bool(review) for review in held(asking).values()) == 2


def test_it_is_done_behind_the_hooks_and_not_when_late(asking, model_server):
    model_server.reply = says("keep_new")
    assert judge(asking.store, lambda: True) == []
    assert model_server.asked == []
    tend(asking.store, lambda: False)
    assert set(held(asking)) == {"Use uv, not pnpm.", "My editor is vim."}
