from __future__ import annotations

import io
import json

import pytest

from gitmem.cli.door import Door
from gitmem.cli.main import main

NAME = "memory_20260113_112700"


@pytest.fixture
def gitmem(tmp_path, home, environ):
    """Give a function that runs a command in a new project and returns exit code, output and complaint."""

    def run(*args):
        out, err = io.StringIO(), io.StringIO()
        door = Door(environ, str(tmp_path), io.TextIOWrapper(io.BytesIO(b"")), out, err)
        return main(args, lambda: door), out.getvalue(), err.getvalue()

    assert run("init")[0] == 0
    return run


@pytest.fixture
def rotated(gitmem, tmp_path):
    """Rotate a memory that is too large; return the archive."""
    memory = tmp_path / ".gitmem" / "memory.md"
    text = memory.read_text(encoding="utf-8")
    lines = "".join(f"- The loader reads part {number} of its settings in layers.\n" for number in range(2000))
    kept = text.replace("## Core Decisions\n", "## Core Decisions\n\n- 결정: uv를 쓴다, 잠금이 빠르다\n")
    memory.write_text(kept.replace("## Recent Context\n", f"## Recent Context\n\n{lines}"), encoding="utf-8")
    return json.loads(gitmem("check", "--json")[1])["archive"]


def test_the_newest_summary_is_shown(gitmem, rotated):
    code, out, err = gitmem("summary", "show")
    assert (code, err) == (0, "")
    assert out.startswith(rotated)
    assert "reads part" in out
    assert "uv를 쓴다" in out


def test_a_summary_is_named_by_its_archive_or_itself(gitmem, rotated):
    shown = gitmem("summary", "show")[1]
    name = rotated.removeprefix("archive/")
    summary = f"summaries/{name.removesuffix('.md')}.summary.md"
    for named in (rotated, name, name.removesuffix(".md"), summary):
        assert gitmem("summary", "show", named) == (0, shown, "")


def test_json_has_the_shape_of_older_tools(gitmem, rotated):
    value = json.loads(gitmem("summary", "show", "--json")[1])
    assert list(value) == ["dateRange", "sectionCount", "themes", "keyDecisions", "issues", "overallSummary"]
    assert value["keyDecisions"][0]["decision"]
    listed = json.loads(gitmem("summary", "list", "--json")[1])
    summary = rotated.replace("archive/", "summaries/").replace(".md", ".summary.md")
    assert listed == [{"archive": rotated, "summary": summary, "method": "offline", "pending": True}]


def test_the_list_says_what_is_pending(gitmem, rotated, tmp_path):
    assert gitmem("summary", "list")[1].splitlines()[1].split() == [rotated, "offline"]
    path = tmp_path / ".gitmem" / rotated.replace("archive/", "summaries/").replace(".md", ".summary.md")
    path.write_text(path.read_text(encoding="utf-8").replace("method: offline", "method: haiku"), encoding="utf-8")
    assert gitmem("summary", "list", "--pending")[1] == "No summary is pending.\n"
    path.unlink()
    assert gitmem("summary", "list", "--pending")[1].splitlines()[1].split() == [rotated, "none"]
    code, _, err = gitmem("summary", "show")
    assert code == 9
    assert "has no summary" in err


def test_without_an_archive_there_is_none(gitmem):
    assert gitmem("summary", "list")[1] == "No archive yet: memory.md is all there is.\n"
    assert json.loads(gitmem("summary", "list", "--json")[1]) == []
    assert gitmem("summary", "show")[0] == 9


def test_what_is_not_there_is_said(gitmem, rotated):
    code, _, err = gitmem("summary", "show", NAME)
    assert code == 9
    assert NAME in err
    assert gitmem("summary")[0] == 2
    assert gitmem("summary", "shew")[0] == 2


def test_control_characters_do_not_reach_a_terminal(gitmem, rotated, tmp_path):
    path = tmp_path / ".gitmem" / rotated.replace("archive/", "summaries/").replace(".md", ".summary.md")
    path.write_bytes(path.read_bytes() + "\x1b[2J\u202e".encode())
    assert "\x1b" not in gitmem("summary", "show")[1]
    assert "\u202e" not in gitmem("summary", "show")[1]
