"""Which episodes are like a task or have its error: what helped comes first."""

from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.learn.end import replay
from gitmem.model.episode import render_episode
from gitmem.model.outcome import Outcome
from gitmem.store.episodes import episode_paths, read_episode
from gitmem.tell.known_errors import counts
from gitmem.tell.outcome_counts import add_told, judge, machine_path
from gitmem.tell.similar_episodes import similar
from gitmem.tell.usage_log import Count


def test_what_helped_comes_first_and_an_error_finds_the_episode_that_fixed_it(desk, recorder, bare_git):
    recorder.turn(4, "Rename the CRLF parser everywhere", "The parser of CRLF is called source now.")
    replay(desk.store, recorder.write())
    first, second = [one.episode for one in similar(desk.store, "CRLF parser 파서")]
    assert judge(desk.store, first.id, helped=False)
    assert judge(desk.store, second.id, helped=True)
    assert add_told(desk.store, {second.id: {"2026-01-01": None}}, "Count") is not None
    assert add_told(desk.store, {second.id: {"2026-01-01": None}}, "Count") is None
    assert counts(desk.store)[second.id] == Count(1, pytest.approx(0.65))
    assert [one.episode.id for one in similar(desk.store, "CRLF parser 파서")] == [second.id, first.id]
    found = similar(desk.store, error="make: *** [all] Error 2\nerror: the spindle broke")
    assert {one.episode.id for one in found} == {first.id, second.id}
    assert similar(desk.store, error="error: disk quota of the volume exceeded") == []
    assert similar(desk.store, "CRLF", outcome=Outcome.FAILED) == []
    [of_file] = similar(desk.store, files=["f4.py"])
    assert of_file.episode.files == ("f4.py",)
    assert similar(desk.store, files=["4.py"]) == []
    assert similar(desk.store, outcome=Outcome.SUCCESS) == []
    assert similar(desk.store, '"-nowhere: [') == []
    assert machine_path(desk.store).startswith("counts/desk-machine-")
    assert bare_git(Path(desk.store.root), "status", "--porcelain") == ""


def test_of_episodes_with_an_error_those_that_succeeded_come_first(desk, recorder):
    replay(desk.store, recorder.write())
    [path] = episode_paths(desk.store)
    good = read_episode(desk.store, path)._replace(outcome=Outcome.SUCCESS)
    Path(desk.store.root, path).write_bytes(render_episode(good))
    for name, outcome in (("e1111111111", Outcome.FAILED), ("e2222222222", Outcome.PARTIAL)):
        bad = good._replace(id=name, outcome=outcome)
        Path(desk.store.root, path).with_name(f"{name}.md").write_bytes(render_episode(bad))
        for second in range(2):
            judge(desk.store, name, helped=True)
            desk.clock.now += timedelta(seconds=second + 1)
    found = similar(desk.store, error="make: *** [all] Error 2\nerror: the spindle broke")
    assert found[0].episode.outcome is Outcome.SUCCESS
    assert found[0].score < found[1].score
    assert len(found) == 3
