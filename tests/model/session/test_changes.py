"""An edit is told by the lines that it changed."""

from __future__ import annotations

import pytest

from gitmem.model.session.changes import changes_of, is_place

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n x = 1\n-y = 2\n+y = 3\n*** Add File: b.py\n+z = 1\n*** End Patch"


@pytest.mark.parametrize(
    "tool, given, told",
    [
        (
            "Edit",
            {"file_path": "a.py", "old_string": "a\nb\nc", "new_string": "a\nB\nc"},
            ("change `a.py`: `- b` `+ B`",),
        ),
        (
            "Edit",
            {"file_path": "a.py", "old_string": "x", "new_string": "x\n  y = `1`"},
            ("change `a.py`: `+ y = '1'`",),
        ),
        ("Write", {"file_path": ".npmrc", "content": "a=1\n"}, ("change `.npmrc`: `+ a=1`",)),
        ("Write", {"file_path": "a.py", "content": "\n".join("abcdefg")}, ("change `a.py`",)),
        ("Write", {"file_path": "/x/.env.local", "content": "KEY=1"}, ("change `/x/.env.local`",)),
        (
            "MultiEdit",
            {
                "file_path": "a.py",
                "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": ""}],
            },
            ("change `a.py`: `- a` `+ b` `- c`",),
        ),
        ("apply_patch", {"command": PATCH}, ("change `a.py`: `- y = 2` `+ y = 3`", "change `b.py`: `+ z = 1`")),
        ("Edit", {"file_path": "a.py"}, ("change `a.py`",)),
        ("Read", {"file_path": "a.py"}, ()),
        ("Edit", {"edits": 3}, ()),
    ],
)
def test_an_edit_is_told_by_its_lines(tool, given, told):
    assert changes_of(tool, given) == told


def test_an_edit_without_its_lines_names_a_file_alone():
    assert is_place("change `a.py`")
    assert not is_place("change `a.py`: `+ x`")
    assert not is_place("`uv sync`")
