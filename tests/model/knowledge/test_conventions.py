"""Conventions are read from settings of linters and formatters, and from what was done (spec M3)."""

from __future__ import annotations

import pytest

from gitmem.model.knowledge.conventions import convention_lines


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
        (".editorconfig", "[*]\nindent_style = space\nindent_size = 2\n", "Editors: indent_style space, indent_size 2"),
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
