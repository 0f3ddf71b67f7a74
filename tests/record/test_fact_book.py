"""What lasts is a fact in the commit that saves it, is told until it ends, and follows its line."""

from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType
from gitmem.history.undo import undo
from gitmem.learn.facts import keep_turn
from gitmem.model.turns import Turn
from gitmem.model.validity import Standing, fact_statuses
from gitmem.record.capture import capture_turn
from gitmem.record.fact_edits import find_fact, retire
from gitmem.record.save import drain, save
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.store.transact import transact
from tests.started import session_start


def keep(world, text: str, kind: MemoryType = MemoryType.DECISION):
    world.clock.now += timedelta(minutes=1)
    return find_fact(world.store, world.save(text, kind).id)


def told(world) -> str:
    return session_start(Store(world.store.root, world.store.context), (), None, ())


def commits(world, bare_git) -> int:
    return int(bare_git(Path(world.store.root), "rev-list", "--count", "gitmem"))


def standing(world) -> dict[str, Standing]:
    facts = known_facts(world.store)
    return {fact.description: fact_statuses(facts)[fact.id].standing for fact in facts}


def test_a_note_is_none_and_a_document_is_an_entry(world):
    world.save("A note.")
    saved = world.save("word " * 2_000, MemoryType.DECISION)
    assert known_facts(world.store) == []
    assert f"^{saved.id}" in world.text("memory.md")


def test_delivered_twice_it_is_saved_once(world, bare_git):
    what = world.event("Use uv.", MemoryType.DECISION)
    save(world.store, what)
    before = commits(world, bare_git)
    world.store.spool.deliver(what.to_event())
    drain(world.store)
    assert commits(world, bare_git) == before
    assert world.store.spool.names() == []


def test_undoing_the_second_saying_leaves_the_first(world):
    keep(world, "Use uv.")
    world.clock.now += timedelta(days=1)
    fact = keep(world, "use uv")
    undo(world.store)
    assert fact.id in world.text("memory.md")
    assert fact.id in world.text("daily/2026/11/2026-11-21.md")
    assert fact.id not in world.text("daily/2026/11/2026-11-22.md")
    assert len(find_fact(world.store, fact.id).sources) == 1


def turn(world, key: str, prompt: str) -> None:
    world.clock.now += timedelta(minutes=1)
    now = world.clock.now
    one = Turn("s-1", "claude-code", key, now, now, prompt, "Done. It is in cache.py now, with tests.", closed=True)
    transact(
        world.store, lambda transaction: capture_turn(transaction, world.store, one, (), keep_turn), purpose="test"
    )


def test_what_a_user_states_again_in_a_later_turn_holds_again_and_not_where_an_old_one_is_read(world):
    turn(world, "t-1", "Decision: Redis for the session cache.")
    [fact] = known_facts(world.store)
    world.clock.now += timedelta(hours=1)
    retire(world.store, fact, "")
    world.clock.now -= timedelta(minutes=30)
    turn(world, "t-2", "Decision: Redis for the session cache.")
    assert {*standing(world).values()} == {Standing.RETIRED}
    world.clock.now += timedelta(hours=1)
    turn(world, "t-3", "Decision: Redis for the session cache.")
    assert {*standing(world).values()} == {Standing.IN_FORCE}


@pytest.mark.parametrize("ahead", [timedelta(hours=3), timedelta(minutes=5)])
def test_a_word_said_later_waits_beside_one_that_a_clock_ahead_dated(world, ahead):
    world.clock.now += ahead
    world.save("Always indent by tabs", MemoryType.RULE)
    world.clock.now -= ahead
    done = world.save("Always indent by spaces", MemoryType.RULE)
    found = standing(world)
    assert {*found.values()} == {Standing.DISPUTED}
    assert any("a clock was ahead" in notice for notice in done.notices)
