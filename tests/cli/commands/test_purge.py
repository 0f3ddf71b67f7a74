"""`gitmem purge`, `forget` and `review` as a person, or a script, runs them."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pytest

from gitmem.cli.door import Door
from gitmem.cli.main import main
from gitmem.machine.context import Context
from gitmem.store.store import Store
from gitmem.store.transcripts.transcripts import put

SECRET = "hunter2-Staging"


class Terminal(io.StringIO):
    """A stream somebody sits at."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def gitmem(tmp_path, home, environ):
    """Give a function that runs a command in a new project; `answer` is typed at a terminal, `given` piped in."""

    def run(*args, answer=None, given=""):
        raw, err = io.BytesIO(), io.StringIO() if answer is None else Terminal()
        out = io.TextIOWrapper(raw, encoding="utf-8", newline="\n", write_through=True)
        door = Door(environ, str(tmp_path), io.StringIO(given) if answer is None else Terminal(answer), out, err)
        return main(args, lambda: door), raw.getvalue().decode(), err.getvalue()

    assert run("init")[0] == 0
    assert run("save", f"It is {SECRET}, says Ada.")[0] == 0
    return run


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
    code, out, _ = gitmem("purge", "-", "--yes", "--json", given=f"{SECRET}\n")
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


def test_forget_asks_and_frees(gitmem, tmp_path, environ, home):
    context = Context(environ, str(home), "box", lambda: datetime.now(UTC))
    store = Store(str(tmp_path / ".gitmem"), context)
    for day in (1, 9):
        put(store, f"session-{day}", datetime(2026, 5, day, tzinfo=UTC), ["{}"])
    assert gitmem("forget", "--transcripts", "--before", "2026-05-05", "--dry-run")[1] == (
        "Would delete 1 transcript of 0.0 KB and keep 1.\n"
    )
    assert gitmem("forget", "--transcripts")[0] == 8
    assert "Nothing was deleted." in gitmem("forget", "--transcripts", answer="\n")[2]
    code, out, _ = gitmem("forget", "--transcripts", "--before", "2026-05-05", "--yes", "--json")
    assert (code, json.loads(out)["sessions"], json.loads(out)["kept"]) == (0, 1, 1)
    assert gitmem("forget")[0] == 2
    assert gitmem("forget", "--transcripts", "--before", "whenever")[0] == 2


def test_review_with_nothing_to_review(gitmem):
    assert gitmem("review")[1] == "Nothing waits for your review.\n"
    assert gitmem("review", "--json")[1] == "[]\n"
    assert gitmem("review", "memory.md")[0] == 9
    assert gitmem("review", "memory.md", "--take", "ours")[0] == 9
    assert gitmem("review", "--take", "ours")[0] == 2


def test_review_of_a_purge_from_elsewhere(gitmem, tmp_path, bare_git):
    from gitmem.model.purge.purge import make_record

    bare_git(tmp_path, "init", "-q", "--bare", "remote.git")
    record = make_record("20261121-120000-0a1b2c", "2026-11-21T12:00:00+00:00", b"0" * 16, [b"Current State"])
    path = f"purged/{record.id}.json"
    (tmp_path / ".gitmem" / "purged").mkdir()
    (tmp_path / ".gitmem" / path).write_bytes(record.render())
    gitmem("remote", "add", str(tmp_path / "remote.git"))
    code, _, err = gitmem("sync")
    assert (code, f"'gitmem review {path}'" in err) == (0, True)
    assert path in gitmem("status")[1]
    assert path in gitmem("doctor")[1]
    assert gitmem("review")[1].startswith(f"{path}  a purge that waits, since it would change ids, fields or headings")
    assert json.loads(gitmem("review", "--json")[1])[0]["path"] == path
    shown = gitmem("review", path)[1]
    assert "It names 1 text; found here: 1, such as:\n  'Current State'\n" in shown
    assert "  memory.md\n" in shown
    assert gitmem("review", path, "--take", "both")[0] == 2
    assert gitmem("review", "purged/none.json")[0] == 9
    assert gitmem("review", path, "--take", "ours")[1] == f"This machine will not follow {path}.\n"
    assert gitmem("review")[1] == "Nothing waits for your review.\n"
    assert path not in gitmem("status")[1]
    assert "Current State" in memory(tmp_path)
