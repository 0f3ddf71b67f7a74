"""What lasts is a fact in the commit that saves it, is told until it ends, and follows its line (spec P3)."""

from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType
from gitmem.facts.edit import confirm, edit, find_fact, retire, supersede_fact
from gitmem.facts.validity import Standing, what_holds
from gitmem.history.undo import undo
from gitmem.sessions.capture import capture_turn
from gitmem.sessions.save import drain, save
from gitmem.sessions.turns import Turn
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


@pytest.mark.parametrize("kind", LASTING)
def test_what_lasts_is_a_fact_in_the_commit_that_saves_it(desk, bare_git, kind):
    before = commits(desk, bare_git)
    fact = keep(desk, "Use Redis for the session cache.", kind)
    assert commits(desk, bare_git) == before + 1
    assert (fact.kind, fact.binds) == (kind.value, True)
    for path in ("memory.md", "daily/2026/11/2026-11-21.md"):
        assert f"**{kind.label}**: Use Redis for the session cache. ^{fact.id}\n" in desk.text(path)
    undo(desk.store)
    assert known_facts(desk.store) == []
    assert fact.id not in desk.text("memory.md")


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


def test_said_again_it_is_one_fact_with_one_line(desk):
    keep(desk, "Use uv.")
    desk.clock.now += timedelta(days=1)
    fact = keep(desk, "use  uv")
    assert desk.text("memory.md").count(fact.id) == 1
    assert fact.id in desk.text("daily/2026/11/2026-11-22.md")
    assert len(fact.sources) == 2


def test_undoing_the_second_saying_leaves_the_first(desk):
    keep(desk, "Use uv.")
    desk.clock.now += timedelta(days=1)
    fact = keep(desk, "use uv")
    undo(desk.store)
    assert fact.id in desk.text("memory.md")
    assert fact.id in desk.text("daily/2026/11/2026-11-21.md")
    assert fact.id not in desk.text("daily/2026/11/2026-11-22.md")
    assert len(find_fact(desk.store, fact.id).sources) == 1


ENDS = {
    "retired": (MemoryType.DECISION, lambda store, fact, _: retire(store, fact, "it was a mistake"), Standing.RETIRED),
    "resolved": (MemoryType.ISSUE, lambda store, fact, _: retire(store, fact, "fixed in 1.2"), Standing.RESOLVED),
    "edited": (MemoryType.DECISION, lambda store, fact, _: edit(store, fact, "Use Valkey."), Standing.IN_FORCE),
    "superseded": (MemoryType.DECISION, supersede_fact, Standing.SUPERSEDED),
}


@pytest.mark.parametrize("kind, act, after", ENDS.values(), ids=ENDS)
def test_what_was_ended_or_reworded_is_not_told_again_until_that_is_undone(desk, bare_git, kind, act, after):
    fact, other = keep(desk, "Use Redis for sessions.", kind), keep(desk, "Deploys run in CI.")
    assert "Redis" in told(desk)
    before = commits(desk, bare_git)
    act(desk.store, fact, other)
    assert commits(desk, bare_git) == before + 1
    assert "Redis" not in told(desk)
    assert "in CI" in told(desk)
    assert "Redis" not in desk.text("memory.md")
    assert (fact.id in desk.text("memory.md")) == (after is Standing.IN_FORCE)
    assert fact.id in desk.text("daily/2026/11/2026-11-21.md"), "the log says what was decided that day"
    status = what_holds(known_facts(desk.store))[fact.id]
    assert (status.standing, status.successor) == (after, other.id if after is Standing.SUPERSEDED else "")
    undo(desk.store)
    assert "Redis" in told(desk)
    assert f": Use Redis for sessions. ^{fact.id}\n" in desk.text("memory.md")


def test_confirmed_its_loser_is_not_told_again(desk):
    loser = keep(desk, "Use Redis, not Memcached.")
    winner = keep(desk, "Use Memcached, not Redis.")
    assert {*standing(desk).values()} == {Standing.DISPUTED}
    assert "Use Redis" in told(desk), "both, until somebody decides"
    confirm(desk.store, winner)
    assert "Use Redis" not in told(desk)
    assert loser.id not in desk.text("memory.md")
    undo(desk.store)
    assert loser.id in desk.text("memory.md")


