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
from gitmem.record.save import save
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from tests.started import session_start


def session(desk, number: int, prompt: str, *, days: int = 1) -> None:
    desk.clock.now += timedelta(days=days)
    at = desk.clock.now
    desk.store = Store(desk.store.root, desk.store.context)
    learn(desk.store, f"s-{number}", "claude-code", [Turn("s", "claude-code", prompt, at, at, prompt, "Done.")])


def facts(desk):
    return {fact.description: fact for fact in known_facts(desk.store)}


def held(desk) -> set[str]:
    return {fact.description for fact in in_force(known_facts(desk.store))}


def of_session(desk, text: str) -> None:
    session(desk, len(held(desk)), f"Always {text[0].lower()}{text[1:]}", days=0)


def of_save(desk, text: str) -> None:
    save(desk.store, desk.save(text, MemoryType.DECISION))


def of_rule(desk, text: str) -> None:
    save(desk.store, desk.save(text, MemoryType.RULE))


def of_hand(desk, text: str) -> None:
    by_hand(desk, text)
    do_upkeep(desk.store, lambda: False)


def by_hand(desk, text: str) -> None:
    """Write a fact's file as a sync or a user does."""
    fact = make_fact(FactKind.RULE, text, desk.clock.now)
    path = Path(desk.store.root, fact.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(render_fact(fact))


DOORS = (of_session, of_save, of_rule, of_hand)


@pytest.mark.parametrize("first", DOORS)
@pytest.mark.parametrize("then", DOORS)
@pytest.mark.few(6)
def test_a_pair_waits_at_once_and_the_newer_is_shown_with_what_was_before(desk, first, then):
    first(desk, "Use tabs for the indentation of sources.")
    desk.clock.now += timedelta(days=1)
    desk.store = Store(desk.store.root, desk.store.context)
    then(desk, "Use spaces for the indentation of sources.")
    desk.store = Store(desk.store.root, desk.store.context)
    [pair] = waiting_pairs(desk.store)
    assert ("spaces" in pair.newer.description, "tabs" in pair.older.description) == (True, True)
    told = session_start(desk.store, (), None, ()).splitlines()
    [line] = [line for line in told if "ndentation" in line]
    assert line.startswith(f"- {pair.newer.description}")
    assert f"since {desk.clock.now:%Y-%m-%d}, before: {pair.older.description}" in line


def test_a_newer_rule_ends_no_older_one_unasked(desk):
    session(desk, 1, "Always use tabs for indentation.")
    session(desk, 2, "Always use spaces for indentation.")
    assert len(held(desk)) == 2
    [pair] = waiting_pairs(desk.store)
    decide(desk.store, pair, Holds.NEWER)
    assert held(desk) == {"Always use spaces for indentation."}
    session(desk, 1, "Always use tabs for indentation.")
    assert held(desk) == {"Always use spaces for indentation."}, "a session that is learned again brings nothing back"


def test_facts_that_came_by_a_sync_are_compared_once(desk):
    session(desk, 1, "Always use tabs for indentation.")
    desk.clock.now += timedelta(days=1)
    by_hand(desk, "Always use spaces for indentation.")
    do_upkeep(desk.store, lambda: False)
    [pair] = waiting_pairs(desk.store)
    assert pair.newer.description == "Always use spaces for indentation."
    decide(desk.store, pair, Holds.BOTH)
    tip = desk.store.tip
    do_upkeep(desk.store, lambda: False)
    Path(desk.store.private, "known", "noticed").unlink()  # as on another machine
    do_upkeep(desk.store, lambda: False)
    assert waiting_pairs(desk.store) == []
    assert desk.store.tip == tip


def edit_by_hand(desk, fact, text: str) -> None:
    path = Path(desk.store.root, fact.path)
    path.write_text(path.read_text(encoding="utf-8").replace(fact.description, text), encoding="utf-8")
    do_upkeep(desk.store, lambda: False)


def edit_by_command(desk, fact, text: str) -> None:
    edit(desk.store, fact, text)


@pytest.mark.parametrize("reword", [edit_by_command, edit_by_hand])
def test_a_reworded_fact_is_compared_like_a_new_one(desk, reword):
    of_rule(desk, "Use tabs for the indentation of sources.")
    desk.clock.now += timedelta(days=1)
    of_rule(desk, "Keep the changelog sorted.")
    do_upkeep(desk.store, lambda: False)
    assert waiting_pairs(desk.store) == []
    fact = find_fact(desk.store, facts(desk)["Keep the changelog sorted."].id)
    reword(desk, fact, "Use spaces for the indentation of sources.")
    [pair] = waiting_pairs(desk.store)
    assert {pair.newer.id, pair.older.id} == {fact.id, facts(desk)["Use tabs for the indentation of sources."].id}
    decide(desk.store, pair, Holds.BOTH)
    reword(desk, find_fact(desk.store, fact.id), "Use blanks for the indentation of sources.")
    assert waiting_pairs(desk.store) == []
