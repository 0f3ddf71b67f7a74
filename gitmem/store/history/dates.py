"""Parse dates as people write them, strictly: git itself reads words that it does not understand as now.

A date is a span of a day, a minute or a second: `at` uses its end, `since` its beginning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

FORMS = "2026-11-21, '2026-11-21 14:03', today, yesterday, '3 days ago'"

_ISO = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ](?P<time>[0-9]{2}:[0-9]{2})(?P<seconds>:[0-9]{2}(?:[.,][0-9]+)?)?"
    r" ?(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?)?",
    re.IGNORECASE,
)
_AGO = re.compile(r"(?P<number>[0-9]{1,4}) (?P<unit>minute|hour|day|week)s? ago", re.IGNORECASE)
_DAYS = {"today": 0, "yesterday": 1}
_SECOND = timedelta(seconds=1)
_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DateSpan:
    """A time span, given by its first and its last second, both included, with time zones."""

    first: datetime
    last: datetime


def parse_date(text: str, now: datetime) -> DateSpan | None:
    """Return the span that `text` names, None if it has no form of a date.

    The forms: `2026-11-21` with an optional `14:03`, `14:03:22` and offset; `today`, `yesterday`; `3 days ago` (or
    weeks: a day; hours or minutes: that second). Without an offset the time is that of the zone of `now`.

    Raises:
        ValueError: there is no such day or time; the message is a clause.

    """
    words = " ".join(text.split()).lower()
    if words in _DAYS:
        return _day(now, _DAYS[words])
    if ago := _AGO.fullmatch(words):
        number, unit = int(ago["number"]), ago["unit"]
        if unit in {"day", "week"}:
            return _day(now, number * (7 if unit == "week" else 1))
        moment = (now.astimezone(UTC) - timedelta(**{f"{unit}s": number})).replace(microsecond=0)
        return DateSpan(moment, moment)
    if iso := _ISO.fullmatch(words):
        return _iso(iso, now)
    return None


def _day(now: datetime, ago: int) -> DateSpan:
    start = now.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None) - ago * _DAY
    return _span(start, _DAY, now)


def _iso(found: re.Match[str], now: datetime) -> DateSpan:
    try:
        start = datetime.fromisoformat(f"{found['date']}T{found['time'] or '00:00'}{(found['seconds'] or '')[:3]}")
        length = _DAY if not found["time"] else _SECOND if found["seconds"] else _MINUTE
        if found["zone"]:
            zone = datetime.strptime(found["zone"].upper(), "%z").tzinfo
            return DateSpan(start.replace(tzinfo=zone), (start + (length - _SECOND)).replace(tzinfo=zone))
        return _span(start, length, now)
    except (ValueError, OverflowError):
        raise ValueError(f"there is no such time as {found[0]}") from None


def _span(start: datetime, length: timedelta, now: datetime) -> DateSpan:
    """Return the span of local times; it includes both passes of an hour that a clock change repeats."""
    return DateSpan(_zoned(start, now), _zoned((start + (length - _SECOND)).replace(fold=1), now))


def _zoned(local: datetime, now: datetime) -> datetime:
    """Return a local time with its time zone.

    `now` may have the fixed offset of the system's zone, which differs in the other half of the year; then ask the
    system. Keep any other zone.
    """
    if isinstance(now.tzinfo, timezone):
        try:
            if now.astimezone().utcoffset() == now.utcoffset():
                return local.astimezone()
        except (OSError, OverflowError, ValueError):  # years that the C library does not know
            pass
    return local.replace(tzinfo=now.tzinfo)
