from __future__ import annotations

import io
import json
import os
import subprocess  # what a process does when its reader goes away, or its environment leaks
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gitmem.cli.door import Door
from gitmem.cli.main import main
from tests.own_settings import own_file

if TYPE_CHECKING:
    from tests.conftest import RunsGit

ROOT = Path(__file__).resolve().parents[3]
COMMIT_KEYS = [
    "commit",
    "parents",
    "date",
    "committed",
    "author",
    "email",
    "subject",
    "op",
    "type",
    "session",
    "host",
    "machine",
    "entries",
    "archive",
]
SMALL = "rotation:\n  threshold_tokens: 400\n  carryover_tokens: 100\n"
KOREAN = "메모 notes/한국어 이름.md"
LONG = "a sentence that is long enough to fill a file soon, and to be followed by git"

# What is asked for, and the exit code.
MISSING = {
    ("show", "nowhere.md"): 9,
    ("show", "archive"): 9,
    ("show", "^short"): 9,
    ("show", "^00000000000000000000"): 9,
    ("show", "00000000000000000000"): 9,
    ("show", "../outside.md"): 8,
    ("show", "/etc/passwd"): 8,
    ("show", ".git/config"): 8,
    ("show", "archive/../.git/config"): 8,
    ("at", "HEAD", ".GIT/config"): 8,
    ("at", "HEAD", "nowhere.md"): 9,
    ("at", "HEAD", "archive"): 9,
    ("at", "HEAD", "nowhere", "--list"): 9,
    ("at", "junk"): 9,
    ("at", "2026-02-30"): 9,
    ("at", "1999-12-31"): 9,
    ("at", "--", "--all"): 9,
    ("log", "nowhere.md"): 9,
    ("log", "../x"): 8,
    ("log", "--session", "nobody"): 9,
    ("log", "--since", "junk"): 2,
    ("log", "--until", "2026-02-30"): 2,
    ("diff", "junk"): 9,
    ("diff", "junk", "memory.md"): 9,
    ("diff", "HEAD", "HEAD", "nowhere.md"): 9,
    ("diff", "HEAD", "junk", "memory.md"): 9,
    ("diff", "a", "b", "c", "d"): 2,
    ("blame", "nowhere.md"): 9,
    ("blame", "archive"): 9,
    ("blame", "memory.md:0"): 9,
    ("blame", "memory.md:999"): 9,
    ("blame", "memory.md:3-2"): 9,
    ("blame", "memory.md:x"): 8,
    ("blame", ":3"): 8,
}


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@dataclass
class Ran:
    code: int
    data: bytes
    err: str

    @property
    def out(self) -> str:
        return self.data.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.data)


@dataclass
class Desk:
    """A project with a store, and a way to run commands in it."""

    project: Path
    git: RunsGit

    @property
    def store(self) -> Path:
        return self.project / ".gitmem"

    def ran(self, *argv: str, cwd: Path | None = None, terminal: bool = False, **environ: str) -> Ran:
        out = (Terminal if terminal else io.TextIOWrapper)(io.BytesIO(), encoding="utf-8", newline="\n")
        err = io.StringIO()
        stdin = io.TextIOWrapper(io.BytesIO())
        door = Door({**os.environ, **environ}, str(cwd or self.project), stdin, out, err)
        code = main(argv, lambda: door)
        out.flush()
        assert isinstance(out.buffer, io.BytesIO)
        return Ran(code, out.buffer.getvalue(), err.getvalue())

    def run(self, *argv: str, **options: Any) -> Ran:
        ran = self.ran(*argv, **options)
        assert ran.code == 0, ran.err
        return ran

    def save(self, text: str, *options: str) -> dict[str, Any]:
        saved: dict[str, Any] = self.run("save", text, "--json", *options).json
        return saved

    def rotate(self) -> str:
        own_file(os.environ, os.environ["HOME"]).write_text(SMALL)
        for number in range(40):
            archive = self.save(f"filler {number} {LONG}", "--session", f"filler-{number}")["archive"]
            if archive:
                return str(archive)
        raise AssertionError

    def write(self, path: str, data: bytes, message: str | None = None, date: str | None = None) -> None:
        file = self.store / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        if message is not None:
            self.git(self.store, "add", "-A")
            dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date} if date else {}
            self.git(self.store, "commit", "-q", "-m", message, env=dates)


@pytest.fixture
def desk(tmp_path: Path, home: Path, bare_git: RunsGit) -> Desk:
    project = tmp_path / "a project 프로젝트"
    project.mkdir()
    desk = Desk(project, bare_git)
    desk.run("init")
    return desk