def test_said_again_by_a_person_it_holds_again(desk):
    fact = keep(desk, "Use Redis for sessions.")
    retire(desk.store, fact, "")
    keep(desk, "Use Redis for sessions.")
    assert standing(desk) == {"Use Redis for sessions.": Standing.IN_FORCE}
    assert desk.text("memory.md").count(fact.id) == 1


def by_hand(desk, old: str, new: str, path: str = "memory.md") -> None:
    """Edit a file as a person does, then let gitmem look."""
    file = Path(desk.store.root, path)
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8", newline="\n")
    transact(desk.store, lambda _: None, purpose="test", scan=True)


EDITS = {  # further ones: test_lines
    "struck out": ("Use Redis. ^ID", "~~Use Redis.~~ ^ID"),
    "deleted": ("- [TIME] **Decision**: Use Redis. ^ID\n", ""),
}


@pytest.mark.parametrize("old, new", EDITS.values(), ids=EDITS)
def test_a_line_that_a_person_ends_ends_its_fact_in_one_commit(desk, bare_git, old, new):
    other = keep(desk, "Use uv.")
    fact = keep(desk, "Use Redis.")
    stamp = f"{desk.clock.now:%Y-%m-%d %H:%M:%S}"
    before = commits(desk, bare_git)
    by_hand(desk, *(text.replace("TIME", stamp).replace("ID", fact.id) for text in (old, new)))
    assert commits(desk, bare_git) == before + 1
    assert standing(desk) == {"Use Redis.": Standing.RETIRED, "Use uv.": Standing.IN_FORCE}
    assert "Redis" not in desk.text("memory.md")
    assert other.id in desk.text("memory.md")
    assert bare_git(Path(desk.store.root), "status", "--porcelain") == ""
    undo(desk.store, revision="HEAD")
    assert standing(desk)["Use Redis."] is Standing.IN_FORCE
    assert f"- [{stamp}] **Decision**: Use Redis. ^{fact.id}\n" in desk.text("memory.md")


REWORDED = {
    "its words": ("Use Redis. ^ID", "Use Valkey. ^ID"),
    "and the time is gone": ("- [TIME] **Decision**: Use Redis. ^ID", "- Use Valkey. ^ID"),
    "partly struck out": ("Use Redis. ^ID", "Use ~~Redis~~ Valkey. ^ID"),
}


@pytest.mark.parametrize("old, new", REWORDED.values(), ids=REWORDED)
def test_a_line_that_a_person_rewords_rewords_its_fact(desk, bare_git, old, new):
    fact = keep(desk, "Use Redis.")
    stamp = f"{desk.clock.now:%Y-%m-%d %H:%M:%S}"
    before = commits(desk, bare_git)
    by_hand(desk, *(text.replace("TIME", stamp).replace("ID", fact.id) for text in (old, new)))
    assert commits(desk, bare_git) == before + 1
    changed = find_fact(desk.store, fact.id)
    assert changed.description == new.partition(" ^")[0].removeprefix("- ")
    assert f"- [{stamp}] **Decision**: {changed.description} ^{fact.id}\n" in desk.text("memory.md")


def test_a_line_whose_id_is_gone_gets_it_back(desk):
    fact = keep(desk, "Use Redis.")
    by_hand(desk, f"Use Redis. ^{fact.id}", "Use Redis.")
    assert f"Use Redis. ^{fact.id}\n" in desk.text("memory.md")
    assert find_fact(desk.store, fact.id).binds


