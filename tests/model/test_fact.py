from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.document.document import BrokenHeaderError, Document
from gitmem.document.ids import check_path
from gitmem.model.fact import (
    Fact,
    FactKind,
    FactStatus,
    day_of,
    is_fact_path,
    make_fact,
    parse_fact,
    render_fact,
    without_links,
)

WHEN = datetime(2026, 1, 11, 10, 11, tzinfo=timezone(timedelta(hours=9)))
BY_HAND = b"""---\r
# mine\r
name: use-uv   # short\r
description: 'Use uv, not pnpm.'\r
metadata:\r
  type: project\r
  node: 007\r
kind: decision\r
id: d4f7k2m9q0x\r
created: 2026-01-11\r
mood: [good]\r
---\r
Use uv, not pnpm.\r
\r
**Why:** its lock file is faster.\r
"""

EARLIEST = datetime(1971, 1, 1)  # noqa: DTZ001  # the strategy wants it without a zone
LINE = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=30)
FACTS = st.builds(
    make_fact,
    st.sampled_from(FactKind),
    st.text(min_size=1).filter(lambda text: bool(text.strip())),
    st.datetimes(EARLIEST, timezones=st.just(UTC)).map(lambda moment: moment.replace(microsecond=0)),
    status=st.sampled_from(FactStatus),
    confidence=st.none() | st.floats(0, 1),
    origin=st.dictionaries(st.sampled_from(["tool", "id", "session", "exchange", "commit"]), LINE),
    sources=st.lists(LINE).map(tuple),
    keywords=st.lists(LINE).map(tuple),
    files=st.lists(LINE).map(tuple),
    commit=st.just("") | LINE,
    supersedes=st.lists(LINE).map(tuple),
    superseded_by=st.just("") | LINE,
)


@given(FACTS)
def test_a_new_fact_reads_back_as_it_is(fact):
    data = render_fact(fact)
    found = parse_fact(data, fact.path)
    assert found == fact._replace(text=found.text, file=fact.path, source=data)
    assert found.text.split() == fact.text.split()
    assert render_fact(found) == data
    assert is_fact_path(check_path(fact.path))
    assert Document.parse(data).problem is None


@pytest.mark.slow
@given(FACTS, FACTS)
def test_a_fact_that_is_changed_reads_back_as_changed(fact, other):
    found = parse_fact(render_fact(fact))
    changed = other._replace(id=fact.id, kind=fact.kind, source=found.source)
    again = parse_fact(render_fact(changed))
    assert again == changed._replace(text=again.text, source=again.source)


def test_a_new_fact_has_the_shape_of_the_hosts_own():
    fact = make_fact(
        FactKind.DECISION, "Use uv, not pnpm.\n\n**Why:** fast.", WHEN, keywords=("uv", "패키지"), confidence=0.9
    )
    assert render_fact(fact).decode() == (
        "---\n"
        "name: use-uv-not-pnpm\n"
        'description: "Use uv, not pnpm."\n'
        "metadata:\n"
        "  type: project\n"
        f"id: {fact.id}\n"
        "kind: decision\n"
        "status: active\n"
        "created: 2026-01-11T10:11:00+09:00\n"
        "confidence: 0.9\n"
        "keywords: [uv, 패키지]\n"
        "---\n"
        "Use uv, not pnpm.\n\n**Why:** fast.\n"
    )


def test_what_a_user_wrote_stays_when_a_fact_is_changed():
    fact = parse_fact(BY_HAND)
    assert render_fact(fact) == BY_HAND
    changed = fact._replace(status=FactStatus.SUPERSEDED, superseded_by="d0000000000")
    assert render_fact(changed) == BY_HAND.replace(
        b"mood: [good]\r\n", b"mood: [good]\r\nstatus: superseded\r\nsuperseded_by: d0000000000\r\n"
    )
    assert render_fact(parse_fact(render_fact(changed))._replace(superseded_by="", status=FactStatus.ACTIVE)) == (
        BY_HAND.replace(b"mood: [good]\r\n", b"mood: [good]\r\nstatus: active\r\n")
    )
    assert render_fact(fact._replace(text="Use uv.\nAlways.")).endswith(b"---\r\nUse uv.\r\nAlways.\r\n")


def test_an_issue_is_open_and_what_is_not_known_is_empty():
    assert make_fact(FactKind.ISSUE, "느린 빌드", WHEN).status is FactStatus.OPEN
    found = parse_fact(
        b"---\nkind: issue\nconfidence: 7\nkeywords: one\norigin: [x]\ncreated: never\n---\nslow\n",
        "facts/issue/i0z8fbp1jjg.md",
    )
    assert (found.id, found.status, found.confidence, found.keywords) == (
        "i0z8fbp1jjg",
        FactStatus.OPEN,
        None,
        ("one",),
    )
    assert (found.origin, day_of(found.created), found.binds) == ({}, "undated", True)
    assert not found._replace(status=FactStatus.RESOLVED).binds


@pytest.mark.parametrize(
    "data", [b"", b"# notes\n", b"---\nname: x\n---\n", b"---\nkind: decision\n---\n", b"---\nid: [\n---\nx"]
)
def test_other_files_are_no_facts(data):
    assert parse_fact(data) is None


def test_a_broken_header_is_not_written_into():
    fact = Fact("d4f7k2m9q0x", FactKind.DECISION, "x", WHEN, source=b"---\na: [\n---\nx\n")
    with pytest.raises(BrokenHeaderError):
        render_fact(fact)


def test_a_body_of_line_ends_is_read_in_a_moment():
    assert without_links("Use uv.\n\n## Links\n\n- session: [a](b)\n") == "Use uv."
    assert without_links("\n" * 300_000 + "x").endswith("x")  # minutes, were each line end tried with all after it