def test_what_is_not_there_or_not_allowed(desk: Desk):
    desk.save("one")
    desk.write("archive/notes.md", b"x\n", "archive")

    for argv, code in MISSING.items():
        ran = desk.ran(*argv)
        asked_for_json = desk.ran(argv[0], "--json", *argv[1:])

        assert (argv, ran.code, asked_for_json.code) == (argv, code, code)
        assert (ran.data, asked_for_json.data) == (b"", b"")
        message, *remedy = ran.err.splitlines()
        assert message.startswith("gitmem: ")
        assert remedy, f"{argv}: an error says what to do next"
        assert json.loads(asked_for_json.err)["exit_code"] == code


@pytest.mark.parametrize(
    "argv", [("log", "-n", "-1"), ("log", "-n", "x"), ("log", "--op", "junk"), ("at",), ("show", "a", "b")]
)
def test_usage(desk: Desk, argv: tuple[str, ...]):
    ran = desk.ran(*argv)
    assert ran.code == 2
    assert ran.err.startswith(("gitmem: ", "usage: "))


def test_no_store(tmp_path: Path, home: Path, bare_git: RunsGit):
    for name in ("show", "log", "diff", "index"):
        assert Desk(tmp_path, bare_git).ran(name).code == 3


def test_what_waits_is_committed_first(desk: Desk):
    saved = desk.save("one")
    event = {"v": 1, "kind": "save", "id": "0" * 20, "at": "2026-11-21T10:00:00+00:00", "text": "from a hook"}
    event |= {"type": "note", "tags": [], "session": "hook-session", "host": "claude-code"}
    spool = desk.store / ".git" / "gitmem" / "spool"
    spool.mkdir(exist_ok=True)
    (spool / "00000000000000000001-1-00000000.json").write_text(json.dumps(event))

    found = desk.run("log", "--json", "-n", "2").json

    assert [commit["session"] for commit in found] == ["hook-session", None]
    assert found[1]["commit"] == saved["commit"]


def test_reading_goes_on_in_the_middle_of_a_merge(desk: Desk):
    saved = desk.save("one")
    (desk.store / ".git" / "MERGE_HEAD").write_text(saved["commit"] + "\n")

    for argv in (("show",), ("log",), ("at", "today"), ("diff",), ("blame", "memory.md"), ("index",)):
        ran = desk.run(*argv)
        assert ran.data
        assert "merge" in ran.err


# show


def test_show_is_the_file_byte_for_byte(desk: Desk):
    data = b"\xef\xbb\xbfone\r\n\xff\x1b[31m\0two\nno end"
    desk.write("memory.md", data)
    desk.write(KOREAN, data)

    assert desk.run("show").data == data
    assert desk.run("show", KOREAN).data == data
    assert desk.run("show", KOREAN, "--json").json == {"path": KOREAN, "text": data.decode("utf-8", "replace")}


OBEYED = "\x7f\x9b31m\u061c\u200e\u200f\u202e\u2066"


def test_no_answer_holds_what_a_terminal_would_obey(desk: Desk):
    desk.write(f"notes {OBEYED}.md", f"title {OBEYED}\n".encode(), f"subject {OBEYED}")
    desk.save(f"a text {OBEYED} of its own")
    commands = [
        ("show",),
        ("log",),
        ("blame", "memory.md"),
        ("search", "own"),
        ("recall", "own"),
        ("status",),
        ("diff",),
    ]
    for command in commands:
        for more in ((), ("--json",)):
            ran = desk.ran(*command, *more, terminal=True)
            assert not set(OBEYED) & set(ran.data.decode() + ran.err) - set("31m"), (command, more)
    desk.write("memory.md", f"title {OBEYED}\n".encode())
    said = desk.run("show", "--json", terminal=True)
    assert not set(OBEYED) & set(said.data.decode()) - set("31m")
    assert said.json["text"] == f"title {OBEYED}\n", "as a value it is what the file holds"
    ran = desk.ran("show", f"no {OBEYED}\x1b[2J.md")
    assert ran.code
    assert not {*OBEYED, "\x1b"} & set(ran.err) - set("31m")


def test_show_takes_a_day(desk: Desk):
    desk.write("daily/2026/11/2026-11-21.md", b"# 2026-11-21\n")

    assert desk.run("show", "2026-11-21").data == b"# 2026-11-21\n"


def test_show_on_a_terminal_writes_no_control_characters(desk: Desk):
    desk.write("memory.md", b"one\r\n\ttwo\x1b[2J\x9b\n\xff")

    assert (
        desk.run("show", terminal=True).out == "one\n\ttwo\\x1b[2J\N{REPLACEMENT CHARACTER}\n\N{REPLACEMENT CHARACTER}"
    )


