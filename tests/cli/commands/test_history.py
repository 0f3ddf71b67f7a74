"""Commits, sessions, the origin of lines, differences and undo, as a user or a script asks for them."""

from __future__ import annotations

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
