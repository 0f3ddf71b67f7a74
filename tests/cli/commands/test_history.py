"""Commits, sessions, the origin of lines, differences and undo, as a user or a script asks for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from gitmem.history.sessions import short_names
from tests.command_line import ROOT

if TYPE_CHECKING:
    from tests.command_line import Runner


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


def test_diff_is_coloured_on_a_terminal_only(world):
    world.commit_file("memory.md", b"one\n", "first")
    world.commit_file("memory.md", b"two \x1b[2J\n", "second")

    coloured = world.run("diff", terminal=True).out
    assert "\x1b[31m-one\x1b[0m\n\x1b[32m+two \\x1b[2J\x1b[0m\n" in coloured
    assert "\x1b" not in world.run("diff", terminal=True, NO_COLOR="1").out
    assert world.run("diff").out.endswith("-one\n+two \\x1b[2J\n")
    assert "\x1b[33mcommit " in world.run("show", "HEAD", terminal=True).out


def test_sessions_are_one_count_through_all_doors(replayed, tmp_path):
    replayed("save", "said in a shell", "--session", "aaaaaaaa-1")

    def counts() -> set[int]:
        backup = tmp_path / f"{len([*tmp_path.iterdir()])}.bundle"
        return {
            replayed.json("status")["knows"]["sessions"],
            len(replayed.json("sessions", "-n", "0")),
            replayed.json("stats")["usage"]["sessions"],
            replayed.json("backup", str(backup))["records"]["sessions"],
        }

    (before,) = counts()
    replayed("save", "said in another", "--session", "bbbbbbbb-2")
    replayed("save", "said there again", "--session", "bbbbbbbb-2")
    assert counts() == {before + 1}
    assert replayed("undo", "--session", "aaaaaaaa-1")[0] == 0
    assert counts() == {before}


def test_sessions_are_named_by_what_tells_them_apart():
    assert short_names(["2026-01-13_1011", "2026-01-13_1012", "2026-02-01_0900", "ab12cd34-5", "ab"]) == {
        "2026-01-13_1011": "2026-01-13_1011",
        "2026-01-13_1012": "2026-01-13_1012",
        "2026-02-01_0900": "2026-02-",
        "ab12cd34-5": "ab12cd34",
        "ab": "ab",
    }
