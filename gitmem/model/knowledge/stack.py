"""Stack of a project, from its manifests. Pure; their text is not trusted, so only names are taken."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MANIFESTS = ("pyproject.toml", "package.json", "go.mod", "Cargo.toml", "pom.xml", "Gemfile", "Makefile")
CI_FOLDER = ".github/workflows"
CI_FILES = (".gitlab-ci.yml", "azure-pipelines.yml", ".circleci/config.yml")
LOCKS = {
    "uv.lock": "uv",
    "poetry.lock": "Poetry",
    "Pipfile.lock": "Pipenv",
    "package-lock.json": "npm",
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "Yarn",
    "bun.lock": "Bun",
    "bun.lockb": "Bun",
}
_MOST = 12  # names of a line
_NAME = re.compile(r"@?[A-Za-z][\w.@/+:-]{0,60}")
_VERSION = re.compile(r"[<>=~^!*, .\dA-Za-z-]{1,40}")


def stack_lines(texts: Mapping[str, str], there: frozenset[str]) -> list[str]:
    """Return lines on languages, frameworks and tools; `there` are the paths of the project's files."""
    lines = []
    for path, text in texts.items():
        read = _READERS.get(path.rpartition("/")[2]) or (_ci if path.endswith((".yml", ".yaml")) else None)
        if read is not None:
            lines += [f"{line} ({path})" for line in read(text)]
    managers = {name: manager for name, manager in LOCKS.items() if name in there}
    return lines + [f"Packages are installed with {manager} ({name})" for name, manager in managers.items()]


def _pyproject(text: str) -> Iterator[str]:
    given = _toml(text)
    project = _table(given.get("project"))
    if version := _version(project.get("requires-python")):
        yield f"Python {version}"
    if backend := _names([_table(given.get("build-system")).get("build-backend")]):
        yield f"Built by {backend}"
    poetry = _table(_table(given.get("tool")).get("poetry"))
    if names := _names([*_list(project.get("dependencies")), *_table(poetry.get("dependencies"))]):
        yield f"Python packages: {names}"
    groups = [*_table(given.get("dependency-groups")).values(), *_table(project.get("optional-dependencies")).values()]
    if names := _names([one for group in groups for one in _list(group)]):
        yield f"For development: {names}"
    if names := _names(list(_table(project.get("scripts")))):
        yield f"Commands it installs: {names}"
    if names := _names(list(_table(given.get("tool")))):
        yield f"Tools with settings: {names}"


def _package_json(text: str) -> Iterator[str]:
    try:
        given = _table(json.loads(text))
    except (ValueError, RecursionError):
        return
    if version := _version(_table(given.get("engines")).get("node")):
        yield f"Node {version}"
    if manager := _names([given.get("packageManager")]):
        yield f"Package manager: {manager}"
    for key, what in (("dependencies", "JavaScript packages"), ("devDependencies", "For development")):
        if names := _names(list(_table(given.get(key)))):
            yield f"{what}: {names}"
    if names := _names(list(_table(given.get("scripts")))):
        yield f"Scripts: {names}"
    if given.get("workspaces"):
        yield "It has workspaces"


def _go_mod(text: str) -> Iterator[str]:
    if found := re.search(r"(?m)^go ([\d.]{1,12})", text):
        yield f"Go {found[1]}"
    required = re.findall(
        r"(?m)^\s*(?:require )?([\w.-]{1,60}\.[a-z]{2,10}/\S{1,100}) v\S{1,60}(?!.*// indirect)$", text
    )
    if names := _names(required):
        yield f"Go modules: {names}"


def _cargo(text: str) -> Iterator[str]:
    given = _toml(text)
    if edition := _version(_table(given.get("package")).get("edition")):
        yield f"Rust, edition {edition}"
    if members := _names(_list(_table(given.get("workspace")).get("members"))):
        yield f"Workspace of {members}"
    if names := _names(list(_table(given.get("dependencies")))):
        yield f"Crates: {names}"
    if names := _names(list(_table(given.get("dev-dependencies")))):
        yield f"For development: {names}"


def _pom(text: str) -> Iterator[str]:
    if found := re.search(r"<(?:java\.version|maven\.compiler\.(?:release|source))>([\d.]{1,8})<", text):
        yield f"Java {found[1]}"
    if names := _names(re.findall(r"<dependency>.{0,300}?<artifactId>([^<]{1,80})<", text, re.DOTALL)):
        yield f"Maven dependencies: {names}"


def _gemfile(text: str) -> Iterator[str]:
    if found := re.search(r"(?m)^ruby ['\"]([\d.]{1,12})['\"]", text):
        yield f"Ruby {found[1]}"
    if names := _names(re.findall(r"(?m)^\s*gem ['\"]([^'\"]{1,60})['\"]", text)):
        yield f"Gems: {names}"


def _makefile(text: str) -> Iterator[str]:
    if names := _names(re.findall(r"(?m)^([A-Za-z][\w-]{0,40}):(?!=)", text)):
        yield f"Targets of make: {names}"


def _ci(text: str) -> Iterator[str]:
    used = re.findall(r"(?m)^\s*-?\s*uses:\s*['\"]?([\w./-]{1,80})@", text)
    if re.search(r"(?m)^\s*-?\s*run:", text) or used:
        steps = re.findall(r"(?m)^\s*-?\s*run:\s*([\w./ =:-]{3,80})\s*$", text)
        listed = ", ".join(f"`{step.strip()}`" for step in dict.fromkeys(steps[:_MOST]))
        yield f"CI runs {listed}" if listed else f"CI uses {_names(used)}"


_READERS: dict[str, Callable[[str], Iterator[str]]] = {
    "pyproject.toml": _pyproject,
    "package.json": _package_json,
    "go.mod": _go_mod,
    "Cargo.toml": _cargo,
    "pom.xml": _pom,
    "Gemfile": _gemfile,
    "Makefile": _makefile,
}


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _names(values: list[Any]) -> str:
    """Return the leading names of texts, at most `_MOST`; "" for none."""
    found = [match[0] for value in values if isinstance(value, str) and (match := _NAME.match(value.strip()))]
    names = list(dict.fromkeys(found))
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def _version(value: object) -> str:
    return value.strip() if isinstance(value, str) and _VERSION.fullmatch(value.strip()) else ""
