import time
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest

from gitmem.archive.rotate import check
from gitmem.document.ids import make_id
from gitmem.history.origin import blame, find_entry, versions
from gitmem.history.records import parse_date, resolve
from tests.world import SEOUL, Clock, World

NOW = datetime(2026, 11, 21, 14, 3, 22, 500_000, SEOUL)
needs_tzset = pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of the process cannot be changed here")


def span(text: str, now: datetime = NOW) -> tuple[str, str]:
    found = parse_date(text, now)
    assert found is not None
    return found.first.isoformat(), found.last.isoformat()


@pytest.mark.parametrize(
    "text",
    [
        *("", "junk", "2026", "2026-11", "20261121", "2026-11-21x", "2026-1-2", "14:03", "2026-11-21 14"),
        *("2026-11-21 2pm", "2026-11-21+09:00", "last week", "ago", "days ago", "-3 days ago", "three days ago"),
        *("99999 days ago", "3 fortnights ago", "٣ days ago", "HEAD", "yesterday noon", "123d", "3 d", "d"),
    ],
)
def test_other_words_are_no_date(text: str):
    assert parse_date(text, NOW) is None


@pytest.mark.parametrize(
    "short, long", [("3d", "3 days ago"), ("2W", "2 weeks ago"), ("5h", "5 hours ago"), ("어제", "yesterday")]
)
def test_short_forms_of_dates(short: str, long: str):
    assert parse_date(short, NOW) == parse_date(long, NOW)


@pytest.mark.parametrize(
    "text", ["2026-02-30", "2026-13-01", "0000-01-01", "2026-11-21 24:01", "2026-11-21 14:60", "2026-11-21 14:03+25:00"]
)
def test_a_date_that_does_not_exist(text: str):
    with pytest.raises(ValueError, match="no such time as"):
        parse_date(text, NOW)


def test_the_ends_of_the_calendar():
    assert parse_date("9999-12-31", NOW) is not None
    assert parse_date("0001-01-01", NOW) is not None
    assert parse_date("9999 weeks ago", NOW) is not None


def hours(text: str, now: datetime) -> float:
    found = parse_date(text, now)
    assert found is not None
    return (found.last.astimezone(UTC) - found.first.astimezone(UTC) + timedelta(seconds=1)) / timedelta(hours=1)


def test_summer_time_of_a_zone_that_knows_it():
    berlin: tzinfo = ZoneInfo("Europe/Berlin")
    now = datetime(2026, 11, 21, 12, 0, tzinfo=berlin)

    assert span("2026-07-01", now)[1] == "2026-07-01T23:59:59+02:00"
    assert span("2026-12-01", now)[1] == "2026-12-01T23:59:59+01:00"
    assert hours("2026-03-29", now) == 23
    assert hours("2026-10-25", now) == 25
    assert hours("2026-10-25 02:30", now) > 1  # the clocks show it twice: both are meant
    assert span("3 hours ago", datetime(2026, 10, 25, 4, 0, tzinfo=berlin))[0] == "2026-10-25T00:00:00+00:00"


