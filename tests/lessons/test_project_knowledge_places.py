"""What changes most and together, what breaks (spec M3)."""

from __future__ import annotations

from datetime import UTC, datetime

from gitmem.lessons.project_knowledge import (
    Change,
    change_lines,
    hotspot_lines,
)

AT = datetime(2026, 10, 2, tzinfo=UTC)
FILES = (
    "README.md",
    "app/__main__.py",
    "app/load.py",
    "app/save.py",
    "tests/test_load.py",
    "web/a.ts",
    "web/a.test.ts",
)


def changes(*groups: str, author: str = "") -> list[Change]:
    return [Change(f"c{number}", AT, tuple(group.split()), author) for number, group in enumerate(groups)]


def test_hotspots_change_break_or_are_mended_often():
    made = changes(
        *["app/load.py"] * 12, *["README.md"] * 9, "app/save.py", "gone.py", "gone.py", "gone.py", *["uv.lock"] * 5
    )
    there = frozenset((*FILES, "uv.lock"))
    fixes = [Change(f"f{number}", AT, ("app/save.py", "README.md"), "", "fix(app): it") for number in range(3)]
    assert hotspot_lines([*made, *fixes], {"app/save.py": 3, "web/a.ts": 1}, there) == [
        "app/load.py changes often (10+ changes)",
        "app/save.py changes often (4 changes)",
        "README.md changes often (10+ changes)",
        "app/save.py breaks often (3 errors)",
        "app/save.py was mended often (3 fixes)",
    ]


def test_what_changes_together_but_for_a_test_and_its_file():
    made = changes(*["app/load.py app/save.py"] * 3, *["app/load.py tests/test_load.py"] * 4, "web/a.ts app/load.py")
    assert change_lines(made, FILES) == [
        "app/load.py and app/save.py change together (3 times)",
    ]
    wide = changes(*[" ".join(f"f{number}" for number in range(20))] * 5)
    assert change_lines(wide, [f"f{number}" for number in range(20)]) == []


def test_what_comes_with_a_new_file_is_told_from_three_commits():
    files = ("cli/main.py", "README.md", "uv.lock", *(f"cli/commands/c{n}.py" for n in range(5)))
    there = (*files, *(f"tests/cli/test_c{n}.py" for n in range(5)), *(f"x{n}.py" for n in range(40)))

    def adding(number: int, *along: str) -> Change:
        added = (f"cli/commands/c{number}.py", f"tests/cli/test_c{number}.py")
        return Change(f"n{number}", AT, (*added, *along), added=added)

    made = [adding(number, "cli/main.py", "uv.lock", *(["README.md"] if number else [])) for number in range(5)]
    lines = [line for line in change_lines(made, there) if line.startswith("A new file in")]
    assert lines == [
        "A new file in cli/commands/ comes with README.md, a new file in tests/cli/, cli/main.py (5 commits)",
        "A new file in tests/cli/ comes with README.md, a new file in cli/commands/, cli/main.py (5 commits)",
    ]
    assert not any("A new" in line for line in change_lines(made[:2], there))
    wide = [adding(number, "cli/main.py", *(f"x{n}.py" for n in range(40))) for number in range(5)]
    assert not any("A new" in line for line in change_lines(wide, there))