def test_show_takes_paths_as_a_person_sees_them(tmp_path: Path, home: Path, bare_git: RunsGit):
    bare_git(tmp_path, "init", "-q")
    desk = Desk(tmp_path, bare_git)
    desk.run("init", "--branch")
    desk.write("archive/memory_20260101_000000.md", b"archived\n")
    inside = desk.store / "archive"
    sub = desk.project / "sub"
    sub.mkdir()

    for argv, cwd in (
        (("archive/memory_20260101_000000.md",), desk.project),
        ((str(inside / "memory_20260101_000000.md"),), desk.project),
        ((".gitmem/archive/memory_20260101_000000.md",), desk.project),
        (("../.gitmem/archive/memory_20260101_000000.md",), sub),
        (("memory_20260101_000000.md",), inside),
        (("archive/memory_20260101_000000.md",), inside),
    ):
        assert desk.run("show", *argv, cwd=cwd).data == b"archived\n", argv
    assert desk.run("show", "memory.md", cwd=inside).data == desk.run("show").data
    assert desk.run("-C", str(inside), "show", "memory_20260101_000000.md", cwd=sub).data == b"archived\n"


def test_show_takes_any_form_of_a_korean_name(desk: Desk):
    import unicodedata

    desk.write(KOREAN, b"x\n")
    assert desk.run("show", unicodedata.normalize("NFD", KOREAN)).data == b"x\n"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_show_follows_no_link(desk: Desk, tmp_path: Path):
    (tmp_path / "secret").write_text("secret\n")
    (desk.store / "link.md").symlink_to(tmp_path / "secret")
    (desk.store / "folder").symlink_to(tmp_path)

    for path in ("link.md", "folder/secret"):
        ran = desk.ran("show", path)
        assert (ran.code, ran.data) == (8, b"")


def test_show_entry(desk: Desk):
    saved = desk.save(
        "Use uv, not pnpm\nbecause 한국어", "--type", "decision", "--tag", "build", "--session", "1b4e51f0-9"
    )
    identifier = saved["id"]

    ran = desk.run("show", f"^{identifier}")
    value = desk.run("show", identifier, "--json").json

    assert f"**Decision** #build: Use uv, not pnpm ^{identifier}\n  because 한국어\n\n" in ran.out
    assert "memory.md:" in ran.out
    assert "cli/1b4e51f0\n" in ran.out
    assert saved["commit"] in ran.out
    assert list(value) == ["id", "time", "label", "tags", "text", "places", "origin"]
    assert (value["label"], value["tags"]) == ("Decision", ["build"])
    assert value["text"] == "Use uv, not pnpm\nbecause 한국어"
    assert value["places"][0]["path"] == "memory.md"
    assert list(value["origin"]) == COMMIT_KEYS


def test_show_commit(desk: Desk):
    saved = desk.save("one")

    text = desk.run("show", "HEAD").out
    value = desk.run("show", saved["commit"][:12], "--json").json

    assert text == desk.git(desk.store, "show") + "\n"
    assert list(value) == [*COMMIT_KEYS, "from", "to", "files", "diff"]
    assert value["to"] == value["commit"] == saved["commit"]
    assert {"path": "memory.md", "change": "modified"} in value["files"]
    assert any(file["change"] == "added" for file in value["files"])
    assert value["entries"] == [saved["id"]]


# log


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


# at


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


# diff


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


# blame


def test_blame(desk: Desk):
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


def test_blame_of_what_is_not_committed(desk: Desk):
    desk.save("one")
    with (desk.store / "memory.md").open("a") as file:
        file.write("by hand\x1b[2J\n")
    desk.write("empty.md", b"")

    assert desk.run("blame", "memory.md").out.splitlines()[-1].split()[:3] == ["not", "committed", "yet"]
    assert "\x1b" not in desk.run("blame", "memory.md").out
    assert desk.run("blame", "memory.md", "--json").json["lines"][-1]["origin"] is None
    assert desk.run("blame", "empty.md").data == b""


# index


def test_index_of_a_new_store(desk: Desk):
    assert desk.run("index", "--json").json == {
        "version": 1,
        "current": "memory.md",
        "rotatedFiles": [],
        "stats": {"totalRotations": 0, "lastRotation": None},
    }
    assert "No rotation yet" in desk.run("index").out


