"""Numbers, dates and time spans in words."""

from __future__ import annotations

_KILO = 1000
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def count(number: int, noun: str) -> str:
    """Return a number and a noun, as in `1 file` and `2 files`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def bytes_of(number: float) -> str:
    """Return a number of bytes in words, as in `12 bytes` and `3.4 MB`."""
    for unit in ("bytes", "kB", "MB"):
        if number < _KILO:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= _KILO
    return f"{number:.1f} GB"


def age(seconds: float) -> str:
    """Return a time span in words, as in `3 hours`."""
    number, unit = seconds, "second"
    for size, name in ((60, "minute"), (60, "hour"), (24, "day")):
        if number < size:
            break
        number, unit = number / size, name
    return count(max(int(number), 0), unit)


def seen_times(number: int) -> str:
    """Return how often something came, as in `Seen once` and `Seen 3 times`."""
    return f"Seen {number} times" if number > 1 else "Seen once"


def at_least(number: int) -> str:
    """Return a number as a lower bound that seldom changes: `7`, `10+`, `20+`, `50+`, `100+`."""
    steps = [step for power in (10, 100, 1_000, 10_000) for step in (power, 2 * power, 5 * power)]
    return next((f"{step}+" for step in reversed(steps) if number >= step), str(number))


def date_of(moment: str) -> str:
    """Return a moment like `2026-11-02 10:03:00` as `2 November 2026, 10:03`, any other text as it is.

    The time of day, and the day, may be missing.
    """
    day, _, time = moment.replace("T", " ").partition(" ")
    year, month, *of_month = day.split("-")[:3] if day.count("-") in {1, 2} else ("", "")
    if not (year.isdecimal() and month.isdecimal() and 0 < int(month) <= len(_MONTHS)):
        return moment
    date = " ".join([*(number.lstrip("0") for number in of_month), _MONTHS[int(month) - 1], year])
    return f"{date}, {time[:5]}" if time else date
