from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.document.document import Document
from gitmem.document.entry import Entry, MemoryType, find_entries, find_section, render_entry
from gitmem.document.ids import check_path, daily_path, make_id
from gitmem.model.consolidation import consolidate, period_document, plan_consolidation

LASTING = {kind.label for kind in MemoryType if kind.lasts}
TODAY = date(2026, 11, 22)  # a Sunday
LABELS = ["Decision", "Preference", "Issue", "Pattern", "Learning", "Error Fix", "Note", "User Prompt", "Exchange"]
TEXTS = st.one_of(
    st.sampled_from(["use uv", "느린 빌드", "the build is slow", "fixed: the build is slow", "a\n\nb\n# c"]),
    st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=40),
)
PROSE = st.sampled_from(
    [
        "my own words",
        "- a decision of mine",
        "### deep",
        "## My heading\n\nand text",
        "```\n## in a fence\n```",
        "# Top",
    ]
)
DAYS = st.dates(date(2025, 12, 1), TODAY)


def decisions_of(body):
    """Return the ids of what consolidation must keep: what lasts."""
    entries = (found.entry for found in find_entries(body))
    return {one.id for one in entries if one.label in LASTING}


def say(text: str, title: str) -> str:
    """A summariser that shows what it was given."""
    return f"{title}: {len(text)}"


def entry(day: date, number: int, label: str, text: str) -> Entry:
    milliseconds = (day - date(1970, 1, 1)).days * 86_400_000 + number
    return Entry(make_id(milliseconds, number.to_bytes(7, "big")), f"{number % 24:02d}:00:00", label, text)


def daily(day: date, *lines: str | Entry) -> bytes:
    body = "\n".join(render_entry(line).rstrip("\n") if isinstance(line, Entry) else line for line in lines)
    return f"---\nid: day-{day}\nkind: daily\n---\n# {day}\n\n## Timeline\n\n{body}\n".encode()


@st.composite
def logs(draw) -> dict[str, bytes]:
    number = 0
    found = {}
    for day in draw(st.lists(DAYS, unique=True, max_size=12)):
        lines: list[str | Entry] = []
        for _ in range(draw(st.integers(0, 5))):
            number += 1
            said = entry(day, number, draw(st.sampled_from(LABELS)), draw(TEXTS))
            lines.append(draw(PROSE) if draw(st.integers(0, 3)) == 0 else said)
        found[daily_path(str(day))] = daily(day, *lines)
    return found


def run(files: dict[str, bytes], today: date, digest=say) -> dict[str, bytes]:
    """Consolidate until nothing is left to do."""
    files = dict(files)
    while steps := plan_consolidation(files, today):
        step = steps[0]
        files[step.target] = consolidate(step, files, files.get(step.target), digest)
        for path in step.sources:
            del files[path]
    return files


def bodies(files: dict[str, bytes]) -> str:
    return "\n".join(Document.parse(data).body for data in files.values())


@given(logs(), st.integers(0, 400))
@pytest.mark.slow
def test_no_decision_is_lost_and_no_line_of_a_user(files, later):
    before, after = bodies(files), bodies(run(files, TODAY + timedelta(days=later)))
    assert decisions_of(after) == decisions_of(before)
    kept = {found.entry.id: found.entry for found in find_entries(after)}
    for found in find_entries(before):
        if found.entry.id in decisions_of(before):
            assert kept[found.entry.id].text == found.entry.text
            assert kept[found.entry.id].label == found.entry.label
    for line in ("my own words", "- a decision of mine", "and text", "## in a fence"):
        assert after.count(f"{line}\n") >= min(before.count(f"{line}\n"), 1)


@given(logs())
def test_after_it_every_day_is_where_its_age_puts_it(files):
    for path in run(files, TODAY):
        check_path(path)
        period = path.rpartition("/")[2].removesuffix(".md")
        if path.startswith("daily/"):
            assert (TODAY - date.fromisoformat(period)).days <= 7
        elif path.startswith("weekly/"):
            assert (TODAY - date.fromisocalendar(int(period[:4]), int(period[6:]), 7)).days <= 30


@given(logs(), st.data())
def test_days_that_come_one_at_a_time_lose_nothing_either(files, data):
    """A clone, or a late delivery, brings a day when its week is done; the order does not matter to what is kept."""
    store: dict[str, bytes] = {}
    for path in data.draw(st.permutations(sorted(files))):
        store[path] = files[path]
        store = run(store, TODAY)
    assert decisions_of(bodies(store)) == decisions_of(bodies(files))
    assert {path for path in store if not path.startswith("daily/")} == {
        path for path in run(files, TODAY) if not path.startswith("daily/")
    }


def test_a_week_and_a_month_name_the_parts_of_the_project_they_are_made_of():
    days = [date(2026, 9, 28), date(2026, 9, 29), date(2026, 10, 1)]
    notes = [entry(day, place, "Note", "The yak is shorn.") for place, day in enumerate(days)]
    tagged = [one._replace(tags=tags) for one, tags in zip(notes, [("a1b2c3d4", "in/b"), (), ("in/a",)], strict=True)]
    decision = entry(days[1], 9, "Decision", "Shear it yearly.")._replace(tags=("in/c",))  # told for itself, by its tag
    files = {daily_path(str(day)): daily(day, one, decision) for day, one in zip(days, tagged, strict=True)}
    (week,) = run(files, date(2026, 10, 12)).values()
    assert Document.parse(week).get("scope") == ["a", "b"]
    (month,) = run(files, TODAY).values()
    assert Document.parse(month).get("scope") == ["a", "b"]
    (plain,) = run({daily_path(str(days[1])): daily(days[1], notes[1])}, TODAY).values()
    assert b"scope" not in plain


def test_a_day_that_comes_again_is_told_with_what_was_told_of_it():
    day = date(2026, 11, 2)
    path = daily_path(str(day))
    seen: list[str] = []

    def digest(text: str, title: str) -> str:
        seen.append(text)
        return f"digest {len(seen)}"

    first = run({path: daily(day, entry(day, 1, "Note", "one"), "by hand")}, TODAY, digest)
    again = run({**first, path: daily(day, entry(day, 2, "Note", "two"), "by hand", "more")}, TODAY, digest)
    assert "digest 1" in seen[1]
    assert "two" in seen[1]
    body = bodies(again)
    assert "digest 2" in body
    assert "digest 1" not in body
    assert body.count("## 2026-11-02") == 1
    assert body.count("by hand\n") == 1
    assert "more" in body


def test_a_document_of_a_period_is_the_same_everywhere():
    assert period_document("2026-02").decode() == (
        "---\nid: month-2026-02\nkind: monthly\ncreated: 2026-02-01T00:00:00Z\nmethod: offline\n---\n# 2026-02\n"
    )


def test_what_a_user_wrote_into_a_week_stays_and_line_ends_do():
    day = date(2026, 11, 2)
    step = plan_consolidation([daily_path(str(day))], TODAY)[0]
    week = period_document("2026-W45").replace(b"\n", b"\r\n") + b"\r\n## Mine\r\n\r\nkept\r\n"
    data = consolidate(step, {daily_path(str(day)): daily(day, entry(day, 1, "Decision", "x"))}, week, say)
    assert b"## Mine\r\n\r\nkept\r\n" in data
    assert data.count(b"\n") == data.count(b"\r\n")
    assert find_section(Document.parse(data).body, "2026-11-02").start < data.decode().index("## Mine")
