import re
from datetime import date

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gitmem.config.values import RotationConfig
from gitmem.document.entry import (
    CORE_DECISIONS,
    CURRENT_STATE,
    KNOWN_ISSUES,
    RECENT_CONTEXT,
    Entry,
    add_entry,
    entry_ids,
    fences,
    find_entries,
    find_section,
    render_entry,
    sections,
)
from gitmem.model.rotation import last_day, needs_rotation, plan_rotation, tail_of_lines
from gitmem.text.words import estimate_tokens, utf8_size

STAMP = "20261121_140322"
HEADER = "---\nid: memory\nkind: memory\ncreated: 2026-11-21T14:03:22+00:00\n---\n"
BODY = "# Memory\n\n## Core Decisions\n\n## Current State\n\n## Recent Context\n\n## Known Issues\n"
DEFAULT = RotationConfig()


def plan(body, *, header="", limits=DEFAULT, taken=(), uses=None):
    return plan_rotation(body, header=header, stamp=STAMP, taken=taken, limits=limits, uses=uses)


def entry(number, *, label="Note", size=200):
    text = f"entry {number} ".ljust(size, "x")
    return Entry(f"{number:020d}", "2026-11-21 12:00:00", label, text)


def fill(body, section, numbers, *, newline="\n", size=200):
    """Return a body with entries in one of its sections."""
    place = find_section(body, section)
    block = "".join(render_entry(entry(number, size=size), newline) for number in numbers)
    return body[: place.body] + newline + block + body[place.body :]


def section_text(body, title):
    place = find_section(body, title)
    return body[place.start : place.end]


def numbers_in(text):
    return [int(found.entry.id) for found in find_entries(text)]


def lines_of(text):
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def is_in_order_in(part, whole):
    remaining = iter(whole)
    return all(any(piece == other for other in remaining) for piece in part)


# -- numbers at the thresholds


@pytest.mark.parametrize(
    "size, rotates",
    [(0, False), (1, False), (50_000, False), (4 * 23_749, False), (4 * 23_749 + 1, True), (4 * 23_750, True)],
)
def test_the_threshold_is_exact(size, rotates):
    assert needs_rotation(size, DEFAULT) is rotates
    assert (plan("x" * size) is not None) is rotates


@given(st.text(st.sampled_from("ab가\n\r\u2028\udcff")), st.integers(0, 12))
def test_the_tail_is_the_longest_of_whole_lines_that_fits(text, tokens):
    tail = tail_of_lines(text, tokens)
    assert text.endswith(tail)
    assert estimate_tokens(tail) <= tokens
    lines = lines_of(text)
    kept = len(lines_of(tail))
    assert lines[len(lines) - kept :] == lines_of(tail)
    if kept < len(lines):
        assert estimate_tokens("".join(lines[-kept - 1 :])) > tokens


# -- what a file without the required sections keeps


def test_a_code_fence_is_kept_whole_or_not_at_all():
    fence = "```python\n" + "# a comment, no heading\n" * 20 + "```\n"
    body = "words\n" * 20_000 + fence + "end\n"
    assert plan(body).remaining.endswith(fence + "end\n")
    large = "```\n" + "code\n" * 3_000 + "```\n"
    assert plan("words\n" * 20_000 + large + "end\n").remaining == "end\n"
    quoting = "```\n" + render_entry(entry(1)) + "```\n"
    assert plan("words\n" * 20_000 + quoting + "end\n").remaining.endswith(f"words\n{quoting}end\n")


# -- what a file with these sections keeps


def test_issues_cannot_push_decisions_out():
    body = fill(BODY, KNOWN_ISSUES, range(1000, 2000))
    body = fill(body, CORE_DECISIONS, range(100))
    remaining = plan(body).remaining
    assert numbers_in(section_text(remaining, CORE_DECISIONS)) == list(range(100))
    assert numbers_in(section_text(remaining, KNOWN_ISSUES))[-1] == 1999


def test_the_current_state_stays():
    body = fill(BODY, RECENT_CONTEXT, range(500))
    body = body.replace("## Current State\n", "## Current State\n\nOn branch session-cache; two tests fail.\n")
    assert section_text(plan(body).remaining, CURRENT_STATE) == section_text(body, CURRENT_STATE)


def decision(number, size=200):
    return Entry(f"d{number:010d}", "2026-11-21 12:00:00", "Decision", f"decision {number} ".ljust(size, "x"))


def with_decisions(numbers):
    block = "".join(render_entry(decision(number)) for number in numbers)
    return BODY.replace("## Core Decisions\n", f"## Core Decisions\n\n{block}")


def test_the_count_is_taken_anew_and_kept_where_facts_are_not_known():
    uses = {CORE_DECISIONS: {decision(number).id: 1 for number in range(1000)}}
    once = plan(with_decisions(range(700)), uses=uses).remaining
    shown = len(find_entries(once))
    assert f"{1000 - shown} more are facts" in once
    again = fill(once, RECENT_CONTEXT, range(600))
    assert plan(again, uses=uses).remaining.count(f"\n- {1000 - shown} more are facts") == 1
    assert f"\n- {1000 - shown} more are facts" in plan(again).remaining
    none = {CORE_DECISIONS: {found.entry.id: 1 for found in find_entries(once)}}
    assert "more are facts" not in plan(again, uses=none).remaining


def exchange(number, session, size=200):
    return Entry(f"x{number:010d}", "2026-11-21 12:00:00", "Exchange", f"{number} ".ljust(size, "x"), (session,))


