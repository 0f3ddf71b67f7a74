"""`gitmem purge`, `forget` and `review` as a person, or a script, runs them."""

from __future__ import annotations

import json

import pytest

SECRET = "hunter2-Staging"


@pytest.fixture
def gitmem(gitmem):
    """Give the runner of commands in a store that holds a secret."""
    assert gitmem("save", f"It is {SECRET}, says Ada.")[0] == 0
    return gitmem


def memory(tmp_path) -> str:
    return (tmp_path / ".gitmem" / "memory.md").read_text(encoding="utf-8")


def test_purge_reads_the_text_from_standard_input_and_answers_in_json(gitmem, tmp_path):
    code, out, _ = gitmem("purge", "-", "--yes", "--json", stdin=f"{SECRET}\n".encode())
    said = json.loads(out)
    assert (code, said["texts"], said["commits"], said["dry_run"]) == (0, 1, 1, False)
    assert SECRET not in out
    code, out, _ = gitmem("purge", SECRET, "--yes")
    assert (code, out) == (0, "The store does not hold it, and neither does its history.\n")
