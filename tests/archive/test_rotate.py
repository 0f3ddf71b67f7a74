"""Rotation, and weeks and months, as a store has them."""

import os
import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from gitmem.archive import rotate as consolidating
from gitmem.archive.rotate import check, consolidate_due, due, rotations
from gitmem.background import do_upkeep
from gitmem.document.entry import MemoryType, entry_ids
from gitmem.history.past_days import drop_days
from gitmem.learn.end import replay
from gitmem.model.concept import begun, line_of, render_new
from gitmem.model.exchange import Exchange
from gitmem.model.similarity import MOST_DISPUTED
from gitmem.model.validity import in_force
from gitmem.record.fact_edits import retire
from gitmem.record.save import save
from gitmem.search.engine import answer
from gitmem.search.recall import recall
from gitmem.store.findings import FailureLog
from gitmem.store.init import add_scope
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from tests.own_settings import own_settings
from tests.world import SEOUL, Clock

SMALL = "rotation:\n  threshold_tokens: 400\n  carryover_tokens: 100\n"


def configured(world, text: str = SMALL):
    own_settings(world.store.context, text)
    world.store = type(world.store)(world.store.root, world.store.context)
    return world


def archives(world) -> list[Path]:
    return sorted(Path(world.store.root, "archive").glob("*.md"))


@pytest.mark.slow
def test_of_many_decisions_none_is_lost_and_a_line_counts_those_without_one(world):
    configured(world, "rotation:\n  threshold_tokens: 1000\n  carryover_tokens: 100\n")
    made = [world.save(f"decision {index} on a part", MemoryType.DECISION).id for index in range(80)]
    memory = world.text("memory.md")
    shown = entry_ids(memory)
    assert archives(world)
    assert made[-1] in shown
    assert len(in_force(known_facts(world.store))) == 80
    assert sum(len(fact.review) for fact in known_facts(world.store)) <= 2 * MOST_DISPUTED * 80, "it is a series"
    count = int(re.search(r"(\d+) more are facts: `gitmem facts list`", memory)[1])
    assert count == 80 - len(shown)
    hidden = next(fact for fact in known_facts(world.store) if fact.id not in shown)
    retire(world.store, hidden, "")
    assert f"{count - 1} more are facts" in world.text("memory.md")
    assert entry_ids(world.text("memory.md")) == shown


def test_a_rotation_that_cannot_be_made_keeps_nothing_from_being_saved(world):
    line = b"a line of text that fills the file up\n"
    Path(world.store.root, "memory.md").write_bytes(b"# Memory\n\n## Recent Context\n\n" + line * 2_700)
    Path(world.store.root, "archive").write_text("in the way\n", encoding="utf-8")
    done = world.save("still saved")
    assert "still saved" in world.text("memory.md")
    assert any(notice.startswith("memory.md is full and stays as it is: ") for notice in done.notices)
    Path(world.store.root, "archive").unlink()
    assert world.save("saved after it").archive


def root(world) -> Path:
    return Path(world.store.root)


def write(world, path: str, text: str) -> None:
    (root(world) / path).parent.mkdir(parents=True, exist_ok=True)
    (root(world) / path).write_text(text, encoding="utf-8")


def archived(world, path: str, text: str) -> str:
    world.clock.now += timedelta(hours=1)
    write(world, path, text)
    check(world.store)
    return world.store.tip


def test_summaries_and_edits_are_seen(world):
    path = "archive/memory_20260102_000000.md"
    added = archived(world, path, "one\n")
    when = rotations(world.store)[0].rotated_at
    write(world, "summaries/memory_20260102_000000.summary.md", "---\n---\nshort\n")
    archived(world, path, "one\ntwo\n")

    found = rotations(world.store)

    assert [(item.commit, item.rotated_at, item.lines, item.summarized) for item in found] == [(added, when, 2, True)]


def test_a_rotation_that_was_undone_is_none(world, bare_git):
    added = archived(world, "archive/memory_20260102_000000.md", "one\n")
    archived(world, "archive/memory_20260103_000000.md", "two\n")
    bare_git(root(world), "rm", "-q", "archive/memory_20260102_000000.md")
    bare_git(root(world), "commit", "-q", "-m", f"Undo\n\nGitmem-Op: undo\nGitmem-Undoes: {added}")

    assert [item.path for item in rotations(world.store)] == ["archive/memory_20260103_000000.md"]


