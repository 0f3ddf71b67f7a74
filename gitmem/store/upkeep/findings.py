"""A check's finding and its level, for `gitmem doctor` and `gitmem status`."""

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
