"""Knowledge of a project: documents, commands counted by exchanges, hotspots, what manifests say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from gitmem.merge.documents import MergeStatus, merge
from gitmem.model.project_knowledge import (
    Command,
    Knowledge,
    KnowledgeKind,
    command_lines,
    commands_of,
    hotspot_lines,
    join_commands,
    parse_knowledge,
    read_commands,
    render_knowledge,
    with_commands,
)
from gitmem.model.turns import Run, Turn

AT = datetime(2026, 10, 2, 9, tzinfo=UTC)
LATER = datetime(2026, 10, 3, 9, tzinfo=UTC)
STACK = Knowledge(KnowledgeKind.STACK, ("Python >=3.11",), ("pyproject.toml",), ("x0000000001",), 0.9, "abc1234")


def test_a_change_keeps_what_a_user_added():
    data = render_knowledge(STACK, None, AT)
    assert data is not None
    data += b"\n## Mine\n\n- We leave Python 3.11 in spring.\n"
    changed = render_knowledge(Knowledge(STACK.kind, ("Python >=3.12",)), data, LATER)
    assert changed is not None
    text = changed.decode()
    assert text.endswith("# Stack\n\n- Python >=3.12\n\n## Mine\n\n- We leave Python 3.11 in spring.\n")
    known = parse_knowledge(changed)
    assert known is not None
    assert (known.lines, known.updated) == (("Python >=3.12",), LATER)


def test_two_machines_documents_wait_for_nobody():
    base = render_knowledge(STACK, None, AT)
    one = render_knowledge(Knowledge(STACK.kind, ("Python >=3.12",)), base, AT)
    other = render_knowledge(Knowledge(STACK.kind, ("Python >=3.13",)), base, LATER)
    merged = merge(STACK.kind.path, base, one, other)
    assert merged == merge(STACK.kind.path, base, other, one)
    assert merged.status is MergeStatus.MERGED
    assert merged.data is not None
    known = parse_knowledge(merged.data)
    assert known is not None
    assert known.lines == ("Python >=3.13",)


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


FILES = (
    "README.md",
    "app/__main__.py",
    "app/load.py",
    "app/save.py",
    "tests/test_load.py",
    "web/a.ts",
    "web/a.test.ts",
)


def test_hotspots_change_or_break_often():
    named = ["app/load.py"] * 12 + ["README.md"] * 9 + ["app/save.py"] * 4 + ["gone.py"] * 3 + ["uv.lock"] * 5
    made = [(file,) for file in named]
    assert hotspot_lines(made, {"app/save.py": 3, "web/a.ts": 2}, frozenset((*FILES, "uv.lock"))) == [
        "app/load.py changes often (10+ changes)",
        "app/save.py changes often (4 changes)",
        "app/save.py breaks often (3 errors)",
    ]
