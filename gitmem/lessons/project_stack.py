"""The stack and structure of a project, from its manifests."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter, defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any

from gitmem.text.data import table
from gitmem.text.sentences import at_least

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    _Needs = tuple[str, list[Any]]  # what the dependencies of a manifest are, and their names


# Each names a package by the folder it is in.
MANIFESTS = ("pyproject.toml", "requirements.txt", "package.json", "go.mod", "Cargo.toml", "pom.xml", "Gemfile")
_MOST = 12  # names of a line
_FOLDERS, _ENTRIES, _PACKAGES, _SETTINGS, _COMMANDS = 12, 8, 12, 12, 20  # names of each
_DEEPEST = 3  # folders below each other
_NO_CODE = frozenset({"", "SQL", "Markdown"})
_ENTRY = re.compile(
    r"(?:^|/)(?:__main__\.py|main\.(?:py|go|rs|ts|js|c|cpp)|index\.(?:ts|js|html)|app\.(?:py|ts|js)|manage\.py|cli\.py"
    r"|lib\.rs|Main\.java|Program\.cs|server\.(?:ts|js|py))$"
)
_DULL = re.compile(
    r"(?:\.lock|lock\.(?:json|yaml)|\.sum|\.snap|\.min\.\w+|\.svg|\.png)$|(?:^|/)(?:vendor|node_modules|dist)/"
)
_SETTING = re.compile(
    r"\.?[\w.-]{1,60}\.(?:toml|ini|cfg|conf|ya?ml|json|jsonc)|\.\w[\w.-]{1,40}(?:rc|ignore|config|example)"
    r"|[\w-]{1,40}\.config\.\w{2,3}|(?:Docker|Make|Just|Task|Gem|Proc|Rake)file|go\.mod|pom\.xml|requirements\.txt"
)
_ASIDE = re.compile(
    r"(?:^|/)(?:tests?|testdata|fixtures?|examples?|samples?|templates?|vendor|node_modules|dist|\.\w+)/"
)
_COMMAND = re.compile(r"\.claude/commands/((?:[\w-]{1,40}/)?[\w-]{1,40})\.md")


def structure_lines(files: Sequence[str]) -> list[str]:
    """Return the main folders with their languages and number of files, packages, entry points and settings."""
    folders = _main_folders(files)
    largest = sorted((name for name in folders if name), key=lambda name: (-folders[name].total(), name))
    lines = [f"{name}: {_count(folders[name])}" for name in largest[:_FOLDERS]]
    packages = list(dict.fromkeys(file.rpartition("/")[0] + "/" for file in manifests_in(files) if "/" in file))
    if packages:
        lines.append(f"Packages: {_listed(packages, _PACKAGES)}")
    entries = sorted((file for file in files if _ENTRY.search(file)), key=lambda file: (file.count("/"), file))
    if entries:
        lines.append("Entry points: " + ", ".join(entries[:_ENTRIES]))
    if settings := [file for file in files if _SETTING.fullmatch(file) and not is_dull(file)]:
        lines.append(f"Settings: {_listed(settings, _SETTINGS)}")
    if commands := [f"/{match[1].replace('/', ':')}" for file in files if (match := _COMMAND.fullmatch(file))]:
        lines.append(f"Slash commands: {_listed(commands, _COMMANDS)} (.claude/commands/)")
    return lines


def manifests_in(files: Iterable[str]) -> list[str]:
    """Return the manifests of a project and its packages, those at the top first; none of tests and examples."""
    found = [
        file
        for file in files
        if file.rpartition("/")[2] in MANIFESTS and file.count("/") <= _DEEPEST and not _ASIDE.search(file)
    ]
    return sorted(found, key=lambda file: (file.count("/"), file))


def language_of(file: str) -> str:
    """Return the language of a file by its suffix, "" for an unknown one."""
    return _suffixes().get(file.rpartition(".")[2].casefold() if "." in file else "", "")


@cache
def _suffixes() -> dict[str, str]:
    return {suffix: name for name, suffixes in known_names("language").items() for suffix in suffixes.split()}


@cache
def known_names(kind: str) -> dict[str, str]:
    """Return the names of a kind in `gitmem/data/project.tsv`, each with its meaning."""
    return {name: " ".join(meaning) for row, name, *meaning in table("project.tsv") if row == kind}


def is_code(file: str) -> bool:
    """Return whether a file is of a programming language, and not generated."""
    return language_of(file) not in _NO_CODE and not is_dull(file)


def is_dull(file: str) -> bool:
    """Return whether a file is a lock file, a picture, or somebody else's."""
    return _DULL.search(file) is not None


