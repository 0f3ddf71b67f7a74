"""Structure of a project: its folders, packages, entry points and settings, by the names of its files. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from gitmem.text.quantities import at_least

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Each names a package by the folder it is in.
MANIFESTS = ("pyproject.toml", "requirements.txt", "package.json", "go.mod", "Cargo.toml", "pom.xml", "Gemfile")
_FOLDERS, _ENTRIES, _PACKAGES, _SETTINGS, _COMMANDS = 12, 8, 12, 12, 20  # names of each
_DEEPEST = 3  # folders below each other
_LANGUAGES = {
    "Python": {"py"},
    "TypeScript": {"ts", "tsx"},
    "JavaScript": {"js", "jsx", "mjs"},
    "Go": {"go"},
    "Rust": {"rs"},
    "Java": {"java"},
    "Kotlin": {"kt"},
    "Ruby": {"rb"},
    "C": {"c", "h"},
    "C++": {"cpp", "cc", "hpp"},
    "C#": {"cs"},
    "Swift": {"swift"},
    "PHP": {"php"},
    "shell": {"sh"},
    "SQL": {"sql"},
    "Markdown": {"md"},
}
_NO_CODE = frozenset({"", "SQL", "Markdown"})
_OF_SUFFIX = {suffix: language for language, suffixes in _LANGUAGES.items() for suffix in suffixes}
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
    return _OF_SUFFIX.get(file.rpartition(".")[2].casefold() if "." in file else "", "")


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


def _listed(names: Sequence[str], most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
