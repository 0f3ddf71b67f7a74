"""Where no pattern is known yet, an error is looked for among those that exchanges tell of."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.lessons.fix import tell_error
from tests.desk import given_texts

AGAIN = "Exit code 1\n  File \"/home/b/app/x.py\", line 9, in load\nModuleNotFoundError: No module named 'yaml'\n"
ERROR = "`pytest -q`: E   ModuleNotFoundError: No module named 'yaml'"


def day(desk, *errors: str) -> None:
    others = "\n".join(
        f"- [09:{n:02d}:00] **Exchange** #aaaaaaaa: Rename m{n} ^x{n:02d}k2m9q0xb\n\n  **Answer:** It is n{n} now.\n"
        for n in range(30)
    )
    own = "\n".join(
        f"- [10:{n:02d}:00] **Exchange** #1b4e51f{n}: Run the tests ^x{n}f7k2m9q0x\n\n  **Error:** {error}\n"
        for n, error in enumerate(errors)
    )
    path = Path(desk.store.root, "daily/2026/11/2026-11-20.md")
    path.parent.mkdir(parents=True)
    path.write_text(f"{others}\n{own}", "utf-8")


def test_an_error_that_an_exchange_tells_is_told_with_what_mended_it(desk):
    day(desk, f"{ERROR} → then worked: `uv sync`", ERROR)
    text = tell_error(desk.store, "s-9", AGAIN)
    assert "ModuleNotFoundError: No module named 'yaml'\nSeen 2 times. " in text
    assert 'Last time (2026-11-20) this was fixed by: "`uv sync`" ^x' in text
    [ids] = [one.ids for one in given_texts(desk.store.private)]
    assert sorted(ids) == ["x0f7k2m9q0x", "x1f7k2m9q0x"]
    assert tell_error(desk.store, "s-9", AGAIN) == ""


@pytest.mark.parametrize("told", ["then worked: `uv run pytest -q`", "worked after: change `a.py`: `+ import yaml`"])
def test_another_environment_and_changed_lines_are_a_mend(desk, told):
    day(desk, f"{ERROR} → {told}")
    assert f'fixed by: "{told.partition(": ")[2]}"' in tell_error(desk.store, "s-9", AGAIN)


@pytest.mark.parametrize(
    "error",
    [
        ERROR,
        f"{ERROR} → then worked: `pytest -q`",
        f"{ERROR} → then worked: `git log`",
        f"{ERROR} → worked after: `src/load.py`",
        f"{ERROR} → worked after: change `src/load.py`",
        "`pytest -q`: E   ModuleNotFoundError: No module named 'redis' → then worked: `uv sync`",
    ],
    ids=["not mended", "the same again", "what ran next", "an old file alone", "a file alone", "another error"],
)
def test_what_says_no_mend_of_this_error_is_not_told(desk, error):
    day(desk, error)
    assert tell_error(desk.store, "s-9", AGAIN) == ""


def test_what_the_session_itself_said_is_not_told(desk):
    day(desk, f"{ERROR} → then worked: `uv sync`")
    assert tell_error(desk.store, "1b4e51f0-021d", AGAIN) == ""
