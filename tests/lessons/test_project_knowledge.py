"""Commands that work are counted by exchanges, so that two machines' counts join (spec M3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gitmem.lessons.knowledge_document import Knowledge, KnowledgeKind, render_knowledge
from gitmem.lessons.project_knowledge import (
    Command,
    command_lines,
    commands_of,
    convention_lines,
    join_commands,
    read_commands,
    with_commands,
)
from gitmem.merge.documents import MergeStatus, merge
from gitmem.sessions.turns import Run, Turn

AT = datetime(2026, 10, 2, 9, tzinfo=UTC)


def turn(number: int, *runs: tuple[str, bool]) -> Turn:
    at = AT + timedelta(hours=number)
    return Turn("s", "h", f"t{number}", at, at, runs=tuple(Run(command, "", failed=not ok) for command, ok in runs))


def document(commands: dict[str, Command]) -> bytes:
    known = Knowledge(KnowledgeKind.COMMANDS, tuple(command_lines([*commands.values()])))
    data = render_knowledge(known, None, AT)
    assert data is not None
    return with_commands(data, commands)


def test_a_command_counts_once_an_exchange_by_its_last_run():
    [command] = commands_of(
        [turn(1, ("make test", False), ("make test 2>&1 | tail", True)), turn(2, ("make test", True))]
    )
    assert (len(command.worked), command.failed, command.last_worked) == (2, (), "2026-10-02T11:00:00+00:00")
    assert command_lines([command]) == ["Tests run with `make test`"]
    assert command_lines([command], counted=True) == [
        "Tests run with `make test` (worked in 2 of 2, last on 2026-10-02)"
    ]
    assert command_lines(commands_of([turn(1, ("make test", True))])) == []


def test_a_command_that_began_to_fail_is_said_so():
    commands = commands_of([turn(1, ("make test", True)), turn(2, ("make test", True)), turn(3, ("make test", False))])
    assert command_lines(commands) == ["Tests run with `make test`; its last run failed"]


def test_two_machines_counts_join_whichever_comes_first():
    base = join_commands({}, commands_of([turn(1, ("make test", True))]))
    one = join_commands(base, commands_of([turn(2, ("make test", True)), turn(3, ("make lint", True))]))
    other = join_commands(base, commands_of([turn(4, ("make test", False))]))
    path = KnowledgeKind.COMMANDS.path
    merged = merge(path, document(base), document(one), document(other))
    assert merged == merge(path, document(base), document(other), document(one))
    assert merged.status is MergeStatus.MERGED
    assert merged.data is not None
    found = read_commands(merged.data)
    assert len(found["make test"].worked) == 2
    assert len(found["make test"].failed) == 1
    assert found["make test"].fails_now
    assert "make lint" in found


@pytest.mark.parametrize(
    "path, text, line",
    [
        (
            "pyproject.toml",
            '[tool.ruff]\nline-length = 100\n[tool.ruff.lint]\nselect = ["ALL"]',
            "Ruff: line-length 100; select ALL",
        ),
        ("ruff.toml", "line-length = 88", "Ruff: line-length 88"),
        ("pyproject.toml", "[tool.mypy]\nstrict = true", "mypy: strict true"),
        ("ruff.toml", '[lint.pydocstyle]\nconvention = "google"', "Docstrings: convention google"),
        (".editorconfig", "[*]\nindent_style = space\nindent_size = 2\n", "Editors: indent_style space; indent_size 2"),
        (".prettierrc", '{"semi": false, "tabWidth": 2}', "Prettier: semi false; tabWidth 2"),
        ("tsconfig.json", '// c\n{"compilerOptions": {"strict": true}}', "TypeScript: strict true"),
        ("rustfmt.toml", "max_width = 100", "rustfmt: max_width 100"),
        (".pre-commit-config.yaml", "repos:\n  - hooks:\n      - id: ruff\n", "Before a commit: ruff"),
    ],
)
def test_what_settings_say(path, text, line):
    assert convention_lines({path: text}, (), ()) == [f"{line} ({path})"]


def test_what_is_done_is_a_convention_from_many_times():
    files = [f"tests/test_{number}.py" for number in range(6)]
    assert convention_lines({}, files, ()) == ["Tests are named test_*.py, in tests/ (6 files)"]
    assert convention_lines({}, files[:2], ()) == []
    typed = [f"fix: {number}" for number in range(9)]
    assert convention_lines({}, (), typed) == []
    assert convention_lines({}, (), [*typed, "feat(ui): b"]) == [
        "Commit subjects have a type: feat, fix, docs … (git log)"
    ]
    assert convention_lines({}, ["eslint.config.js"], ()) == ["Linted with ESLint (eslint.config.js)"]


def test_names_of_files_are_a_convention_of_a_language():
    files = [*(f"web/file-name{number}.ts" for number in range(11)), "web/one.ts", "web/OtherName.ts", "a_b.py"]
    assert convention_lines({}, files, ()) == ["TypeScript files are named in kebab-case (10+ files)"]
    assert convention_lines({}, [*files, *(f"web/n_{number}.ts" for number in range(3))], ()) == []