def test_an_archive_that_came_into_being_in_a_merge(world, bare_git):
    bare_git(root(world), "switch", "-qc", "side")
    bare_git(root(world), "commit", "-q", "--allow-empty", "-m", "side")
    bare_git(root(world), "switch", "-q", "gitmem")
    world.save("main")
    bare_git(root(world), "merge", "-q", "--no-commit", "side")
    write(world, "archive/memory_20260102_000000.md", "one\n")
    bare_git(root(world), "add", "-A")
    bare_git(root(world), "commit", "-qm", "merge")

    found = rotations(world.store)

    assert [(item.path, item.commit) for item in found] == [("archive/memory_20260102_000000.md", world.store.tip)]


TODAY = Clock().now  # a Saturday


def tree(world, folder: str) -> list[str]:
    return sorted(path.relative_to(root(world)).as_posix() for path in (root(world) / folder).rglob("*.md"))


def test_what_is_delivered_late_is_not_saved_twice(autumn):
    consolidate_due(autumn.store)
    tip = autumn.store.tip
    assert save(autumn.store, autumn.note).commit is None
    assert autumn.store.tip == tip
    late = autumn.event("delivered late", at=datetime(2026, 9, 29, 11, 0, tzinfo=SEOUL))
    save(autumn.store, late)
    assert tree(autumn, "daily")[0] == "daily/2026/09/2026-09-29.md"
    consolidate_due(autumn.store)
    assert len(tree(autumn, "daily")) == 1
    assert save(autumn.store, autumn.note).commit is None
    month = autumn.text("monthly/2026/2026-10.md")
    assert month.count("## 2026-W40") == 1
    assert autumn.decision.id in month


def test_a_replay_adds_nothing_to_days_that_were_consolidated(world, tmp_path):
    transcript = tmp_path / "0f4d6f58-1111-4222-8333-444455556666.jsonl"
    lines = [
        ("user", "Please make the parser faster, it takes a minute for the large file."),
        ("assistant", "Done. I decided to cache the tokens, because reading them twice was slow."),
    ]
    transcript.write_text(
        "".join(
            f'{{"type":"{role}","timestamp":"2026-10-05T0{number}:00:00Z","sessionId":"0f4d","uuid":"u{number}",'
            f'"message":{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}]}}}}\n'
            for number, (role, text) in enumerate(lines)
        ),
        encoding="utf-8",
    )
    assert replay(world.store, str(transcript)).saved == 1
    assert consolidate_due(world.store).done
    tip = world.store.tip
    assert replay(world.store, str(transcript)).saved == 0
    assert world.store.tip == tip


def test_one_that_cannot_be_done_keeps_no_other_from_being_done(autumn):
    folder = root(autumn) / "weekly/2026/2026-W43.md"
    folder.mkdir(parents=True)
    done = consolidate_due(autumn.store)
    assert [one.step.period for one in done.done] == ["2026-W40", "2026-W45", "2026-10"]
    assert done.finished
    assert "2026-W43 is not consolidated" in done.notices[0]
    assert (root(autumn) / "daily/2026/10/2026-10-20.md").exists()


def test_once_it_is_late_no_further_step_is_begun(autumn):
    looks = iter([False, True])
    done = consolidate_due(autumn.store, late=lambda: next(looks))
    assert [one.step.period for one in done.done] == ["2026-W40"]
    assert not done.finished


def test_behind_a_hook_it_is_done_once_a_day(autumn):
    do_upkeep(autumn.store, lambda: False)
    assert due(autumn.store) == ()
    autumn.save("x")
    late = autumn.event("delivered late", at=TODAY - timedelta(days=20))
    save(autumn.store, late)
    do_upkeep(autumn.store, lambda: False)
    assert len(due(autumn.store)) == 1
    autumn.clock.now = TODAY + timedelta(days=1)
    do_upkeep(autumn.store, lambda: False)
    assert due(autumn.store) == ()


