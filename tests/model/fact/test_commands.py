from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gitmem.model.fact.commands import project_commands, purpose_of

WHEN = datetime(2026, 1, 11, 10, 11, tzinfo=UTC)


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


@pytest.mark.parametrize(
    "command, words",
    [("mise run fmt", "Formatted with"), ("cargo clippy", "Linted with"), ("npm start", ""), ("go latest", "")],
)
def test_what_a_command_is_for(command, words):
    assert purpose_of(command) == words
