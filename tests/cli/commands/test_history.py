from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from gitmem.cli.app import real_app
from gitmem.store.store import Store
from tests.cli.commands.project import COMMIT_KEYS, KOREAN, LONG, ROOT
from tests.cli.commands.turns import ended

if TYPE_CHECKING:
    from tests.cli.commands.project import Runner


def test_blame(desk):
    saved = [desk.save(f"fact {n} {LONG}", "--session", f"session-{n}-long") for n in range(3)]
    archive = desk.rotate()

    lines = desk.run("blame", archive).out.splitlines()
    facts = [line for line in lines if "fact" in line]
    assert len(facts) == 3
    for n, line in enumerate(facts):
        assert f"  cli/session-  {saved[n]['commit'][:10]}  " in line
        assert f"fact {n} " in line
    number = next(n for n, line in enumerate(lines, 1) if "fact 1" in line)
    assert desk.run("blame", f"{archive}:{number}").out.split() == lines[number - 1].split()
    assert len(desk.run("blame", f"{archive}:1-4").out.splitlines()) == 4

    value = desk.run("blame", f"{archive}:{number}-{number + 1}", "--json").json
    assert list(value) == ["path", "lines"]
    assert value["path"] == archive
    assert [line["line"] for line in value["lines"]] == [number, number + 1]
    assert list(value["lines"][0]) == ["line", "text", "origin"]
    assert list(value["lines"][0]["origin"]) == COMMIT_KEYS
    assert value["lines"][0]["origin"]["session"] == "session-1-long"


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


def test_log_filters(desk):
    first = desk.save("one", "--session", "s-1", "--type", "decision")["commit"]
    second = desk.save("two", "--session", "s-2")["commit"]
    desk.write(KOREAN, b"x\n", "By hand", "2026-01-05T12:00:00+0000")

    def found(*options: str) -> list[str]:
        return [commit["commit"] for commit in desk.run("log", "--json", *options).json]

    by_hand = desk.git(desk.store, "rev-parse", "HEAD")
    assert found("--session", "s-1") == [first]
    assert found("--session", "s-") == [second, first]
    assert found("--type", "decision") == [first]
    assert found("--op", "save", "-n", "1") == [second]
    assert found("--op", "undo") == []
    assert found("-n", "1") == [by_hand]
    assert found(KOREAN) == found("메모 notes") == found(f".gitmem/{KOREAN}") == [by_hand]
    assert found("--since", "2026-01-05", "--until", "2026-01-05") == [by_hand]
    assert found("--until", "2026-01-05 11:59") == [desk.git(desk.store, "rev-list", "--max-parents=0", "HEAD")]
    assert found("--op", "save", "--since", "2026-01-05 13:00") == [second, first]
    assert desk.run("log", "--op", "undo").data == b""


def test_what_finds_nothing_says_so(gitmem):
    assert gitmem("log", "--since", "2099-01-01")[1:] == ("", "gitmem: No commit is of this kind.\n")
    assert gitmem("log", "--since", "2099-01-01", "--json")[1:] == ("[]\n", "")
    assert gitmem("sessions", "--question")[0] == 2


def test_log_of_hostile_values(desk):
    desk.save("x\nGitmem-Op: undo\x1b[2J", "--session", "s\nGitmem-Type: pattern")
    desk.git(desk.store, "commit", "-q", "--allow-empty", "-m", "by hand \x1b[2J\x07 \0"[:-1])

    by_hand, newest = desk.run("log", "--json", "-n", "2").json
    assert (newest["op"], newest["type"], newest["session"]) == ("save", "note", "s Gitmem-Type: pattern")
    assert by_hand["op"] is None
    for options in ((), ("--oneline",)):
        text = desk.run("log", *options).out
        assert "\x1b" not in text
        assert "by hand \\x1b[2J\\x07" in text


def test_blame_of_what_is_not_committed(desk):
    desk.save("one")
    with (desk.store / "memory.md").open("a") as file:
        file.write("by hand\x1b[2J\n")
    desk.write("empty.md", b"")

    assert desk.run("blame", "memory.md").out.splitlines()[-1].split()[:3] == ["not", "committed", "yet"]
    assert "\x1b" not in desk.run("blame", "memory.md").out
    assert desk.run("blame", "memory.md", "--json").json["lines"][-1]["origin"] is None
    assert desk.run("blame", "empty.md").data == b""