@needs_tzset
def test_summer_time_of_the_system(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    try:
        now = datetime(2026, 11, 21, 12, 0, tzinfo=UTC).astimezone()  # as a door gives it
        assert span("2026-07-01", now) == ("2026-07-01T00:00:00+02:00", "2026-07-01T23:59:59+02:00")
        assert span("2026-12-01", now)[1] == "2026-12-01T23:59:59+01:00"
        assert hours("2026-10-25", now) == 25
        # A clock of another zone is taken at its word.
        assert span("2026-07-01", NOW)[1] == "2026-07-01T23:59:59+09:00"
    finally:
        monkeypatch.undo()
        time.tzset()


START = datetime(2026, 11, 18, 9, 0, 0, tzinfo=SEOUL)
MEMORY = "memory.md"
LONG = "a sentence that is long enough for git to take it for a copy of another one"


@pytest.fixture
def memory(world: World) -> World:
    """Give a store whose time moves on a minute at each look."""
    return World(world.root, world.context._replace(clock=Clock(START, timedelta(minutes=1))))


# resolve


def test_dates_mean_the_end_of_what_they_name(memory: World):
    on_18th = [memory.save("one").commit, memory.save("two").commit]
    minute = memory.clock.now
    memory.clock.now += timedelta(days=2)
    on_20th = memory.save("three").commit
    memory.clock.now += timedelta(days=1)
    asked = memory.store

    assert resolve(asked, "2026-11-18") == on_18th[1]
    assert resolve(asked, "2026-11-19") == on_18th[1]
    assert resolve(asked, "yesterday") == on_20th
    assert resolve(asked, "2 days ago") == on_18th[1]
    assert resolve(asked, "today") == on_20th
    assert resolve(asked, "2999-01-01") == on_20th
    assert resolve(asked, f"{minute:%Y-%m-%d %H:%M}") == on_18th[1]
    assert resolve(asked, f"{minute - timedelta(minutes=1):%Y-%m-%d %H:%M}") == on_18th[0]
    assert resolve(asked, f"{minute.astimezone(UTC):%Y-%m-%dT%H:%MZ}") == on_18th[1]


# blame and entries


def test_words_that_were_saved_twice_belong_to_each_save(memory: World):
    text = f"title\n{LONG}\n\n```\n{LONG} in code\n```"
    first, second = (memory.save(text, session=session).commit for session in ("first", "second"))

    lines = blame(memory.store, MEMORY)

    owners = [line.origin.commit for line in lines if line.origin and line.origin.op == "save" and line.text.strip()]
    assert owners == [first] * 5 + [second] * 5
    inside = next(line.number for line in lines if line.origin and line.origin.commit == second) + 1
    assert [line.origin.commit for line in blame(memory.store, MEMORY, (inside, inside + 1)) if line.origin] == [
        second
    ] * 2


def test_entry_that_was_taken_out_comes_from_history(memory: World):
    saved = memory.save("gone")
    for path in (MEMORY, "daily/2026/11/2026-11-18.md"):
        memory.write(path, "nothing\n")
    check(memory.store)

    found = find_entry(memory.store, saved.id)

    assert found.entry.text == "gone"
    assert found.places == ()
    assert found.origin
    assert found.origin.commit == saved.commit


def test_entry_by_hand_has_no_origin(memory: World):
    line = f"- [2026-11-18 10:00:00] **Note**: text 7 ^{make_id(7, bytes(7))}\n"
    memory.write("notes.md", f"# 한국\n\n{line}")
    check(memory.store)

    found = find_entry(memory.store, make_id(7, bytes(7)))

    assert [(place.path, place.line) for place in found.places] == [("notes.md", 3)]
    assert found.origin is None


# versions


PATH = "knowledge/두 번째 notes.md"


def told(world, lines, limit=10, path=PATH) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(one.origin.subject, one.before, one.after) for one in versions(world.store, path, lines, limit)]


@pytest.fixture
def changed(world):
    world.commit({PATH: b"first\nuse npm\nlast\n"}, subject="one")
    world.commit({"other.md": b"other\n"}, subject="elsewhere")
    world.commit({PATH: b"above\nfirst\nuse pnpm \xed\x95\x9c\nlast\n"}, subject="two")
    world.commit({PATH: b"above\nfirst\nuse uv\nlast\n"}, subject="three")
    return world


def test_lines_of_the_work_tree_are_found_in_the_last_commit(changed):
    path = changed.root / PATH
    path.write_bytes(b"new\n" + path.read_bytes())
    assert told(changed, (5, 5)) == [("one", (), ("last",))]
    assert told(changed, (1, 1)) == []
    path.write_bytes(path.read_bytes().replace(b"use uv", b"use nothing"))
    assert told(changed, (4, 4))[0] == ("three", ("use pnpm 한",), ("use uv",))
    assert [subject for subject, _, _ in told(changed, (1, 5))] == ["three", "two", "one"]
