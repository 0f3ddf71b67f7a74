"""Two facts that may contradict each other wait in review at once, however they came; the newer is shown."""

from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.background import do_upkeep
from gitmem.document.entry import MemoryType
from gitmem.learn.facts import learn
from gitmem.model.fact import FactKind, make_fact, render_fact
from gitmem.model.turns import Turn
from gitmem.model.validity import in_force
from gitmem.record.fact_edits import Holds, decide, edit, find_fact, waiting_pairs
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
@pytest.mark.few(6)
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
    assert f"since {world.clock.now:%Y-%m-%d}, before: {pair.older.description}" in line


def test_facts_that_came_by_a_sync_are_compared_once(world):
    session(world, 1, "Always use tabs for indentation.")
    world.clock.now += timedelta(days=1)
    by_hand(world, "Always use spaces for indentation.")
    do_upkeep(world.store, lambda: False)
    [pair] = waiting_pairs(world.store)
    assert pair.newer.description == "Always use spaces for indentation."
    decide(world.store, pair, Holds.BOTH)
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
    decide(world.store, pair, Holds.BOTH)
    reword(world, find_fact(world.store, fact.id), "Use blanks for the indentation of sources.")
    assert waiting_pairs(world.store) == []
