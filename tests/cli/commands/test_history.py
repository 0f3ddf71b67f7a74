"""Commits, sessions, the origin of lines, differences and undo, as a person or a script asks for them."""

from __future__ import annotations

import json
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
        "gitmem: More than one session begins with 'abc': abc-1, abc-2.\n  Give more of it.\n",
    )
    assert gitmem("sessions", "x")[0] == 9


def test_what_finds_nothing_says_so(gitmem):
    assert gitmem("log", "--since", "2099-01-01")[1:] == ("", "gitmem: No commit is of this kind.\n")
    assert gitmem("log", "--since", "2099-01-01", "--json")[1:] == ("[]\n", "")
    assert gitmem("sessions", "--question")[0] == 2


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


@pytest.fixture
def memory(tmp_path):
    return tmp_path / ".gitmem" / "memory.md"


def test_an_entry_that_is_nowhere_left(gitmem, save, memory):
    saved = save("one")
    memory.write_text("".join(line for line in memory.read_text().splitlines(True) if saved["id"] not in line))
    for log in memory.parent.glob("daily/*/*/*.md"):
        log.unlink()
    code, out, _ = gitmem("undo", f"^{saved['id']}")
    assert code == 0
    assert "left nothing to undo" in out


def test_a_session(gitmem, save, memory):
    for text, session in (("one", "aaa"), ("two", "bbb"), ("three", "aaa")):
        save(text, "--session", session)
    code, out, _ = gitmem("undo", "--session", "a")
    assert code == 0
    assert out.count("Undid") == 2
    assert "two" in memory.read_text()
    assert "three" not in memory.read_text()


def test_json(gitmem, save):
    saved = save("one", "--session", "s")
    code, out, _ = gitmem("undo", saved["commit"], "--json")
    value = json.loads(out)
    assert code == 0
    assert set(value) == {"commit", "dry_run", "undone", "already", "files"}
    assert [item["commit"] for item in value["undone"]] == [saved["commit"]]
    assert value["undone"][0]["entries"] == [saved["id"]]
    again = json.loads(gitmem("undo", saved["commit"], "--json")[1])
    assert (again["commit"], again["undone"], again["files"]) == (None, [], [])
    assert again["already"][0]["undone_by"] == value["commit"]


@pytest.mark.parametrize("args", [("--session", ""), ("2026-11-21",), ()])
def test_what_names_no_commit_is_not_found(gitmem, args):
    assert gitmem("undo", *args)[:2] == (9, "")
    assert json.loads(gitmem("undo", *args, "--json")[2])["exit_code"] == 9


def test_a_conflict_names_the_file_and_what_came_later(gitmem, save, memory, bare_git):
    memory.write_text(memory.read_text().replace("## Current State\n", "## Current State\n\nCalm.\n"))
    save("one")
    memory.write_text(memory.read_text().replace("Calm.", "Stormy."))
    save("two")
    before = memory.read_bytes()
    code, out, err = gitmem("undo", "HEAD~3")
    assert (code, out) == (1, "")
    assert "memory.md" in err
    assert "Edit by hand: memory.md" in err
    assert memory.read_bytes() == before
    assert bare_git(memory.parent, "status", "--porcelain") == ""


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


def test_many_files_are_counted(gitmem, tmp_path, bare_git):
    store = tmp_path / ".gitmem"
    for number in range(9):
        (store / f"n{number}.md").write_text("a\n")
    bare_git(store, "add", "-A")
    bare_git(store, "commit", "-qm", "nine files")
    assert "in 9 files: n0.md, n1.md, n2.md, n3.md, n4.md and 4 more" in gitmem("undo", "HEAD")[1]
