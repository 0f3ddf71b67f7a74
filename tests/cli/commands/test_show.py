import json
import os
import subprocess
import sys

import pytest

from gitmem.errors import ExitCode
from tests.cli.commands.project import KOREAN, ROOT, Desk


def test_what_waits_is_committed_first(desk):
    saved = desk.save("one")
    event = {"v": 1, "kind": "save", "id": "0" * 20, "at": "2026-11-21T10:00:00+00:00", "text": "from a hook"}
    event |= {"type": "note", "tags": [], "session": "hook-session", "host": "claude-code"}
    spool = desk.store / ".git" / "gitmem" / "spool"
    spool.mkdir(exist_ok=True)
    (spool / "00000000000000000001-1-00000000.json").write_text(json.dumps(event))

    found = desk.run("log", "--json", "-n", "2").json

    assert [commit["session"] for commit in found] == ["hook-session", None]
    assert found[1]["commit"] == saved["commit"]


def test_show_is_the_file_as_text_now_and_of_a_commit(desk):
    data = b"\xef\xbb\xbfone\r\n\xff\x1b[31m\0two\nno end"
    desk.write("memory.md", data)
    desk.write(KOREAN, data, "Write them")

    shown = "one{}\n\ufffd\\x1b[31m\\x00two\nno end\n"
    assert desk.run("show").out == shown.format(" [by you, changed by Ada]")
    assert desk.run("show", KOREAN).out == shown.format(" [by Ada]")
    then = desk.run("show", f"HEAD:{KOREAN}")
    assert then.out == shown.format("")
    assert f"show HEAD:{KOREAN}' prints the bytes." in then.err
    assert desk.run("show", f"HEAD:{KOREAN}", "--json").json["text"] == data.decode("utf-8", "replace")
    text = data.decode("utf-8", "replace").replace("\r", " [by Ada]\r")
    assert desk.run("show", KOREAN, "--json").json == {"path": KOREAN, "text": text}


OBEYED = "\x7f\x9b31m\u061c\u200e\u200f\u202e\u2066"


def test_no_answer_holds_what_a_terminal_would_obey(desk):
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


def test_show_takes_a_whole_path_into_a_store_on_a_branch(tmp_path, home, bare_git):
    bare_git(tmp_path, "init", "-q")
    desk = Desk(tmp_path, bare_git)
    desk.run("init", "--branch")
    desk.write("archive/memory_20260101_000000.md", b"archived\n")
    assert desk.run("show", str(desk.store / "archive" / "memory_20260101_000000.md")).out == "archived\n"


def test_show_takes_any_form_of_a_korean_name(desk):
    import unicodedata

    desk.write(KOREAN, b"x\n")
    assert desk.run("show", unicodedata.normalize("NFD", KOREAN)).out == "x\n"


def test_an_entry_says_whose_it_is_and_who_changed_it(desk):
    identifier = desk.save("Use uv, not pnpm\nbecause 한국어", "--type", "learning")["id"]
    assert f"**Learning**: Use uv, not pnpm ^{identifier}\n  because 한국어\n\n" in desk.run("show", identifier).out
    file = desk.store / "memory.md"
    file.write_text(file.read_text(encoding="utf-8").replace("not pnpm", "and pnpm"), encoding="utf-8")
    desk.git(desk.store, "commit", "-qam", "Words", "--author=Mallory <m@example.com>")
    assert desk.run("show", identifier).out.endswith("\nby      you, changed by Mallory\n")


def test_a_commit_is_shown_as_git_shows_it(desk):
    desk.save("one")
    assert desk.run("show", "HEAD").out == desk.git(desk.store, "show") + "\n"


def test_a_fresh_clone_gives_the_same_answers(desk, tmp_path):
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


def test_branch_of_the_project(tmp_path, home, bare_git):
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


def process(desk: Desk, *argv: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "gitmem", *argv],
        cwd=desk.project,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_variables_of_a_hook_lead_nowhere(desk, tmp_path):
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
def test_a_reader_that_goes_away(desk, argv):
    desk.write("memory.md", b"a line of the memory\n" * 10_000, "long")
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


def test_imported_history_is_seen_as_of_its_own_dates(desk, tmp_path):
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


def test_show_on_a_terminal_writes_no_control_characters(desk):
    desk.write("memory.md", b"one\r\n\ttwo\x1b[2J\x9b\n\xff")

    assert (
        desk.run("show", terminal=True).out
        == "one\n\ttwo\\x1b[2J\N{REPLACEMENT CHARACTER}\n\N{REPLACEMENT CHARACTER}\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_show_follows_no_link(desk, tmp_path):
    (tmp_path / "secret").write_text("secret\n")
    (desk.store / "link.md").symlink_to(tmp_path / "secret")
    (desk.store / "folder").symlink_to(tmp_path)

    for path in ("link.md", "folder/secret"):
        ran = desk.ran("show", path)
        assert (ran.code, ran.data) == (8, b"")


def test_at_is_the_file_of_that_time(desk):
    data = b"one\r\n\xff no end"
    desk.write("memory.md", data, "first", "2026-01-05T10:00:00+0000")
    desk.write(KOREAN, b"later\n", "second", "2026-01-06T10:00:00+0000")
    desk.write("memory.md", b"now\n", "third", "2026-01-07T10:00:00+0000")
    first = desk.git(desk.store, "rev-parse", "HEAD~2")

    for when in ("HEAD~2", first, "2026-01-05", "2026-01-06 09:59", "2026-01-06T18:30+09:00"):
        then = desk.run("at", when)
        assert then.out == "one\n\ufffd no end\n", when
        assert f"'git -C {desk.store} show {first[:10]}:memory.md' prints the bytes." in then.err
    assert desk.run("at", "2026-01-06", KOREAN).out == "later\n"
    assert desk.run("at", "yesterday").out == "now\n"
    assert desk.ran("at", "2026-01-05", KOREAN).code == 9
    value = desk.run("at", "2026-01-05", "--json").json
    assert value == {
        "commit": first,
        "date": "2026-01-05T10:00:00+00:00",
        "path": "memory.md",
        "text": data.decode("utf-8", "replace"),
    }
