"""Edits by hand that nothing has committed yet, as commands, a session's start and the viewer show them."""

from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING

import pytest

from gitmem.cli.commands.hook import hook
from gitmem.cli.door import Door, real_door
from gitmem.store.store import Store
from tests.cli.commands.conftest import gitmem, run  # noqa: F401
from tests.web.conftest import Viewer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.commands.project import Runner

SAID = "The cache is in memory."


@pytest.fixture
def decided(gitmem: Runner) -> str:  # noqa: F811
    return str(gitmem.json("save", SAID, "--type", "decision")["id"])


def change(path: Path, old: str, new: str) -> None:
    """Edit a file as an editor does that writes in place."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def file_of(gitmem: Runner, identifier: str) -> Path:  # noqa: F811
    return gitmem.root / gitmem.json("facts", "show", identifier)["path"]


def told(gitmem: Runner) -> str:  # noqa: F811
    """Return what the hook of a session's start tells."""
    out = io.StringIO()
    payload = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s", "cwd": str(gitmem.cwd)}
    given = io.TextIOWrapper(io.BytesIO(json.dumps(payload).encode()))
    door = Door(gitmem.environ, str(gitmem.cwd), given, out, io.StringIO())
    hook(("hook", "claude", "SessionStart"), door)
    return out.getvalue()


def viewer_of(gitmem: Runner) -> Viewer:  # noqa: F811
    return Viewer(str(gitmem.root), real_door().context())


def tip(gitmem: Runner) -> str:  # noqa: F811
    return str(Store(str(gitmem.root), real_door().context()).tip)


@pytest.mark.parametrize("where", ["line", "file"])
def test_an_edited_decision_is_told_as_it_stands(gitmem, decided, where):  # noqa: F811
    before = tip(gitmem)
    path = gitmem.root / "memory.md" if where == "line" else file_of(gitmem, decided)
    if where == "line":
        change(path, SAID, "The cache is in Redis.")
    else:
        change(path, f"---\n{SAID}", "---\nThe cache is in Redis.")
    assert [fact["description"] for fact in gitmem.json("facts", "list")] == ["The cache is in Redis."]
    assert gitmem.json("facts", "show", decided)["text"] == "The cache is in Redis."
    for text in (told(gitmem), gitmem("start")[1]):
        assert "The cache is in Redis." in text
        assert "The cache is in memory" not in text
    assert "The cache is in Redis." in viewer_of(gitmem).sign_in().get(f"/fact/{decided}")
    assert tip(gitmem) == before, "reading commits nothing"
    gitmem("save", "a note")
    assert [fact["description"] for fact in gitmem.json("facts", "list")] == ["The cache is in Redis."]


def test_a_deleted_decision_is_told_no_more(gitmem, decided):  # noqa: F811
    path = gitmem.root / "memory.md"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if SAID not in line), encoding="utf-8")
    assert gitmem.json("facts", "list") == []
    assert SAID not in told(gitmem)
    assert viewer_of(gitmem).sign_in().json(f"/fact/{decided}.json")["standing"] == "retired"


def test_a_fact_that_was_made_in_an_editor_is_a_page_before_something_commits_it(gitmem):  # noqa: F811
    path = gitmem.root / "facts" / "rule" / "r0000000001-run-the-linter.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\ndescription: Run the linter.\n---\nRun the linter.\n", encoding="utf-8")
    assert "Run the linter." in told(gitmem)
    viewer = viewer_of(gitmem).sign_in()
    page = viewer.json("/fact/r0000000001.json")
    assert (page["text"], page["life"]) == ("Run the linter.", [])
    assert "Run the linter." in viewer.get("/fact/r0000000001")
    gitmem("save", "a note")
    assert [step["act"] for step in viewer.json("/fact/r0000000001.json")["life"]] == ["learned"]


def test_without_an_edit_no_git_is_asked(gitmem, decided, monkeypatch):  # noqa: F811
    store = Store(str(gitmem.root), real_door().context())
    from gitmem.store.headers.facts import known_facts

    monkeypatch.setattr("gitmem.git.process.run.Git.spawn", None)
    assert [fact.description for fact in known_facts(store)] == [SAID]


def test_a_file_that_is_as_it_was_says_nothing(gitmem, decided):  # noqa: F811
    os.utime(gitmem.root / "memory.md")
    os.utime(file_of(gitmem, decided))
    assert [fact["description"] for fact in gitmem.json("facts", "list")] == [SAID]
