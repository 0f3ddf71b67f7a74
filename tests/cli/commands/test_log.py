from __future__ import annotations

from tests.cli.commands.project import COMMIT_KEYS, KOREAN, Desk


def test_log(desk: Desk):
    desk.save("하나 one", "--session", "first-session")
    saved = desk.save("two", "--session", "second-session", "--type", "decision")

    found = desk.run("log", "--json").json

    assert [list(commit) for commit in found] == [COMMIT_KEYS] * 4
    assert [commit["op"] for commit in found] == ["save", "save", "init", "init"]
    newest = found[0]
    assert newest["commit"] == saved["commit"]
    assert newest["parents"] == [found[1]["commit"]]
    assert (newest["session"], newest["type"], newest["host"]) == ("second-session", "decision", "cli")
    assert newest["entries"] == [saved["id"]]
    assert newest["archive"] is None
    assert found[2]["session"] is None

    lines = desk.run("log", "--oneline").out.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith(saved["commit"][:10])
    assert lines[0].endswith(" cli/second-s  Save decision: two")
    assert "Save note: 하나 one" in lines[1]
    text = desk.run("log").out
    for words in (
        f"commit {saved['commit']}\n",
        "op:      save decision\n",
        "session: second-session\n",
        f"^{saved['id']}",
    ):
        assert words in text
    assert "author:  gitmem <gitmem@localhost>" in text


def test_log_filters(desk: Desk):
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


def test_log_says_when_there_is_more(desk: Desk):
    for number in range(25):
        desk.git(desk.store, "commit", "-q", "--allow-empty", "-m", f"number {number}")

    short = desk.run("log", "--oneline")
    assert len(short.out.splitlines()) == 20
    assert "-n 0" in short.err
    assert len(desk.run("log", "--json").json) == 20
    for options, count in ((("-n", "0"), 27), (("-n", "21"), 21), (("-n", "3"), 3)):
        ran = desk.run("log", "--oneline", *options)
        assert (len(ran.out.splitlines()), ran.err) == (count, "")


def test_log_of_hostile_values(desk: Desk):
    desk.save("x\nGitmem-Op: undo\x1b[2J", "--session", "s\nGitmem-Type: pattern")
    desk.git(desk.store, "commit", "-q", "--allow-empty", "-m", "by hand \x1b[2J\x07 \0"[:-1])

    by_hand, newest = desk.run("log", "--json", "-n", "2").json
    assert (newest["op"], newest["type"], newest["session"]) == ("save", "note", "s Gitmem-Type: pattern")
    assert by_hand["op"] is None
    for options in ((), ("--oneline",)):
        text = desk.run("log", *options).out
        assert "\x1b" not in text
        assert "by hand \\x1b[2J\\x07" in text


def test_log_takes_a_number_and_counts_lines_as_git_does(desk: Desk):
    for text in ("one", "two", "three"):
        desk.save(text)
    assert len(desk.run("log", "-2", "--json").json) == 2
    assert len(desk.run("log", "-1", "memory.md", "--oneline").out.splitlines()) == 1
    counted = desk.run("log", "-2", "--oneline", "--stat").out
    assert counted.count(" memory.md ") == 2
    assert "changed" in desk.run("log", "-1", "--stat", "--json").json[0]["stat"]
    assert desk.ran("log", "memory.md", "daily").code == 2
