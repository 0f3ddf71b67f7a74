"""`gitmem guide`: advice as text and as JSON, from words, a file and standard input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gitmem.errors import ExitCode

if TYPE_CHECKING:
    from tests.cli.commands.project import Desk

TASK = "add retries with backoff to the importer"


def test_a_decision_is_told_for_a_task_and_its_source(desk: Desk):
    for number in range(12):
        desk.run("save", f"Module m{number} was renamed to n{number}")
    desk.run("save", "The importer retries thrice with backoff", "--type", "decision")
    told = desk.run("guide", TASK).out
    assert "What was done and decided:\n- " in told
    assert "The importer retries thrice with backoff (^d" in told
    found = desk.run("guide", "--json", TASK).json
    assert found["kind"] == "general"
    assert [line["part"] for line in found["lines"]] == ["approach"]
    assert found["lines"][0]["sources"][0].startswith("d")


def test_where_nothing_fits_it_says_so(desk: Desk):
    told = desk.ran("guide", "paint the fence")
    assert (told.code, told.out) == (ExitCode.OK, "")
    assert "No memory clearly matches." in told.err


@pytest.mark.parametrize("args, code", [([], ExitCode.USAGE), (["--error", "missing.log"], ExitCode.NOT_FOUND)])
def test_what_is_missing_is_said(desk: Desk, args, code):
    assert desk.ran("guide", *args).code == code
