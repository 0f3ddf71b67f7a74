"""One machine at a time does a long job; nobody waits for one that is gone, and being offline stops nobody."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from gitmem.git.remote import Connection
from gitmem.store.lease import SKEW_SECONDS, Lease, alone
from gitmem.store.remotes import find_remote

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import RunsGit
    from tests.store.machines import Machine


def lease(of: Machine, job: str = "consolidate") -> Lease:
    connection = Connection(of.store.repository.layout, of.context.environ)
    return Lease(of.store, find_remote(of.store, None), connection, job)


@pytest.fixture
def pair(machine: Callable[[str], Machine]) -> tuple[Machine, Machine]:
    return machine("laptop"), machine("desktop")


def test_one_has_it_until_it_is_given_back(pair: tuple[Machine, Machine]):
    mine, other = (lease(each) for each in pair)
    assert mine.take()
    assert not other.take()
    assert mine.take(), "who holds it may hold it for longer"
    mine.release()
    assert other.take()
    assert not mine.take()
    other.release()


def test_jobs_do_not_stand_in_each_others_way(pair: tuple[Machine, Machine]):
    assert lease(pair[0]).take()
    assert lease(pair[1], "summarize").take()


def test_of_clones_that_want_it_at_once_one_gets_it(machine: Callable[[str], Machine]):
    machines = [machine(f"box{number}") for number in range(3)]
    for _ in range(4):
        leases = [lease(each) for each in machines]
        with ThreadPoolExecutor(len(leases)) as pool:
            got = list(pool.map(Lease.take, leases))
        assert sum(got) == 1, got
        next(one for one, mine in zip(leases, got, strict=True) if mine).release()


def test_a_holder_that_is_gone_is_waited_for_no_longer_than_it_said(pair: tuple[Machine, Machine]):
    first, second = pair
    assert lease(first).take(60)
    assert not lease(second).take()
    second.now += timedelta(seconds=58)
    assert not lease(second).take()
    second.now += timedelta(seconds=10)
    assert lease(second).take()


@pytest.mark.parametrize("hours", [-3, 3])
def test_a_clock_that_is_hours_off_makes_nobody_wait_for_ever(pair: tuple[Machine, Machine], hours: int):
    first, second = pair
    first.now += timedelta(hours=hours)
    assert lease(first).take(60)
    taken = lease(second).take()
    assert taken == (hours < 0), "taken hours ago, as it seems, it is over"
    second.now += timedelta(seconds=70)
    assert lease(second).take() or taken


def test_clocks_that_differ_a_little_change_nothing(pair: tuple[Machine, Machine]):
    first, second = pair
    assert lease(first).take(60)
    second.now += timedelta(seconds=SKEW_SECONDS - 10)
    assert not lease(second).take()


def test_nonsense_in_its_place_is_free(pair: tuple[Machine, Machine], remote: Path, bare_git: RunsGit):
    tree = bare_git(remote, "hash-object", "-w", "-t", "tree", "--stdin", stdin=b"")
    bare_git(remote, "update-ref", "refs/gitmem/leases/consolidate", bare_git(remote, "commit-tree", "-m", "[]", tree))
    assert lease(pair[0]).take()


def test_offline_and_without_a_remote_the_job_is_done_here(pair: tuple[Machine, Machine], remote: Path):
    first, second = pair
    with alone(first.store, "consolidate") as mine, alone(second.store, "consolidate") as also:
        assert (mine, also) == (True, True), "a remote that was never synced with may be another project's"
    for each in pair:
        each.sync()
    with alone(first.store, "consolidate") as mine, alone(second.store, "consolidate") as also:
        assert (mine, also) == (True, False)
    remote.rename(remote.with_name("away.git"))
    with alone(second.store, "consolidate") as mine:
        assert mine
    second.git("remote", "remove", "origin")
    with alone(second.store, "consolidate") as mine:
        assert mine
