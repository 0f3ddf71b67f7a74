"""Which episodes are like a task or have its error: what helped comes first."""

from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.learn.end import replay
from gitmem.model.episode import render_episode
from gitmem.model.outcome import Outcome
from gitmem.store.learned import episode_paths, read_episode
from gitmem.tell.known_errors import counts
from gitmem.tell.outcome_counts import add_shown, judge, machine_path
from gitmem.tell.similar_episodes import similar
from gitmem.tell.usage_log import Count


def test_what_helped_comes_first_and_an_error_finds_the_episode_that_fixed_it(world, recorder, bare_git):
    recorder.turn(4, "Rename the CRLF parser everywhere", "The parser of CRLF is called source now.")
    replay(world.store, recorder.write())
    first, second = [one.episode for one in similar(world.store, "CRLF parser 파서")]
    assert judge(world.store, first.id, helped=False)
    assert judge(world.store, second.id, helped=True)
    assert add_shown(world.store, {second.id: {"2026-01-01": None}}, "Count") is not None
    assert add_shown(world.store, {second.id: {"2026-01-01": None}}, "Count") is None
    assert counts(world.store)[second.id] == Count(1, pytest.approx(0.65))
    assert [one.episode.id for one in similar(world.store, "CRLF parser 파서")] == [second.id, first.id]
    found = similar(world.store, error="make: *** [all] Error 2\nerror: the spindle broke")
    assert {one.episode.id for one in found} == {first.id, second.id}
    assert similar(world.store, error="error: disk quota of the volume exceeded") == []
    assert similar(world.store, "CRLF", outcome=Outcome.FAILED) == []
    [of_file] = similar(world.store, files=["f4.py"])
    assert of_file.episode.files == ("f4.py",)
    assert similar(world.store, files=["4.py"]) == []
    assert similar(world.store, outcome=Outcome.SUCCESS) == []
    assert similar(world.store, '"-nowhere: [') == []
    assert machine_path(world.store).startswith("counts/desk-machine-")
    assert bare_git(Path(world.store.root), "status", "--porcelain") == ""


def test_of_episodes_with_an_error_those_that_succeeded_come_first(world, recorder):
    replay(world.store, recorder.write())
    [path] = episode_paths(world.store)
    good = read_episode(world.store, path)._replace(outcome=Outcome.SUCCESS)
    Path(world.store.root, path).write_bytes(render_episode(good))
    for name, outcome in (("e1111111111", Outcome.FAILED), ("e2222222222", Outcome.PARTIAL)):
        bad = good._replace(id=name, outcome=outcome)
        Path(world.store.root, path).with_name(f"{name}.md").write_bytes(render_episode(bad))
        for second in range(2):
            judge(world.store, name, helped=True)
            world.clock.now += timedelta(seconds=second + 1)
    found = similar(world.store, error="make: *** [all] Error 2\nerror: the spindle broke")
    assert found[0].episode.outcome is Outcome.SUCCESS
    assert found[0].score < found[1].score
    assert len(found) == 3
