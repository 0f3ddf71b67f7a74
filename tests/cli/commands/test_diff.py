from __future__ import annotations

from tests.cli.commands.project import KOREAN, Desk


def test_diff(desk: Desk):
    desk.write("memory.md", b"one\n", "first", "2026-01-05T10:00:00+0000")
    desk.write(KOREAN, b"x\n", "second", "2026-01-06T10:00:00+0000")
    desk.write("memory.md", b"two\n", "third", "2026-01-07T10:00:00+0000")
    ids = [desk.git(desk.store, "rev-parse", f"HEAD~{back}") for back in (2, 1, 0)]

    def compared(*argv: str) -> tuple[str, str, list[str]]:
        value = desk.run("diff", "--json", *argv).json
        assert list(value) == ["from", "to", "files", "diff"]
        return value["from"], value["to"], [file["path"] for file in value["files"]]

    both = ["memory.md", KOREAN]
    assert compared() == (ids[1], ids[2], ["memory.md"])
    assert compared("HEAD~2") == compared("2026-01-05") == (ids[0], ids[2], both)
    assert compared("2026-01-05", "2026-01-06") == (ids[0], ids[1], [KOREAN])
    assert compared("HEAD~2", "HEAD", KOREAN) == compared("HEAD~2", KOREAN) == (ids[0], ids[2], [KOREAN])
    assert compared("HEAD~2", "HEAD", "메모 notes") == (ids[0], ids[2], [KOREAN])
    assert compared("memory.md") == (ids[1], ids[2], ["memory.md"])
    assert compared(KOREAN) == (ids[1], ids[2], [])
    assert compared("HEAD", "HEAD~2")[:2] == (ids[2], ids[0])
    assert "-one\n+two\n" in desk.run("diff").out
    assert desk.run("diff", "HEAD", "HEAD").data == b""


def test_diff_of_a_removed_file(desk: Desk):
    desk.write("old.md", b"x\n", "first")
    (desk.store / "old.md").unlink()
    desk.git(desk.store, "commit", "-qam", "removed")

    assert desk.run("diff", "old.md", "--json").json["files"] == [{"path": "old.md", "change": "removed"}]


def test_diff_is_coloured_on_a_terminal_only(desk: Desk):
    desk.write("memory.md", b"one\n", "first")
    desk.write("memory.md", b"two \x1b[2J\n", "second")

    coloured = desk.run("diff", terminal=True).out
    assert "\x1b[31m-one\x1b[0m\n\x1b[32m+two \\x1b[2J\x1b[0m\n" in coloured
    assert "\x1b" not in desk.run("diff", terminal=True, NO_COLOR="1").out
    assert desk.run("diff").out.endswith("-one\n+two \x1b[2J\n")
    assert "\x1b[33mcommit " in desk.run("show", "HEAD", terminal=True).out


def test_diff_shows_edits_by_hand_that_are_not_committed(desk: Desk):
    desk.write("knowledge/a.md", b"one\n", "first")
    assert "+one" in desk.run("diff").out
    (desk.store / "knowledge" / "a.md").write_text("two\n")
    (desk.store / "knowledge" / "한국어.md").write_text("new\n")
    shown = desk.run("diff").out
    assert "-one\n+two\n" in shown
    assert "+new\n" in shown
    assert "+new" not in desk.run("diff", "knowledge/a.md").out
    assert desk.run("diff", "--json").json["to"] is None


def test_diff_takes_a_range_and_counts_lines_as_git_does(desk: Desk):
    desk.write("a.md", b"one\n", "first")
    desk.write("a.md", b"two\n", "second")
    assert desk.run("diff", "HEAD~1..HEAD").data == desk.run("diff", "HEAD~1", "HEAD").data
    counted = desk.run("diff", "--stat", "HEAD~1..").out
    assert counted.strip() == desk.git(desk.store, "diff", "--stat", "HEAD~1", "HEAD")
