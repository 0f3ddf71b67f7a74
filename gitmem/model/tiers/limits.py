"""When `memory.md` rotates (spec R2). Apart from `rotation`, which few saves load.

Tested through `tests/model/tiers/test_rotation.py`.
"""

from __future__ import annotations

from gitmem.text.tokens import tokens_of_size
from gitmem.values import Value

MARGIN_PERCENT = 95


class Limits(Value):
    """When `memory.md` rotates and how much it keeps, in tokens, before the margin of 5 % (spec R2)."""

    threshold_tokens: int = 25_000
    carryover_tokens: int = 2_500

    @property
    def threshold(self) -> int:
        """Return the number of tokens at which the file rotates: 23,750 by default."""
        return self.threshold_tokens * MARGIN_PERCENT // 100

    @property
    def carryover(self) -> int:
        """Return the number of tokens carried over at most: 2,375 by default."""
        return self.carryover_tokens * MARGIN_PERCENT // 100


def needs_rotation(size: int, limits: Limits) -> bool:
    """Return whether a `memory.md` of `size` bytes rotates; an empty file never does."""
    return size > 0 and tokens_of_size(size) >= limits.threshold
