"""Put the newest memory on a subject before older ones, and choose the files worth reading.

Memories of different sessions are on one subject if they share much beside the words of the query.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from itertools import accumulate, islice, zip_longest
from math import log

from gitmem.document.ids import short_session
from gitmem.search.hits import day_of, facts_of
from gitmem.search.query import INSIDE, fold
from gitmem.search.rank import starts_word
from gitmem.search.scan import LONGEST_LINE
from gitmem.search.units import ID_MARK, bare_text
from gitmem.text.stems import stop_words
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from gitmem.facts.lines import Marks
    from gitmem.search.query import Term
    from gitmem.search.rank import Ranked
    from gitmem.search.scan import Line


MOST = 30  # hits that are compared
_SHARED = 0.4, 0.15  # of the words of the shorter and the longer of two hits on a subject, without those of the query
_LEAST_SHARED = 6  # words
_ABOUT_AS_GOOD = 0.5  # of the score of an older hit, in the newer one that takes its place
_WORD = re.compile(r"[^\W_](?:[\w.-]*\w)?")
_LABELS = frozenset({"answer", "asked", "done", "error", "files", "keywords", "outcome", "success"})  # of an exchange
_VIEWS = ("concepts/", "episodes/", "patterns/")  # of exchanges; these have a date of their own
_SYLLABLES = 2  # of a Korean word, which end before its particles
_HANGUL = "가"


class _Told(Value):
    """A hit's words, its date, session and handle, and whether it holds."""

    words: frozenset[str]
    date: str
    session: str
    handle: str
    holds: bool


def in_order_of_news(hits: Sequence[Ranked], asked: tuple[str, ...], marks: Marks, most: int = MOST) -> list[Ranked]:
    """Return the hits, the best first; of the first `most`, the newest of a subject stands before older ones.

    `asked` are the beginnings of the query's words. An older hit has the handle of the newer in `before`.
    """
    first = list(hits[:most])
    told = {at: one for at, hit in enumerate(first) if (one := _told(hit, asked, marks)).date and one.handle}
    order, left = list(range(len(first))), list(told)
    before: dict[int, str] = {}
    while left:
        best, *rest = left
        group = [best, *(at for at in rest if _on_one_subject(told[best], told[at]))]
        left = [at for at in rest if at not in group]
        good = [at for at in group if told[at].holds and first[at].score >= first[best].score * _ABOUT_AS_GOOD]
        newest = max(good, key=lambda at: (told[at].date, -at), default=best)
        before |= {at: told[newest].handle for at in group if good and told[at].date < told[newest].date}
        order.insert(order.index(best), order.pop(order.index(newest)))
    scores = sorted((hit.score for hit in first), reverse=True)
    moved = zip(order, scores, strict=True)
    return [*(first[at]._replace(score=score, before=before.get(at, "")) for at, score in moved), *hits[most:]]


def _told(hit: Ranked, asked: tuple[str, ...], marks: Marks) -> _Told:
    """Return the text of a hit without the words that are `asked` for; of a long one its best part and the request."""
    units, unit = hit.units, hit.units.unit(hit.index)
    facts, lead = facts_of(units, unit), units.parts(hit.index).lead
    handle = facts.entry or units.named
    fact = marks.facts.get(handle)
    text = units.text[unit.start : unit.end]
    if hit.part[0] > lead:
        text = f"{units.text[unit.start : lead]}\n{units.text[slice(*hit.part)]}"
    said = {word for word in _WORD.findall(fold(bare_text(text))) if not word.startswith(asked)}
    words = frozenset(word[:_SYLLABLES] if word[0] >= _HANGUL else word for word in said - stop_words() - _LABELS)
    session = short_session(facts.session or (fact.session if fact else ""))
    own = "" if units.path.startswith(_VIEWS) else handle
    return _Told(words, facts.date, session, own, not marks.has_ended(handle))


def _on_one_subject(one: _Told, other: _Told) -> bool:
    """Return whether two hits of different sessions share many words."""
    if one.session == other.session and (one.session or one.date[:10] == other.date[:10]):
        return False
    shared = len(one.words & other.words)
    sizes = sorted((len(one.words), len(other.words)))
    return shared >= _LEAST_SHARED and all(shared >= share * size for share, size in zip(_SHARED, sizes, strict=True))


