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