def languages(files: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield the languages of code with their number of files, the most used first."""
    counts = Counter(language_of(file) for file in files if is_code(file))
    yield from sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def _main_folders(files: Sequence[str]) -> dict[str, Counter[str]]:
    """Return the languages of the files in each folder; a folder with most of all files is split into its folders."""
    folders = _by_folder(files, "")
    for _ in range(_DEEPEST):
        name = max(folders, key=lambda one: folders[one].total(), default="")
        inner = _by_folder(files, name) if name and 2 * folders[name].total() > len(files) else {}
        if len(inner.keys() - {name}) == 0:
            break
        folders = {one: counts for one, counts in folders.items() if one != name} | inner
    return folders


def _by_folder(files: Iterable[str], above: str) -> dict[str, Counter[str]]:
    """Return the languages of the files below `above`, by the folder that follows; "" or `above` for none."""
    folders: dict[str, Counter[str]] = defaultdict(Counter)
    for file in files:
        if file.startswith(above):
            head, slash, _ = file[len(above) :].partition("/")
            folders[f"{above}{head}/" if slash else above][language_of(file)] += 1
    return dict(folders)


def _count(found: Counter[str]) -> str:
    named = [name for name, _ in found.most_common(3) if name]
    total = at_least(found.total())
    files = "1 file" if total == "1" else f"{total} files"
    return files + (f", {', '.join(named)}" if named else "")


def _listed(names: Sequence[str], most: int = _MOST) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


TOP_FILES = ("Makefile",)
CI_FOLDER = ".github/workflows"
CI_FILES = (".gitlab-ci.yml", "azure-pipelines.yml", ".circleci/config.yml")
_LANGUAGES = 6
_NAME = re.compile(r"@?[A-Za-z][\w.@/+:-]{0,60}")
_VERSION = re.compile(r"[<>=~^!*, .\dA-Za-z-]{1,40}")


def stack_lines(texts: Mapping[str, str], there: frozenset[str]) -> list[str]:
    """Return lines on languages, frameworks and tools: `texts` are manifests by path, `there` all files."""
    lines = []
    needed: list[str] = []
    for path, text in texts.items():
        read = _READERS.get(path.rpartition("/")[2]) or (_ci if path.endswith((".yml", ".yaml")) else None)
        for said in read(text) if read is not None else ():
            if isinstance(said, str):
                lines.append(f"{said} ({path})")
            elif names := _leading(said[1]):
                needed += names
                lines.append(f"{said[0]}: {_listed(names)} ({path})")
    managers = {name: manager for name, manager in known_names("lock").items() if name in there}
    lines += [f"Packages are installed with {manager} ({name})" for name, manager in managers.items()]
    return [*_in_general(needed, there), *lines]


def _in_general(needed: Sequence[str], there: frozenset[str]) -> Iterator[str]:
    """Yield the languages of the files, and the frameworks and test frameworks among the dependencies."""
    if found := [f"{language} ({_files(number)})" for language, number in languages(there)]:
        yield f"Languages: {', '.join(found[:_LANGUAGES])}"
    names = [re.sub(r"/v[0-9]{1,3}$", "", name.casefold()) for name in needed]
    for what, kind in (("Frameworks:", "framework"), ("Tests are written with", "tester")):
        form = "|".join(known_names(kind))
        if found := list(dict.fromkeys(name for name in names if re.fullmatch(form, name))):
            yield f"{what} {', '.join(found)}"


def _files(number: int) -> str:
    return "1 file" if number == 1 else f"{at_least(number)} files"


def _pyproject(text: str) -> Iterator[str | _Needs]:
    given = parse_toml(text)
    project = table_of(given.get("project"))
    if version := _version(project.get("requires-python")):
        yield f"Python {version}"
    if backend := _names([table_of(given.get("build-system")).get("build-backend")]):
        yield f"Built by {backend}"
    poetry = table_of(table_of(given.get("tool")).get("poetry"))
    yield "Python packages", [*_list(project.get("dependencies")), *table_of(poetry.get("dependencies"))]
    groups = [
        *table_of(given.get("dependency-groups")).values(),
        *table_of(project.get("optional-dependencies")).values(),
    ]
    groups += [list(table_of(table_of(one).get("dependencies"))) for one in table_of(poetry.get("group")).values()]
    yield "For development", [one for group in groups for one in _list(group)]
    if names := _names(list(table_of(project.get("scripts")))):
        yield f"Commands it installs: {names}"
    if names := _names(list(table_of(given.get("tool")))):
        yield f"Tools with settings: {names}"


def _package_json(text: str) -> Iterator[str | _Needs]:
    given = parse_json(text)
    if version := _version(table_of(given.get("engines")).get("node")):
        yield f"Node {version}"
    if manager := _names([given.get("packageManager")]):
        yield f"Package manager: {manager}"
    for key, what in (("dependencies", "JavaScript packages"), ("devDependencies", "For development")):
        yield what, list(table_of(given.get(key)))
    if names := _names(list(table_of(given.get("scripts")))):
        yield f"Scripts: {names}"
    if given.get("workspaces"):
        yield "It has workspaces"


def _go_mod(text: str) -> Iterator[str | _Needs]:
    if found := re.search(r"(?m)^go ([\d.]{1,12})", text):
        yield f"Go {found[1]}"
    required = re.findall(
        r"(?m)^\s*(?:require )?([\w.-]{1,60}\.[a-z]{2,10}/\S{1,100}) v\S{1,60}(?!.*// indirect)$", text
    )
    yield "Go modules", required


def _cargo(text: str) -> Iterator[str | _Needs]:
    given = parse_toml(text)
    if edition := _version(table_of(given.get("package")).get("edition")):
        yield f"Rust, edition {edition}"
    if members := _names(_list(table_of(given.get("workspace")).get("members"))):
        yield f"Workspace of {members}"
    yield "Crates", list(table_of(given.get("dependencies")))
    yield "For development", list(table_of(given.get("dev-dependencies")))


def _pom(text: str) -> Iterator[str | _Needs]:
    if found := re.search(r"<(?:java\.version|maven\.compiler\.(?:release|source))>([\d.]{1,8})<", text):
        yield f"Java {found[1]}"
    needed = re.findall(r"<dependency>.{0,300}?<artifactId>([^<]{1,80})<", text, re.DOTALL)
    yield "Maven dependencies", needed


def _gemfile(text: str) -> Iterator[str | _Needs]:
    if found := re.search(r"(?m)^ruby ['\"]([\d.]{1,12})['\"]", text):
        yield f"Ruby {found[1]}"
    yield "Gems", re.findall(r"(?m)^\s*gem ['\"]([^'\"]{1,60})['\"]", text)


def _requirements(text: str) -> Iterator[_Needs]:
    yield "Python packages", re.findall(r"(?m)^[A-Za-z][\w.-]{0,60}", text)


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


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML text, {} if it cannot be parsed."""
    return _parsed(tomllib.loads, text)


def parse_json(text: str) -> dict[str, Any]:
    """Return the object of a JSON text, {} if it cannot be parsed."""
    return _parsed(json.loads, text)


def _parsed(parse: Callable[[str], object], text: str) -> dict[str, Any]:
    try:
        return table_of(parse(text))
    except (ValueError, RecursionError):
        return {}


def table_of(value: object) -> dict[str, Any]:
    """Return a value if it is a table, else {}."""
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _names(values: list[Any]) -> str:
    """Return the leading names of texts, at most `_MOST`; "" for none."""
    return _listed(_leading(values))


def _leading(values: list[Any]) -> list[str]:
    found = [match[0] for value in values if isinstance(value, str) and (match := _NAME.match(value.strip()))]
    return list(dict.fromkeys(found))


def _version(value: object) -> str:
    return value.strip() if isinstance(value, str) and _VERSION.fullmatch(value.strip()) else ""
