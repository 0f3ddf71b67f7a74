from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

from gitmem.store.spool.answered import FOLDER, may_answer

START = b'{"hook_event_name": "SessionStart", "session_id": "a", "source": "startup"}'


def test_of_two_hooks_at_one_event_one_answers(tmp_path):
    assert may_answer(str(tmp_path), 100, START)
    assert not may_answer(str(tmp_path), 100, START)


def test_of_many_at_once_one_answers(tmp_path):
    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(lambda _: may_answer(str(tmp_path), 100, START), range(64))) == 1


def test_another_process_and_another_event_are_answered(tmp_path):
    assert may_answer(str(tmp_path), 100, START)
    assert may_answer(str(tmp_path), 101, START)
    assert may_answer(str(tmp_path), 100, START.replace(b"startup", b"compact"))


def test_without_the_number_of_the_host_each_is_answered(tmp_path):
    assert may_answer(str(tmp_path), 0, START)
    assert may_answer(str(tmp_path), 0, START)


def test_the_same_bytes_later_are_another_event_and_nothing_old_stays(tmp_path):
    may_answer(str(tmp_path), 99, START)
    may_answer(str(tmp_path), 100, START)
    for path in (tmp_path / FOLDER).iterdir():
        os.utime(path, (time.time() - 11,) * 2)
    assert may_answer(str(tmp_path), 100, START)
    assert len(list((tmp_path / FOLDER).iterdir())) == 1


def test_a_mark_out_of_the_future_is_not_heeded(tmp_path):
    may_answer(str(tmp_path), 100, START)
    for path in (tmp_path / FOLDER).iterdir():
        os.utime(path, (time.time() + 3600,) * 2)
    assert may_answer(str(tmp_path), 100, START)


def test_where_the_folder_cannot_be_made_it_is_answered(tmp_path):
    (tmp_path / FOLDER).write_text("in the way")
    assert may_answer(str(tmp_path), 100, START)
    assert may_answer(str(tmp_path), 100, START)
