"""Locks that killed gits left, wherever they lie: `doctor` names each, and every command that meets one goes on."""

import os
from pathlib import Path

import pytest

from gitmem.health.doctor import check_locks
from gitmem.store.init import complete_store
from gitmem.store.maintenance import maintain

PLACES = (
    "HEAD",
    "config",
    "index",
    "packed-refs",
    "shallow",
    "refs/heads/gitmem",
    "refs/gitmem/fetched/origin/gitmem",
    "refs/gitmem/remotes/origin/gitmem",
    "objects/info/commit-graphs/commit-graph-chain",
)


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("place", PLACES)
def test_a_lock_that_a_killed_git_left_is_named_and_stops_no_command(pair, place):
    first, second = pair
    first.save("of the laptop")
    second.save("of the desktop")
    lock = Path(second.root, ".git", f"{place}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    os.utime(lock, (1, 1))
    assert any(str(lock) in detail for finding in check_locks(second.store) for detail in finding.details)
    complete_store(second.store)
    second.save("more of the desktop")
    for each in (first, second) * 2:
        each.sync()
    assert first.tip == second.tip
    maintain(second.store)
    assert place in {"config", "shallow"} or not lock.exists()  # these two nothing here writes
    lock.unlink(missing_ok=True)
    second.sound()


@pytest.mark.parametrize("place", ["logs/HEAD", "objects/maintenance", "objects/pack/multi-pack-index"])
def test_a_lock_that_gitmem_never_meets_is_named(pair, place):
    lock = Path(pair[0].root, ".git", f"{place}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    os.utime(lock, (1, 1))
    assert any(str(lock) in detail for finding in check_locks(pair[0].store) for detail in finding.details)
