"""Sessions side by side, some in linked work trees, each with the installed hooks: every event once, in one memory."""

import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gitmem.hosts.claude_code import HOST
from gitmem.hosts.host import hook_script, script_path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are for a POSIX shell")
ROOT = Path(__file__).resolve().parents[2]
SESSIONS, TURNS, STEPS = 4, 2, 2


@pytest.fixture
def environ(tmp_path, home, environ):
    gitmem = tmp_path / "bin" / "gitmem"
    gitmem.parent.mkdir()
    gitmem.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gitmem "$@"\n')
    gitmem.chmod(0o755)
    return environ | {"PATH": f"{gitmem.parent}{os.pathsep}{environ['PATH']}", "PYTHONPATH": str(ROOT)}


def gitmem(cwd, environ, *words):
    done = subprocess.run(["gitmem", *words], cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mode", [(), ("--branch",)])
def test_every_event_of_parallel_sessions_is_saved_once_in_the_right_project(tmp_path, environ, bare_git, mode):
    project, other = tmp_path / "프로젝트 one", tmp_path / "other"
    for folder in (project, other):
        folder.mkdir()
        bare_git(folder, "init", "-q")
        bare_git(folder, "commit", "-q", "--allow-empty", "-m", "first")
        gitmem(folder, environ, "init", *mode)
    path = Path(script_path(environ["HOME"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(hook_script(""))
    trees = [tmp_path / "tree 1", tmp_path / "tree 2"]
    for tree in trees:
        bare_git(project, "worktree", "add", "-q", "--detach", str(tree))
    (project / "src").mkdir()
    places = [*trees, project / "src", *[project] * (SESSIONS - 3)]

    def session(number: int) -> None:
        where = places[number]
        common = {"session_id": f"session-{number}", "transcript_path": "", "cwd": str(where)}

        def hook(event: str, **more: object) -> None:
            payload = json.dumps(common | {"hook_event_name": event} | more, ensure_ascii=False).encode()
            command = ["sh", "-c", HOST.commands()[event]]
            done = subprocess.run(command, cwd=where, env=environ, input=payload, capture_output=True, check=False)
            assert (done.returncode, done.stderr) == (0, b"")

        hook("SessionStart", source="startup")
        for turn in range(TURNS):
            hook("UserPromptSubmit", prompt=f"Request {number}.{turn} 요청: look at the parser")
            for step in range(STEPS):
                file = {"file_path": f"{where}/file-{number}-{turn}-{step}.py"}
                hook("PostToolUse", tool_name="Write", tool_input=file, tool_response={}, tool_use_id=f"t{turn}{step}")
            hook("Stop", last_assistant_message=f"Answer {number}.{turn}: the parser is mended.")
        hook("SessionEnd", reason="other")

    with ThreadPoolExecutor(SESSIONS) as pool:
        list(pool.map(session, range(SESSIONS)))
    _settled(project, environ)
    daily = "".join(path.read_text(encoding="utf-8") for path in (project / ".gitmem").glob("daily/*/*/*.md"))
    for number in range(SESSIONS):
        for turn in range(TURNS):
            _once(f": Request {number}.{turn} ", daily)
            _once(f"**Answer:** Answer {number}.{turn}:", daily)
            for step in range(STEPS):
                _once(f"file-{number}-{turn}-{step}.py", daily)
    assert not list((other / ".gitmem").glob("daily/*/*/*.md"))
    assert bare_git(project / ".gitmem", "status", "--porcelain") == ""
    assert bare_git(project / ".gitmem", "fsck", "--strict", "--no-dangling") == ""
    ops = bare_git(project / ".gitmem", "log", "--format=%(trailers:key=Gitmem-Op,valueonly,separator=)").split()
    assert ops.count("turn") == SESSIONS * TURNS
    assert not any((tree / ".gitmem").exists() for tree in trees)
    assert json.loads(gitmem(project, environ, "doctor", "--json"))["problems"] == 0
    if not mode:
        shutil.rmtree(other / ".gitmem")  # nothing in it was in use


def _once(text: str, daily: str) -> None:
    found = [line for line in daily.splitlines() if text in line]
    assert len(found) == 1, found or f"{text} is lost"


def _settled(project: Path, environ) -> None:
    """Wait for the background, then do what is left of its work; both are what a next session would see."""
    end = time.monotonic() + 120
    while True:
        gitmem(project, environ, "hook", "claude", "--drain")
        private = project / (".gitmem/.git" if (project / ".gitmem" / ".git").is_dir() else ".git") / "gitmem"
        if not list((private / "spool" / "hooks").glob("*.json")):
            return
        assert time.monotonic() < end, sorted(path.name for path in (private / "spool" / "hooks").glob("*.json"))
        time.sleep(0.5)
