"""Pauses between rounds of a sync."""

from __future__ import annotations

from gitmem.store.sync.retry import pause


def test_a_pause_doubles_and_is_never_longer_than_ten_seconds():
    assert [pause(number, 1.0, 0.5) for number in (1, 2, 3, 4)] == [0.5, 1.0, 2.0, 4.0]
    assert max(pause(number, 1.0, took) for number in range(1, 50) for took in (0.0, 1.0, 600.0)) == 10.0
