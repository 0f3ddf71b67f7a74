"""Errors are found in turns with what was changed until the command worked, all raw."""

from datetime import UTC, datetime, timedelta

import pytest

from gitmem.model.error_occurrence import find_occurrences
from gitmem.model.pattern import Case, begun
from gitmem.model.turns import Failure, Run, Turn

AT = datetime(2026, 10, 2, 9, 0, tzinfo=UTC)
MISSING = "Exit code 1\nTraceback (most recent call last):\nModuleNotFoundError: No module named 'yaml'"
EDIT = "change `/app/src/a.py`: `- import yml` `+ import yaml`"
TOLD = "change `src/a.py`: `- import yml` `+ import yaml`"


def failure(
    command: str, error: str = MISSING, fixed_by: str = "", meanwhile: str = "", explained: str = ""
) -> Failure:
    return Failure(AT, "Bash", command, error, fixed_by, meanwhile, explained)


def turn_of(*failures: Failure, **fields) -> Turn:
    return Turn("s-1", "h", "t-1", AT, AT, "Fix", "Done.", ("/app/a.py",), failures, cwd="/app", closed=True)._replace(
        **fields
    )


@pytest.mark.parametrize(
    "failed, remedy",
    [
        (failure("pytest -q", fixed_by="pytest -q", meanwhile="uv sync"), "`uv sync`"),
        (failure("pytest -q", fixed_by="cd /app && pytest -q 2>&1", meanwhile="uv sync"), "`uv sync`"),
        (failure("pytest -q", fixed_by="pytest -q", meanwhile=EDIT), TOLD),
        (failure("pytest -q", fixed_by="pytest -q", meanwhile=f"{EDIT}\n{EDIT}"), TOLD),
        (failure("pytest -q", fixed_by="pytest -q", meanwhile=f"{EDIT}\nuv sync"), ""),
        (failure("pytest -q", fixed_by="pytest -q", meanwhile=f"{EDIT}\nchange `/app/b.py`: `+ x`"), ""),
        (failure("pytest -q", fixed_by="pytest -q", meanwhile="change `/app/b.py`"), ""),
        (failure("pytest -q", fixed_by="pytest -q", meanwhile="uv sync\nnpm ci"), ""),
        (failure("pytest -q", fixed_by="pytest -q", meanwhile="kill 4711"), ""),
        (failure("pytest -q", fixed_by="pytest -q"), ""),
        (failure("pytest -q", fixed_by="timeout 60 pytest"), ""),
        (failure("pytest -q", fixed_by="uv run pytest -q"), "`uv run pytest -q`"),
        (failure("pytest -q", fixed_by="uv sync && pytest -q"), "`uv sync && pytest -q`"),
        (failure("pytest", explained="The lock file was missing."), "The lock file was missing."),
        (failure("pytest", explained="then worked: `uv run pytest`"), "`uv run pytest`"),
        (failure("pytest", meanwhile="uv sync"), ""),
    ],
)
def test_what_fixed_a_failure(failed, remedy):
    [found] = find_occurrences([turn_of(failed)])
    assert found.last.remedy == remedy


def test_all_that_is_seen_is_kept_raw():
    failed = failure("pytest -q", fixed_by="uv run pytest", meanwhile=f"{EDIT}\nuv sync")
    failed = failed._replace(fixed_at=AT + timedelta(seconds=40))
    turn = turn_of(failed)
    [found] = find_occurrences([turn])
    assert found.cases == (Case(turn.exchange_id, AT, "pytest -q", (TOLD, "uv sync"), "uv run pytest", seconds=40),)
    assert found.files == ("a.py",)


@pytest.mark.parametrize(
    "command", ["ls -la /nowhere", "cd /app && cat a.txt", "git log x..y | head", "grep -rn foo ."]
)
def test_looking_for_something_is_no_error(command):
    said = "Exit code 2\nls: cannot access 'x': No such file or directory"
    assert find_occurrences([turn_of(failure(command, said))]) == []


def test_what_the_host_refused_is_no_error():
    refused = failure("pytest", "<tool_use_error>File has not been read yet.</tool_use_error>")
    assert find_occurrences([turn_of(refused)]) == []


def test_an_error_that_comes_again_in_a_turn_is_kept_with_what_did_not_help():
    failures = (
        failure("pytest -q", fixed_by="pytest -q", meanwhile="pip install x")._replace(again=True),
        failure("pytest -q", fixed_by="pytest -q", meanwhile="uv sync"),
        failure("npm test", "TypeError: x is not a function"),
    )
    first, second = find_occurrences([turn_of(*failures)])
    assert [(case.changed, case.worked) for case in first.cases] == [
        (("pip install x",), ""),
        (("uv sync",), "pytest -q"),
    ]
    assert (second.error.type, second.last.remedy, len(second.cases)) == ("TypeError", "", 1)


@pytest.mark.parametrize("again", ["npm test", "pytest -q"])
def test_a_change_did_not_help_only_if_the_same_command_failed_again(again):
    """CI failed by the same error, but nobody ran the first command again after the change."""
    failures = (failure("pytest -q", meanwhile="uv lock"), failure(again, meanwhile="uv sync"))
    [found] = find_occurrences([turn_of(*failures)])
    assert begun(found).solutions == ()


def test_what_got_rid_of_an_error_fixed_it_though_another_follows():
    first = failure("make", "error: no foo here", "make", "npm ci")._replace(again=True)
    second = failure("make", "error: bar is unknown", "make", "uv sync")
    assert [one.last.remedy for one in find_occurrences([turn_of(first, second)])] == ["`npm ci`", "`uv sync`"]
    unknown = first._replace(meanwhile="")
    assert [one.last.remedy for one in find_occurrences([turn_of(unknown, second)])] == ["", "`uv sync`"]


def test_an_error_that_a_turn_leaves_may_be_fixed_in_the_next():
    later = turn_of(key="t-2", runs=(Run("uv sync", "", failed=False), Run("pytest -q", "1 passed", failed=False)))
    [found] = find_occurrences([turn_of(failure("pytest -q")), later])
    assert (found.last.changed, found.last.worked) == (("uv sync",), "pytest -q")
