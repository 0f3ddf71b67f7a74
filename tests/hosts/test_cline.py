"""Cline's sessions, each one JSON file, and its hooks, each an executable file."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.hosts.cline import HOST
from gitmem.hosts.edits import edits_of
from gitmem.hosts.host import InstallPlace, Scope
from gitmem.hosts.registry import read_payload, read_transcript
from gitmem.hosts.settings import HOOKS
from gitmem.learn.end import find_transcripts

ANSWER = "DONE-ONE: 결정: **uv**, not pip."


def test_a_projects_sessions_are_found_and_a_payload_leads_to_its_own(recorded_transcript, tmp_path):
    path = Path(recorded_transcript("cline"))
    shutil.copytree(path.parents[3], tmp_path / ".cline")
    (found,) = HOST.sessions(InstallPlace(Scope.PROJECT, "/W/project", str(tmp_path), {}))
    assert Path(found).name == path.name
    assert find_transcripts(str(tmp_path / ".cline" / "data")) == [found]
    assert HOST.sessions(InstallPlace(Scope.PROJECT, "/W/other", str(tmp_path), {})) == []
    payload = {"sessionContext": {"rootSessionId": path.parent.name}, "turn": {"outputText": ANSWER}}
    assert read_payload(payload, "cline", "Stop", ({}, str(tmp_path)))[1]["transcript_path"] == found
    other = {"sessionContext": {"rootSessionId": "../../etc"}}
    assert read_payload(other, "cline", "Stop", ({}, str(tmp_path)))[1]["transcript_path"] == ""


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe", b'{"messages": 3}', b'{"messages": [[[', b'{"messages": [1, {}, "x"]}']
)
def test_what_is_no_session_tells_nothing(tmp_path, data):
    path = tmp_path / "s.messages.json"
    path.write_bytes(data)
    path.with_name("s.json").write_bytes(data)
    assert list(read_transcript(str(path))) == []


@pytest.mark.skipif(sys.platform == "win32", reason="hooks are left out there")
def test_a_hook_is_a_file_that_runs_the_line_and_is_silent_without_gitmem(tmp_path):
    items = [item for item in edits_of(HOST, InstallPlace(Scope.USER, "/p", str(tmp_path), {})) if item.part == HOOKS]
    assert {Path(item.path).relative_to(tmp_path / ".cline" / "hooks").name for item in items} == set(HOST.events)
    assert all(item.executable for item in items)
    path = tmp_path / "hook"
    path.write_bytes(items[0].data)
    path.chmod(0o755)
    done = subprocess.run([path], env={"HOME": str(tmp_path)}, input=b"{}", capture_output=True, check=True)
    assert done.stdout + done.stderr == b""
