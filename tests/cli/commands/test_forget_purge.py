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


def test_purge_shows_first_and_refuses_where_nobody_is_to_be_asked(gitmem, tmp_path):
    code, out, _ = gitmem("purge", SECRET, "--dry-run")
    assert code == 0
    assert "Would purge 1 text, added by 1 commit:\n" in out
    assert "  memory.md\n" in out
    assert "change it" in out
    code, out, err = gitmem("purge", SECRET)
    assert (code, out) == (8, "")
    assert "--yes" in err
    assert SECRET in memory(tmp_path)


def test_purge_asks_and_takes_no_for_no(gitmem, tmp_path):
    assert "Nothing was purged." in gitmem("purge", SECRET, answer="n\n")[2]
    assert SECRET in memory(tmp_path)
    code, out, _ = gitmem("purge", SECRET, answer="y\n")
    assert code == 0
    assert "none of the" in out
    assert SECRET not in memory(tmp_path)
    assert "It is (purged), says Ada." in memory(tmp_path)


def test_purge_reads_the_text_from_standard_input_and_answers_in_json(gitmem, tmp_path):
    code, out, _ = gitmem("purge", "-", "--yes", "--json", stdin=f"{SECRET}\n".encode())
    said = json.loads(out)
    assert (code, said["texts"], said["commits"], said["dry_run"]) == (0, 1, 1, False)
    assert SECRET not in out
    code, out, _ = gitmem("purge", SECRET, "--yes")
    assert (code, out) == (0, "The store does not hold it, and neither does its history.\n")


@pytest.mark.parametrize(
    "args, code",
    [
        ((), 2),
        (("x", "--secret"), 2),
        (("x", "--regex", "y"), 2),
        (("--regex", "("), 2),
        (("-",), 2),
        (("abc",), 8),
        (("gitmem", "--yes"), 8),
    ],
)
def test_purge_refuses_what_it_cannot_do(gitmem, args, code):
    assert gitmem("purge", *args)[0] == code
