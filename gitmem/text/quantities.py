"""Numbers and time spans in words."""

from __future__ import annotations

_KILO = 1000


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
