import json
import multiprocessing
import os
import sys
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from subprocess import run

import pytest

from gitmem.document.event import Save
from gitmem.document.ids import make_id
from gitmem.platform.machine import Context
from gitmem.record.save import save
from gitmem.store.findings import MAX_BYTES, MAX_MESSAGE, MAX_TRACEBACK, FailureLog, LoggedFailure
from gitmem.store.init import Place, init_store
from gitmem.store.store import MAX_PACKS
from tests.own_settings import own_file

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path, home, environ) -> tuple[Path, dict[str, str]]:
    folder = tmp_path / "프로젝트 one"
    folder.mkdir()
    environ["PYTHONPATH"] = str(ROOT)
    run([sys.executable, "-m", "gitmem", "init"], cwd=folder, env=environ, check=True, capture_output=True)
    return folder, environ


def until(condition, seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def open_store(folder: Path, environ: dict[str, str]):
    context = Context(environ, environ["HOME"], "box", lambda: datetime.now(UTC))
    return init_store(str(folder), context, Place.PROJECT).store


def test_a_command_is_started_and_let_go(project):
    folder, environ = project
    store = open_store(folder, environ)
    store.start("save", "from the background")
    assert until(lambda: "from the background" in (folder / ".gitmem" / "memory.md").read_text(encoding="utf-8"))


def test_what_cannot_be_started_is_nobodys_failure(project, monkeypatch):
    folder, environ = project
    store = open_store(folder, environ)
    monkeypatch.setattr(sys, "executable", str(folder / "no python here"))
    store.start("status")


@pytest.mark.slow
@pytest.mark.parametrize("automatic", [True, False])
def test_saves_have_the_repository_packed_without_being_asked_unless_that_is_off(project, automatic):
    folder, environ = project
    own_file(environ, environ["HOME"]).write_text(f"maintenance:\n  automatic: {str(automatic).lower()}\n")
    store = open_store(folder, environ)
    for number in range(MAX_PACKS + 1):
        at = datetime(2026, 11, 21, 9, 0, number, tzinfo=UTC)
        save(store, Save(make_id(int(at.timestamp() * 1000), os.urandom(7)), at, f"number {number}"))
    for number in range(10):  # a command looks whether packing is due
        command = [sys.executable, "-m", "gitmem", "save", f"command {number}"]
        run(command, cwd=folder, env=environ, check=True, capture_output=True)
    assert until(lambda: store.spare_packs() <= 0) if automatic else store.spare_packs() > 0


NOON = datetime(2026, 11, 21, 12, 0, tzinfo=timezone(timedelta(hours=9)))
SECRET = "ghp_" + "R4nd0mT0kenF0rTestsOnlyAbCdEfGhIjKlM"


@pytest.fixture
def journal(tmp_path):
    private = tmp_path / "private"
    private.mkdir()
    return FailureLog(str(private))


def test_failures_are_read_as_they_were_written_in_order(journal):
    failures = [
        LoggedFailure(NOON, "save", "Not committed: no space left"),
        LoggedFailure(NOON + timedelta(seconds=1), "save", 'two\nlines "quoted" and \N{SNOWMAN}', "Traceback\n  here"),
        LoggedFailure(NOON, "doctor", "a lone surrogate \udce4 is no trouble"),
    ]
    assert all(journal.record(failure) for failure in failures)
    assert journal.failures()[:2] == failures[:2]
    assert journal.failures()[2].message.startswith("a lone surrogate")


def test_a_failure_is_one_line_of_json(journal, tmp_path):
    journal.record(LoggedFailure(NOON, "save", "first\nsecond", "trace\nback"))
    journal.record(LoggedFailure(NOON, "check", "third"))
    first, second = (tmp_path / "private" / "log" / "gitmem.log").read_text("utf-8").splitlines()
    assert json.loads(first) == {
        "time": "2026-11-21T12:00:00+09:00",
        "command": "save",
        "message": "first\nsecond",
        "traceback": "trace\nback",
    }
    assert set(json.loads(second)) == {"time", "command", "message"}


def test_secrets_never_reach_it(journal):
    journal.record(LoggedFailure(NOON, "save", f"cannot save {SECRET}", f"line 1\nValueError: {SECRET}\n"))
    with open(journal.path, encoding="utf-8") as file:
        text = file.read()
    assert SECRET not in text
    assert text.count("[REDACTED:") == 2


def test_a_secret_is_not_cut_in_two_at_the_limit(journal):
    half = len(SECRET) // 2
    journal.record(
        LoggedFailure(
            NOON, "save", "x " * (MAX_MESSAGE // 2 - half // 2) + SECRET, SECRET + " y" * (MAX_TRACEBACK // 2)
        )
    )
    with open(journal.path, encoding="utf-8") as file:
        assert SECRET[4:half] not in file.read()


def test_long_failures_keep_the_beginning_of_the_message_and_the_end_of_the_traceback(journal):
    journal.record(LoggedFailure(NOON, "save", "begin " + "and so on " * 10_000, "and so on " * 10_000 + "the reason"))
    (failure,) = journal.failures()
    assert failure.message.startswith("begin")
    assert failure.traceback.endswith("the reason")
    assert len(failure.message) + len(failure.traceback) <= MAX_MESSAGE + MAX_TRACEBACK


def test_it_is_rotated_and_the_one_before_is_kept(journal):
    for number in range(120):
        journal.record(LoggedFailure(NOON, "save", f"number {number}", "x y z " * 3000))
    sizes = {
        name: os.path.getsize(os.path.join(os.path.dirname(journal.path), name))
        for name in os.listdir(os.path.dirname(journal.path))
    }
    assert set(sizes) == {"gitmem.log", "gitmem.log.1"}
    assert max(sizes.values()) <= MAX_BYTES
    numbers = [failure.message for failure in journal.failures()]
    assert numbers == [f"number {number}" for number in range(120 - len(numbers), 120)]
    assert len(numbers) > 60


def test_damaged_lines_cost_only_themselves(journal):
    journal.record(LoggedFailure(NOON, "save", "before"))
    with open(journal.path, "ab") as file:
        file.write(
            b'{"time": "2026-11\n[]\n{}\n\xff\xfe\n' + b"[" * 100_000 + b'\n{"time": 4, "command": 1, "message": 2}\n'
        )
    journal.record(LoggedFailure(NOON, "save", "after"))
    assert [failure.message for failure in journal.failures()] == ["before", "after"]


def test_a_time_without_a_zone_is_taken_for_local_time(journal):
    os.makedirs(os.path.dirname(journal.path))
    with open(journal.path, "w", encoding="utf-8") as file:
        file.write('{"time": "2026-11-21T12:00:00", "command": "save", "message": "m"}\n')
    assert journal.failures()[0].at == datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_it_never_raises(tmp_path):
    (tmp_path / "file").write_text("no folder")
    journal = FailureLog(str(tmp_path / "file"))
    assert not journal.record(LoggedFailure(NOON, "save", "m"))
    assert journal.failures() == []


@pytest.mark.skipif(sys.platform == "win32", reason="links and modes")
def test_it_is_private_and_follows_no_link(journal, tmp_path):
    journal.record(LoggedFailure(NOON, "save", "m"))
    assert os.stat(journal.path).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(journal.path)).st_mode & 0o777 == 0o700
    target = tmp_path / "somebody's"
    target.write_text("precious")
    os.unlink(journal.path)
    os.symlink(target, journal.path)
    assert not journal.record(LoggedFailure(NOON, "save", "m"))
    assert target.read_text() == "precious"


def write_many(folder, name):
    journal = FailureLog(folder)
    for number in range(100):
        journal.record(LoggedFailure(NOON, name, f"number {number}", "x y z " * 20))


@pytest.mark.slow
def test_lines_of_several_processes_do_not_mix(tmp_path):
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=write_many, args=(str(tmp_path), f"process {n}")) for n in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    found = FailureLog(str(tmp_path)).failures()
    assert len(found) == 300
    for n in range(3):
        messages = [failure.message for failure in found if failure.command == f"process {n}"]
        assert messages == [f"number {number}" for number in range(100)]


def test_what_several_processes_meet_is_written_once(journal):
    for second in range(3):
        journal.record_once(
            LoggedFailure(NOON + timedelta(seconds=second), "transcript", f"a.jsonl tells no turn: {SECRET}")
        )
    journal.record_once(LoggedFailure(NOON, "transcript", "b.jsonl tells no turn"))
    assert [one.message[:7] for one in journal.failures()] == ["a.jsonl", "b.jsonl"]