_NEIGHBOURS = 3  # lines apart that count as one place when files are chosen
_LOOSE = 0.01  # of the weight of a word: a needle inside a word counts where nothing better is
BUDGET = 2_000  # matching lines of one scan
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
        self.asked = [literal for literal in literals if not terms or any(literal in word for word in words)]
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

    def is_enough(self, lines: Mapping[str, Sequence[Line]], most: int) -> bool:
        """Return whether words of the query are in as many files as are read."""
        have = (
            found for found in lines.values() if any(text in fold(line.text) for line in found for text in self.asked)
        )
        return sum(1 for _ in islice(have, most)) == most

    def estimated(self, scanned: Sequence[str]) -> dict[int, float]:
        """Return the estimated number of lines of each term that was not scanned for."""
        return {
            number: max(self.estimate(needle.text) for needle in term.needles)
            for number, term in enumerate(self._terms)
            if not all(any(literal in needle.text for literal in scanned) for needle in term.needles)
        }


def choose_files(
    lines: Mapping[str, Sequence[Line]],
    terms: Sequence[Term],
    literals: Sequence[str],
    most: int,
    fits: Callable[[str], bool] | None = None,
) -> tuple[dict[str, Collection[str]], list[float]]:
    """Return the most promising files, of equals the first, sorted; without terms the newest. Of many, those that fit.

    With each file come the texts of needles that it has not, as far as its `lines` with `literals` say so. Return, too,
    for each term how many times more lines than those of these files have it.
    """
    if not terms:
        newest = sorted(lines, key=_day, reverse=True)
        return dict.fromkeys(sorted(newest) if len(newest) <= most else islice(filter(fits, newest), most), ()), []
    needles = _Needles(terms, literals)
    marked = needles.within(lines)
    best, times = list(marked), [1.0] * len(terms)
    if len(lines) > most:
        counts = needles.counts(marked.values())
        needles.weigh(counts, sum(map(len, lines.values())))
        promising = sorted(marked, key=lambda path: -_promise(marked[path], needles))
        best = list(islice(filter(fits, promising), most))
        read = needles.counts(marked[path] for path in best)
        times = [max(every / max(some, 1), 1.0) for every, some in zip(counts, read, strict=True)]
    return {path: needles.missing(lines[path], marked[path]) for path in sorted(best)}, times


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

    def within(self, lines: Mapping[str, Sequence[Line]]) -> dict[str, list[tuple[int, int]]]:
        """Return the number and the needles of each line; one text of all lines is searched sooner than each."""
        every = [line.text for found in lines.values() for line in found]
        whole = "\n".join(every)
        low, ends, masks = fold(whole), list(accumulate(len(text) + 1 for text in every)), [0] * len(every)
        for text, bit, anywhere in self._bits:
            at = low.find(text)
            while at >= 0:
                place = bisect_right(ends, at)
                begins = anywhere or self._begins(whole, low, text, at, ends[place])
                masks[place] |= bit if begins else bit << self._shift
                at = low.find(text, ends[place])
        mask = iter(masks)
        return {path: [(line.number, next(mask)) for line in found] for path, found in lines.items()}

    @staticmethod
    def _begins(whole: str, low: str, text: str, at: int, end: int) -> bool:
        """Return whether a word of the line up to `end`, which is no id, begins with a text."""
        while at >= 0:
            if not at or (low[at - 1] != ID_MARK and (not low[at - 1].isalnum() or starts_word(whole, at))):
                return True
            at = low.find(text, at + 1, end)
        return False

    def missing(self, lines: Sequence[Line], marked: Sequence[tuple[int, int]]) -> Collection[str]:
        """Return the texts of needles that were scanned for and that are in none of a file's lines."""
        if any(len(line.text) >= LONGEST_LINE for line in lines):  # the rest of it was not looked at
            return ()
        there = 0
        for _, mask in marked:
            there |= mask | mask >> self._shift
        return [text for text, bit in self._scanned if not bit & there]

    def counts(self, marked: Iterable[Sequence[tuple[int, int]]]) -> list[int]:
        """Return the number of lines that have each term."""
        numbers = Counter(mask for found in marked for _, mask in found)
        return [sum(number for mask, number in numbers.items() if mask & own) for own in self._masks]

    def weigh(self, counts: Sequence[int], lines: int) -> None:
        """Weigh the terms by the number of lines that have them."""
        self._says = [
            term.weight * log(1 + lines / (count + 1)) for term, count in zip(self._terms, counts, strict=True)
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
