"""Counts of machines add up, weigh what is found, and say what may go (spec M2, M5)."""

from datetime import timedelta
from math import log
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.lessons.episode import episode_paths, read_episode, render_episode, similar, weigh
from gitmem.lessons.error import MATCH
from gitmem.lessons.known_errors import counts
from gitmem.lessons.learn import RETRIEVALS, UNUSED_DAYS
from gitmem.lessons.outcome_counts import add_told, judge, machine_path
from gitmem.lessons.usage_log import ALPHA, BEGINS, USELESS, Count, moving_average, parse_counts, total, with_told
from gitmem.sessions.end import replay
from gitmem.sessions.outcome import Outcome
from gitmem.sessions.working import CONFIRMED, MAX_DISCOVERIES, MAX_ERRORS, MAX_RESULTS

verdicts = st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0]))
tellings = st.dictionaries(st.sampled_from(["e1", "e2"]), st.dictionaries(st.sampled_from("abcd"), verdicts))


def test_numbers_of_the_design():
    assert (ALPHA, BEGINS, USELESS, RETRIEVALS) == (0.3, 0.5, 0.3, 2)
    assert (MATCH, CONFIRMED, UNUSED_DAYS) == (0.5, 0.9, 90)
    assert (MAX_RESULTS, MAX_ERRORS, MAX_DISCOVERIES) == (10, 5, 10)
    assert moving_average([1.0]) == pytest.approx(0.65)
    assert moving_average([0.0, 0.0]) == pytest.approx(0.245)
    assert weigh(2.0, Count(1, 0.65)) == pytest.approx(2.0 * 0.65 * (1 + log(2)))


@given(tellings, tellings, tellings)
def test_joining_machines_is_the_same_in_any_order_and_twice(one, two, three):
    files = [with_told(b"", told) for told in (one, two, three)]
    assert total(files) == total(files[::-1]) == total([*files, *files])
    joined = with_told(with_told(files[0], two), three)
    assert total([joined]) == total(files)
    assert with_told(joined, two) == joined


@pytest.mark.parametrize("data", [b"[", b"[]", b'{"a": 1}', b'{"a": {"b": true}}', b"\xff"])
def test_a_file_that_says_nothing_counts_nothing(data):
    assert not any(count.usefulness != BEGINS for count in total([data]).values())
    assert set(parse_counts(data)) <= {"a"}


def test_what_helped_comes_first_and_an_error_finds_the_episode_that_mended_it(desk, recorder, bare_git):
    recorder.turn(4, "Rename the CRLF parser everywhere", "The parser of CRLF is called source now.")
    replay(desk.store, recorder.write())
    first, second = [one.episode for one in similar(desk.store, "CRLF parser 파서")]
    assert judge(desk.store, first.id, helped=False)
    assert judge(desk.store, second.id, helped=True)
    assert add_told(desk.store, {second.id: {"2026-01-01": None}}, "Count") is not None
    assert add_told(desk.store, {second.id: {"2026-01-01": None}}, "Count") is None
    assert counts(desk.store)[second.id] == Count(1, pytest.approx(0.65))
    assert [one.episode.id for one in similar(desk.store, "CRLF parser 파서")] == [second.id, first.id]
    found = similar(desk.store, error="make: *** [all] Error 2\nerror: it broke")
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
    found = similar(desk.store, error="make: *** [all] Error 2\nerror: it broke")
    assert found[0].episode.outcome is Outcome.SUCCESS
    assert found[0].score < found[1].score
    assert len(found) == 3