def test_recent_context_keeps_three_sessions():
    entries = [exchange(number, f"sess{min(number // 10, 3)}") for number in range(500)]
    block = "".join(map(render_entry, entries))
    remaining = plan(BODY.replace("## Recent Context\n", f"## Recent Context\n\n{block}")).remaining
    kept = [found.entry for found in find_entries(remaining)]
    assert {entry.tags[0] for entry in kept} == {"sess1", "sess2", "sess3"}
    assert kept == [entry for entry in entries if entry in kept]
    assert kept[-1] == entries[-1]
    assert 2_300 < estimate_tokens(section_text(remaining, RECENT_CONTEXT)) <= 2_375


def test_a_section_is_not_cut_into_the_one_before_it():
    """Without its heading, what stays of a user's section would be taken for decisions, and kept for ever."""
    body = "## Core Decisions\n\n## Sketches\n\n" + "a sketch\n" * 12_000 + "## Recent Context\n"
    remaining = plan(body).remaining
    assert remaining.startswith("## Core Decisions\n\n## Sketches\n\na sketch\n")
    assert remaining.endswith("a sketch\n## Recent Context\n")
    assert 2_365 < estimate_tokens(remaining.removeprefix("## Core Decisions\n\n")) <= 2_375


# -- whatever the file


def _block(number):
    return render_entry(Entry(f"{number:020d}", "2026-11-21 12:00:00", "Note", f"first {number}\n\n- more of {number}"))


TITLES = st.sampled_from([CORE_DECISIONS, CURRENT_STATE, RECENT_CONTEXT, KNOWN_ISSUES, "Mine", "known issues", "2026"])
PIECES = st.sampled_from(
    [
        *("\n", " \n", "prose\n", "한글 문장\n", "### Deep\n", "x" * 300 + "\n", "```sh\n# no heading\n\n```\n"),
        *("- item\n", None),
    ]
)


@st.composite
def bodies(draw):
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    text, number = "", 0
    for title in ["", *draw(st.lists(TITLES, max_size=6))]:
        if title:
            text += f"{draw(st.sampled_from(['##', '##', '#']))} {title}\n"
        for piece in draw(st.lists(PIECES, max_size=8)):
            text += piece or _block(number)
            number += not piece
    return text.removesuffix("\n" * draw(st.integers(0, 1))).replace("\n", newline)


MOST_NEED_NO_ROTATION = settings(suppress_health_check=[HealthCheck.filter_too_much])
LIMITS = st.builds(RotationConfig, st.integers(0, 400), st.integers(0, 100))


@given(bodies(), st.sampled_from(["", HEADER]), LIMITS)
def test_a_rotation_makes_room_and_keeps_whole_pieces_in_order(body, header, limits):
    made = plan(body, header=header, limits=limits)
    if made is None:
        fits = estimate_tokens(header + body) < limits.threshold
        assert fits or not header + body or estimate_tokens(header) >= limits.threshold
        return
    assert made.tokens == estimate_tokens(header + body) >= limits.threshold
    assert made.remaining.startswith(header)
    assert not needs_rotation(utf8_size(made.remaining), limits)
    assert plan(made.remaining[len(header) :], header=header, limits=limits) is None
    remaining = made.remaining[len(header) :]
    assert is_in_order_in(lines_of(remaining), lines_of(body))
    assert is_in_order_in([f.entry for f in find_entries(remaining)], [f.entry for f in find_entries(body)])
    assert {f"more of {int(identifier)}" for identifier in entry_ids(remaining)} == set(
        re.findall(r"more of \d+", remaining)
    )
    assert remaining.count("```") == 2 * len(fences(remaining))


@MOST_NEED_NO_ROTATION
@given(bodies(), st.integers(100, 400), st.integers(0, 60))
def test_decisions_stay_while_they_fill_less_than_half(body, threshold, carryover):
    limits = RotationConfig(threshold, carryover)
    made = plan(body, limits=limits)
    parts = [part for part in sections(body) if part.title == CORE_DECISIONS]
    decisions = "".join(body[part.start : part.end] for part in parts)
    headings = 40  # at most, in tokens: those that stay in any case
    opening = limits.carryover
    assume(made is not None)
    assume(estimate_tokens(decisions) + len(parts) <= min(limits.threshold // 2, limits.threshold - headings - opening))
    assert entry_ids(decisions) <= entry_ids(made.remaining)


@MOST_NEED_NO_ROTATION
@given(bodies(), LIMITS)
def test_what_is_saved_after_a_rotation_finds_its_section(body, limits):
    made = plan(body, limits=limits)
    assume(made is not None)
    saved = add_entry(made.remaining, RECENT_CONTEXT, entry(10**6))
    assert f"entry {10**6}" in section_text(saved, RECENT_CONTEXT)
    if find_section(body, RECENT_CONTEXT) and find_section(made.remaining, RECENT_CONTEXT):
        assert len(sections(saved)) == len(sections(made.remaining))


@pytest.mark.parametrize(
    "path, day",
    [
        ("monthly/2026/2026-12.md", date(2026, 12, 31)),
        ("monthly/2024/2024-02.md", date(2024, 2, 29)),
        ("weekly/2026/2026-W53.md", date(2027, 1, 3)),
        ("weekly/2025/2025-W53.md", None),
        ("memory.md", None),
    ],
)
def test_the_last_day_of_a_document(path, day):
    assert last_day(path) == day


HOSTILE = [
    *("x", "x\n", " ", "\n", " \n", "## a\n", "## Core Decisions\n", "```\n", "```a\n", _block(1)),
    "```\n" + _block(1) + "```\n",
]


@pytest.mark.parametrize("begin", ["", "## Core Decisions\n", "## Recent Context\n\n"])
@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.few(1)
def test_steps_grow_with_the_length_of_hostile_text(grows_linearly, begin, piece):
    small = RotationConfig(200, 100)
    assert grows_linearly(lambda body: plan(body, limits=small), lambda size: begin + piece * (size // len(piece)))
