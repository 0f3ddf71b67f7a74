from __future__ import annotations

from datetime import UTC, datetime

from gitmem.model.entry.entry import Entry, render_entry
from gitmem.model.fact.fact import FactKind, FactStatus, make_fact
from gitmem.model.fact.views.marks import marks_of, with_marked_words, with_marks, without_ended

BEGIN, LATER = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
NEW = make_fact(FactKind.DECISION, "Use Memcached.", BEGIN)
OLD = make_fact(
    FactKind.DECISION, "Use Redis.", BEGIN, status=FactStatus.SUPERSEDED, superseded_by=NEW.id, updated=LATER
)
DONE = make_fact(FactKind.ISSUE, "It flickers.\n\nOften.", BEGIN, status=FactStatus.RESOLVED, updated=LATER)
MARKS = marks_of([NEW, OLD, DONE])
SAID = f" [superseded since 2026-02-01 by: Use Memcached. ({NEW.id})]"


def line(identifier: str, label: str, text: str) -> str:
    return render_entry(Entry(identifier, "2026-01-01 10:00:00", label, text))


def test_lines_of_what_ended_say_so_before_their_id():
    holds = line(NEW.id, "Decision", NEW.text)
    text = holds + line(OLD.id, "Decision", OLD.text) + "words\n"
    assert with_marks(text, MARKS) == text.replace(f" ^{OLD.id}", f"{SAID} ^{OLD.id}")
    assert without_ended(text, MARKS) == f"{holds}words\n"


def test_lines_without_the_id_of_a_fact_are_known_by_type_and_words():
    old = "1" * 20
    text = (
        line(old, "Decision", "use  redis") + line("2" * 20, "Note", "Use Redis.") + line("3" * 20, "Issue", DONE.text)
    )
    marked = with_marks(text, MARKS)
    assert marked.split("\n")[0].endswith(f"use  redis{SAID} ^{old}")
    assert "Note**: Use Redis. ^" in marked
    assert "It flickers. [resolved since 2026-02-01] ^333" in marked


def test_what_is_in_dispute_says_with_which():
    one = NEW._replace(review=(OLD.id,))
    marks = marks_of([one, OLD._replace(status=FactStatus.ACTIVE, superseded_by="")])
    text = line(NEW.id, "Decision", NEW.text)
    assert f"[in dispute with: Use Redis. ({OLD.id})] ^" in with_marks(text, marks)
    assert without_ended(text, marks) == text


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
    assert f"{mark} ^x000000000a" in text[1]
    assert text[2] == innocent.rstrip()
    assert text[3].endswith("use redis for sessions [retired since 2026-02-01] ^x000000000c"), "not named twice"
    prose = with_marked_words("So we USE REDIS\nfor sessions. And Postgres.", marks)
    assert prose == "So we USE REDIS\nfor sessions. [retired since 2026-02-01] And Postgres."


def test_what_another_fact_in_force_says_is_not_marked():
    again = make_fact(FactKind.RULE, "Use Redis for sessions.", LATER)
    text = line(SAID_HERE, "Exchange", "Use Redis for sessions.")
    assert with_marks(text, marks_of([USE_REDIS, again])) == text


def test_old_views_of_a_fact_say_its_new_wording():
    new = USE_REDIS._replace(status=FactStatus.ACTIVE, description="Use Valkey for sessions.")
    text = line(SAID_HERE, "Exchange", "Use Redis for sessions.")
    assert f"sessions. [now: Use Valkey for sessions. ({new.id})] ^" in with_marks(text, marks_of([new]))
    day = line(USE_REDIS.id, "Decision", "Use Redis for sessions.")
    assert f"sessions. [now: Use Valkey for sessions. ({new.id})] ^" in with_marks(day, marks_of([new]))
    summary = with_marked_words("So we use Redis for sessions. And Postgres.", marks_of([new]))
    assert summary == f"So we use Redis for sessions. [now: Use Valkey for sessions. ({new.id})] And Postgres."
    longer = USE_REDIS._replace(status=FactStatus.ACTIVE, description="Use Redis for sessions and jobs.")
    assert with_marked_words(longer.description, marks_of([longer])) == longer.description
    unchanged = USE_REDIS._replace(status=FactStatus.ACTIVE)
    assert with_marks(text, marks_of([unchanged])) == text
