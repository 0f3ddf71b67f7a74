from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gitmem.model.fact.commands import command_facts, project_commands, purpose_of
from gitmem.model.session.turns import Run, Turn

WHEN = datetime(2026, 1, 11, 10, 11, tzinfo=UTC)


def turn(*commands: str, failed: bool = False, said: str = "") -> Turn:
    runs = tuple(Run(command, said, failed) for command in commands)
    return Turn("s", "claude-code", "t", WHEN, WHEN, runs=runs)


@pytest.mark.parametrize(
    "line, commands",
    [
        ("mise run lint 2>&1 && mise run test 2>&1 | tail -15", ["mise run lint", "mise run test"]),
        ("cd /path/to/Demo && npm run build", ["npm run build"]),
        ("CI=1 timeout 600 go test ./...", ["go test ./..."]),
        ("pytest -q", ["pytest"]),
        ("pytest -q tests/model/fact/test_fact.py", []),
        ("go test ./cmd/entire/... -run TestOne -v", []),
        ("npm test -- --grep 'a b'", []),
        ("echo $(make test)", []),
        ("npx create-next-app@latest todo-app", []),
        ("git commit -m test", []),
        ("", []),
    ],
)
def test_only_what_is_about_the_whole_project_is_a_command(line, commands):
    assert list(project_commands(line)) == commands


def test_a_command_counts_once_it_has_worked_twice():
    assert command_facts([turn("make test")]) == []
    assert [told.text for told in command_facts([turn("make test"), turn("make test")])] == [
        "Tests run with `make test`."
    ]
    assert command_facts([turn("make test", "make test", failed=True)]) == []
    assert command_facts([turn("make test", "make test", said="make: *** No rule to make target 'test'.")]) == []


def test_each_purpose_has_its_most_used_commands():
    turns = [turn(*["npm test"] * 4, *["npm run lint"] * 2), turn(*["npm run e2e"] * 3, *["npm run test:unit"] * 2)]
    assert [(told.text, told.turn) for told in command_facts(turns)] == [
        ("Tests run with `npm test`.", 0),
        ("Tests run with `npm run e2e`.", 1),
        ("Linted with `npm run lint`.", 0),
    ]


@pytest.mark.parametrize(
    "command, words",
    [("mise run fmt", "Formatted with"), ("cargo clippy", "Linted with"), ("npm start", ""), ("go latest", "")],
)
def test_what_a_command_is_for(command, words):
    assert purpose_of(command) == words
