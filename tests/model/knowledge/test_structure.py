"""Where things are: folders, packages, entry points, settings and commands, by the names of files (spec M3)."""

from __future__ import annotations

from gitmem.model.knowledge.structure import languages, manifests_in, structure_lines

FILES = (
    "README.md",
    "app/__main__.py",
    "app/load.py",
    "app/save.py",
    "tests/test_load.py",
    "web/a.ts",
    "web/a.test.ts",
)


def test_folders_and_entry_points():
    assert structure_lines(FILES) == [
        "app/: 3 files, Python",
        "web/: 2 files, TypeScript",
        "tests/: 1 file, Python",
        "Entry points: app/__main__.py",
    ]


def test_a_folder_with_most_of_the_files_is_split():
    files = [f"src/app/{part}/{number}.py" for part in ("load", "save") for number in range(3)]
    assert structure_lines([*files, "src/app/main.go", "docs/a.md"])[:3] == [
        "src/app/load/: 3 files, Python",
        "src/app/save/: 3 files, Python",
        "docs/: 1 file, Markdown",
    ]
    assert structure_lines(["app/a.py", "app/b.py"]) == ["app/: 2 files, Python"]


def test_packages_settings_and_commands_of_the_person():
    files = (
        *("package.json", "backend/pyproject.toml", "packages/a/package.json", "tests/x/package.json"),
        *(".eslintrc", "tsconfig.json", "uv.lock", "Dockerfile", ".env.example", "a sentence to be read.json"),
        *(".claude/commands/release.md", ".claude/commands/db/reset.md", ".claude/commands/not a name.md"),
    )
    assert manifests_in(files) == ["package.json", "backend/pyproject.toml", "packages/a/package.json"]
    assert structure_lines(files)[-3:] == [
        "Packages: backend/, packages/a/",
        "Settings: package.json, .eslintrc, tsconfig.json, Dockerfile, .env.example",
        "Slash commands: /release, /db:reset (.claude/commands/)",
    ]


def test_languages_are_those_of_code():
    assert list(languages([*FILES, "b.sql", "dist/a.js"])) == [("Python", 4), ("TypeScript", 2)]
