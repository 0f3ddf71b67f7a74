from datetime import UTC, datetime

import pytest

from gitmem.document.entry import render_entry
from gitmem.model.fact import FactKind, make_fact
from gitmem.model.line_edits import fact_entries, is_ended, line_edits, line_of, updated_body
from gitmem.model.validity import ended, reworded

NOW = datetime(2026, 11, 21, tzinfo=UTC)
TIME = "2026-11-21 14:03:22"
USE_UV = make_fact(FactKind.DECISION, "Use uv.\n\n**Why:** its lock file.", NOW)
LINE = render_entry(line_of(USE_UV, TIME)._replace(tags=("build",)))
BODY = f"## Core Decisions\n\n- a person's line\n{LINE}\n## Known Issues\n"


def test_a_line_follows_its_fact_and_nothing_else_changes():
    assert updated_body(BODY, {USE_UV.id: USE_UV}) == BODY
    gone = BODY.replace(LINE, "")
    assert updated_body(BODY, {USE_UV.id: ended(USE_UV, NOW)}) == gone
    assert updated_body(BODY, {}, removed=[USE_UV.id]) == gone
    assert updated_body(BODY, {USE_UV.id: reworded(USE_UV, "Use pixi.", NOW)}) == BODY.replace(
        LINE, f"- [{TIME}] **Decision** #build: Use pixi. ^{USE_UV.id}\n"
    )


def test_a_new_one_gets_a_line_in_its_section():
    issue = make_fact(FactKind.ISSUE, "It flickers.", NOW)
    core = make_fact(FactKind.CORE_LOGIC, "All handlers are idempotent.", NOW)
    facts = {fact.id: fact for fact in (issue, core)}
    added = updated_body(BODY, facts, new=dict.fromkeys(facts, TIME))
    assert added == f"{BODY}\n- [{TIME}] **Issue**: It flickers. ^{issue.id}\n"


@pytest.mark.parametrize(
    "line, over",
    [
        ("~~Use uv.~~", True),
        ("- ~~[14:03:22] **Decision** #a: Use uv. ^d4f7k2m9q0x~~", True),
        ("- [2026-11-21 14:03:22] **Decision** #a: ~~Use uv.~~ ^d4f7k2m9q0x", True),
        ("[x] Use uv.", True),
        ("- [X] [2026-11-21 14:03:22] **Issue**: It flickers ^i4f7k2m9q0x", True),
        ("[2026-11-21 14:03:22] **Issue**: [X] It flickers ^i4f7k2m9q0x", True),
        ("- [x] [2026-11-21 14:03:22] **Decision**: Use uv. ^d4f7k2m9q0x", True),
        ("~~[2026-11-21 14:03:22] **Decision**: Use uv.~~ ^d4f7k2m9q0x", True),
        ("Use ~~pnpm~~ uv.", False),
        ("- [ ] Use uv.", False),
        ("Use `~~` for that.", False),
        ("Write [x] for done.", False),
    ],
)
def test_what_ends_a_line(line, over):
    assert is_ended(line) is over


def test_an_edit_of_other_lines_means_nothing():
    edits = line_edits(fact_entries(BODY), BODY.replace("a person's line", "another line"))
    assert (edits.ended, edits.reworded, edits.revived) == ((), {}, ())
    assert "another line" in edits.body


def test_a_line_that_was_taken_out_with_its_further_lines_ends_the_fact():
    edits = line_edits(fact_entries(BODY), BODY.replace(LINE, ""))
    assert (edits.ended, edits.body) == ((USE_UV.id,), BODY.replace(LINE, ""))
    struck = BODY.replace("[2026-11-21 14:03:22] **Decision** #build: Use uv.", "~~Use uv.~~")
    edits = line_edits(fact_entries(BODY), struck)
    assert (edits.ended, edits.body) == ((USE_UV.id,), BODY.replace(LINE, ""))


def test_a_line_that_comes_back_brings_its_fact_back():
    assert line_edits(fact_entries(BODY.replace(LINE, "")), BODY).revived == (USE_UV.id,)


def test_a_reworded_line_keeps_its_further_lines():
    edits = line_edits(fact_entries(BODY), BODY.replace("Use uv.", "Use pixi."))
    assert edits.reworded == {USE_UV.id: "Use pixi.\n\n**Why:** its lock file."}
