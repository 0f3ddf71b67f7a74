"""What lasts is a fact in the commit that saves it, is told until it ends, and follows its line."""

from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType
from gitmem.history.undo import undo
from gitmem.learn.facts import keep_turn
from gitmem.model.turns import Turn
from gitmem.model.validity import Standing, what_holds
from gitmem.record.capture import capture_turn
from gitmem.record.fact_edits import find_fact, retire
from gitmem.record.save import drain, save
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.store.transact import transact
from tests.started import session_start

LASTING = [kind for kind in MemoryType if kind.lasts]


def keep(desk, text: str, kind: MemoryType = MemoryType.DECISION):
    desk.clock.now += timedelta(minutes=1)
    return find_fact(desk.store, save(desk.store, desk.save(text, kind)).id)


def told(desk) -> str:
    return session_start(Store(desk.store.root, desk.store.context), (), None, ())


def commits(desk, bare_git) -> int:
    return int(bare_git(Path(desk.store.root), "rev-list", "--count", "gitmem"))


def standing(desk) -> dict[str, Standing]:
    facts = known_facts(desk.store)
    return {fact.description: what_holds(facts)[fact.id].standing for fact in facts}


def test_a_note_is_none_and_a_document_is_an_entry(desk):
    save(desk.store, desk.save("A note."))
    saved = save(desk.store, desk.save("word " * 2_000, MemoryType.DECISION))
    assert known_facts(desk.store) == []
    assert f"^{saved.id}" in desk.text("memory.md")


def test_delivered_twice_it_is_saved_once(desk, bare_git):
    what = desk.save("Use uv.", MemoryType.DECISION)
    save(desk.store, what)
    before = commits(desk, bare_git)
    desk.store.spool.deliver(what.to_event())
    drain(desk.store)
    assert commits(desk, bare_git) == before
    assert desk.store.spool.names() == []


def test_undoing_the_second_saying_leaves_the_first(desk):
    keep(desk, "Use uv.")
    desk.clock.now += timedelta(days=1)
    fact = keep(desk, "use uv")
    undo(desk.store)
    assert fact.id in desk.text("memory.md")
    assert fact.id in desk.text("daily/2026/11/2026-11-21.md")
    assert fact.id not in desk.text("daily/2026/11/2026-11-22.md")
    assert len(find_fact(desk.store, fact.id).sources) == 1


def turn(desk, key: str, prompt: str) -> None:
    desk.clock.now += timedelta(minutes=1)
    now = desk.clock.now
    one = Turn("s-1", "claude-code", key, now, now, prompt, "Done. It is in cache.py now, with tests.", closed=True)
    transact(desk.store, lambda transaction: capture_turn(transaction, desk.store, one, (), keep_turn), purpose="test")


def test_what_a_user_states_again_in_a_later_turn_holds_again_and_not_where_an_old_one_is_read(desk):
    turn(desk, "t-1", "Decision: Redis for the session cache.")
    [fact] = known_facts(desk.store)
    desk.clock.now += timedelta(hours=1)
    retire(desk.store, fact, "")
    desk.clock.now -= timedelta(minutes=30)
    turn(desk, "t-2", "Decision: Redis for the session cache.")
    assert {*standing(desk).values()} == {Standing.RETIRED}
    desk.clock.now += timedelta(hours=1)
    turn(desk, "t-3", "Decision: Redis for the session cache.")
    assert {*standing(desk).values()} == {Standing.IN_FORCE}


@pytest.mark.parametrize("ahead", [timedelta(hours=3), timedelta(minutes=5)])
def test_a_word_said_later_waits_beside_one_that_a_clock_ahead_dated(desk, ahead):
    desk.clock.now += ahead
    save(desk.store, desk.save("Always indent by tabs", MemoryType.RULE))
    desk.clock.now -= ahead
    done = save(desk.store, desk.save("Always indent by spaces", MemoryType.RULE))
    found = standing(desk)
    assert {*found.values()} == {Standing.DISPUTED}
    assert any("a clock was ahead" in notice for notice in done.notices)
