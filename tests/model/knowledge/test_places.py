"""Where things are, what changes most and together, what tests what, who works where (spec M3)."""

from __future__ import annotations

from datetime import UTC, datetime

from gitmem.model.knowledge.places import (
    Change,
    change_lines,
    files_by_test,
    hotspot_lines,
    people_lines,
    structure_lines,
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


def test_structure():
    assert structure_lines(FILES) == [
        "app/: 3 files, Python",
        "web/: 2 files, TypeScript",
        "tests/: 1 file, Python",
        "Entry points: app/__main__.py",
    ]


def test_hotspots_change_or_break_often():
    made = changes(*["app/load.py"] * 12, "app/save.py", "gone.py", "gone.py", "gone.py", *["uv.lock"] * 5)
    there = frozenset((*FILES, "uv.lock"))
    assert hotspot_lines(made, {"app/save.py": 3, "web/a.ts": 1}, there) == [
        "app/load.py changes often (10+ changes)",
        "app/save.py breaks often (3 errors)",
    ]


def test_what_changes_together_and_what_tests_what():
    made = changes(*["app/load.py app/save.py"] * 3, *["app/load.py tests/test_load.py"] * 4, "web/a.ts app/load.py")
    assert change_lines(made, FILES) == [
        "app/load.py and app/save.py change together (3 times)",
        "tests/test_load.py tests app/load.py",
        "web/a.test.ts tests web/a.ts",
    ]
    wide = changes(*[" ".join(f"f{number}" for number in range(20))] * 5)
    assert change_lines(wide, [f"f{number}" for number in range(20)]) == []
    assert list(files_by_test(["a/x.py", "b/x.py", "tests/test_x.py"])) == []  # which of the two is not known


def test_people():
    made = [
        *changes(*["app/a.py"] * 3, "docs/b.md", author="Ann"),
        *changes("README.md", author="Bob"),
        *changes("x/y.py"),
    ]
    assert people_lines(made) == ["Ann knows app/, docs/", "Bob knows the top folder"]
