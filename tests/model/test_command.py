"""What a command line runs, and which later line shows that a failed one works."""

import pytest

from gitmem.model.command import is_once, names_command, runs_otherwise, works_now


@pytest.mark.parametrize(
    "failed, worked",
    [
        ("cat a.txt; set -a; (serve &); make x", "make x"),
        ("make x || { tail log; exit 1; }", "make x"),
        ("make x", "make x | tail -3"),
        ("pytest -q", "cd /app && timeout 60 pytest 2>&1"),
        ("npm ci && npm test", "npm test"),
        ("go test -run TestParse", "go test ./..."),
        ("go test ./... -run 'TestA|TestB' -v", "go test ./..."),
        ("uv run pytest -k 'parse or join' -q", "uv run pytest -q"),
        ("cd app && pytest tests/test_a.py::test_b", "pytest"),
        ("npm test -- -t parse", "npm test"),
        ("dotnet test --filter Parse", "dotnet test"),
    ],
)
def test_a_command_shows_that_the_failed_one_works(failed, worked):
    assert works_now(failed, worked, "100% of the tests passed, 0 tests failed")


@pytest.mark.parametrize(
    "failed, worked",
    [
        ("make y && make x", "make x"),
        ("make x", "make x-all"),
        ("", ""),
        ("pytest", "pytest -k parse"),
        ("pytest -k parse", "pytest -k join"),
        ("pytest -k parse", "pytest tests/test_b.py"),
        ("go test ./... -run TestA", "go test"),
        ("pnpm --filter web test", "pnpm test"),
        ("make -k test", "make"),
        ("grep -run x", "grep"),
    ],
)
def test_a_command_shows_nothing_of_the_failed_one(failed, worked):
    assert not works_now(failed, worked, "all done")


@pytest.mark.parametrize(
    "said, works",
    [("built in 3 s", True), ("", False), ("error: no disk", False), ("3 suites failed", False)],
)
def test_what_is_piped_to_a_pager_worked_if_its_end_is_shown_without_a_failure(said, works):
    assert works_now("make all", "CI=1 make all 2>&1 | tail -4", said) is works
    assert not works_now("make all", "make all | grep done", said)


@pytest.mark.parametrize(
    "failed, worked, is_other",
    [
        ("pytest -q", "cd /app && pytest -q 2>&1 | tail -5", False),
        ("pytest", "timeout 60 pytest -q", False),
        ("pytest", "uv run pytest", True),
        ("pytest", "CI=1 pytest", True),
        ("pytest", "uv sync && pytest", True),
        ("pytest", "cat a.txt; pytest", False),
        ("node -e 'a(); b() > 2'", "node -e 'a(); b() > 2'", False),
    ],
)
def test_a_command_that_worked_is_another_if_it_does_more_or_runs_elsewhere(failed, worked, is_other):
    assert runs_otherwise(failed, worked) is is_other


def test_a_command_that_names_a_process_or_an_id_helps_once():
    for command in ("kill 4711", "kill -9 4711", "web unlock 3c1d7a52-0b4f-4e0e-2a55-9a1f6d2b8c44"):
        assert is_once(command)
    assert not is_once("pkill node && uv sync")


def test_a_sentence_names_a_command_or_only_things():
    named = (
        "Never use pip install, use uv.",
        "Use pytest, never unittest.",
        "Never `make all` here.",
        "Never rm a log.",
    )
    assert all(map(names_command, named))
    assert not any(
        map(names_command, ("Always use metres, never feet.", "Never mock time.", "Never merge on Fridays."))
    )
