"""What a search tells of facts that no longer hold."""

from __future__ import annotations

from gitmem.search.engine import answer
from gitmem.search.recall import recall

FACT = """---
id: {id}
kind: decision
status: {status}
created: 2026-11-01T10:00:00+00:00
{more}---
{text}
"""


def put(shelf, identifier, text, status="active", more=""):
    shelf.put(f"facts/decision/{identifier}-x.md", FACT.format(id=identifier, text=text, status=status, more=more))


def test_what_was_superseded_is_left_out_and_counted_and_told_with_its_successor_when_asked(shelf):
    put(shelf, "d000000000a", "Use Memcached for the session cache.")
    put(shelf, "d000000000b", "Use Redis for the session cache.", "superseded", "superseded_by: d000000000a\n")
    line = "- [2026-11-01 10:00:00] **Decision**: Use Redis for the session cache. ^d000000000b\n"
    shelf.put("archive/memory_20261102_000000.md", line)

    found = answer(shelf.store, "session cache")
    assert [hit.entry for hit in found.hits] == ["d000000000a"]
    assert (found.total, found.left_out) == (1, 1)

    everything = answer(shelf.store, "session cache", ended=True)
    told = {hit.entry: hit.standing for hit in everything.hits}
    assert told == {"d000000000a": "", "d000000000b": "superseded"}
    assert everything.left_out == 0
    told = recall("session cache", everything.hits, 2_000).text
    assert (
        "Use Redis for the session cache. [superseded since 2026-11-01, now: Use Memcached for the session cache.]"
        in told
    )


def test_what_is_all_that_matches_is_told_though_it_does_not_hold(shelf):
    put(shelf, "d000000000b", "Use Redis for the session cache.", "retired")

    (hit,) = shelf.search("redis")

    assert (hit.entry, hit.standing) == ("d000000000b", "retired")


def test_what_is_disputed_is_found_with_what_contradicts_it(shelf):
    put(shelf, "d000000000a", "Indent with tabs.")
    put(shelf, "d000000000b", "Indent with spaces.", more="review: [d000000000a]\n")

    assert {(hit.standing, hit.shown(hit.snippet)) for hit in shelf.search("indent")} == {
        ("disputed", "Indent with tabs. [in dispute with: Indent with spaces.]"),
        ("disputed", "Indent with spaces. [in dispute with: Indent with tabs.]"),
    }


def test_a_fact_names_the_session_in_which_it_was_learned(shelf):
    put(shelf, "d000000000a", "Use Redis for the session cache.", more="origin: {session: 1b4e51f0-5f0c}\n")

    assert [hit.session for hit in shelf.search("redis")] == ["1b4e51f0-5f0c"]


def test_what_a_fact_was_learned_from_says_that_it_does_not_hold(shelf):
    put(shelf, "d000000000a", "Use Memcached for sessions.")
    more = "superseded_by: d000000000a\nsources: [x0123456789]\n"
    put(shelf, "d000000000b", "Use Redis for sessions.", "superseded", more)
    shelf.put("memory.md", "- [2026-11-01 10:00:00] **Exchange**: Let us take Redis. ^x0123456789\n")
    shelf.put("daily/2026/11/2026-11-02.md", "# Notes\n\nWe use Redis for sessions.\n")

    found = answer(shelf.store, "redis")
    assert {hit.path: hit.standing for hit in found.hits} == {
        "memory.md": "tells what is superseded",
        "daily/2026/11/2026-11-02.md": "tells what is superseded",
    }
    mark = "superseded since 2026-11-01, now: Use Memcached for sessions.]"
    assert {hit.path: hit.shown(hit.snippet) for hit in found.hits} == {
        "memory.md": f'Let us take Redis. ["Use Redis for sessions." is {mark}',
        "daily/2026/11/2026-11-02.md": f"# Notes We use Redis for sessions. [{mark}",
    }
    assert found.left_out == 1
