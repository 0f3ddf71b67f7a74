"""Commits, sessions, the origin of lines, differences and undo, as a person or a script asks for them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.cli.commands.project import ROOT

if TYPE_CHECKING:
    from tests.cli.commands.project import Runner


@pytest.fixture
def replayed(gitmem: Runner) -> Runner:
    """Give `gitmem` with two recorded sessions and one of which only exchanges are known."""
    assert gitmem("replay", *(str(path) for path in sorted((ROOT / "tests" / "data" / "demo").glob("*.jsonl"))))[0] == 0
    return gitmem


def test_every_file_of_a_store_has_a_name_to_read(replayed):
    replayed("save", "Use uv, not pnpm.", "--type", "decision")
    named = [
        file
        for folder in ("facts", "concepts", "episodes", "patterns/bugs")
        for file in (replayed.root / folder).rglob("*.md")
    ]
    assert len(named) > 5
    assert all(re.fullmatch(r"[a-z][0-9a-z]{10}-[\w-]{3,}\.md", file.name) for file in named), named


def test_diff_is_coloured_on_a_terminal_only(desk):
    desk.write("memory.md", b"one\n", "first")
    desk.write("memory.md", b"two \x1b[2J\n", "second")

    coloured = desk.run("diff", terminal=True).out
    assert "\x1b[31m-one\x1b[0m\n\x1b[32m+two \\x1b[2J\x1b[0m\n" in coloured
    assert "\x1b" not in desk.run("diff", terminal=True, NO_COLOR="1").out
    assert desk.run("diff").out.endswith("-one\n+two \\x1b[2J\n")
    assert "\x1b[33mcommit " in desk.run("show", "HEAD", terminal=True).out


@pytest.fixture
def save(gitmem):
    def run(text, *args):
        return json.loads(gitmem("save", text, "--json", *args)[1])

    return run


def test_what_sessions_taught_is_not_undone_by_default(gitmem, save, tmp_path):
    save("said by a person")
    asked = {"role": "user", "content": "Always run the tests with -x. Why does the loader fail in production?"}
    answer = {"role": "assistant", "content": [{"type": "text", "text": "The loader had no lock file. Fixed."}]}
    lines = [
        {"type": said["role"], "uuid": f"u{at}", "sessionId": "1b4e51f0-021d", "message": said, "cwd": str(tmp_path)}
        | {"timestamp": f"2026-01-10T10:0{at}:00.000Z"}
        for at, said in enumerate((asked, answer))
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert gitmem("replay", str(tmp_path / "t.jsonl"))[0] == 0
    assert "said by a person" in gitmem("undo", "--dry-run")[1]
    of_session = json.loads(gitmem("undo", "1b4e51f0", "--dry-run", "--json")[1])
    assert of_session["undone"]
    told = gitmem("undo", "1b4e51f0")[1]
    assert "said by a person" not in told
