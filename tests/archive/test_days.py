"""Days that were consolidated are found as they were: copies of what history holds (docs/memory.md, "Tiers")."""

import os
import shutil
from pathlib import Path

import pytest

from gitmem.archive.clear import clear
from gitmem.archive.rotate import consolidate_due
from gitmem.background import do_upkeep
from gitmem.document.entry import MemoryType
from gitmem.document.message import Message
from gitmem.history import past_days as keeping
from gitmem.history.undo import undo
from gitmem.purge.purge import plan_purge, purge
from gitmem.search.engine import answer
from gitmem.search.recall import read_memory
from gitmem.store.transact import transact

NOTE = "settings layers"


def hits(world, query: str = NOTE, **more):
    return answer(world.store, query, **more).hits


def copies(world) -> list[str]:
    folder = Path(world.store.private, "days")
    return sorted(path.name[:10] for path in folder.glob("*.md"))


def found(world, query: str = NOTE) -> list[tuple[str, str]]:
    return [(hit.path, hit.entry) for hit in hits(world, query) if not hit.weak]


def without_memory(world) -> None:
    """Take the short views out of memory.md, as a rotation and its retention do in time."""

    def plan(transaction):
        body = b"---\nid: memory\nkind: memory\ncreated: 2026-09-01T00:00:00Z\n---\n## Recent Context\n"
        transaction.read("memory.md")
        transaction.commit(Message("Empty it", (("Gitmem-Op", "save"),)), {"memory.md": body})

    transact(world.store, plan, purpose="test")


@pytest.fixture
def past(autumn):
    """Give the store of three months, consolidated, with nothing in memory.md."""
    without_memory(autumn)
    consolidate_due(autumn.store)
    return autumn


def test_what_a_day_held_is_found_once_with_its_id_and_its_place_in_history(past):
    (hit,) = hits(past)

    assert (hit.path, hit.entry, hit.date[:10]) == ("daily/2026/09/2026-09-29.md", past.note.id, "2026-09-29")
    assert past.store.repository.read(hit.commit, hit.path).decode().split("\n")[hit.start - 1].endswith(past.note.id)
    assert "reads its settings in layers" in read_memory(past.store, f"^{past.note.id}").text
    assert copies(past) == ["2026-09-28", "2026-09-29", "2026-10-20", "2026-11-02"]


def test_of_what_a_week_keeps_the_file_that_is_there_is_the_hit(past):
    issues = [(hit.path[:12], hit.commit) for hit in hits(past, "저장이 실패합니다") if hit.entry == past.issue.id]

    assert issues == [("facts/issue/", "")]


def test_filters_mean_the_day(past):
    assert [hit.entry for hit in hits(past, f"{NOTE} since:2026-09-29 until:2026-09-29")] == [past.note.id]
    assert hits(past, f"{NOTE} until:2026-09-28") == []


def test_the_copies_come_again_in_the_background_when_they_are_gone(past):
    for damage in (shutil.rmtree, lambda folder: next(folder.glob("*.md")).unlink()):
        damage(Path(past.store.private, "days"))

        do_upkeep(past.store, lambda: False)

        assert len(copies(past)) == 4
        assert [hit.entry for hit in hits(past)] == [past.note.id]


def test_without_them_the_sentences_of_the_month_are_found(past):
    shutil.rmtree(Path(past.store.private, "days"))

    assert [hit.path for hit in hits(past)] == ["monthly/2026/2026-10.md"]


def test_what_is_undone_is_found_no_more(past):
    undo(past.store, revision=f"^{past.decision.id}")
    assert found(past, "uv를 쓴다") == []

    do_upkeep(past.store, lambda: False)

    assert found(past, "uv를 쓴다") == []
    assert [hit.entry for hit in hits(past)] == [past.note.id]


def test_what_is_delivered_late_for_a_day_is_found_with_what_was_there(past):
    late = past.save_on("2026-09-29", "A late word on the walrus.")
    assert {hit.entry for hit in hits(past, "walrus")} == {late.id}
    assert [hit.entry for hit in hits(past)] == [past.note.id]
    without_memory(past)

    consolidate_due(past.store)

    assert [hit.entry for hit in hits(past, "walrus")] == [late.id]
    assert [hit.entry for hit in hits(past)] == [past.note.id]
    assert copies(past).count("2026-09-29") == 2


def test_what_was_cleared_is_found_no_more_also_when_its_week_comes_again(past):
    clear(past.store, days=None)
    assert hits(past) == []
    assert copies(past) == []

    again = past.save_on("2026-09-30", "A word on the walrus.")
    consolidate_due(past.store)

    assert copies(past) == ["2026-09-30"]
    assert {hit.entry for hit in hits(past, "walrus")} == {again.id}
    assert hits(past) == []


def test_a_week_that_a_user_deletes_is_searched_no_more(past):
    os.unlink(Path(past.store.root, "monthly/2026/2026-10.md"))

    assert hits(past) == []


def test_a_purge_leaves_nothing_of_a_text(past):
    plan = plan_purge(past.store, "its settings in layers")
    purge(past.store, plan)
    assert copies(past) == []

    do_upkeep(past.store, lambda: False)

    assert len(copies(past)) == 4
    private = Path(past.store.private, "days")
    assert not any(b"in layers" in path.read_bytes() for path in private.iterdir())


def test_the_oldest_weeks_are_left_out_beyond_the_bound(autumn, monkeypatch):
    monkeypatch.setattr(keeping, "MOST_BYTES", 500)
    without_memory(autumn)

    consolidate_due(autumn.store)

    assert copies(autumn) == ["2026-10-20", "2026-11-02"][-len(copies(autumn)) :]
    assert copies(autumn)[-1:] == ["2026-11-02"]
    assert [hit.path for hit in hits(autumn)] == ["monthly/2026/2026-10.md"]


def test_nothing_new_costs_no_look_at_all_history(past, monkeypatch):
    monkeypatch.setattr(keeping, "_wanted", pytest.fail)
    past.save("Something else.", MemoryType.LEARNING)

    keeping.keep_days(past.store)
    keeping.keep_days(past.store)

    assert len(copies(past)) == 4
