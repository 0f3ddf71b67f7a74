"""Findings of `gitmem doctor` and `gitmem status` as lines.

Tested through `tests/cli/commands/test_doctor.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.text.terminal import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.cli.door import Door
    from gitmem.store.upkeep.findings import Finding

_COLOURS = {"ok": 32, "note": 36, "warning": 33, "problem": 31}  # ANSI colours


def finding_lines(findings: Sequence[Finding], door: Door) -> list[str]:
    """Return findings as lines: the message, below it the places and the remedy."""
    lines = []
    for finding in findings:
        lines.append(f"{_painted(finding.level, door)}  {finding.check:<12}{plain(finding.message)}")
        lines += [f"{'':<23}{plain(detail)}" for detail in finding.details]
        if finding.remedy:
            lines.append(f"{'':<21}> {plain(finding.remedy)}")
    return lines


def _painted(level: str, door: Door) -> str:
    return f"\033[{_COLOURS[level]}m{level:<7}\033[0m" if door.colour() else f"{level:<7}"
