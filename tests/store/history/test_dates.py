from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest

from gitmem.store.history.dates import parse_date

SEOUL = timezone(timedelta(hours=9))
NOW = datetime(2026, 11, 21, 14, 3, 22, 500_000, SEOUL)
needs_tzset = pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of the process cannot be changed here")


def span(text: str, now: datetime = NOW) -> tuple[str, str]:
    found = parse_date(text, now)
    assert found is not None
    return found.first.isoformat(), found.last.isoformat()


@pytest.mark.parametrize(
    "text, first, last",
    [
        ("2026-11-21", "2026-11-21T00:00:00+09:00", "2026-11-21T23:59:59+09:00"),
        ("2024-02-29", "2024-02-29T00:00:00+09:00", "2024-02-29T23:59:59+09:00"),
        ("2026-11-21 14:03", "2026-11-21T14:03:00+09:00", "2026-11-21T14:03:59+09:00"),
        ("2026-11-21T14:03", "2026-11-21T14:03:00+09:00", "2026-11-21T14:03:59+09:00"),
        ("2026-11-21 14:03:22", "2026-11-21T14:03:22+09:00", "2026-11-21T14:03:22+09:00"),
        ("2026-11-21T14:03:22.123456", "2026-11-21T14:03:22+09:00", "2026-11-21T14:03:22+09:00"),
        ("2026-11-21T14:03Z", "2026-11-21T14:03:00+00:00", "2026-11-21T14:03:59+00:00"),
        ("2026-11-21 14:03:22 +0100", "2026-11-21T14:03:22+01:00", "2026-11-21T14:03:22+01:00"),
        ("2026-11-21T14:03-05:30", "2026-11-21T14:03:00-05:30", "2026-11-21T14:03:59-05:30"),
        ("today", "2026-11-21T00:00:00+09:00", "2026-11-21T23:59:59+09:00"),
        (" Yesterday ", "2026-11-20T00:00:00+09:00", "2026-11-20T23:59:59+09:00"),
        ("3 days ago", "2026-11-18T00:00:00+09:00", "2026-11-18T23:59:59+09:00"),
        ("1 day  ago", "2026-11-20T00:00:00+09:00", "2026-11-20T23:59:59+09:00"),
        ("2 weeks ago", "2026-11-07T00:00:00+09:00", "2026-11-07T23:59:59+09:00"),
        ("0 days ago", "2026-11-21T00:00:00+09:00", "2026-11-21T23:59:59+09:00"),
        ("5 hours ago", "2026-11-21T00:03:22+00:00", "2026-11-21T00:03:22+00:00"),
        ("10 minutes ago", "2026-11-21T04:53:22+00:00", "2026-11-21T04:53:22+00:00"),
    ],
)
def test_forms(text: str, first: str, last: str):
    assert span(text) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "junk",
        "2026",
        "2026-11",
        "20261121",
        "2026-11-21x",
        "2026-1-2",
        "14:03",
        "2026-11-21 14",
        "2026-11-21 2pm",
        "2026-11-21+09:00",
        "last week",
        "ago",
        "days ago",
        "-3 days ago",
        "three days ago",
        "99999 days ago",
        "3 fortnights ago",
        "٣ days ago",
        "HEAD",
        "yesterday noon",
    ],
)
def test_other_words_are_no_date(text: str):
    assert parse_date(text, NOW) is None


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
