"""A check's finding and its level, for `gitmem doctor` and `gitmem status`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """The severity of a finding: fine, for information, worth a look, in need of a person."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check; `details` lists the places, a line each, and `remedy` is an instruction."""

    check: str
    level: Level
    message: str
    remedy: str = ""
    details: tuple[str, ...] = ()
