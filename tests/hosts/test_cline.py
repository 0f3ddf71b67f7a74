"""Cline's sessions, each one JSON file, and its hooks, each an executable file."""

import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.hosts.cline import HOST
from gitmem.hosts.edits import edits_of
from gitmem.hosts.host import InstallPlace, Scope
from gitmem.hosts.registry import read_payload, read_transcript
from gitmem.hosts.settings import HOOKS
from gitmem.learn.end import find_transcripts, read_lines
from gitmem.model.transcript import hook_events, objects
from gitmem.model.turns import Turn, fold
from gitmem.record.read import recorded_turn

AT = datetime(2026, 11, 22, tzinfo=UTC)
ANSWER = "DONE-ONE: 결정: **uv**, not pip."


def test_a_turn_without_a_prompt_is_completed_from_the_record_under_one_id(recorded_transcript):
    path = recorded_transcript("cline")
    (turn,) = fold(hook_events(read_transcript(path, read_lines), UTC, "cline"))
    delivered = Turn(turn.session, "cline", "", AT, AT)
    assert recorded_turn(path, delivered).exchange_id == turn.exchange_id


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


def test_the_work_of_subagents_is_no_turn():
    inner = {"taskId": "s", "agent_id": "a", "parent_agent_id": "lead"}
    assert HOST.read({"hook_event_name": "Stop", **inner}) is None
    assert HOST.read({"hook_event_name": "PostToolUse", **inner})["agent_id"] == "a"


@pytest.mark.parametrize("cut", [0, 1, 20, 70_000, 150_000, 10_000_000])
def test_messages_are_read_one_by_one_up_to_where_the_file_ends(tmp_path, cut):
    messages = [{"role": "user", "content": [{"type": "text", "text": f"{n} [{{\n" + "x" * n}]} for n in range(500)]
    text = json.dumps({"version": 1, "sessionId": "s", "messages": messages, "more": [{}]}, indent=2)
    path = tmp_path / "s.messages.json"
    path.write_text(text[:cut], encoding="utf-8")
    found = [item for line in HOST.lines(str(path)) for item in objects(line)][1:]
    assert found == messages[: len(found)]
    whole = text[:cut].count('"role"')
    assert len(found) in {whole, whole - 1}
    assert len(found) == 500 or cut < len(text)


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe", b'{"messages": 3}', b'{"messages": [[[', b'{"messages": [1, {}, "x"]}']
)
def test_what_is_no_session_tells_nothing(tmp_path, data):
    path = tmp_path / "s.messages.json"
    path.write_bytes(data)
    path.with_name("s.json").write_bytes(data)
    assert list(read_transcript(str(path), read_lines)) == []


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
