"""Commands that work are counted by exchanges, so that two machines' counts join (spec M3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from gitmem.lessons.knowledge_document import Knowledge, KnowledgeKind, render_knowledge
from gitmem.lessons.project_knowledge import (
    Command,
    command_lines,
    commands_of,
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
