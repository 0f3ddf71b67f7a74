"""What a real model answered about real sessions, kept: facts in one commit of gitmem's, marked as the model's."""

import importlib.util
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.learn.keep import keep
from gitmem.learn.question import USER, KnownMemory
from gitmem.learn.reply import Claim, Judged
from gitmem.learn.results import JudgedSession
from gitmem.model.fact import FactKind
from gitmem.model.similarity import rivals_of
from gitmem.model.turns import Turn
from gitmem.model.validity import in_force
from gitmem.record.fact_edits import compare_new_facts, edit, find_fact
from gitmem.store.known_facts import known_facts

BENCH = Path(__file__).parents[2] / "bench" / "judgement.py"


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("bench_judgement", BENCH)
    module = sys.modules.setdefault("bench_judgement", importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


def answered(bench, session):
    """Return what passes of the recorded answers; skip where the question was changed since they were recorded."""
    played = bench.play(session, bench.REPLIES)
    if isinstance(played, str):
        pytest.skip(f"{session.name}: {played}")
    return played.judged


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name, told",
    [
        ("calc-2-power", ("twelve significant digits", "calc prints results with %.15g.")),
        ("site-2-tags", ("120", "Lines in build.py stay under 100")),
        ("shop-2-report", ("openpyxl 하나만", "재고 CLI는 파이썬 표준 라이브러리만 쓴다.")),
    ],
)
def test_a_recorded_answer_becomes_facts_of_the_models(bench, world, bare_git, name, told):
    now, before = told
    session = bench.read_session(bench.SESSIONS / f"{name}.jsonl")
    judged = answered(bench, session)
    commit = bench.keep_in(world.store, session, judged)
    form = "--format=%an%n%(trailers:key=Gitmem-Model,valueonly,separator=)"
    assert bare_git(Path(world.store.root), "show", "-s", form, commit).split() == ["gitmem", "claude"]
    holds = {fact.description for fact in in_force(known_facts(world.store))}
    (new,) = [fact for fact in known_facts(world.store) if now in fact.description]
    assert (new.binds, new.origin["by"], new.origin["session"]) == (True, "claude", session.turns[0].session)
    assert not any(text.startswith(before) for text in holds)
    issues = {ending.known for ending in judged.endings}
    assert issues
    assert holds.isdisjoint(session.known.names()[name].description for name in issues)
    assert bench.keep_in(world.store, session, judged) is None


def test_the_recorded_answers_hold_what_readers_labelled(bench):
    told: bench.Counter = bench.Counter()
    for path in sorted(bench.SESSIONS.glob("*.jsonl")):
        session = bench.read_session(path)
        bench.count(session, answered(bench, session), told, [])
    assert told["found"] >= 0.95 * told["labels"]
    assert told["right"] >= 0.97 * told["weighed"]
    assert told["right mends"] >= 0.80 * told["mends"]


def test_a_user_may_go_back_to_what_was_replaced(world):
    """A fact that was replaced is in force again, and the one that took its place is not."""
    uv, pip = "Builds use uv.", "Builds use pip."
    for number, (now, before) in enumerate(((uv, ()), (pip, (uv,)), (uv, (pip,)))):
        at = datetime(2026, 11, 1 + number, tzinfo=UTC)
        turn = Turn(f"s-{number}", "claude-code", "p", at, at, prompt=now, answer="Done.")
        known = KnownMemory(tuple(fact for fact in in_force(known_facts(world.store)) if fact.description in before))
        claim = Claim(FactKind.DECISION, now, "", 1, USER, replaces=tuple(known.names()))
        keep(world.store, JudgedSession(turn.session, turn.host, (turn,), "model"), Judged((claim,)), known)
        assert [fact.description for fact in in_force(known_facts(world.store))] == [now]


def test_claims_of_one_answer_do_not_contradict_each_other(world):
    at = datetime(2026, 11, 1, tzinfo=UTC)
    turn = Turn("s", "claude-code", "p", at, at, prompt="Words", answer="Done.")
    texts = ("Levels of the coastal model lie in NetCDF.", "Drifters of the coastal model lie in NetCDF.")
    claims = tuple(Claim(FactKind.RULE, text, "", 1, USER) for text in texts)
    keep(world.store, JudgedSession("s", turn.host, (turn,), "model"), Judged(claims), KnownMemory())
    facts = in_force(known_facts(world.store))
    assert [fact.review for fact in facts] == [(), ()]
    assert rivals_of(facts[0], facts)


def test_facts_that_a_model_saw_side_by_side_are_not_compared_by_their_words_later(world):
    """The background work of the next session compares facts by words; a reworded one is compared anew."""
    at = datetime(2026, 11, 1, tzinfo=UTC)
    turn = Turn("s", "claude-code", "p", at, at, prompt="Words", answer="Done.")
    old, new = "Gauges of the river model report in metres.", "Buoys of the river model report in metres."

    def judge(text: str, known: KnownMemory) -> None:
        judged = Judged((Claim(FactKind.RULE, text, "", 1, USER),))
        keep(world.store, JudgedSession("s", turn.host, (turn,), "model"), judged, known)

    judge(old, KnownMemory())
    judge(new, KnownMemory(tuple(known_facts(world.store))))
    before = world.store.tip
    compare_new_facts(world.store)
    assert world.store.tip == before
    gauges = find_fact(world.store, old)
    edit(world.store, gauges, "Floats of the river model report in metres.")
    reviews = {fact.description: fact.review for fact in in_force(known_facts(world.store))}
    assert reviews[new] == (gauges.id,)
