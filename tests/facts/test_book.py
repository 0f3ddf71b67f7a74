"""Facts fill themselves at a session's end, once, and are kept right (spec V4 to V6, P3)."""

from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType
from gitmem.errors import NotFoundError, RefusedError
from gitmem.facts.edit import confirm, edit, find_fact, retire, supersede_fact
from gitmem.facts.learn import learn
from gitmem.facts.validity import Standing, in_force, what_holds
from gitmem.history.undo import undo
from gitmem.sessions.background import process_spool
from gitmem.sessions.capture import capture_turn
from gitmem.sessions.end import replay
from gitmem.sessions.save import drain, save
from gitmem.sessions.turns import Turn
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.store.transact import transact
from tests.started import session_start


def said(desk, prompt: str, answer: str = "Done.", session: str = "s-1", **more) -> Turn:
    now = desk.clock.now
    return Turn(session, "claude-code", f"t-{prompt[:20]}", now, now, prompt, answer, closed=True, **more)


def learned(desk, *prompts: str, session: str = "s-1") -> str | None:
    desk.clock.now += timedelta(hours=1)
    store = desk.store = Store(desk.store.root, desk.store.context)
    return learn(store, session, "claude-code", [said(desk, prompt, session=session) for prompt in prompts])


def held(desk) -> dict[str, str]:
    """Return what is in force: its ids, by description."""
    return {fact.description: fact.id for fact in in_force(known_facts(desk.store))}


def log(desk, bare_git) -> list[str]:
    root = Path(desk.store.root)
    assert bare_git(root, "status", "--porcelain") == ""
    return bare_git(root, "log", "--format=%s", "gitmem").splitlines()


def test_a_session_leaves_its_facts_in_one_commit(desk, bare_git):
    learned(desk, "Always run the linter before committing.", "My editor is vim. Fix the bug.")
    assert set(held(desk)) == {"My editor is vim.", "Always run the linter before committing."}
    assert log(desk, bare_git)[0] == "Learn 2 facts: Always run the linter before committing."
    form = "--format=%(trailers:key=Gitmem-Op,valueonly,separator=)/%(trailers:key=Gitmem-Session,valueonly,separator=)"
    assert bare_git(Path(desk.store.root), "log", "-1", form) == "fact/s-1"
    [fact] = [one for one in known_facts(desk.store) if one.kind == "rule"]
    assert (fact.confidence, fact.session, len(fact.sources)) == (0.9, "s-1", 1)


def test_again_it_adds_nothing(desk, bare_git):
    assert learned(desk, "Always run the linter before committing.")
    before = log(desk, bare_git)
    desk.clock.now -= timedelta(hours=1)
    assert learned(desk, "Always run the linter before committing.") is None
    assert log(desk, bare_git) == before


def test_what_is_said_again_gains_a_source(desk, bare_git):
    learned(desk, "Always run the linter before committing.")
    learned(desk, "before committing, always run the linter", session="s-2")
    [fact] = known_facts(desk.store)
    assert len(fact.sources) == 2
    assert log(desk, bare_git)[0] == "Update 1 fact"


def test_a_replayed_session_and_a_live_one_teach_the_same(desk, recorder, bare_git):
    recorder.turn(4, "앞으로 빌드는 pnpm 대신 uv를 써줘.", "그렇게 했습니다.")
    recorder.write()
    recorder.live(desk.store)
    recorder.deliver("SessionEnd", 1_791_018_100.0, "", reason="other")
    recorder.live(desk.store)
    process_spool(desk.store)
    facts = held(desk)
    assert "앞으로 빌드는 pnpm 대신 uv를 써줘." in facts
    before = log(desk, bare_git)
    replay(Store(desk.store.root, desk.store.context), str(recorder.path))
    assert log(desk, bare_git) == before
    assert held(desk) == facts


def test_what_was_saved_becomes_a_fact_and_secrets_do_not(desk):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    save(desk.store, desk.save("Use uv, not pnpm.", MemoryType.DECISION))
    save(desk.store, desk.save("긴 경로에서 저장이 실패합니다", MemoryType.ISSUE))
    save(desk.store, desk.save("A note is none."))
    learned(desk, f"Always send the token {token} with a request.")
    facts = {fact.description: fact for fact in known_facts(desk.store)}
    assert {fact.kind for fact in facts.values()} == {"decision", "issue", "rule"}
    assert token not in "".join(path.read_text() for path in Path(desk.store.root, "facts").rglob("*.md"))
    assert (facts["Use uv, not pnpm."].confidence, facts["긴 경로에서 저장이 실패합니다"].status) == (0.9, "open")
    assert learned(desk) is None


