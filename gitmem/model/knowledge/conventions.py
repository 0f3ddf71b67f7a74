"""Conventions of a project, from the settings of its linters and formatters, and from its habits so far. Pure."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from typing import TYPE_CHECKING, Any

from gitmem.model.knowledge.structure import is_code, language_of
from gitmem.text.quantities import at_least

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# Files whose settings are read, and files whose presence is enough.
SETTINGS = (
    *("pyproject.toml", "ruff.toml", ".ruff.toml", ".editorconfig", ".prettierrc", ".prettierrc.json", "tsconfig.json"),
    *("rustfmt.toml", ".rustfmt.toml", ".pre-commit-config.yaml", ".golangci.yml", ".golangci.yaml", "setup.cfg"),
)
_LINTERS = {
    "eslint.config.js": "ESLint",
    "eslint.config.mjs": "ESLint",
    ".eslintrc": "ESLint",
    ".eslintrc.json": "ESLint",
    ".eslintrc.js": "ESLint",
    "biome.json": "Biome",
    ".golangci.yml": "golangci-lint",
    ".golangci.yaml": "golangci-lint",
    ".rubocop.yml": "RuboCop",
    "clippy.toml": "Clippy",
    ".clang-format": "clang-format",
    ".shellcheckrc": "ShellCheck",
    ".flake8": "Flake8",
}
_WORD = re.compile(r"[\w.,/ -]{1,60}")
_TYPED = re.compile(r"(feat|fix|docs|chore|refactor|test|build|ci|perf|style)(?:\([^)]{1,40}\))?!?: ")
_PAST = re.compile(r"(?:Add|Fix|Remov|Chang|Updat|Mov|Renam|Implement|Refactor)(?:ed|d)\b", re.IGNORECASE)
_STYLES = {
    "snake_case": r"_*[a-z0-9]+(?:_[a-z0-9]+)+_*",
    "kebab-case": r"[a-z0-9]+(?:-[a-z0-9]+)+",
    "camelCase": r"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+",
    "PascalCase": r"(?:[A-Z][a-z0-9]+){2,}",
}
_FEWEST = 10  # commits, or files, from which a habit is one
_MOST = 0.8  # share of them


def convention_lines(texts: Mapping[str, str], there: Iterable[str], subjects: Sequence[str]) -> list[str]:
    """Return the conventions of a project: `texts` are its settings by path, `there` its files' paths."""
    files = tuple(there)
    lines = [f"{line} ({path})" for path, text in texts.items() for line in _settings(path, text)]
    lines += [f"Linted with {name} ({path})" for path, name in _LINTERS.items() if path in files]
    return [*lines, *_of_tests(files), *_of_names(files), *_of_commits(subjects)]


def _settings(path: str, text: str) -> Iterator[str]:
    if path in {"pyproject.toml", "ruff.toml", ".ruff.toml"}:
        yield from _python(_toml(text), path)
    elif path == ".editorconfig":
        pairs = re.findall(r"(?m)^(indent_style|indent_size|end_of_line|max_line_length)\s*=\s*(\w{1,10})\s*$", text)
        if pairs:
            yield "Editors: " + ", ".join(f"{key} {value}" for key, value in dict(pairs).items())
    elif path.startswith(".prettierrc"):
        yield from _told("Prettier", _json(text), ("semi", "singleQuote", "tabWidth", "useTabs", "printWidth"))
    elif path == "tsconfig.json":
        options = re.findall(r'"(strict|noImplicitAny|noUncheckedIndexedAccess)"\s*:\s*(true|false)', text)
        if options:
            yield "TypeScript: " + ", ".join(f"{key} {value}" for key, value in dict(options).items())
    elif path.endswith("rustfmt.toml"):
        yield from _told("rustfmt", _toml(text), ("max_width", "tab_spaces", "edition", "hard_tabs"))
    elif path == ".pre-commit-config.yaml":
        hooks = list(dict.fromkeys(re.findall(r"(?m)^\s*-\s*id:\s*([\w-]{1,40})\s*$", text)))
        if hooks:
            yield "Before a commit: " + ", ".join(hooks[:12])


def _python(given: Mapping[str, Any], path: str) -> Iterator[str]:
    tools = given.get("tool") if path == "pyproject.toml" else {"ruff": given}
    tools = tools if isinstance(tools, dict) else {}
    ruff = tools.get("ruff")
    if isinstance(ruff, dict):
        lint = ruff.get("lint")
        rules = {**ruff, **_table(lint)}
        yield from _told("Ruff", rules, ("line-length", "select", "target-version"))
        yield from _told("Docstrings", _table(rules.get("pydocstyle")), ("convention",))
    for name, keys in (("black", ("line-length",)), ("isort", ("profile",)), ("mypy", ("strict",))):
        if isinstance(tools.get(name), dict):
            yield from _told(name, tools[name], keys)


def _told(tool: str, given: Mapping[str, Any], keys: Sequence[str]) -> Iterator[str]:
    parts = []
    for key in keys:
        value = given.get(key)
        text = ", ".join(map(str, value[:12])) if isinstance(value, list) else str(value).lower()
        if value is not None and _WORD.fullmatch(text):
            parts.append(f"{key} {text}")
    if parts:
        yield f"{tool}: {'; '.join(parts)}"


def _of_tests(files: Sequence[str]) -> Iterator[str]:
    forms = {
        "test_*.py": r"(?:^|/)test_\w+\.py$",
        "*_test.py": r"\w_test\.py$",
        "*_test.go beside the code": r"_test\.go$",
        "*.test.ts or .js": r"\.test\.[jt]sx?$",
        "*.spec.ts or .js": r"\.spec\.[jt]sx?$",
        "*_spec.rb": r"_spec\.rb$",
    }
    for form, pattern in forms.items():
        found = [file for file in files if re.search(pattern, file)]
        if len(found) >= _FEWEST // 2:
            top, count = Counter(file.rpartition("/")[0].partition("/")[0] for file in found).most_common(1)[0]
            where = f", in {top}/" if top and count >= _MOST * len(found) else ""
            yield f"Tests are named {form}{where} ({at_least(len(found))} files)"


def _of_names(files: Sequence[str]) -> Iterator[str]:
    """Yield how the files of a language are named, if eight in ten names of several words are alike."""
    named: dict[str, Counter[str]] = {}
    for file in files:
        stem = file.rpartition("/")[2].partition(".")[0]
        style = next((style for style, form in _STYLES.items() if re.fullmatch(form, stem)), "")
        if style and is_code(file):
            named.setdefault(language_of(file), Counter())[style] += 1
    for language, styles in sorted(named.items()):
        style, number = styles.most_common(1)[0]
        if number >= _FEWEST and number >= _MOST * styles.total():
            yield f"{language} files are named in {style} ({at_least(number)} files)"


def _of_commits(subjects: Sequence[str]) -> Iterator[str]:
    if len(subjects) < _FEWEST:
        return
    if sum(bool(_TYPED.match(subject)) for subject in subjects) >= _MOST * len(subjects):
        yield "Commit subjects have a type: feat, fix, docs … (git log)"
    elif sum(bool(_PAST.match(subject)) for subject in subjects) >= _MOST * len(subjects):
        yield "Commit subjects are in the past tense (git log)"


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _json(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}
