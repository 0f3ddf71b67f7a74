from __future__ import annotations

from datetime import timedelta

import pytest

from gitmem.memory.guide.given import Given, record
from gitmem.memory.guide.judged import count_given
from gitmem.memory.learned.read import counts
from gitmem.model.learned.counts import Count
from gitmem.model.session.turns import Turn


def test_what_was_told_counts_by_how_its_turn_ended(desk):
    at = desk.clock.now
    turns = [
        Turn("s-1", "h", "t1", at, at, "Fix the loader", "Fixed it.", ("a.py",), closed=True),
        Turn("s-1", "h", "t2", at + timedelta(minutes=5), at, "still broken", "Now.", ("a.py",), closed=True),
    ]
    for minutes, session, ids in ((1, "s-1", ("e1", "b1")), (6, "s-1", ("e1",)), (7, "s-2", ("e2",))):
        record(desk.store.private, Given(at + timedelta(minutes=minutes), session, "prompt", ids, 10))
    assert count_given(desk.store, "s-1", turns) is not None
    found = counts(desk.store)
    assert found["e1"] == Count(2, pytest.approx(0.3 * 1 + 0.7 * 0.35))
    assert found["b1"] == Count(1, pytest.approx(0.35))
    assert "e2" not in found
    assert count_given(desk.store, "s-1", turns) is None
