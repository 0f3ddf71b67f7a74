import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.document.entry import Entry, render_entry
from gitmem.model.fact import FactKind, FactStatus, make_fact
from gitmem.model.lines import marks_of, with_marks

BEGIN, LATER = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
NEW = make_fact(FactKind.DECISION, "Use Memcached.", BEGIN)
OLD = make_fact(
    FactKind.DECISION, "Use Redis.", BEGIN, status=FactStatus.SUPERSEDED, superseded_by=NEW.id, updated=LATER
)
DONE = make_fact(FactKind.ISSUE, "It flickers.\n\nOften.", BEGIN, status=FactStatus.RESOLVED, updated=LATER)
MARKS = marks_of([NEW, OLD, DONE])
SAID = " [superseded since 2026-02-01, now: Use Memcached.]"


def line(identifier: str, label: str, text: str) -> str:
    return render_entry(Entry(identifier, "2026-01-01 10:00:00", label, text))


def test_what_says_an_ended_fact_in_other_words_says_so_in_each_sentence_and_in_a_summary_of_it():
    marks = marks_of([USE_REDIS])
    mark = '["Use Redis for sessions." is retired since 2026-02-01]'
    text = "Use Redis for sessions.\nDone: Noted: Redis. All is well."
    entry = Entry(SAID_HERE, "2026-01-01 10:00:00", "Exchange", text)
    head, done, *_ = with_marks(render_entry(entry), marks).splitlines()
    assert "sessions. [retired since 2026-02-01] ^" in head
    assert done.strip() == f"Done: Noted: Redis. {mark} All is well."
    summary = "One day\nNoted: Redis. It rained."
    assert with_marks(summary, marks) == summary
    assert with_marks(summary, marks, "", [entry]) == f"One day\nNoted: Redis. {mark} It rained."


def test_lines_without_the_id_of_a_fact_are_known_by_type_and_words():
    old = "1" * 20
    text = (
        line(old, "Decision", "use  redis") + line("2" * 20, "Note", "Use Redis.") + line("3" * 20, "Issue", DONE.text)
    )
    marked = with_marks(text, MARKS)
    assert marked.split("\n")[0].endswith(f"use  redis{SAID} ^{old}")
    assert "Note**: Use Redis. ^" in marked
    assert "It flickers. [resolved since 2026-02-01] ^333" in marked


SAID_HERE = "x0123456789"
USE_REDIS = make_fact(
    FactKind.DECISION,
    "Use Redis for sessions.",
    BEGIN,
    status=FactStatus.RETIRED,
    updated=LATER,
    sources=(SAID_HERE,),
)


def test_what_a_fact_was_learned_from_and_what_has_its_words_say_that_it_ended():
    marks = marks_of([USE_REDIS])
    mark = '["Use Redis for sessions." is retired since 2026-02-01]'
    learned = line(SAID_HERE, "Exchange", "Redis it is.")
    other = line("x000000000a", "Exchange", "use redis for  sessions, please")
    same = line("x000000000c", "Exchange", "use redis for sessions")
    innocent = line("x000000000b", "Exchange", "Is Redis up?")

    text = with_marks(learned + other + innocent + same, marks).splitlines()
    assert text[0].endswith(f"Redis it is. {mark} ^{SAID_HERE}")
    assert text[1].endswith("use redis for  sessions [retired since 2026-02-01], please ^x000000000a")
    assert text[2] == innocent.rstrip()
    assert text[3].endswith("use redis for sessions [retired since 2026-02-01] ^x000000000c"), "not named twice"
    prose = with_marks("So we USE REDIS\nfor sessions. And Postgres.", marks)
    assert prose == "So we USE REDIS\nfor sessions. [retired since 2026-02-01] And Postgres."


def test_what_another_fact_in_force_says_is_not_marked():
    again = make_fact(FactKind.RULE, "Use Redis for sessions.", LATER)
    text = line(SAID_HERE, "Exchange", "Use Redis for sessions.")
    assert with_marks(text, marks_of([USE_REDIS, again])) == text


def test_what_a_longer_fact_in_force_says_is_not_marked_in_its_middle():
    longer = make_fact(FactKind.DECISION, "Do not use Redis for sessions, use Valkey.", LATER)
    marks = marks_of([USE_REDIS._replace(superseded_by=longer.id, status=FactStatus.SUPERSEDED), longer])
    text = line(longer.id, "Decision", longer.text) + f"So we {longer.text.lower()}\n"
    assert with_marks(text, marks) == text
    assert with_marks("Use Redis for sessions now.", marks).count("superseded") == 1


