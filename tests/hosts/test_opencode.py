"""Sessions of OpenCode and Kilo out of their database, and what their plugin sends."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.hosts import InstallPlace, Scope, file_of, find_host, read_payload, read_transcript
from gitmem.sessions.end import read_lines
from gitmem.sessions.events import HookKind, parse_payload

AT = datetime(2026, 11, 22, 16, 42, tzinfo=UTC)
FAMILY = pytest.mark.parametrize("host", ["opencode", "kilo"])


@FAMILY
def test_the_sessions_of_a_project_are_found_and_the_database_stays(recorded_transcript, host, tmp_path):
    path = recorded_transcript(host)
    before = Path(file_of(path)).read_bytes()
    place = InstallPlace(Scope.PROJECT, "/W/project", "/h", {"XDG_DATA_HOME": str(tmp_path)})
    assert find_host(host).sessions(place) == [path]
    assert find_host(host).sessions(place._replace(project="/W/other")) == []
    assert Path(file_of(path)).read_bytes() == before


@pytest.mark.parametrize("data", [b"", b"no database", None])
def test_what_is_no_database_tells_nothing(tmp_path, data):
    path = tmp_path / "opencode.db"
    if data is not None:
        path.write_bytes(data)
    assert list(read_transcript(f"{path}#ses_1", read_lines)) == []


def test_a_prompt_loses_its_quotes_and_keeps_its_id():
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": '"set it up"', "prompt_id": "msg_1"}
    event = parse_payload(read_payload(prompt, "kilo", "", ({}, "/h"))[1], AT, "kilo")
    assert (event.kind, event.text, event.turn) == (HookKind.PROMPT, "set it up", "msg_1")
