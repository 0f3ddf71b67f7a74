from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from gitmem.cli.app import real_app
from gitmem.store.store import Store
from tests.cli.commands.project import ROOT
from tests.cli.commands.turns import ended

if TYPE_CHECKING:
    from tests.cli.commands.project import Runner


def test_log_leaves_merges_out_unless_asked(gitmem, bare_git):
    gitmem("save", "The zebra is striped.")
    bare_git(gitmem.root, "checkout", "-q", "-b", "side", "HEAD~1")
    bare_git(gitmem.root, "commit", "-q", "--allow-empty", "-m", "Theirs")
    bare_git(gitmem.root, "checkout", "-q", "gitmem")
    bare_git(gitmem.root, "merge", "-q", "--no-ff", "-m", "Merge of two machines", "side")
    subjects = [one["subject"] for one in gitmem.json("log")]
    assert ("Theirs" in subjects, "Merge of two machines" in subjects) == (True, False)
    assert next(one["subject"] for one in gitmem.json("log", "--merges")) == "Merge of two machines"


@pytest.fixture
def replayed(gitmem: Runner) -> Runner:
    """Give `gitmem` with two recorded sessions and one of which only exchanges are known."""
    assert gitmem("replay", *(str(path) for path in sorted((ROOT / "tests" / "data" / "demo").glob("*.jsonl"))))[0] == 0
    return gitmem


def test_every_link_of_a_store_leads_to_a_file_and_every_file_has_a_name_to_read(replayed):
    """On a forge and in Obsidian, which follow relative links alone."""
    replayed("save", "Use uv, not pnpm.", "--type", "decision")
    linked = set()
    for file in replayed.root.rglob("*.md"):
        for link in re.findall(r"(?<!\\)\]\(([^)]+)\)", file.read_text(encoding="utf-8")):
            if "://" not in link:
                assert (file.parent / link).is_file(), (file, link)
                linked.add(file.relative_to(replayed.root).parts[0])
    assert linked >= {"facts", "sessions", "concepts", "episodes", "README.md"}
    named = [
        file
        for folder in ("facts", "concepts", "episodes", "patterns/bugs")
        for file in (replayed.root / folder).rglob("*.md")
    ]
    assert len(named) > 5
    assert all(re.fullmatch(r"[a-z][0-9a-z]{10}-[\w-]{3,}\.md", file.name) for file in named), named


def test_sessions_are_listed_the_newest_first(replayed):
    code, out, err = replayed("sessions")
    assert (code, err) == (0, "")
    newer, older = out.splitlines()
    assert newer.startswith("a83d19c4  2026-11-20 ")
    assert older.startswith("5f0c2a7e  2026-11-18 ")
    assert "3 requests" in older
    assert "Add a login endpoint to the shop API." in older
    assert len(replayed.json("sessions", "-n", "1")) == 1


def test_one_session_is_printed_by_any_beginning_of_its_id(replayed):
    for prefix in ("5f", "#5f0c2a7e", "5f0c2a7e-11d4-4c52-9d0e-6a2f3b1c8e01"):
        code, out, err = replayed("sessions", prefix)
        assert (code, err) == (0, "")
        assert out.startswith("session 5f0c2a7e-11d4-4c52-9d0e-6a2f3b1c8e01\n")
        assert "The login endpoint is in place" in out
    value = replayed.json("sessions", "5f")
    assert (value["requests"], value["host"]) == (3, "claude-code")
    assert value["text"].startswith("---\nid: session-")


def test_a_beginning_that_no_session_or_more_than_one_has_is_refused(gitmem):
    store = Store(str(gitmem.root), real_app().context())
    ended(store, "Please look at the parser and tell what it does with tabs.", session="abc-1")
    ended(store, "Please look at the writer and tell what it does with tabs.", session="abc-2")
    assert gitmem("sessions", "abc-2")[0] == 0
    assert gitmem("sessions", "abc")[::2] == (
        9,
        "gitmem: More than one session begins with 'abc': abc-2, abc-1.\n  Give more of its id.\n",
    )
    assert gitmem("sessions", "x")[0] == 9


def test_what_finds_nothing_says_so(gitmem):
    assert gitmem("log", "--since", "2099-01-01")[1:] == ("", "gitmem: No commit is of this kind.\n")
    assert gitmem("log", "--since", "2099-01-01", "--json")[1:] == ("[]\n", "")
    assert gitmem("sessions", "--question")[0] == 2
