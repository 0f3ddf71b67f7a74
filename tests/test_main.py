"""`gitmem.__main__`: streams and encodings that the caller left unusable are repaired first."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.hosts.host import command, hook_script, script_path
from gitmem.platform.machine import Context
from gitmem.store.findings import FailureLog
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store

ROOT = Path(__file__).resolve().parents[1]
BEGAN = datetime.now(UTC)
GITMEM = [sys.executable, "-m", "gitmem"]
posix = pytest.mark.skipif(sys.platform == "win32", reason="streams are closed and locales are set as POSIX has it")
pytestmark = posix
CLOSED = ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"]
KOREAN = "사용자는 pnpm 대신 uv 를 쓴다"


@pytest.fixture
def store(tmp_path, home, environ, new_store) -> Store:
    environ["PYTHONPATH"] = str(ROOT)
    context = Context(environ, environ["HOME"], "box", lambda: datetime.now(UTC))
    return new_store(tmp_path, context, BEGAN)


def run(store: Store, *words: str, redirect: str = "", stdin: bytes = b"", **environ: str) -> tuple[int, bytes, bytes]:
    done = subprocess.run(
        ["sh", "-c", f'"$@" {redirect}', "sh", *words],
        cwd=os.path.dirname(store.root),
        env={**store.context.environ, **environ},
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def memory(store: Store) -> str:
    return Path(store.root, "memory.md").read_text(encoding="utf-8")


def is_clean(store: Store, bare_git) -> bool:
    return bare_git(Path(store.root), "status", "--porcelain") == "" and not store.spool.names()


@pytest.mark.parametrize("redirect", CLOSED)
@pytest.mark.few(2)
def test_a_save_with_closed_streams_is_a_commit(store, bare_git, redirect):
    status, _, err = run(store, *GITMEM, "save", KOREAN, redirect=redirect)
    assert (status, err) == (0, b"")
    assert memory(store).count(KOREAN) == 1
    assert is_clean(store, bare_git)
    bare_git(Path(store.root), "fsck", "--strict")
    for name in ("memory.md", "config.yaml", "FORMAT.md", ".git/gitmem/checkout", ".git/HEAD"):
        assert "Saved" not in Path(store.root, name).read_text(encoding="utf-8")


@pytest.mark.few(1)
@pytest.mark.parametrize("redirect", CLOSED)
def test_commands_with_closed_streams_do_their_work(store, redirect):
    assert run(store, *GITMEM, "status", redirect=redirect)[0] == 0
    assert run(store, *GITMEM, "at", "no/such/day", redirect=redirect)[0] in {2, 9}


@pytest.mark.few(1)
@pytest.mark.parametrize("redirect", CLOSED)
@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
def test_a_hook_with_closed_streams(store, redirect, event):
    payload = {"hook_event_name": event, "session_id": "s", "prompt_id": "t", "prompt": KOREAN}
    path = Path(script_path(store.context.environ["HOME"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(hook_script(""))
    words = ["sh", "-c", command(event)]
    status, _, err = run(store, *words, redirect=redirect, stdin=json.dumps(payload).encode())
    assert (status, err) == (0, b"")
    status, _, err = run(store, *GITMEM, "hook", "claude", redirect=redirect, stdin=json.dumps(payload).encode())
    assert (status, err) == (0, b"")
    assert FailureLog(store.private).failures() == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_what_cannot_be_written_fails_a_command_and_no_hook(store):
    status, _, err = run(store, *GITMEM, "save", "kept in any case", redirect=">/dev/full")
    assert (status, err) == (1, b"gitmem: The output could not be written: No space left on device.\n")
    assert "kept in any case" in memory(store)
    payload = json.dumps({"hook_event_name": "SessionStart", "session_id": "s"}).encode()
    assert run(store, *GITMEM, "hook", "claude", redirect=">/dev/full 2>&1", stdin=payload)[0] == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_below_a_long_output_is_told_and_is_no_bug(store):
    (Path(store.root) / "memory.md").write_text("A line of many.\n" * 10_000)
    status, _, err = run(store, *GITMEM, "show", redirect=">/dev/full")
    assert (status, err) == (1, b"gitmem: The output could not be written: No space left on device.\n")


@pytest.mark.parametrize("zone", ["XXX-25", "XXX+24:30", ":/etc/passwd", "\udcff"])
@pytest.mark.few(1)
def test_time_zones_that_no_clock_can_have(store, bare_git, zone):
    status, _, err = run(store, *GITMEM, "save", "at some time", TZ=zone)
    assert (status, err) == (0, b"")
    assert "at some time" in memory(store)
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt_id": "t", "prompt": KOREAN}
    assert run(store, *GITMEM, "hook", "claude", stdin=json.dumps(payload).encode(), TZ=zone)[0] == 0
    answer = {**payload, "hook_event_name": "Stop", "last_assistant_message": "All of it is done now."}
    HookSpool(store.private).accept("Stop", 0, json.dumps(answer).encode())
    assert run(store, *GITMEM, "hook", "claude", "--drain", TZ=zone)[0] == 0
    assert KOREAN in memory(store)
    assert run(store, *GITMEM, "log", TZ=zone)[0] == 0
    assert FailureLog(store.private).failures() == []
    assert is_clean(store, bare_git)


@pytest.mark.slow
@pytest.mark.skipif(not str(ROOT).isascii(), reason="Python itself does not start from this path in such a locale")
@pytest.mark.parametrize("more", [[], ["-X", "utf8=0"]])
def test_a_locale_without_korean_changes_no_text(store, more):
    environ = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = [sys.executable, *more, "-m", "gitmem"]
    status, out, err = run(store, *words, "save", KOREAN, "--tag", "한글", "--json", **environ)
    assert (status, err) == (0, b"")
    assert KOREAN in memory(store)
    status, _, _ = run(store, *words, "save", stdin=f"stdin: {KOREAN}".encode(), **environ)
    assert f"stdin: {KOREAN}" in memory(store)
    status, out, _ = run(store, *words, "search", "사용자는", **environ)
    assert KOREAN in out.decode()


def test_a_text_that_is_no_utf_8_is_refused_and_not_stored_as_question_marks(store):
    before = memory(store)
    status, _, err = run(store, "sh", "-c", '"$@" "$(printf "\\276\\310\\263\\347")"', "sh", *GITMEM, "save")
    assert (status, "not UTF-8" in err.decode()) == (8, True)
    assert memory(store) == before
