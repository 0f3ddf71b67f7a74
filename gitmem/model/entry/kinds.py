"""The types of memory that are saved, and their sections (docs/format.md, "Entries")."""

from __future__ import annotations

from enum import StrEnum

CORE_DECISIONS = "Core Decisions"
CURRENT_STATE = "Current State"
STATE = "State"  # the label of its entry
RECENT_CONTEXT = "Recent Context"
KNOWN_ISSUES = "Known Issues"
TIMELINE = "Timeline"


class MemoryType(StrEnum):
    """The type of a saved memory (spec J8, P3)."""

    NOTE = "note"
    DECISION = "decision"
    LEARNING = "learning"
    ERROR_FIX = "error_fix"
    ISSUE = "issue"
    PATTERN = "pattern"
    PREFERENCE = "preference"
    RULE = "rule"

    @property
    def label(self) -> str:
        """Return the label of entries of this type, also its section's title in a daily log."""
        return self.value.replace("_", " ").title()

    @property
    def lasts(self) -> bool:
        """Return whether entries of this type are facts, which hold until somebody ends them."""
        return self not in _PASSING

    @property
    def section(self) -> str:
        """Return the section of `memory.md` for entries of this type (spec P2)."""
        return _SECTIONS.get(self, RECENT_CONTEXT)


_SECTIONS = {
    MemoryType.DECISION: CORE_DECISIONS,
    MemoryType.PREFERENCE: CORE_DECISIONS,
    MemoryType.RULE: CORE_DECISIONS,
    MemoryType.ISSUE: KNOWN_ISSUES,
}
_PASSING = (MemoryType.NOTE, MemoryType.LEARNING, MemoryType.ERROR_FIX)