def test_old_views_of_a_fact_say_its_new_wording():
    new = USE_REDIS._replace(status=FactStatus.ACTIVE, description="Use Valkey for sessions.")
    text = line(SAID_HERE, "Exchange", "Use Redis for sessions.")
    assert "sessions. [now: Use Valkey for sessions.] ^" in with_marks(text, marks_of([new]))
    day = line(USE_REDIS.id, "Decision", "Use Redis for sessions.")
    assert "sessions. [now: Use Valkey for sessions.] ^" in with_marks(day, marks_of([new]))
    summary = with_marks("So we use Redis for sessions. And Postgres.", marks_of([new]))
    assert summary == "So we use Redis for sessions. [now: Use Valkey for sessions.] And Postgres."
    longer = USE_REDIS._replace(status=FactStatus.ACTIVE, description="Use Redis for sessions and jobs.")
    assert with_marks(longer.description, marks_of([longer])) == longer.description
    banned = make_fact(FactKind.RULE, "Never use Redis for sessions.", LATER)
    for text_of_other in (banned.text, line(banned.id, "Rule", banned.text.rstrip("."))):
        assert with_marks(text_of_other, marks_of([new, banned])) == text_of_other
    unchanged = USE_REDIS._replace(status=FactStatus.ACTIVE)
    assert with_marks(text, marks_of([unchanged])) == text


def test_a_new_wording_stands_before_the_id_of_an_entry_whose_sentence_has_no_end():
    old = make_fact(FactKind.DECISION, "Use Postgres 14.", BEGIN)
    line = "- [2026-01-02 10:00:00] **Exchange** #s1: Use Postgres 14 because it is hosted → changed d.py ^xpn6nzkg36t"
    shown = with_marks(line, marks_of([old._replace(description="Use Postgres 16.", updated=LATER)]))
    assert shown == line.replace(" ^x", " [now: Use Postgres 16.] ^x")


def ended(text: str):
    return make_fact(FactKind.DECISION, text, BEGIN, status=FactStatus.RETIRED, updated=LATER)


@pytest.mark.parametrize(
    "text, marked",
    [
        ("Keep the loader in a.py.", "Keep the loader in a.py."),
        ("We keep the loader in a, b.", "We keep the loader in a [MARK], b."),
        ("Keep the loader in a. And b.", "Keep the loader in a. [MARK] And b."),
        ("Keep the loader in alpha.", "Keep the loader in alpha."),
        ("Keep the loader in a/b or a-b.", "Keep the loader in a/b or a-b."),
        ("설정 로더는 늘 a에 둔다고 했다", "설정 로더는 늘 a에 둔다고 [MARK] 했다"),
        ("Ukeep the loader in a.", "Ukeep the loader in a."),
    ],
)
def test_a_mark_stands_behind_words_and_not_inside_one(text, marked):
    marks = marks_of([ended("Keep the loader in a."), ended("설정 로더는 늘 a에 둔다")])
    assert with_marks(text, marks) == marked.replace("MARK", "retired since 2026-02-01")


def test_the_new_wording_stands_behind_a_sentence_with_names_of_files():
    old = make_fact(FactKind.DECISION, "Use the settings loader of a.py here.", BEGIN)
    new = old._replace(description="Read settings in b.py.", updated=LATER)
    told = with_marks("We use the settings loader of a.py here. And c.", marks_of([new]))
    assert told == "We use the settings loader of a.py here. [now: Read settings in b.py.] And c."


def test_a_line_of_state_is_marked_in_words_and_a_resolved_issue_of_a_summary_is_not_open():
    state = f"Moved the cache. [superseded: {OLD.id}]"
    assert with_marks(state, MARKS) == f"Moved the cache.{SAID}"
    issue = ended("It flickers in the evening.")
    text = 'issues:\n  - issue: "It flickers in the evening."\n    status: open\n  - issue: Other.\n    status: open\n'
    marked = with_marks(text, marks_of([issue]))
    assert marked.count("status: open") == 1
    assert 'evening. [retired since 2026-02-01]"\n    status: resolved\n' in marked


@given(st.text(alphabet='abé가.! \n^[]"', max_size=40), st.text(alphabet="abé가. ", min_size=12, max_size=14))
def test_marks_only_add_to_a_text_and_split_no_word(text, words):
    if fact := (ended(words) if words.strip() else None):
        said = f"{text}{words}{text}"
        marked = with_marks(said, marks_of([fact]))
        assert marked.replace(" [retired since 2026-02-01]", "") == said
        assert not re.search(r"\w\.? \[retired since 2026-02-01\]\.?\w", marked)
