"""What a check of a store found: the words of `gitmem doctor` and `gitmem status`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad a finding is: as it should be, worth knowing, worth a look, in need of a person."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; `details` are the places, a line each, `remedy` what to do."""

    check: str
    level: Level
    message: str
    remedy: str = ""
    details: tuple[str, ...] = ()


def count(number: int, what: str) -> str:
    """Return a number and a noun, as in `1 file` and `2 files`."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def age(seconds: float) -> str:
    """Return a time span in words, as in `3 hours`."""
    number, what = seconds, "second"
    for size, name in ((60, "minute"), (60, "hour"), (24, "day")):
        if number < size:
            break
        number, what = number / size, name
    return count(max(int(number), 0), what)
