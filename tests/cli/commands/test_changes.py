import json

import pytest


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
