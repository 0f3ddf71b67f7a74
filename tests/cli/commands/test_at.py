from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gitmem.errors import ExitCode
from tests.cli.commands.project import KOREAN, Desk

if TYPE_CHECKING:
    from pathlib import Path


def test_at_gives_back_every_byte(desk: Desk):
    data = b"one\r\n\xff no end"
    desk.write("memory.md", data, "first", "2026-01-05T10:00:00+0000")
    desk.write(KOREAN, b"later\n", "second", "2026-01-06T10:00:00+0000")
    desk.write("memory.md", b"now\n", "third", "2026-01-07T10:00:00+0000")
    first = desk.git(desk.store, "rev-parse", "HEAD~2")

    for when in ("HEAD~2", first, "2026-01-05", "2026-01-06 09:59", "2026-01-06T18:30+09:00"):
        assert desk.run("at", when).data == data, when
    assert desk.run("at", "2026-01-06", KOREAN).data == b"later\n"
    assert desk.run("at", "yesterday").data == b"now\n"
    assert desk.ran("at", "2026-01-05", KOREAN).code == 9
    value = desk.run("at", "2026-01-05", "--json").json
    assert value == {
        "commit": first,
        "date": "2026-01-05T10:00:00+00:00",
        "path": "memory.md",
        "text": data.decode("utf-8", "replace"),
    }


def test_at_lists(desk: Desk):
    desk.write(KOREAN, b"12345", "first")
    desk.write("later.md", b"x", "second")

    assert KOREAN in desk.run("at", "HEAD~1", "--list").out.splitlines()
    assert "later.md" not in desk.run("at", "HEAD~1", "--list").out
    value = desk.run("at", "HEAD", "메모 notes", "--list", "--json").json
    assert list(value) == ["commit", "date", "files"]
    assert value["files"] == [{"path": KOREAN, "bytes": 5}]


def test_at_with_a_clock_that_went_back(desk: Desk):
    for day, text in (("05", "a"), ("07", "b"), ("06", "c"), ("08", "d")):
        desk.write("memory.md", f"{text}\n".encode(), text, f"2026-01-{day}T10:00:00+0000")

    assert [desk.run("at", f"2026-01-{day}").out for day in ("05", "06", "07", "08")] == ["a\n", "c\n", "c\n", "d\n"]


def test_imported_history_is_seen_as_of_its_own_dates(desk: Desk, tmp_path: Path):
    for day, word in (("10", "zebra"), ("20", "okapi")):
        asked = {"role": "user", "content": f"Why does the {word} loader fail in production?"}
        answer = {"role": "assistant", "content": [{"type": "text", "text": f"The {word} loader had no lock file."}]}
        common = {"sessionId": word, "cwd": str(desk.project), "version": "2.1.330"}
        lines = [
            {
                "type": said["role"],
                "uuid": f"{word}{at}",
                "timestamp": f"2026-01-{day}T10:0{at}:00.000Z",
                "message": said,
            }
            | common
            for at, said in enumerate((asked, answer))
        ]
        (tmp_path / f"{word}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        desk.run("replay", str(tmp_path / f"{word}.jsonl"))
    then = desk.run("at", "2026-01-15").out
    assert "zebra" in then
    assert "okapi" not in then
    assert "okapi" in desk.run("at", "2026-01-25").out
    assert desk.ran("at", "2026-01-05").code == ExitCode.NOT_FOUND
    assert "okapi" in desk.run("diff", "2026-01-15", "memory.md").out
    assert "zebra" in desk.run("recall", "--at", "2026-01-15", "loader").out
