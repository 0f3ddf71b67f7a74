"""What is purged on one machine is purged on all, stays so whoever comes along, and takes nothing else with it."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.errors import RefusedError
from gitmem.store.init import Place
from gitmem.store.transcripts import put, read
from gitmem.sync.clone import clone_store
from gitmem.sync.fetch import Chance, Options
from gitmem.sync.guard import Accept
from tests.conftest import RunsGit
from tests.store.purges import SECRET, clean, files_with, objects_with, purge, reachable_with
from tests.world import Machine, converge


def make_trio(machine: Callable[[str], Machine]) -> tuple[Machine, Machine, Machine]:
    first, second, third = (machine(name) for name in ("laptop", "desktop", "server"))
    first.save("before it")
    first.save(f"The key is {SECRET}, says Ada.")
    first.save("after it")
    for each in (first, second, third, first):
        each.sync()
    return first, second, third


@pytest.fixture
def trio(made_once: Callable[..., tuple[Machine, Machine, Machine]]) -> tuple[Machine, Machine, Machine]:
    """Three machines that hold the same memory, with a secret in its middle."""
    return made_once(make_trio, "laptop", "desktop", "server")


def test_a_purged_secret_leaves_every_machine_and_the_remote(trio: tuple[Machine, Machine, Machine], remote: Path):
    first, second, third = trio
    own = third.save("offline, and to be kept").id
    third.save(f"offline, and with {SECRET} in it")
    third.write("knowledge/key.md", f"# Keys\n\n{SECRET}\n")
    done = purge(first.store, SECRET)
    assert done.objects > 0
    clean(first)
    first.sync()
    assert not reachable_with(remote, SECRET)
    second.sync()
    clean(second)
    third.sync()
    clean(third)
    assert not reachable_with(remote, SECRET)
    converge(*trio)
    assert own in first.entries()
    assert "# Keys\n\n(purged)\n" in first.read("knowledge/key.md")
    assert "offline, and with (purged) in it" in first.read("memory.md")
    clean(*trio)


@pytest.mark.slow
def test_machines_that_purge_the_same_come_to_the_same_commits(trio: tuple[Machine, Machine, Machine]):
    first, second, _ = trio
    before = first.git("rev-list", "--count", "HEAD")
    for each in (first, second):
        purge(each.store, SECRET)
    assert first.git("rev-parse", "HEAD^") == second.git("rev-parse", "HEAD^")
    assert first.git("rev-list", "--count", "HEAD^") == before
    kept = first.git("log", "--format=%an %ae %at %cn %ce %ct %s", "HEAD^")
    assert "before it" in kept
    converge(*trio)
    clean(*trio)


@pytest.mark.slow
def test_old_history_that_is_pushed_by_hand_is_cleaned_by_the_next_sync(
    trio: tuple[Machine, Machine, Machine], remote: Path
):
    first, second, third = trio
    purge(first.store, SECRET)
    first.sync()
    third.git("fetch", "-q", "origin")  # plain git, as of an older gitmem or none
    third.git("merge", "-q", "-s", "ours", "--no-edit", "origin/gitmem")
    third.git("checkout", "-q", "origin/gitmem", "--", "purged")
    third.git("commit", "-q", "--amend", "--no-edit")
    third.git("push", "-q", "origin", "HEAD:gitmem")
    assert reachable_with(remote, SECRET)
    second.sync()
    assert not reachable_with(remote, SECRET)
    clean(first, second)
    converge(*trio)
    clean(*trio)


@pytest.mark.slow
def test_a_clone_of_a_remote_to_which_it_came_back_is_clean(
    trio: tuple[Machine, Machine, Machine], remote: Path, bare_git: RunsGit, tmp_path: Path
):
    first, _, third = trio
    old = third.tip
    purge(first.store, SECRET)
    first.sync()
    tree = bare_git(remote, "rev-parse", "gitmem^{tree}")
    bare_git(remote, "fetch", "-q", str(third.root), old)
    merge = bare_git(remote, "commit-tree", "-p", "gitmem", "-p", old, "-m", "Merge by hand", tree)
    bare_git(remote, "update-ref", "refs/heads/gitmem", merge)
    (tmp_path / "fresh").mkdir()
    context = first.context._replace(machine="fresh")
    store = clone_store(str(tmp_path / "fresh"), context, Place.PROJECT, str(remote), asks=False, options=Options())
    assert files_with(tmp_path / "fresh", SECRET) == []
    assert objects_with(tmp_path / "fresh" / ".gitmem", SECRET) == []
    assert store.tip is not None
    converge(*trio)
    assert not reachable_with(remote, SECRET)


@pytest.mark.slow
def test_two_machines_purge_two_things_at_once(trio: tuple[Machine, Machine, Machine]):
    first, second, _ = trio
    second.save("The other key is hunter2-staging.")
    converge(*trio)
    purge(first.store, SECRET)
    purge(second.store, "hunter2-staging")
    converge(*trio)
    clean(*trio)
    clean(*trio, text="hunter2-staging")


@pytest.mark.slow
def test_a_purge_from_elsewhere_that_would_change_most_is_refused(trio: tuple[Machine, Machine, Machine]):
    first, second, _ = trio
    for number in range(20):
        first.write(f"knowledge/{number}.md", f"# {number}\n\nThe project is called Bluebird.\n")
    converge(*trio)
    purge(first.store, "Bluebird")
    first.sync()
    tip = second.tip
    with pytest.raises(RefusedError, match="has another history now, perhaps since another machine purged"):
        second.sync()
    assert second.tip == tip
    second.sync(Accept.PURGE)
    converge(first, second)
    assert "Bluebird" not in second.read("knowledge/3.md")


@pytest.mark.slow
def test_a_round_that_follows_a_purge_is_no_lost_race(trio: tuple[Machine, Machine, Machine]):
    first, second, _ = trio
    converge(*trio)
    purge(first.store, SECRET)
    first.sync()
    second.save("not sent yet")
    done = second.sync(chance=Chance(random=lambda: 1.0, sleep=lambda _: None))
    assert done.rounds > 1
    assert not [notice for notice in done.notices if "pushed first" in notice]
    converge(first, second)


def test_a_record_says_nothing_of_what_was_purged(trio: tuple[Machine, Machine, Machine]):
    first, *_ = trio
    purge(first.store, SECRET)
    (record,) = (first.root / "purged").iterdir()
    text = record.read_text()
    assert not any(SECRET[start : start + 4] in text for start in range(len(SECRET) - 3))
    assert os.fspath(record).endswith(".json")


@pytest.mark.slow
def test_transcripts_that_are_synced_are_purged_everywhere(trio: tuple[Machine, Machine, Machine], remote: Path):
    first, second, _ = trio

    def exchange(each: Machine) -> None:
        each.sync()
        each.sync_transcripts()

    put(first.store, "session", datetime(2026, 1, 1, tzinfo=UTC), [json.dumps({"text": f"said {SECRET}"})])
    for each in (first, second):
        exchange(each)
    put(second.store, "other", datetime(2026, 1, 2, tzinfo=UTC), [json.dumps({"text": f"also {SECRET}"})])
    purge(first.store, SECRET)
    for each in (first, second, first):
        exchange(each)
    assert not reachable_with(remote, SECRET)
    clean(first, second)
    assert read(first.store, "other") == ['{"text": "also (purged)"}']
