"""Jobs in the background: one of a kind at a time, whatever store it is for; the others wait their turn."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gitmem.learn.end import replay
from gitmem.learn.judge import request_judgement
from gitmem.llm.requests import waiting
from gitmem.platform.machine import Context, machine_name, now, start_detached
from gitmem.store import jobs
from gitmem.store.jobs import Kind, exclusive_job, running
from gitmem.store.store import Store
from tests.agent import Recorder
from tests.command_line import Runner
from tests.own_settings import own_settings


@pytest.fixture
def stores(tmp_path: Path, home: Path, environ, initialize) -> list[Store]:
    """Give two stores of one user on one machine."""
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        initialize(tmp_path / name)
        context = Context(environ, environ["HOME"], machine_name(environ["HOME"]), now)
        made.append(Store(str(tmp_path / name / ".gitmem"), context))
    return made


def test_a_second_job_of_a_kind_waits_and_is_started_by_the_first(stores, environ, monkeypatch, tmp_path):
    started: list[tuple[str, ...]] = []

    def start(_: object, *words: str) -> subprocess.Popen[bytes]:
        started.append(words)
        return subprocess.Popen([sys.executable, "-c", ""])

    monkeypatch.setattr(jobs, "start_detached", start)
    one, two = stores
    status = Runner(tmp_path / "two", environ)
    with exclusive_job(one, Kind.REINDEX) as first:
        with exclusive_job(two, Kind.REINDEX) as second, exclusive_job(two, Kind.MAINTAIN) as other:
            assert (first, second, other) == (True, False, True)
            assert [(job.kind, job.store, job.waiting) for job in running(environ["HOME"])] == [
                (Kind.REINDEX, one.root, 1),
                (Kind.MAINTAIN, two.root, 0),
            ]
            said = status("status")[1]
            assert "indexing authors and meanings, since " in said
            assert f"in the background ({one.root}). 1 more store waits for it" in said
        assert started == []
    assert started == [("-C", two.root, "reindex", "--background")]
    assert running(environ["HOME"]) == []
    with exclusive_job(one, Kind.REINDEX):
        pass
    assert len(started) == 1, "a request is answered once"


@pytest.mark.slow
def test_a_job_that_was_killed_is_in_nobodys_way(stores, environ):
    code = "import os, sys, time; from tests.store.test_jobs import hold; hold(*sys.argv[1:])"
    held = subprocess.Popen(
        [sys.executable, "-c", code, stores[0].root, environ["HOME"]],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert held.stdout is not None
    assert held.stdout.readline() == b"held\n"
    with exclusive_job(stores[1], Kind.SYNC) as is_free:
        assert not is_free
    assert len(running(environ["HOME"])) == 1
    held.kill()
    held.wait()
    held.stdout.close()
    assert running(environ["HOME"]) == []
    with exclusive_job(stores[1], Kind.SYNC) as is_free:
        assert is_free


def hold(root: str, home: str) -> None:
    """Be a job that does not end."""
    with exclusive_job(Store(root, Context({"HOME": home}, home, "machine", now)), Kind.SYNC):
        os.write(1, b"held\n")
        time.sleep(600)


@pytest.mark.slow
def test_the_model_is_asked_for_one_store_at_a_time(tmp_path, home, environ, initialize, model_server):
    """Three stores whose sessions end at once: each is asked about, one after the other."""
    context = Context(environ, environ["HOME"], machine_name(environ["HOME"]), now)
    own_settings(context, f"summary:\n  provider: openai\n  base_url: {model_server.url}\n  model: fake-mini\n")
    lock, at_once, most = threading.Lock(), [0], [0]

    def reply(_: dict) -> dict:
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        time.sleep(0.5)
        with lock:
            at_once[0] -= 1
        return {"ended": [], "pairs": [], "facts": [], "mends": [], "requests": []}

    model_server.reply = reply
    stores = []
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        initialize(tmp_path / name)
        store = Store(str(tmp_path / name / ".gitmem"), context)
        recorder = Recorder(tmp_path / f"{name}.jsonl", f"s-{name}", str(tmp_path / name))
        recorder.turn(1, "Write the parser", "Written.")
        replay(store, recorder.write())
        request_judgement(store, f"s-{name}", "claude-code", str(recorder.path))
        stores.append(store)
    for store in stores:
        start_detached(environ, "-C", store.root, "hook", "claude", "--drain").returncode = 0
    until = time.monotonic() + 60
    while any(map(waiting, (store.private for store in stores))) and time.monotonic() < until:
        time.sleep(0.1)
    assert (len(model_server.asked), most[0]) == (3, 1)
