"""Stack of a project, from its manifests. Pure; their text is not trusted, so only names are taken."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any

from gitmem.model.knowledge.structure import languages
from gitmem.text.quantities import at_least

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

TOP_FILES = ("Makefile",)
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
# Dependencies that say what a project is built on, and tested with.
_FRAMEWORKS = re.compile(
    r"django|flask|fastapi|starlette|celery|react|react-native|next|vue|nuxt|svelte|@angular/core|express|@nestjs/core"
    r"|electron|rails|sinatra|axum|actix-web|rocket|tauri|bevy|spring-boot-starter(?:-web)?|quarkus-core"
    r"|github\.com/(?:gin-gonic/gin|gofiber/fiber|labstack/echo|spf13/cobra)"
)
_TESTERS = re.compile(
    r"pytest|hypothesis|tox|nox|jest|mocha|vitest|(?:@playwright/test|playwright)|cypress|rspec(?:-rails)?|minitest"
    r"|junit(?:-jupiter)?|testng|proptest|github\.com/stretchr/testify"
)
_MOST = 12  # names of a line
_LANGUAGES = 6
_NAME = re.compile(r"@?[A-Za-z][\w.@/+:-]{0,60}")
_VERSION = re.compile(r"[<>=~^!*, .\dA-Za-z-]{1,40}")


def stack_lines(texts: Mapping[str, str], there: frozenset[str]) -> list[str]:
    """Return lines on languages, frameworks and tools: `texts` are manifests by path, `there` all files."""
    lines = []
    needed: list[str] = []
    for path, text in texts.items():
        read = _READERS.get(path.rpartition("/")[2]) or (_ci if path.endswith((".yml", ".yaml")) else None)
        for line in read(text) if read is not None else ():
            if isinstance(line, _Needs):
                needed += line.names
            if line:
                lines.append(f"{line} ({path})")
    managers = {name: manager for name, manager in LOCKS.items() if name in there}
    lines += [f"Packages are installed with {manager} ({name})" for name, manager in managers.items()]
    return [*_in_general(needed, there), *lines]


class _Needs:
    """The dependencies of a manifest, as a line."""

    def __init__(self, what: str, names: list[Any]) -> None:
        self.names = _leading(names)
        self._what = what

    def __str__(self) -> str:
        return f"{self._what}: {_listed(self.names)}"

    def __bool__(self) -> bool:
        return bool(self.names)


def _in_general(needed: Sequence[str], there: frozenset[str]) -> Iterator[str]:
    """Yield the languages of the files, and the frameworks and test frameworks among the dependencies."""
    if found := [f"{language} ({_files(number)})" for language, number in languages(there)]:
        yield f"Languages: {', '.join(found[:_LANGUAGES])}"
    names = [re.sub(r"/v[0-9]{1,3}$", "", name.casefold()) for name in needed]
    for what, known in (("Frameworks:", _FRAMEWORKS), ("Tests are written with", _TESTERS)):
        if found := list(dict.fromkeys(name for name in names if known.fullmatch(name))):
            yield f"{what} {', '.join(found)}"


def _files(number: int) -> str:
    return "1 file" if number == 1 else f"{at_least(number)} files"


def _pyproject(text: str) -> Iterator[str | _Needs]:
    given = _toml(text)
    project = _table(given.get("project"))
    if version := _version(project.get("requires-python")):
        yield f"Python {version}"
    if backend := _names([_table(given.get("build-system")).get("build-backend")]):
        yield f"Built by {backend}"
    poetry = _table(_table(given.get("tool")).get("poetry"))
    yield _Needs("Python packages", [*_list(project.get("dependencies")), *_table(poetry.get("dependencies"))])
    groups = [*_table(given.get("dependency-groups")).values(), *_table(project.get("optional-dependencies")).values()]
    groups += [list(_table(_table(one).get("dependencies"))) for one in _table(poetry.get("group")).values()]
    yield _Needs("For development", [one for group in groups for one in _list(group)])
    if names := _names(list(_table(project.get("scripts")))):
        yield f"Commands it installs: {names}"
    if names := _names(list(_table(given.get("tool")))):
        yield f"Tools with settings: {names}"


def _package_json(text: str) -> Iterator[str | _Needs]:
    try:
        given = _table(json.loads(text))
    except (ValueError, RecursionError):
        return
    if version := _version(_table(given.get("engines")).get("node")):
        yield f"Node {version}"
    if manager := _names([given.get("packageManager")]):
        yield f"Package manager: {manager}"
    for key, what in (("dependencies", "JavaScript packages"), ("devDependencies", "For development")):
        yield _Needs(what, list(_table(given.get(key))))
    if names := _names(list(_table(given.get("scripts")))):
        yield f"Scripts: {names}"
    if given.get("workspaces"):
        yield "It has workspaces"


def _go_mod(text: str) -> Iterator[str | _Needs]:
    if found := re.search(r"(?m)^go ([\d.]{1,12})", text):
        yield f"Go {found[1]}"
    required = re.findall(
        r"(?m)^\s*(?:require )?([\w.-]{1,60}\.[a-z]{2,10}/\S{1,100}) v\S{1,60}(?!.*// indirect)$", text
    )
    yield _Needs("Go modules", required)


def _cargo(text: str) -> Iterator[str | _Needs]:
    given = _toml(text)
    if edition := _version(_table(given.get("package")).get("edition")):
        yield f"Rust, edition {edition}"
    if members := _names(_list(_table(given.get("workspace")).get("members"))):
        yield f"Workspace of {members}"
    yield _Needs("Crates", list(_table(given.get("dependencies"))))
    yield _Needs("For development", list(_table(given.get("dev-dependencies"))))


def _pom(text: str) -> Iterator[str | _Needs]:
    if found := re.search(r"<(?:java\.version|maven\.compiler\.(?:release|source))>([\d.]{1,8})<", text):
        yield f"Java {found[1]}"
    needed = re.findall(r"<dependency>.{0,300}?<artifactId>([^<]{1,80})<", text, re.DOTALL)
    yield _Needs("Maven dependencies", needed)


def _gemfile(text: str) -> Iterator[str | _Needs]:
    if found := re.search(r"(?m)^ruby ['\"]([\d.]{1,12})['\"]", text):
        yield f"Ruby {found[1]}"
    yield _Needs("Gems", re.findall(r"(?m)^\s*gem ['\"]([^'\"]{1,60})['\"]", text))


def _requirements(text: str) -> Iterator[_Needs]:
    yield _Needs("Python packages", re.findall(r"(?m)^[A-Za-z][\w.-]{0,60}", text))


def _makefile(text: str) -> Iterator[str]:
    if names := _names(re.findall(r"(?m)^([A-Za-z][\w-]{0,40}):(?!=)", text)):
        yield f"Targets of make: {names}"


def _ci(text: str) -> Iterator[str]:
    used = re.findall(r"(?m)^\s*-?\s*uses:\s*['\"]?([\w./-]{1,80})@", text)
    if re.search(r"(?m)^\s*-?\s*run:", text) or used:
        steps = re.findall(r"(?m)^\s*-?\s*run:\s*([\w./ =:-]{3,80})\s*$", text)
        listed = ", ".join(f"`{step.strip()}`" for step in dict.fromkeys(steps[:_MOST]))
        yield f"CI runs {listed}" if listed else f"CI uses {_names(used)}"


_READERS: dict[str, Callable[[str], Iterator[str | _Needs]]] = {
    "pyproject.toml": _pyproject,
    "requirements.txt": _requirements,
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
    return _listed(_leading(values))


def _leading(values: list[Any]) -> list[str]:
    found = [match[0] for value in values if isinstance(value, str) and (match := _NAME.match(value.strip()))]
    return list(dict.fromkeys(found))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def _version(value: object) -> str:
    return value.strip() if isinstance(value, str) and _VERSION.fullmatch(value.strip()) else ""
