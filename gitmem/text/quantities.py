"""Numbers and time spans in words."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """Return a number and a noun, as in `1 file` and `2 files`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def age(seconds: float) -> str:
    """Return a time span in words, as in `3 hours`."""
    number, unit = seconds, "second"
    for size, name in ((60, "minute"), (60, "hour"), (24, "day")):
        if number < size:
            break
        number, unit = number / size, name
    return count(max(int(number), 0), unit)
