"""A day's log that history holds, as a search reads it: its entries, without the titles around them.

Tested through `tests/memory/tiers/test_days.py`.
"""

from __future__ import annotations

from functools import cached_property

from gitmem.search.units.cut import ENTRY, SECTION, cut
from gitmem.search.units.units import Units

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Collection

    from gitmem.search.units.cut import Span

_TELLERS = ("weekly/", "monthly/")


class PastUnits(Units):
    """The entries of a log as `commit` has it; text that a person wrote between them is in the log of its week."""

    def __init__(self, path: str, data: bytes, commit: str) -> None:
        super().__init__(path, data)
        self.commit = commit

    @cached_property
    def _spans(self) -> list[Span]:
        return [span for span in cut(self.path, self.text) if span[2] == ENTRY]


def is_told_again(units: Units, index: int, periods: Collection[str]) -> bool:
    """Return whether a unit is the sentences of a weekly or monthly document on one of these days or weeks."""
    return units.path.startswith(_TELLERS) and units.kind(index) == SECTION and units.unit(index).heading in periods
