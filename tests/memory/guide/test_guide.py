"""Guidance for a task and for an error: what was done, what to try and to avoid, each line with its source."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.memory.guide.given import all_given
from gitmem.memory.guide.guide import Part, as_text, guide, kind_of
from gitmem.memory.learned.bugs import learn_bugs
from gitmem.memory.task.working import change_working
from gitmem.model.learned.working import start_task, suppose
from gitmem.model.session.turns import Failure, Turn

ERROR = "Exit code 1\nE   ModuleNotFoundError: No module named 'yaml'"


def exchanges(desk) -> None:
    others = "\n".join(
        f"- [09:{n:02d}:00] **Exchange** #aaaaaaaa: Rename module m{n} to n{n}. ^x{n:02d}k2m9q0xb\n\n"
        f"  **Answer:** Module m{n} is n{n} now.\n"
        for n in range(30)
    )
    text = (
        f"{others}\n- [10:00:00] **Exchange** #1b4e51f0: Add retries to the CSV importer ^x4f7k2m9q0x\n\n"
        "  **Answer:** The CSV importer retries thrice, with backoff.\n\n"
        "  **Error:** `pytest` importer: TimeoutError → raise the limit to 5 s\n\n"
        "  **Files:** a.py, b.py, c.py\n"
    )
    path = Path(desk.store.root, "daily/2026/11/2026-11-20.md")
    path.parent.mkdir(parents=True)
    path.write_text(text, "utf-8")


def test_a_task_like_one_before_is_told_how_that_went(desk):
    exchanges(desk)
    found = guide(desk.store, "Add retries to the JSON importer")
    assert [(line.part, line.sources) for line in found.lines] == [
        (Part.APPROACH, ("x4f7k2m9q0x",)),
        (Part.TRY, ("x4f7k2m9q0x",)),
    ]
    assert "retries thrice, with backoff" in found.lines[0].text
    assert "raise the limit to 5 s" in found.lines[1].text
    assert found.complexity == "medium"
    assert 0 < found.confidence <= 1
    assert "Try:\n- `pytest` importer: TimeoutError" in as_text(found)
    assert [(one.how, one.ids) for one in all_given(desk.store.private)] == [("guide", ("x4f7k2m9q0x",))]


def test_where_nothing_clearly_fits_nothing_is_said(desk):
    exchanges(desk)
    found = guide(desk.store, "Paint the garden fence")
    assert found.lines == ()
    assert as_text(found) == ""
    assert list(all_given(desk.store.private)) == []


def test_an_error_is_told_what_mended_it_and_what_did_not(desk):
    for number, (mend, command) in enumerate((("uv sync", "pytest"), ("", "pip install pyyaml"))):
        at = desk.clock.now + timedelta(days=number)
        failure = Failure(at, "Bash", "", "pytest -q", ERROR, "pytest -q" if mend else "", mend)
        turn = Turn(f"s-{number}", "claude-code", "t", at, at, command, "Done.", (), (failure,), closed=True)
        learn_bugs(desk.store, f"s-{number}", "claude-code", [turn])
    found = guide(desk.store, "", error=ERROR)
    assert found.kind == "similar_error"
    assert found.lines[0].part is Part.TRY
    assert "Seen 2 times, mended by `uv sync`" in found.lines[0].text
    assert found.lines[0].sources[0].startswith("b")


def test_what_the_running_session_supposes_comes_first(desk):
    exchanges(desk)
    at = desk.clock.now.isoformat()
    change_working(desk.store, "s-9", lambda memory: start_task(memory, "Add retries", at))
    change_working(desk.store, "s-9", lambda memory: suppose(memory, "The server closes idle connections", 0.6))
    found = guide(desk.store, "Add retries to the JSON importer", session="s-9")
    assert found.lines[0].text == "Open: The server closes idle connections"
    assert (found.lines[0].sources, found.lines[0].confidence) == (("s-9/h1",), 0.6)


@pytest.mark.parametrize(
    "task, error, kind",
    [
        ("", "Error: x", "similar_error"),
        ("How do I run the tests?", "", "how_to"),
        ("배포는 어떻게 해?", "", "how_to"),
        ("Which naming convention do we follow?", "", "convention"),
        ("Did we try a cache before?", "", "past_approach"),
        ("Add a page", "", "general"),
    ],
)
def test_the_kind_of_guidance(task, error, kind):
    assert kind_of(task, error) == kind
