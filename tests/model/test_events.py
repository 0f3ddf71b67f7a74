"""An edit is told by the lines that it changed."""

from datetime import UTC, datetime

import pytest

from gitmem.model.events import HookKind, changed_files, edits_of, is_place, shown_changes
from gitmem.record.read import parse_payload
from tests.recorded import EVERY_EVENT, payloads_in

A = {"file_path": "a.py"}
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n x = 1\n-y = 2\n+y = 3\n*** Add File: b.py\n+z = 1\n*** End Patch"


def edit(old, new):
    return {**A, "old_string": old, "new_string": new}


@pytest.mark.parametrize(
    "tool, given, told",
    [
        ("Edit", edit("a\nb\nc", "a\nB\nc"), ("change `a.py`: `- b` `+ B`",)),
        ("Edit", edit("x", "x\n  y = `1`"), ("change `a.py`: `+ y = '1'`",)),
        ("Write", {"file_path": ".npmrc", "content": "a=1\n"}, ("change `.npmrc`: `+ a=1`",)),
        ("Write", {"file_path": "a.py", "content": "\n".join("abcdefg")}, ("change `a.py`",)),
        ("Write", {"file_path": "/x/.env.local", "content": "KEY=1"}, ("change `/x/.env.local`",)),
        ("MultiEdit", {**A, "edits": [edit("a", "b"), edit("c", "")]}, ("change `a.py`: `- a` `+ b` `- c`",)),
        ("apply_patch", {"command": PATCH}, ("change `a.py`: `- y = 2` `+ y = 3`", "change `b.py`: `+ z = 1`")),
        ("Edit", {"file_path": "a.py"}, ("change `a.py`",)),
        ("Read", {"file_path": "a.py"}, ()),
        ("Edit", {"edits": 3}, ()),
    ],
)
def test_an_edit_is_told_by_its_lines(tool, given, told):
    assert shown_changes(edits_of(tool, given)) == told
    assert [one for one in (*told, "`uv sync`") if is_place(one)] == [one for one in told if one.count("`") == 2]


AT = datetime(2026, 11, 21, 14, 3, 22, tzinfo=UTC)


# Files


PATCHES = (
    "*** Begin Patch\n*** Add File: 한글 file.py\n+*** Add File: not this\n*** Update File: b.py\r\n"
    "*** Move to: c.py\n*** Update File: b.py\n*** Delete File: d\n*** Add File: \n*** End Patch"
)


@pytest.mark.parametrize(
    "tool, given, files",
    [
        ("NotebookEdit", {"notebook_path": "n.ipynb"}, ("n.ipynb",)),
        *(("apply_patch", {key: PATCHES}, ("한글 file.py", "b.py", "c.py", "d")) for key in ("patch", "command")),
        *(
            (tool, {"file_path": "/p/a", "path": "b", "command": "touch c"}, ())
            for tool in ("Read", "Bash", "Grep", "mcp__x__Edit", "", "edit")
        ),
    ],
)
def test_the_files_that_a_call_changes(tool, given, files):
    assert changed_files(edits_of(tool, given)) == files


# What real hosts sent


@pytest.mark.parametrize("payload", payloads_in(EVERY_EVENT), ids=lambda payload: payload["hook_event_name"])
def test_every_event_of_claude_code_is_understood(payload):
    event, name = parse_payload(payload, AT, "claude-code"), payload["hook_event_name"]
    if name not in HookKind._value2member_map_:
        assert event is None
        return
    if str(payload.get("prompt")).startswith("<task-notification>"):
        assert (event.kind, event.text) == (HookKind.NOTICE, "")
        return
    assert event.kind.value == name
    assert (event.session, event.cwd) == (payload["session_id"], payload["cwd"])
    assert event.turn == payload.get("prompt_id", payload.get("turn_id", ""))
    if name == "UserPromptSubmit":
        assert event.text == payload["prompt"]
    if name == "PostToolUse" and payload["tool_name"] in {"Write", "Edit"}:
        assert event.files == (payload["tool_input"]["file_path"],)
