"""Choose the files worth reading by their matching lines.

Tested through `tests/search/test_sources.py`.
"""

from __future__ import annotations

from itertools import zip_longest

from gitmem.search.order.hits import day_of
from gitmem.search.order.rank import starts_word
from gitmem.search.query.query import INSIDE, fold
from gitmem.search.scan.base import LONGEST_LINE
from gitmem.search.units.units import ID_MARK

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gitmem.search.query.query import Term
    from gitmem.search.scan.base import Line

_NEIGHBOURS = 3  # lines apart that count as one place when files are chosen
_LOOSE = 0.01  # of the weight of a word: a needle inside a word counts where nothing better is
_UNDATED = "9999"


def choose_files(
    lines: Mapping[str, Sequence[Line]], terms: Sequence[Term], literals: Sequence[str], most: int
) -> tuple[dict[str, Collection[str]], float]:
    """Return the most promising files, sorted, and their share of all matching lines; without terms the newest files.

    With each file come the texts of needles that it has not, as far as its `lines` with `literals` say so.
    """
    if not terms:
        newest = sorted(lines, key=_day, reverse=True)
        return dict.fromkeys(sorted(newest) if len(newest) <= most else newest[:most], ()), 1.0
    needles = _Needles(terms, literals)
    marked = {path: [(line.number, needles.within(line)) for line in found] for path, found in lines.items()}
    best, share = list(marked), 1.0
    if len(lines) > most:
        needles.weigh([mask for found in marked.values() for _, mask in found])
        best = sorted(_mixed(marked), key=lambda path: -_promise(marked[path], needles))[:most]
        share = sum(len(lines[path]) for path in best) / sum(map(len, lines.values()))
    return {path: needles.missing(lines[path], marked[path]) for path in sorted(best)}, share


def _mixed(paths: Iterable[str]) -> list[str]:
    """Return paths of all top-level folders in turn, of each the newest first."""
    folders: dict[str, list[str]] = {}
    for path in paths:
        folders.setdefault(path.partition("/")[0], []).append(path)
    for folder in folders.values():
        folder.sort(key=_day, reverse=True)
    return [path for turn in zip_longest(*folders.values()) for path in turn if path]


def _day(path: str) -> str:
    return day_of(path.rpartition("/")[2]) or _UNDATED


class _Needles:
    """The needles of a query; a set of them is an integer with two bits for each needle.

    The second is for a needle that is only inside words or ids, which counts for nearly nothing.
    """

    def __init__(self, terms: Sequence[Term], literals: Sequence[str]) -> None:
        self._terms = terms
        inside = {needle.text: False for term in terms for needle in term.needles}
        inside |= {needle.text: True for term in terms for needle in term.needles if needle.mode == INSIDE}
        self._bits = [(text, 1 << place, anywhere) for place, (text, anywhere) in enumerate(inside.items())]
        self._shift = len(inside)
        bits = {text: bit for text, bit, _ in self._bits}
        self._masks = [sum({bits[needle.text] for needle in term.needles}) for term in terms]
        self._scanned = [(text, bit) for text, bit in bits.items() if any(literal in text for literal in literals)]
        self._says: list[float] = []
        self._worth: dict[int, float] = {}

    def within(self, line: Line) -> int:
        """Return the needles in a line."""
        low = fold(line.text)
        mask = 0
        for text, bit, anywhere in self._bits:
            at = low.find(text)
            if at >= 0:
                mask |= bit if anywhere or self._begins(line.text, low, text, at) else bit << self._shift
        return mask

    @staticmethod
    def _begins(line: str, low: str, text: str, at: int) -> bool:
        """Return whether a word of a line, which is no id, begins with a text."""
        while at >= 0:
            if not at or (low[at - 1] != ID_MARK and (not low[at - 1].isalnum() or starts_word(line, at))):
                return True
            at = low.find(text, at + 1)
        return False

    def missing(self, lines: Sequence[Line], marked: Sequence[tuple[int, int]]) -> Collection[str]:
        """Return the texts of needles that were scanned for and that are in none of a file's lines."""
        if any(len(line.text) >= LONGEST_LINE for line in lines):  # the rest of it was not looked at
            return ()
        there = 0
        for _, mask in marked:
            there |= mask | mask >> self._shift
        return [text for text, bit in self._scanned if not bit & there]

    def weigh(self, masks: Sequence[int]) -> None:
        """Weigh the terms by the share of all lines that have them, each line by its needles."""
        from collections import Counter
        from math import log

        numbers = Counter(masks)
        counts = [sum(number for mask, number in numbers.items() if mask & own) for own in self._masks]
        self._says = [
            term.weight * log(1 + len(masks) / (count + 1)) for term, count in zip(self._terms, counts, strict=True)
        ]

    def worth(self, mask: int) -> float:
        """Return the weight of the different terms that have one of these needles."""
        known = self._worth.get(mask)
        if known is None:
            loose = mask >> self._shift
            known = sum(
                says * (1.0 if mask & own else _LOOSE)
                for says, own in zip(self._says, self._masks, strict=True)
                if (mask | loose) & own
            )
            self._worth[mask] = known
        return known


def _promise(found: Sequence[tuple[int, int]], needles: _Needles) -> float:
    """Return the weight of the different terms in the best group of neighbouring lines of a file."""
    best, start = 0.0, 0
    for end, (number, _) in enumerate(found):
        while found[start][0] < number - _NEIGHBOURS:
            start += 1
        window = 0
        for _, mask in found[start : end + 1]:
            window |= mask
        best = max(best, needles.worth(window))
    return best