def test_index_has_the_shape_of_the_seed(desk: Desk):
    archive = desk.rotate()
    name = Path(archive).stem
    data = (desk.store / archive).read_bytes()
    desk.write(f"summaries/{name}.summary.md", b"---\n---\n", "summary")

    value = desk.run("index", "--json").json

    rotation = json.loads(desk.run("log", "--op", "rotate", "--json").data)[0]
    at = desk.git(desk.store, "log", "-1", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%ad", rotation["commit"])
    item = value["rotatedFiles"][0]
    days = item.pop("dateRange")
    assert list(days) == ["first", "last"]
    assert len(days["first"]) == len(days["last"]) == len("2026-01-01")
    assert item == {
        "file": f"{name}.md",
        "rotatedAt": at,
        "tokens": -(-len(data) // 4),
        "bytes": len(data),
        "lines": data.count(b"\n"),
        "summary": f"{name}.summary.md",
        "summaryGenerated": True,
    }
    assert value["stats"] == {"totalRotations": 1, "lastRotation": at}
    header, row, _, total = desk.run("index").out.splitlines()
    assert header.split() == ["ARCHIVE", "ROTATED", "TOKENS", "LINES", "DAYS", "SUMMARY"]
    assert row.startswith(archive)
    assert row.endswith("yes")
    assert total == "1 rotation."


def test_index_counts_what_retention_took_away(desk: Desk):
    first = desk.rotate()
    (desk.store / first).unlink()
    desk.git(desk.store, "commit", "-qam", "Retain\n\nGitmem-Op: retain")

    value = desk.run("index", "--json").json
    assert value["rotatedFiles"] == []
    assert value["stats"]["totalRotations"] == 1
    assert f"({first})" in desk.run("index").out
    assert "1 in brackets" in desk.run("index").out


def test_a_fresh_clone_gives_the_same_answers(desk: Desk, tmp_path: Path):
    desk.save("하나", "--session", "s-1")
    archive = desk.rotate()
    other = Desk(tmp_path / "proj2", desk.git)
    other.project.mkdir()
    desk.git(other.project, "clone", "-q", str(desk.store), ".gitmem")

    for argv in (
        ("index", "--json"),
        ("index",),
        ("log", "--json", "-n", "0"),
        ("blame", archive, "--json"),
        ("at", "HEAD", archive),
        ("diff", "HEAD~3", "--json"),
        ("show",),
    ):
        assert other.run(*argv).data == desk.run(*argv).data, argv


def test_branch_of_the_project(tmp_path: Path, home: Path, bare_git: RunsGit):
    project = tmp_path / "code"
    project.mkdir()
    bare_git(project, "init", "-q")
    (project / "main.py").write_text("pass\n")
    bare_git(project, "add", "-A")
    bare_git(project, "commit", "-qm", "code")
    desk = Desk(project, bare_git)
    desk.run("init", "--branch")
    saved = desk.save("in a linked work tree", "--session", "s-1")
    archive = desk.rotate()
    sub = project / "src"
    sub.mkdir()

    assert desk.run("log", "--session", "s-1", "--json", cwd=sub).json[0]["commit"] == saved["commit"]
    assert desk.run("index", "--json", cwd=sub).json["stats"]["totalRotations"] == 1
    assert saved["commit"][:10] in desk.run("blame", archive, cwd=sub).out
    assert saved["id"] in desk.run("show", f"^{saved['id']}", cwd=sub).out
    assert desk.ran("at", "main", "main.py").code == 9
    assert bare_git(project, "status", "--porcelain", "--untracked-files=no") == ""


# as a process


def process(desk: Desk, *argv: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "gitmem", *argv],
        cwd=desk.project,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_variables_of_a_hook_lead_nowhere(desk: Desk, tmp_path: Path):
    saved = desk.save("one", "--session", "s-1")
    other = tmp_path / "other"
    other.mkdir()
    desk.git(other, "init", "-q")
    desk.git(other, "commit", "-q", "--allow-empty", "-m", "code")
    leaked = {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_COMMON_DIR": str(other / ".git"),
        "GIT_INDEX_FILE": str(other / ".git" / "index"),
        "GIT_OBJECT_DIRECTORY": str(other / ".git" / "objects"),
        "GIT_PREFIX": "sub/",
    }
    for argv in (("log", "--json"), ("blame", "memory.md"), ("show", f"^{saved['id']}"), ("diff",), ("at", "today")):
        ran = process(desk, *argv, **leaked)
        assert (ran.returncode, ran.stderr) == (0, b"")
        assert ran.stdout == process(desk, *argv).stdout
        assert ran.stdout
    assert saved["commit"][:10].encode() in process(desk, "blame", "memory.md", **leaked).stdout


@pytest.mark.parametrize("argv", [("show",), ("blame", "memory.md"), ("at", "HEAD", "--json")])
def test_a_reader_that_goes_away(desk: Desk, argv: tuple[str, ...]):
    desk.write("memory.md", b"a line of the memory\n" * 100_000, "long")
    running = subprocess.Popen(
        [sys.executable, "-m", "gitmem", *argv],
        cwd=desk.project,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdout
    assert running.stdout.read(1)
    running.stdout.close()
    assert running.stderr
    said = running.stderr.read()
    running.stderr.close()
    assert (running.wait(60), said) == (0, b"")