def test_a_failure_is_written_to_the_log_and_felt_by_nobody(autumn, monkeypatch):
    def fail(*_: object) -> str:
        raise ValueError("no words")

    monkeypatch.setattr(consolidating, "sentences", fail)
    do_upkeep(autumn.store, lambda: False)
    assert len(FailureLog(autumn.store.private).failures()) == 1
    do_upkeep(autumn.store, lambda: False)  # once a day
    assert len(FailureLog(autumn.store.private).failures()) == 1
    assert "no words" in FailureLog(autumn.store.private).failures()[-1].message
    assert len(tree(autumn, "daily")) == 5


def test_archives_are_retained_as_configured_without_a_rotation(autumn):
    configured(autumn, "rotation:\n  archive_retention_days: 30\n")
    old = root(autumn) / "archive/memory_20260101_000000.md"
    old.parent.mkdir()
    old.write_text("# long ago\n", encoding="utf-8")
    do_upkeep(autumn.store, lambda: False)
    assert not old.exists()


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege there")
def test_a_link_in_the_place_of_a_day_is_not_followed(autumn, tmp_path):
    secret = tmp_path / "secret.md"
    secret.write_text("not yours\n", encoding="utf-8")
    link = root(autumn) / "daily/2026/11/2026-11-03.md"
    link.symlink_to(secret)
    done = consolidate_due(autumn.store)
    assert "daily/2026/11/2026-11-03.md stays" in done.notices[0]
    assert not (root(autumn) / "daily/2026/11/2026-11-02.md").exists()
    assert link.is_symlink()
    assert not any("not yours" in autumn.text(path) for path in tree(autumn, "weekly"))


def test_what_is_made_of_a_part_is_told_there_and_above_and_not_beside(world):
    """Weeks, summaries of archives and concepts: a search marks them elsewhere, a recall leaves them out."""
    configured(world, "rotation:\n  threshold_tokens: 400\n  carryover_tokens: 100\n")
    project = Path(world.store.root).parent
    for part in ("a/src", "b", "c"):
        (project / part).mkdir(parents=True)
    for part in "ab":
        add_scope(world.store, str(project / part))

    def of(part: str) -> Store:
        store = Store(world.store.root, world.store.context)
        store.folder = str(project / part)
        return store

    def told(words: str, folders: str) -> dict[str, tuple[bool, bool]]:
        """Return where a search finds it without a mark, and where a recall tells it."""
        found = {}
        for part in (".", "a", "a/src", "b", "c"):
            every = answer(of(part), words, limit=0).hits
            hits = [one for one in every if one.path.startswith(folders) and words.partition(" ")[0] in one.text]
            assert hits, part
            found[part] = (all(not hit.is_beside for hit in hits), bool(recall(words, hits, 900).text))
        return found

    everywhere = dict.fromkeys((".", "a", "a/src", "b", "c"), (True, True))
    yes, no = (True, True), (False, False)
    world.store = of("a/src")
    world.save_on("2026-11-02", "The zebra importer of the loader is faster by half since it caches tokens.")
    world.store = of(".")
    world.save_on("2026-10-20", "The okapi importer of the loader is faster by half since it caches tokens.")
    consolidate_due(world.store)
    drop_days(world.store.private)  # as in a new clone
    assert told("zebra importer", "weekly/") == everywhere | {"b": no, "c": no}
    assert told("okapi importer", "weekly/") == everywhere
    world.store = of("a")
    for number in range(30):
        if world.save(f"The parser of part {number} reads the tokens of gnus twice by now.").archive:
            break
    assert told("parser reads tokens", "summaries/") == everywhere | {"b": no, "c": no}
    exchange = Exchange(
        "x4f7k2m9q0x", "2026-11-20 10:00:00", ("in/a", "in/b"), "Shear the yak for wool.", keywords=("yak", "wool")
    )
    data = render_new(begun(exchange), [line_of(exchange, "sessions/2026/11/s.md")])
    (folder := Path(world.store.root, "concepts")).mkdir()
    (folder / "k4f7k2m9q0x-yak.md").write_bytes(data)
    assert told("yak wool", "concepts/") == dict.fromkeys(everywhere, no) | {".": yes}