def test_a_line_that_is_moved_or_an_emptied_file_ends_nothing(desk):
    fact = keep(desk, "Use Redis.")
    line = f"- [{desk.clock.now:%Y-%m-%d %H:%M:%S}] **Decision**: Use Redis. ^{fact.id}\n"
    by_hand(desk, line, "")
    undo(desk.store, revision="HEAD")
    text = desk.text("memory.md")
    assert line in text
    Path(desk.store.root, "memory.md").write_text(text.replace(line, "") + f"\n## Mine\n\n{line}", encoding="utf-8")
    transact(desk.store, lambda _: None, purpose="test", scan=True)
    assert find_fact(desk.store, fact.id).binds
    Path(desk.store.root, "memory.md").write_text("", encoding="utf-8")
    transact(desk.store, lambda _: None, purpose="test", scan=True)
    assert find_fact(desk.store, fact.id).binds


def test_an_edit_of_a_facts_file_changes_its_line_in_the_same_commit(desk, bare_git):
    fact = keep(desk, "Use Redis.")
    before = commits(desk, bare_git)
    by_hand(desk, "---\nUse Redis.", "---\nUse Valkey.", fact.path)
    assert commits(desk, bare_git) == before + 1
    assert f"Use Valkey. ^{fact.id}\n" in desk.text("memory.md")
    assert find_fact(desk.store, fact.id).description == "Use Valkey."
    by_hand(desk, "status: active", "status: retired", fact.path)
    assert fact.id not in desk.text("memory.md")
    by_hand(desk, "status: retired", "status: active", fact.path)
    assert f"Use Valkey. ^{fact.id}\n" in desk.text("memory.md")
    Path(desk.store.root, fact.path).unlink()
    transact(desk.store, lambda _: None, purpose="test", scan=True)
    assert fact.id not in desk.text("memory.md")


def test_a_save_meets_an_edit_by_hand_and_keeps_both(desk):
    fact = keep(desk, "Use Redis.")
    file = Path(desk.store.root, "memory.md")
    file.write_text(file.read_text("utf-8").replace("Use Redis.", "~~Use Redis.~~"), encoding="utf-8", newline="\n")
    keep(desk, "Use uv.")
    assert standing(desk) == {"Use Redis.": Standing.RETIRED, "Use uv.": Standing.IN_FORCE}
    assert fact.id not in desk.text("memory.md")


def turn(desk, key: str, prompt: str) -> None:
    desk.clock.now += timedelta(minutes=1)
    now = desk.clock.now
    one = Turn("s-1", "claude-code", key, now, now, prompt, "Done. It is in cache.py now, with tests.", closed=True)
    transact(desk.store, lambda transaction: capture_turn(transaction, desk.store, one, ()), purpose="test")


def test_what_a_person_said_in_a_session_is_not_told_in_force_by_its_state_or_its_exchange(desk):
    turn(desk, "t-1", "We decided to use Redis for the session cache.")
    [fact] = known_facts(desk.store)
    before = desk.text("memory.md")
    assert "session cache. ^" in before

    retire(desk.store, fact, "")
    state = next(line for line in desk.text("memory.md").splitlines() if "**State**" in line)
    assert f"[retired: {fact.id}]" in state
    lines = [line for line in told(desk).splitlines() if "Redis" in line]
    assert lines
    assert all("retired" in line for line in lines)
    undo(desk.store)
    assert desk.text("memory.md") == before


def test_what_a_person_states_again_in_a_later_turn_holds_again_and_not_where_an_old_one_is_read(desk):
    turn(desk, "t-1", "We decided to use Redis for the session cache.")
    [fact] = known_facts(desk.store)
    desk.clock.now += timedelta(hours=1)
    retire(desk.store, fact, "")
    desk.clock.now -= timedelta(minutes=30)
    turn(desk, "t-2", "We decided to use Redis for the session cache.")
    assert {*standing(desk).values()} == {Standing.RETIRED}
    assert f"[retired: {fact.id}]" in desk.text("memory.md"), "the State of a turn read later tells it no more either"
    desk.clock.now += timedelta(hours=1)
    turn(desk, "t-3", "We decided to use Redis for the session cache.")
    assert {*standing(desk).values()} == {Standing.IN_FORCE}
    assert "[retired" not in desk.text("memory.md")