def test_an_issue_is_resolved_by_a_later_fix(desk):
    save(desk.store, desk.save("The index breaks on NFS mounts.", MemoryType.ISSUE))
    learned(desk)
    desk.clock.now += timedelta(hours=1)
    turn = said(desk, "go on", "The index on NFS mounts is fixed now.")
    learn(desk.store, "s-2", "claude-code", [turn])
    [fact] = known_facts(desk.store)
    assert fact.status == "resolved"
    assert "**Resolved:** The index on NFS mounts is fixed now." in desk.text(fact.path)


def test_what_contradicts_is_kept_beside_it_and_a_person_decides(desk):
    for text in ("Use pnpm, not npm.", "Use uv, not pnpm."):
        desk.clock.now += timedelta(hours=1)
        save(desk.store, desk.save(text, MemoryType.DECISION))
    first, second = sorted(known_facts(desk.store), key=lambda fact: fact.created)
    assert (first.review, second.review) == ((second.id,), (first.id,))
    assert first.binds
    assert second.binds
    assert f"review: [{first.id}]" in desk.text(second.path)
    retire(desk.store, second, "it was a mistake")
    assert "**Retired:** it was a mistake" in desk.text(second.path)
    assert find_fact(desk.store, first.id).review == ()
    undo(desk.store)
    confirm(desk.store, second)
    first, second = find_fact(desk.store, first.id), find_fact(desk.store, second.id)
    assert (first.status, first.superseded_by, first.review) == ("superseded", second.id, ())
    assert (second.status, second.review, second.confidence) == ("active", (), 1.0)
    assert list(held(desk)) == ["Use uv, not pnpm."]


def test_what_was_retired_removed_or_undone_is_not_learned_again(desk, bare_git):
    learned(desk, "Always run the linter before committing.")
    learned(desk, "My editor is vim.")
    learned(desk, "we decided to use zod, not yup")
    rule, editor, zod = (find_fact(desk.store, letter) for letter in "rfd")
    retire(desk.store, rule, "")
    undo(desk.store, revision=bare_git(Path(desk.store.root), "log", "-1", "--format=%H", "--", zod.path))
    Path(desk.store.root, editor.path).unlink()
    for session in ("s-4", "s-5"):
        learned(
            desk,
            "Always run the linter before committing.",
            "My editor is vim.",
            "we decided to use zod, not yup",
            session=session,
        )
    assert held(desk) == {}


def test_a_fact_is_edited_and_keeps_its_id_and_what_a_person_wrote(desk):
    learned(desk, "we decided to use zod, not yup")
    fact = find_fact(desk.store, "d")
    path = Path(desk.store.root, fact.path)
    path.write_text(path.read_text().replace("kind: decision\n", "kind: decision\nmood: good  # mine\n"))
    edit(desk.store, fact, "Use valibot, not yup.\n\n**Why:** it is smaller.")
    again = find_fact(desk.store, fact.id)
    assert again.description == "Use valibot, not yup."
    assert "mood: good  # mine\n" in path.read_text()
    with pytest.raises(RefusedError):
        edit(desk.store, again, "  \n")


def test_facts_are_found_by_the_beginning_of_their_id(desk):
    learned(desk, "Always run the linter before committing.", "never push to main without a review")
    [one, _other] = known_facts(desk.store)
    assert find_fact(desk.store, one.id[:6]).id == one.id
    assert find_fact(desk.store, one.path).id == one.id
    for name in ("r", "x123", ""):
        with pytest.raises(NotFoundError):
            find_fact(desk.store, name)


def test_a_change_by_hand_is_seen_at_once(desk):
    learned(desk, "Always run the linter before committing.")
    [fact] = known_facts(desk.store)
    path = Path(desk.store.root, fact.path)
    path.write_text(path.read_text().replace("status: active", "status: retired"))
    assert held(desk) == {}
    path.write_text("---\nbroken: [\n---\n")
    assert known_facts(desk.store)[0].description == ""
    Path(desk.store.private, "known", "facts.tsv").write_text("not json")
    path.unlink()
    assert known_facts(desk.store) == []


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


def test_a_ticked_issue_is_resolved(desk):
    fact = keep(desk, "The build is slow.", MemoryType.ISSUE)
    by_hand(desk, f"The build is slow. ^{fact.id}", f"~~The build is slow.~~ ^{fact.id}")
    assert standing(desk) == {"The build is slow.": Standing.RESOLVED}


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
