from __future__ import annotations

import json

import pytest

from tests.cli.commands.project import Runner


@pytest.fixture
def run(tmp_path, home, environ):
    """Give a function that runs a command in a folder with a Korean name."""
    (tmp_path / "한글 project").mkdir()
    return Runner(tmp_path / "한글 project", environ)


@pytest.fixture
def project(gitmem, tmp_path):
    """Give the project's folder, with the memory of an older tool."""
    folder = tmp_path / "한글 project" / ".claude" / "memory"
    folder.mkdir(parents=True)
    (folder / "memory_20260113_112700.md").write_text("- 하나\n", encoding="utf-8")
    (folder / "odd\x1b[2J.txt").write_text("x", encoding="utf-8")
    return folder.parents[1]


def test_it_finds_what_belongs_to_the_project_and_says_what_went_where(gitmem, project):
    code, out, err = gitmem("migrate")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[:2] + lines[3:] == [
        f"{project / '.claude/memory'} (rotation): 1 imported, 0 already here",
        "  memory_20260113_112700.md -> archive/memory_20260113_112700.md",
        "Not imported:",
        "  odd\\x1b[2J.txt: it is nothing gitmem knows",
    ]
    assert "gitmem undo --session migrate-rotation-" in lines[2]
    assert "0 imported, 1 already here" in gitmem("migrate")[1]


def test_a_dry_run_in_json(gitmem, project):
    value = json.loads(gitmem("migrate", "--dry-run", "--json")[1])
    assert value["dry_run"]
    (source,) = value["sources"]
    assert source["kind"] == "rotation"
    assert source["migrated"][0]["to"] == "archive/memory_20260113_112700.md"
    assert source["left"][0]["why"] == "it is nothing gitmem knows"
    assert not (project / ".gitmem/archive").exists()


def test_a_folder_can_be_named_with_its_layout(gitmem, project, tmp_path):
    old = tmp_path / "old one"
    old.mkdir()
    (old / "2026-01-28.md").write_text("- [10:11:12] **User Prompt**: hello\n", encoding="utf-8")
    assert gitmem("migrate", str(old))[0] == 9
    assert gitmem("migrate", str(old), "--from", "jikime")[0] == 0
    assert "hello" in (project / ".gitmem/daily/2026/01/2026-01-28.md").read_text(encoding="utf-8")
    assert gitmem("migrate", "../old one", "--from", "jikime")[1].endswith("0 imported, 1 already here\n")


def test_a_folder_that_is_missing_is_said_to_be_also_without_a_store(run):
    assert run("migrate", "/nope")[::2] == (
        9,
        "gitmem: There is no folder /nope.\n  Give the folder that holds the memory.\n",
    )


def test_where_there_is_nothing_it_says_where_it_looked(gitmem):
    code, _, err = gitmem("migrate")
    assert code == 9
    assert ".claude/memory-keeper" in err
    assert gitmem("migrate", "nowhere")[0] == 9
    assert gitmem("migrate", "--from", "mem0")[0] == 2


def test_all_of_it_can_be_taken_back_and_brought_in_again(gitmem, project):
    folder = project / ".claude" / "memory"
    (folder / "memory.md").write_text("## 2026-01-20\n\n- zwei\n", encoding="utf-8")
    (folder / "facts.json").write_text('{"rules": [{"content": "Run ruff."}]}', encoding="utf-8")
    store = project / ".gitmem"

    def files() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in store.rglob("*.md") if ".tmp" not in path.parts}

    before = files()
    session = json.loads(gitmem("migrate", "--json")[1])["sources"][0]["session"]
    after = files()
    assert len(after) == len(before) + 3
    assert gitmem("undo", "--session", session)[0] == 0
    assert files() == before
    assert "3 imported" in gitmem("migrate")[1]
    assert files() == after
