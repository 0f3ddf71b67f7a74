"""Two facts that may contradict each other wait in review at once, however they came; the newer is shown."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.background import do_upkeep
from gitmem.document.entry import MemoryType
from gitmem.history.export import export
from gitmem.learn.facts import learn
from gitmem.model.fact import CONFIRMED, FactKind, make_fact, render_fact
from gitmem.model.turns import Turn
from gitmem.model.validity import in_force
from gitmem.record.fact_edits import PairChoice, confirm, decide, edit, find_fact, waiting_pairs
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from tests.started import session_start


def session(world, number: int, prompt: str, *, days: int = 1) -> None:
    world.clock.now += timedelta(days=days)
    at = world.clock.now
    world.store = Store(world.store.root, world.store.context)
    learn(world.store, f"s-{number}", "claude-code", [Turn("s", "claude-code", prompt, at, at, prompt, "Done.")])


def facts(world):
    return {fact.description: fact for fact in known_facts(world.store)}


def held(world) -> set[str]:
    return {fact.description for fact in in_force(known_facts(world.store))}


def of_session(world, text: str) -> None:
    session(world, len(held(world)), f"Always {text[0].lower()}{text[1:]}", days=0)


def of_save(world, text: str) -> None:
    world.save(text, MemoryType.DECISION)


def of_rule(world, text: str) -> None:
    world.save(text, MemoryType.RULE)


def of_hand(world, text: str) -> None:
    by_hand(world, text)
    do_upkeep(world.store, lambda: False)


def by_hand(world, text: str) -> None:
    """Write a fact's file as a sync or a user does."""
    fact = make_fact(FactKind.RULE, text, world.clock.now)
    world.write(fact.path, render_fact(fact))


DOORS = (of_session, of_save, of_rule, of_hand)


@pytest.mark.parametrize("first", DOORS)
@pytest.mark.parametrize("then", DOORS)
@pytest.mark.few(3)
def test_a_pair_waits_at_once_and_the_newer_is_shown_with_what_was_before(world, first, then):
    first(world, "Use tabs for the indentation of sources.")
    world.clock.now += timedelta(days=1)
    world.store = Store(world.store.root, world.store.context)
    then(world, "Use spaces for the indentation of sources.")
    world.store = Store(world.store.root, world.store.context)
    [pair] = waiting_pairs(world.store)
    assert ("spaces" in pair.newer.description, "tabs" in pair.older.description) == (True, True)
    told = session_start(world.store, (), None, ()).splitlines()
    [line] = [line for line in told if "ndentation" in line]
    assert line.startswith(f"- {pair.newer.description}")
    assert f", {world.clock.now:%Y-%m-%d}; it contradicts: {pair.older.description} (" in line


@pytest.mark.parametrize("then", DOORS)
@pytest.mark.parametrize(
    "older, newer",
    [
        (
            "Keep prices in cents, because floats lose money.",
            "Keep prices as Decimal, no longer in cents, because the tax office wants four digits.",
        ),
        (
            "We host on Hetzner, since it is cheap and near.",
            "We host on AWS now, not on Hetzner any more, since their support answers at night.",
        ),
        (
            "가격은 원 단위로 저장한다, 소수는 오차가 나기 때문이다.",
            "가격은 Decimal로 저장한다, 세무서가 네 자리를 요구하기 때문이다.",
        ),
    ],
)
@pytest.mark.few(6)
def test_reasons_are_aside_where_two_facts_are_compared(world, then, older, newer):
    of_save(world, older)
    world.clock.now += timedelta(days=1)
    world.store = Store(world.store.root, world.store.context)
    then(world, newer)
    [pair] = waiting_pairs(Store(world.store.root, world.store.context))
    assert pair.older.description == older


def test_a_reason_before_a_decision_is_aside_too(world):
    of_save(world, "Because phones are slow, the list has 20 rows a page.")
    of_save(world, "Because screens look empty, the list has 50 rows a page.")
    assert len(waiting_pairs(world.store)) == 1


def test_one_reason_of_two_decisions_is_no_contradiction(world):
    of_save(world, "Deploy on Tuesdays, since the whole team is in.")
    of_save(world, "Hold the planning meeting on Mondays, since the whole team is in.")
    of_save(world, "Since the office network blocks ports, the agent polls over HTTPS.")
    of_save(world, "Since the office network blocks ports, tests mock the SMTP server.")
    assert waiting_pairs(world.store) == []


def test_facts_that_came_by_a_sync_are_compared_once(world):
    session(world, 1, "Always use tabs for indentation.")
    world.clock.now += timedelta(days=1)
    by_hand(world, "Always use spaces for indentation.")
    do_upkeep(world.store, lambda: False)
    [pair] = waiting_pairs(world.store)
    assert pair.newer.description == "Always use spaces for indentation."
    decide(world.store, pair, PairChoice.BOTH)
    tip = world.store.tip
    do_upkeep(world.store, lambda: False)
    Path(world.store.private, "known", "noticed").unlink()  # as on another machine
    do_upkeep(world.store, lambda: False)
    assert waiting_pairs(world.store) == []
    assert world.store.tip == tip


def edit_by_hand(world, fact, text: str) -> None:
    path = Path(world.store.root, fact.path)
    path.write_text(path.read_text(encoding="utf-8").replace(fact.description, text), encoding="utf-8")
    do_upkeep(world.store, lambda: False)


def edit_by_command(world, fact, text: str) -> None:
    edit(world.store, fact, text)


@pytest.mark.parametrize("reword", [edit_by_command, edit_by_hand])
def test_a_reworded_fact_is_compared_like_a_new_one(world, reword):
    of_rule(world, "Use tabs for the indentation of sources.")
    world.clock.now += timedelta(days=1)
    of_rule(world, "Keep the changelog sorted.")
    do_upkeep(world.store, lambda: False)
    assert waiting_pairs(world.store) == []
    fact = find_fact(world.store, facts(world)["Keep the changelog sorted."].id)
    reword(world, fact, "Use spaces for the indentation of sources.")
    [pair] = waiting_pairs(world.store)
    assert {pair.newer.id, pair.older.id} == {fact.id, facts(world)["Use tabs for the indentation of sources."].id}
    decide(world.store, pair, PairChoice.BOTH)
    reword(world, find_fact(world.store, fact.id), "Use blanks for the indentation of sources.")
    assert waiting_pairs(world.store) == []


def test_a_confirmation_does_not_change_since_when_a_fact_is_in_force(world):
    of_save(world, "Keep prices in cents.")
    began = world.clock.now
    world.clock.now += timedelta(days=4)
    world.store = Store(world.store.root, world.store.context)
    (fact,) = known_facts(world.store)
    assert confirm(world.store, fact)
    (fact,) = known_facts(world.store)
    assert (fact.when, fact.confidence) == (began.replace(microsecond=0), CONFIRMED)
    assert f"{began:%Y-%m-%d}" in session_start(world.store, (), None, ())
    records = map(json.loads, export(world.store))
    assert [one["date"][:10] for one in records if one.get("path") == fact.path] == [f"{began:%Y-%m-%d}"]
