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
    from collections.abc import Iterable, Iterator, Mapping, Sequence


# Each names a package by the folder it is in.
MANIFESTS = ("pyproject.toml", "requirements.txt", "package.json", "go.mod", "Cargo.toml", "pom.xml", "Gemfile")
_MOST = 12  # names of a line
_FOLDERS = 12  # of a project
_DEEPEST = 3  # folders below each other
_NO_CODE = frozenset({"", "SQL", "Markdown"})
_DULL = re.compile(
    r"(?:\.lock|lock\.(?:json|yaml)|\.sum|\.snap|\.min\.\w+|\.svg|\.png)$|(?:^|/)(?:vendor|node_modules|dist)/"
)
_ASIDE = re.compile(
    r"(?:^|/)(?:tests?|testdata|fixtures?|examples?|samples?|templates?|vendor|node_modules|dist|\.\w+)/"
)


def structure_lines(files: Sequence[str]) -> list[str]:
    """Return the main folders with their languages and number of files, and the packages."""
    folders = _main_folders(files)
    largest = sorted((name for name in folders if name), key=lambda name: (-folders[name].total(), name))
    lines = [f"{name}: {_count(folders[name])}" for name in largest[:_FOLDERS]]
    packages = list(dict.fromkeys(file.rpartition("/")[0] + "/" for file in manifests_in(files) if "/" in file))
    if packages:
        lines.append(f"Packages: {_listed(packages)}")
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
    return ", ".join([_files(found.total()), *named])


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


TOP_FILES = ("Makefile",)
CI_FOLDER = ".github/workflows"
CI_FILES = (".gitlab-ci.yml", "azure-pipelines.yml", ".circleci/config.yml")
_LANGUAGES = 6
_NAME = re.compile(r"@?[A-Za-z][\w.@/+:-]{0,60}")
_VERSION = re.compile(r"[<>=~^!*, .\dA-Za-z-]{1,40}")
_PAIR = re.compile(r'(?<![\w-])"?([\w-]{1,40})"?\s{0,5}[=:]\s{0,5}"?([\w.-]{1,40})')


def stack_lines(texts: Mapping[str, str], there: frozenset[str]) -> list[str]:
    """Return lines on languages, frameworks and tools: `texts` are manifests by path, `there` all files."""
    needed: list[str] = []
    lines = list(_told_by_files(texts, needed))
    managers = {name: manager for name, manager in known_names("lock").items() if name in there}
    lines += [f"Packages are installed with {manager} ({name})" for name, manager in managers.items()]
    return [*_in_general(needed, there), *lines]


def _told_by_files(texts: Mapping[str, str], needed: list[str]) -> Iterator[str]:
    """Yield what `gitmem/data/manifests.tsv` finds in files, with their paths; add the names of dependencies."""
    for path, text in texts.items():
        name = path.rpartition("/")[2]
        suffix = ".yml" if name.endswith((".yml", ".yaml")) else name
        rows = [row for row in table("manifests.tsv") if row[0] in (name, suffix)]
        given = _parsed(name, text) if rows else {}
        for _, what, line, where in rows:
            if where.startswith("/"):
                values: list[Any] = re.findall(where[1:], text, re.MULTILINE)
            else:
                values = [
                    inner for one in _at(given, where) for inner in (one if isinstance(one, list | dict) else [one])
                ]
            names = _leading(values)
            needed += names if what == "needs" else ()
            if said := _said(what, values, names):
                yield f"{line.replace('*', said)} ({path})"


def _said(what: str, values: list[Any], names: list[str]) -> str:
    """Return what a line says of its values, "" for nothing."""
    texts = [value.strip() for value in values if isinstance(value, str)]
    if what == "version":
        return next((text for text in texts[:1] if _VERSION.fullmatch(text)), "")
    if what == "steps":
        return ", ".join(f"`{step}`" for step in dict.fromkeys(texts[:_MOST]))
    if what == "mark":
        return "yes" if any(values) else ""
    return _listed(names)


def _at(given: dict[str, Any], where: str) -> list[Any]:
    """Return the values at paths of keys; `*` stands for each key, `.` for the whole."""
    found = []
    for path in where.split():
        values: list[Any] = [given]
        for key in path.split(".") if path != "." else ():
            tables = [value for value in values if isinstance(value, dict)]
            values = [inner for one in tables for inner in (one.values() if key == "*" else [one.get(key)])]
        found += [value for value in values if value is not None]
    return found


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


def _parsed(name: str, text: str) -> dict[str, Any]:
    """Return the table of a TOML or JSON text, else the pairs of its lines (JSON with comments, an INI file)."""
    try:
        given = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
    except (ValueError, RecursionError):
        given = {} if name.endswith(".toml") else dict(_PAIR.findall(text))
    return given if isinstance(given, dict) else {}


def _leading(values: Iterable[Any]) -> list[str]:
    found = [match[0] for value in values if isinstance(value, str) and (match := _NAME.match(value.strip()))]
    return list(dict.fromkeys(found))
