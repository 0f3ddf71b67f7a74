"""Older and newer forms of transcripts (J18): each is read, or refused in one sentence."""

import json
from datetime import UTC
from pathlib import Path

import pytest

from gitmem.hosts import read_transcript, writer
from gitmem.learn.end import find_transcripts, read_lines, replay
from gitmem.model.transcript import Unread, hook_events
from gitmem.model.turns import fold

ASKED, SAID = "Put the footer below the form.", "The footer is below the form now."
OPENCODE = {
    "info": {"id": "ses_1", "directory": "/home/kim/shop", "time": {"created": 1763600000000}},
    "messages": [
        {
            "info": {"id": "m1", "role": "user", "time": {"created": 1763600000000}},
            "parts": [{"type": "text", "text": ASKED}],
        },
        {
            "info": {"id": "m2", "role": "assistant", "time": {"created": 1763600050000}},
            "parts": [
                {
                    "type": "tool",
                    "tool": "edit",
                    "callID": "c1",
                    "state": {"status": "completed", "input": {"filePath": "/home/kim/shop/form.py"}, "output": "ok"},
                },
                {"type": "text", "text": SAID},
            ],
        },
    ],
}
GEMINI = {
    "sessionId": "s-1",
    "projectHash": "7e89",
    "startTime": "2026-01-15T20:51:48.582Z",
    "messages": [
        {"id": "a", "timestamp": "2026-01-15T20:51:48.582Z", "type": "user", "content": ASKED},
        {
            "id": "b",
            "timestamp": "2026-01-15T20:52:48.582Z",
            "type": "gemini",
            "content": SAID,
            "toolCalls": [{"id": "c", "name": "write_file", "args": {"file_path": "form.py"}, "status": "success"}],
        },
    ],
}
DOCUMENTS = pytest.mark.parametrize("host, document", [("opencode", OPENCODE), ("gemini", GEMINI)])


def turns_of(path: Path, unread: Unread | None = None):
    return fold(hook_events(read_transcript(str(path), read_lines, unread), UTC))


@DOCUMENTS
@pytest.mark.parametrize("indent", [None, 2])
def test_a_session_in_one_json_document_is_read(tmp_path, host, document, indent):
    path, unread = tmp_path / "session.json", Unread()
    path.write_text(json.dumps(document, indent=indent))
    (turn,) = turns_of(path, unread)
    assert (turn.prompt, turn.answer) == (ASKED, SAID)
    assert [Path(name).name for name in turn.files] == ["form.py"]
    assert turn.session == ("ses_1" if host == "opencode" else "s-1")
    assert turn.started.year == (2025 if host == "opencode" else 2026)
    assert writer(str(path), read_lines) == host
    assert unread.lines == 0


@DOCUMENTS
def test_of_a_damaged_document_all_before_is_read_and_one_line_is_counted(tmp_path, host, document):
    path, unread = tmp_path / "session.json", Unread()
    text = json.dumps(document, indent=2)
    path.write_text(text[: text.index(SAID)])
    (turn,) = turns_of(path, unread)
    assert turn.prompt == ASKED
    assert unread.lines == 1


def test_a_folder_of_documents_is_imported_without_other_json(desk, tmp_path):
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "one.json").write_text(json.dumps(OPENCODE, indent=2))
    (folder / "package.json").write_text(json.dumps({"name": "shop", "messages": []}, indent=2))
    (path,) = find_transcripts(str(folder))
    assert replay(desk.store, path).saved == 1
    assert replay(desk.store, path).saved == 0


def test_json_that_is_no_session_is_refused_in_one_sentence(desk, tmp_path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps([{"name": number} for number in range(3000)], indent=2))
    done = replay(desk.store, str(path))
    assert done.turns == 0
    (notice,) = done.notices
    assert notice.count("\n") == 0
    assert "it has no turns of a session" in notice
