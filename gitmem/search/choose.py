"""Choose what a search scans for and reads: the rarest words of a query, and the files with most of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice, takewhile, zip_longest
from math import log

from gitmem.search.files import Line
from gitmem.search.hits import day_of
from gitmem.search.query import Term, fold
from gitmem.search.rank import find_terms, needles_of
from gitmem.search.units import Excerpts
from gitmem.values import Value

Lines = dict[str, list[Line]]

BUDGET = 2_000  # matching lines of one scan
_NEIGHBOURS = 3  # lines apart that count as one place when files are chosen
_UNDATED = "9999"


class Rarity:
    """The literals of a query by rarity, as a sample of the files tells it.

    The budget bounds the lines that are read and ranked. A literal that is nowhere in the sample takes nothing of it.
    """

    def __init__(self, sample: Sequence[str], times: float, terms: Sequence[Term], literals: Sequence[str]) -> None:
        """Weigh literals by a sample of texts; the store is larger `times`."""
        self._texts = sample
        self._times = times
        self._terms = terms
        self._counts: dict[str, int] = {}
        words = [needle.text for term in terms if not term.aside for needle in term.needles]
        self.asked = [literal for literal in literals if any(literal in word for word in words)]
        self.parts = self._in_parts(literals)

    def _in_parts(self, literals: Sequence[str]) -> list[list[str]]:
        """Return the literals to scan for first, then one by one those words of the query that go beyond the budget.

        The rarest word of the query that occurs is among the first however many lines have it. Words beyond the
        budget that only stand for others are in no part, and count in the files that the others match.
        """
        first: list[str] = []
        later: list[list[str]] = []
        spent, occurs = 0.0, False
        for literal in sorted(literals, key=self.estimate):
            lines, asked = self.estimate(literal), literal in self.asked
            if spent + lines <= BUDGET or (asked and not occurs):
                first.append(literal)
                spent += lines
                occurs = occurs or (asked and lines > 0)
            elif asked:
                later.append([literal])
        return [first, *later]

    def estimate(self, text: str) -> float:
        """Return in how many lines of the store a text is, about."""
        if text not in self._counts:
            self._counts[text] = sum(low.count(text) for low in self._texts)
        return self._times * self._counts[text]

    def scan(self, scan: Callable[[list[str]], Mapping[str, list[Line]]], most: int) -> tuple[Lines, list[str]]:
        """Return the lines of one part after the other until words of the query are in `most` files, and the parts."""
        lines: Lines = {}
        scanned: list[str] = []
        for part in filter(None, self.parts):
            if scanned and self._is_enough(lines, most):
                break
            scanned += part
            add_lines(lines, scan(part))
        return lines, scanned

    def _is_enough(self, lines: Lines, most: int) -> bool:
        have = (
            found for found in lines.values() if any(text in fold(line.text) for line in found for text in self.asked)
        )
        return sum(1 for _ in islice(have, most)) == most

    def unscanned(self, scanned: Sequence[str]) -> dict[int, float]:
        """Return the estimated number of lines of each term that was not scanned for."""
        return {
            number: max(self.estimate(needle.text) for needle in term.needles)
            for number, term in enumerate(self._terms)
            if not all(any(literal in needle.text for literal in scanned) for needle in term.needles)
        }


def add_lines(lines: Lines, more: Mapping[str, list[Line]]) -> None:
    """Add the lines of another scan, each once."""
    for key, found in more.items():
        known = lines.get(key)
        lines[key] = sorted({*known, *found}, key=lambda line: line.number) if known else found


class Choice(Value):
    """The files to read, the most promising first, and how often each term is in the lines of all files."""

    paths: list[str]
    counts: list[float]


def choose_files(
    lines: Mapping[str, Sequence[Line]],
    terms: Sequence[Term],
    most: int,
    fits: Callable[[str], bool] | None = None,
) -> Choice:
    """Choose the most promising files, of equals the first; without terms the newest. Of many, those that fit."""
    if not terms:
        newest = sorted(lines, key=_day, reverse=True)
        return Choice(newest if len(newest) <= most else [*islice(filter(fits, newest), most)], [])
    every = [(path, line) for path, found in lines.items() for line in found]
    texts, needles = Excerpts("", [(line.number, line.text) for _, line in every]), needles_of(terms)
    found = find_terms(texts, needles) or find_terms(texts, needles, loosely=True)
    counts = [sum(unit.counts.get(number, 0.0) for unit in found.values()) for number in range(len(terms))]
    says = [term.weight * log(1 + len(every) / (count + 1)) for term, count in zip(terms, counts, strict=True)]
    places: dict[str, list[tuple[int, Iterable[int]]]] = {path: [] for path in lines}
    for index in sorted(found):
        path, line = every[index]
        places[path].append((line.number, found[index].counts))
    promising = sorted(places, key=lambda path: -_promise(places[path], says))
    return Choice(promising if len(promising) <= most else [*islice(filter(fits, promising), most)], counts)


def _promise(lines: Sequence[tuple[int, Iterable[int]]], says: Sequence[float]) -> float:
    """Return the weight of the different terms in the best group of neighbouring lines of a file."""
    best = 0.0
    for place, (number, _) in enumerate(lines):
        near = takewhile(lambda line: line[0] <= number + _NEIGHBOURS, lines[place:])  # noqa: B023  # used at once
        best = max(best, sum(says[term] for term in {term for _, terms in near for term in terms}))
    return best


def mixed(paths: Iterable[str]) -> list[str]:
    """Return paths of all top-level folders in turn, of each the newest first."""
    folders: dict[str, list[str]] = {}
    for path in paths:
        folders.setdefault(path.partition("/")[0], []).append(path)
    for folder in folders.values():
        folder.sort(key=_day, reverse=True)
    return [path for turn in zip_longest(*folders.values()) for path in turn if path]


def _day(path: str) -> str:
    return day_of(path.rpartition("/")[2]) or _UNDATED
