"""The commands that test, lint and build a project.

Only commands for the whole project count, not a test run of one file. Pipes and redirections are removed.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST = 120  # characters of a command
# Purposes and the words of a command that tell them, in order of evaluation.
_PURPOSES = {
    "Tests run with": r"tests?|pytest|vitest|jest|rspec|ctest|nextest|e2e|spec",
    "Linted with": r"lint|clippy|vet|eslint|golangci-lint|ruff check|shellcheck",
    "Formatted with": r"fmt|format|prettier|black|gofmt|ruff format",
    "Types are checked with": r"type-?check|types|tsc|mypy|pyright",
    "Built with": r"build|compile|assemble",
    "Checked with": r"check|verify|ci|validate",
}
_KOREAN = {
    "Tests run with": "테스트",
    "Linted with": "린트",
    "Formatted with": "포맷",
    "Types are checked with": "타입",
    "Built with": "빌드",
}
_RUNNER = (
    r"(?:mise(?: run)?|npm(?: run)?|pnpm(?: run)?|yarn(?: run)?|bun(?: run)?|deno task|make|just|task|rake|cargo|go"
    r"|dotnet|mix|gradle|\./gradlew|mvn|\./mvnw|tox -e|nox -s|hatch run|poetry run|uv run|pdm run|pipenv run"
    r"|python3? -m|npx|bundle exec|composer|swift|zig|bazel)"
)
_TOOL = r"(?:pytest|tox|nox|mypy|pyright|eslint|golangci-lint run|ruff check|ruff format|vitest|jest|shellcheck|tsc)"
# Arguments of a command for the whole project.
_ALL = (
    r"(?: (?:\./\.\.\.|\.|//\.\.\.|all|run|-r|-w|--all(?:-\w{1,20}){0,2}|--workspace|--check|--release|--fix|--noEmit"
    r"|src|tests?|-q|-v|-p|--write)){0,4}"
)
_WHOLE = re.compile(rf"(?:{_RUNNER} [\w:.-]{{1,40}}|{_TOOL}){_ALL}")
_PARTS = re.compile(r"\s*(?:&&|\|\||;|\||\n)\s*")
_REDIRECTED = re.compile(r"\s*[0-9&]?>{1,2}\s?(?:&[0-9]|\S{1,200})")
_BEFORE = re.compile(r"(?:[A-Z_][A-Z0-9_]{0,40}=\S{0,80} |time |timeout [0-9]{1,6}[smh]? |sudo ){0,4}")
_QUOTED = re.compile(r"['\"`$<(]")


def project_commands(line: str) -> Iterator[str]:
    """Yield the commands on a line that are about the whole project, without shell syntax."""
    for part in _PARTS.split(line)[:20]:
        bare = _BEFORE.sub("", _REDIRECTED.sub("", part.strip()), count=1).strip()
        if len(bare) <= _LONGEST and not _QUOTED.search(bare) and _WHOLE.fullmatch(bare) and purpose_of(bare):
            yield " ".join(word for word in bare.split() if word not in ("-q", "-v"))


def purpose_of(command: str) -> str:
    """Return the purpose of a command, "" if unknown."""
    return next(
        (words for words, form in _PURPOSES.items() if re.search(rf"(?<![\w-])(?:{form})(?![\w-])", command)), ""
    )


def purposes_in(request: str) -> frozenset[str]:
    """Return the purposes of commands that a request names."""
    low = request.casefold()
    named = {purpose for purpose, form in _PURPOSES.items() if re.search(rf"(?<![\w-])(?:{form})(?![\w-])", low)}
    return frozenset(named | {purpose for purpose, word in _KOREAN.items() if word in low})
