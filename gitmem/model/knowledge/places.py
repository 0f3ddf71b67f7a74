"""Structure of a project, its hotspots, files that change together, and the folders of its authors. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

_FOLDERS, _FILES, _PAIRS, _TESTS, _PEOPLE = 12, 10, 10, 15, 10  # lines of each
_TOGETHER = 3  # changes of two files together, at least
_SHARE = 0.5  # of the changes of the rarer of them
_WIDE = 15  # files in a change above which it does not count as changing them together
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
_OF_SUFFIX = {suffix: language for language, suffixes in _LANGUAGES.items() for suffix in suffixes}
_ENTRIES = re.compile(
    r"(?:^|/)(?:__main__\.py|main\.(?:py|go|rs|ts|js|c|cpp)|index\.(?:ts|js|html)|app\.(?:py|ts|js)|manage\.py|cli\.py"
    r"|lib\.rs|Main\.java|Program\.cs|server\.(?:ts|js|py))$"
)
_TEST = re.compile(r"(?:^|/)(?:test_(?P<a>\w+)|(?P<b>\w+)_test|(?P<c>[\w-]+)\.(?:test|spec)|(?P<d>\w+)_spec)\.\w{1,4}$")
_DULL = re.compile(
    r"(?:\.lock|lock\.(?:json|yaml)|\.sum|\.snap|\.min\.\w+|\.svg|\.png)$|(?:^|/)(?:vendor|node_modules|dist)/"
)


@dataclass(frozen=True)
class Change:
    """Files that changed together: a commit of the project, or an exchange (`source` is its id)."""

    source: str
    at: datetime
    files: tuple[str, ...]
    author: str = ""
    subject: str = ""


def structure_lines(files: Sequence[str]) -> list[str]:
    """Return the main folders with their languages and number of files, and the entry points."""
    folders: dict[str, Counter[str]] = defaultdict(Counter)
    for file in files:
        head, slash, rest = file.partition("/")
        folders[f"{head}/" if slash else ""][_language(rest or head)] += 1
    largest = sorted((name for name in folders if name), key=lambda name: (-folders[name].total(), name))
    lines = [f"{name}: {_count(folders[name])}" for name in largest[:_FOLDERS]]
    entries = sorted((file for file in files if _ENTRIES.search(file)), key=lambda file: (file.count("/"), file))
    if entries:
        lines.append("Entry points: " + ", ".join(entries[:8]))
    return lines


def hotspot_lines(changes: Iterable[Change], errors: Mapping[str, int], there: frozenset[str]) -> list[str]:
    """Return the files with most changes, and the files with most errors."""
    counts = Counter(
        file for change in changes for file in set(change.files) if file in there and not _DULL.search(file)
    )
    often = sorted(((-number, file) for file, number in counts.items() if number >= _TOGETHER))[:_FILES]
    broken = sorted(((number, file) for file, number in errors.items() if number > 1), reverse=True)[:_FILES]
    return [
        *(f"{file} changes often ({_magnitude(-number)} changes)" for number, file in often),
        *(f"{file} breaks often ({_magnitude(number)} errors)" for number, file in broken),
    ]


def change_lines(changes: Iterable[Change], files: Sequence[str]) -> list[str]:
    """Return pairs of files that change together, and pairs of test and tested file."""
    there = frozenset(files)
    pairs: Counter[tuple[str, str]] = Counter()
    single: Counter[str] = Counter()
    for change in changes:
        named = sorted({file for file in change.files if file in there and not _DULL.search(file)})
        if len(named) <= _WIDE:
            single.update(named)
            pairs.update(combinations(named, 2))
    lines = []
    for (one, other), number in sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0])):
        if number >= _TOGETHER and number >= _SHARE * min(single[one], single[other]) and not _is_test_of(one, other):
            lines.append(f"{one} and {other} change together ({_magnitude(number)} times)")
        if len(lines) == _PAIRS:
            break
    return lines + [f"{test} tests {file}" for test, file in list(files_by_test(files))[:_TESTS]]


def files_by_test(files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each test with the file of the same name, if there is exactly one."""
    named: dict[str, list[str]] = defaultdict(list)
    for file in files:
        if not _TEST.search(file):
            named[_stem(file)].append(file)
    for file in files:
        found = named.get(_tested(file), []) if _TEST.search(file) else []
        same = [one for one in found if one.rpartition(".")[2] == file.rpartition(".")[2]]
        if len(same) == 1:
            yield file, same[0]


def people_lines(changes: Iterable[Change]) -> list[str]:
    """Return the authors, each with the folders they changed most."""
    folders: dict[str, Counter[str]] = defaultdict(Counter)
    for change in changes:
        if change.author:
            folders[change.author].update({_folder(file) for file in change.files})
    people = sorted(folders, key=lambda name: (-folders[name].total(), name))[:_PEOPLE]
    return [f"{name} knows {', '.join(_most(folders[name])[:3])}" for name in people]


def _most(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))


def _is_test_of(one: str, other: str) -> bool:
    return _tested(one) == _stem(other) or _tested(other) == _stem(one)


def _tested(file: str) -> str:
    found = _TEST.search(file)
    return next(filter(None, found.groups()), "") if found else ""


def _stem(file: str) -> str:
    return file.rpartition("/")[2].partition(".")[0]


def _folder(file: str) -> str:
    return "/".join(file.split("/")[:-1][:2]) + "/" if "/" in file else "the top folder"


def _language(file: str) -> str:
    return _OF_SUFFIX.get(file.rpartition(".")[2].casefold() if "." in file else "", "")


def _count(languages: Counter[str]) -> str:
    named = [name for name, _ in languages.most_common(3) if name]
    total = _magnitude(languages.total())
    files = "1 file" if total == "1" else f"{total} files"
    return files + (f", {', '.join(named)}" if named else "")


def _magnitude(number: int) -> str:
    """Return a number as a lower bound, so that a document is not rewritten for each change: 7, 10+, 20+, 50+, 100+."""
    steps = [step for power in (10, 100, 1_000, 10_000) for step in (power, 2 * power, 5 * power)]
    return next((f"{step}+" for step in reversed(steps) if number >= step), str(number))
