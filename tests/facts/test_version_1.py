from __future__ import annotations

from datetime import UTC, datetime

from gitmem.document.entry import Entry, find_entries, render_entry
from gitmem.facts.fact import FactKind, make_fact
from gitmem.facts.validity import ended
from gitmem.facts.version_1 import lines_to_facts, renamed

AT = datetime(2026, 11, 20, tzinfo=UTC)
TIME = "2026-11-20 14:00:00"
NEW = Entry("1ksd9q2x0m3v8t5w7zab", TIME, "Decision", "Use uv, not pnpm", ("build",))
AGAIN = Entry("1ksd9q2x0mzzzzzzzzzz", TIME, "Decision", "use uv, not  pnpm.")
OLD = Entry("1ksd9q2x0m1111111111", TIME, "Issue", "it flickers")
NOTE = Entry("1ksd9q2x0m2222222222", TIME, "Note", "A note.")


def body(*entries: Entry) -> str:
    return "## Core Decisions\n\nby hand\n" + "".join(map(render_entry, entries))


def test_a_line_becomes_a_fact_and_the_line_of_it():
    brought = lines_to_facts(body(NEW, NOTE), {})
    [fact] = brought.new
    assert (fact.kind, fact.text, fact.sources) == (FactKind.DECISION, NEW.text, (NEW.id,))
    assert brought.body == body(NEW._replace(id=fact.id), NOTE)


def test_of_two_that_say_the_same_the_first_stays():
    brought = lines_to_facts(body(NEW, AGAIN), {})
    [fact] = brought.new
    assert brought.body == body(NEW._replace(id=fact.id))


def test_a_line_of_which_a_session_made_a_fact_is_that_facts():
    fact = make_fact(FactKind.ISSUE, "It flickers.", AT, sources=(OLD.id,))
    brought = lines_to_facts(body(OLD), {fact.id: fact})
    assert brought.new == ()
    [line] = [found.entry for found in find_entries(brought.body)]
    assert (line.id, line.text) == (fact.id, "It flickers.")
    over = lines_to_facts(body(OLD, NOTE), {fact.id: ended(fact, AT)})
    assert over.body == body(NOTE), "what was resolved is not told as open any more"
    assert renamed(body(OLD), over.ids) == body(OLD._replace(id=fact.id)), "the log keeps its line"
