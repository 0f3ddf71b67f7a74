"""Decide what a search reads: scan for the rarest words, then choose the most promising files.

Opening 50,000 files takes half a second, so the folder `texts` of the private folder has the texts of a large store in
one file, for prompts. It is a cache that only leads to files and can be deleted at any time. Its file `all` begins with
a line of JSON: the commit and the days of history it contains. Then come lower-case documents, each after a line with
its key, the newest last, without concepts and episodes, which no prompt is shown. A background process rewrites it once
many files have changed; until then a prompt reads those itself.
"""

from __future__ import annotations

import json
import mmap
import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import heapify, heappop, heapreplace, nsmallest
from itertools import accumulate, islice, takewhile, zip_longest
from math import log

from gitmem.errors import GitmemError
from gitmem.model.fact import FOLDER as FACTS
from gitmem.model.fact import UNSEARCHED
from gitmem.search.cut import NOT_TEXT, TEXT
from gitmem.search.files import (
    LINKED,
    LONGEST_LINE,
    Line,
    Lines,
    RgScanner,
    block_of,
    is_searched,
    lines_in,
    matching_lines,
    read_file,
)
from gitmem.search.hits import day_of
from gitmem.search.query import Term, fold
from gitmem.search.rank import find_terms, finder, needles_of
from gitmem.search.units import Excerpts
from gitmem.store.store import Store
from gitmem.values import Value

# Matching lines of one scan. With 2,000 the first ten hits in 10 MB are no closer to those of a full search.
BUDGET = 1_000
_SAMPLED_LINES = 250  # lines that show the share of words among matching texts
_HEADER_LINES = 40  # at most
_NEIGHBOURS = 3  # lines apart that count as one place when files are chosen
_UNDATED = "9999"


class Rarity:
    """The literals of a query by rarity, estimated from a sample of the files.

    The budget bounds the lines that are read and ranked; a literal missing from the sample costs nothing.
    """

    def __init__(
        self, sample: Sequence[str], times: float, terms: Sequence[Term], literals: Sequence[str], budget: int = 0
    ) -> None:
        """Weigh literals by a sample of texts; the store is `times` as large. `budget` is in lines, BUDGET if 0."""
        self._sample = "\0".join(sample)
        self._budget = budget or BUDGET
        self._times = times
        self._terms = terms
        self._counts: dict[str, int] = {}
        words = [needle.text for term in terms if not term.is_expansion for needle in term.needles]
        self.asked = [literal for literal in literals if any(literal in word for word in words)]
        self.parts = self._in_parts(literals)

    def _in_parts(self, literals: Sequence[str]) -> list[list[str]]:
        """Return the literals to scan for first, then one by one those words of the query that go beyond the budget.

        The rarest occurring word of the query is always among the first. Synonyms beyond the budget are in no part, and
        count only in the files that other words match.
        """
        first: list[str] = []
        later: list[list[str]] = []
        spent, occurs = 0.0, False
        for literal in sorted(literals, key=self.estimate):
            lines, asked = self.estimate(literal), literal in self.asked
            if spent + lines <= self._budget or (asked and not occurs):
                first.append(literal)
                spent += lines
                occurs = occurs or (asked and lines > 0)
            elif asked:
                later.append([literal])
        return [first, *later]

    def estimate(self, text: str) -> float:
        """Estimate how many lines of the store contain a text."""
        if text not in self._counts:
            self._counts[text] = sum(1 for _ in finder(text)(self._sample))
        return self._times * self._counts[text]

    def scan(
        self, scan: Callable[[list[str]], Lines], most: int, beside: Sequence[str] = ()
    ) -> tuple[Lines, list[str]]:
        """Scan for one part after the other until `most` files have words of the query; return lines and literals.

        The first pass also looks for the texts `beside`.
        """
        lines: Lines = {}
        scanned: list[str] = []
        for part in filter(None, self.parts):
            if scanned and self._is_enough(lines, most):
                break
            add_lines(lines, scan(part if scanned else [*part, *beside]))
            scanned += part
        return lines, scanned

    def _is_enough(self, lines: Lines, most: int) -> bool:
        have = (block for block in map(fold, lines.values()) if any(text in block for text in self.asked))
        return sum(1 for _ in islice(have, most)) == most

    def unscanned(self, scanned: Sequence[str]) -> dict[int, float]:
        """Return the estimated number of lines of each term that was not scanned for."""
        return {
            number: max(self.estimate(needle.text) for needle in term.needles)
            for number, term in enumerate(self._terms)
            if not all(any(literal in needle.text for literal in scanned) for needle in term.needles)
        }


def add_lines(lines: Lines, more: Lines) -> None:
    """Add the lines of another scan, each once."""
    for key, block in more.items():
        known = lines.get(key)
        joined = {*lines_in(known), *lines_in(block)} if known else ()
        lines[key] = block_of(sorted(joined, key=lambda line: line.number)) if known else block


class Choice(Value):
    """The files to read, the most promising first, and how often each term is in the lines of all files.

    `lacking` has, by file, the numbers of terms that its lines lack, if these are whole.
    """

    paths: list[str]
    counts: list[float]
    lacking: list[frozenset[int]]


def choose_files(
    lines: Lines, terms: Sequence[Term], most: int, fits: Callable[[str], bool] | None = None, *, loosely: bool = False
) -> Choice:
    """Choose the most promising files, without terms the newest; if there are more than `most`, only those that fit.

    The texts in a file's lines give an upper bound of its promise; words are only looked for when its turn comes.
    """
    if len(lines) <= most:
        fits = None
    if not terms:
        newest = [*islice(filter(fits, sorted(lines, key=_day, reverse=True)), most)]
        return Choice(newest, [], [frozenset()] * len(newest))
    paths = [*lines]
    texts = _texts_in(lines, terms)
    size = sum(block.count("\n") + 1 for block in lines.values())
    words = _words(lines, paths[:: -(-size // _SAMPLED_LINES)], terms, loosely=loosely) if paths else {}
    counts = _count_words(texts, [at for at, path in enumerate(paths) if path in words], words)
    weights = [term.weight * log(1 + size / (count + 1)) for term, count in zip(terms, counts, strict=True)]
    bounds = [0.0] * len(paths)
    for of_file, weight in zip(texts, weights, strict=True):
        for place in of_file:
            bounds[place] -= weight
    queue = [(bound, place, False) for place, bound in enumerate(bounds)]
    is_all = len(paths) <= most and any(words.values())

    def promising() -> Iterator[str]:
        heapify(queue)
        while queue:
            _, place, is_known = queue[0]
            path = paths[place]
            if is_known:
                heappop(queue)
                yield path
                continue
            if path not in words:
                following = [path, *(paths[at] for _, at, known in nsmallest(most, queue) if not known)]
                words.update(_words(lines, [term for term in following if term not in words], terms, loosely=loosely))
            heapreplace(queue, (-_promise(words[path], weights), place, True))

    chosen = paths if is_all else [*islice(filter(fits, promising()), most)]
    if not (loosely or any(words.values())):
        return choose_files(lines, terms, most, fits, loosely=True)
    places = {path: place for place, path in enumerate(paths) if len(lines[path]) < LONGEST_LINE}
    lacking = [
        frozenset(number for number, of_file in enumerate(texts) if path in places and places[path] not in of_file)
        for path in chosen
    ]
    return Choice(chosen, counts, lacking)


def _texts_in(lines: Lines, terms: Sequence[Term]) -> list[Counter[int]]:
    """Count, for each term, its texts in the lines of each file, by the file's index."""
    low = fold("\0".join(lines.values()))
    starts = [*accumulate((len(block) + 1 for block in lines.values()), initial=0)]
    places = ((match.start() for needle in term.needles for match in finder(needle.text)(low)) for term in terms)
    return [Counter(bisect_right(starts, place) - 1 for place in of_term) for of_term in places]


def _words(
    lines: Lines, paths: Sequence[str], terms: Sequence[Term], *, loosely: bool
) -> dict[str, list[tuple[int, dict[int, float]]]]:
    """Return, by file, the numbers of the lines with terms, and how often they have each."""
    placed = [(path, line) for path in paths for line in lines_in(lines[path])]
    texts = Excerpts("", [(index, _searched(path, line)) for index, (path, line) in enumerate(placed)])
    by_unit = find_terms(texts, needles_of(terms), loosely=loosely)
    words: dict[str, list[tuple[int, dict[int, float]]]] = {path: [] for path in paths}
    for index in sorted(by_unit):
        path, line = placed[index]
        words[path].append((line.number, by_unit[index].counts))
    return words


def _searched(path: str, line: Line) -> str:
    """Return the searched part of a line: of a header field the value, or nothing if it is for programs."""
    name, colon, value = line.text.partition(":")
    if not colon or line.number >= _HEADER_LINES:
        return line.text
    if name in (UNSEARCHED if path.startswith(FACTS) else NOT_TEXT):
        return ""
    return value if name in TEXT else line.text


def _count_words(
    texts: Sequence[Mapping[int, int]],
    some: Sequence[int],
    words: Mapping[str, Sequence[tuple[int, Mapping[int, float]]]],
) -> list[float]:
    """Estimate how often each term is in all files: its texts there, times the share of words in `some` files."""
    counts = []
    for number, of_file in enumerate(texts):
        seen = sum(of_file[place] for place in some if place in of_file)
        count = sum(there.get(number, 0.0) for word in words.values() for _, there in word)
        counts.append(sum(of_file.values()) * (count / seen if seen else 1.0))
    return counts


def _promise(lines: Sequence[tuple[int, Iterable[int]]], weights: Sequence[float]) -> float:
    """Return the weight of the different terms in the best group of neighbouring lines of a file."""
    best = 0.0
    for place, (number, _) in enumerate(lines):
        near = takewhile(lambda line: line[0] <= number + _NEIGHBOURS, lines[place:])  # noqa: B023  # used at once
        best = max(best, sum(weights[term] for term in sorted({term for _, terms in near for term in terms})))
    return best


def alternated(paths: Iterable[str]) -> list[str]:
    """Return paths, alternating between the top-level folders, the newest of each first."""
    folders: dict[str, list[str]] = {}
    for path in paths:
        folders.setdefault(path.partition("/")[0], []).append(path)
    for folder in folders.values():
        folder.sort(key=_day, reverse=True)
    return [path for turn in zip_longest(*folders.values()) for path in turn if path]


def _day(path: str) -> str:
    return day_of(path.rpartition("/")[2]) or _UNDATED


FOLDER = "texts"
_MARK = b"\x1e"  # begins the line with a key
_HEAD = b"\n" + _MARK
_LONGEST_STATE = 1 << 20  # bytes of the first line
_MOST_FRESH = 200  # changed files that a prompt reads itself
# Changed files from which the texts are rewritten in the background; the larger the texts, the more.
_LEAST_WORN, _WORN_BYTES = 10, 250_000
_SAMPLES, _SAMPLE = 64, 8_192  # places of the file, and the most bytes read there
_NEWEST_BYTES = 8_000_000  # at the end of the file, searched for the newest lines of a common word
_BLOCK = 16_384  # bytes that are searched at once
_SAMPLED = 32  # one of so many bytes is read for a sample


class Texts:
    """The texts as last written, and the files changed since."""

    def __init__(self, root: str, data: mmap.mmap, path: str, fresh: list[str]) -> None:
        self._root = root
        self._data = data
        self._path = path
        self._fresh = fresh
        self.size = len(data)

    @property
    def are_worn(self) -> bool:
        """Whether enough files changed to rewrite the texts."""
        return len(self._fresh) > max(self.size // _WORN_BYTES, _LEAST_WORN)

    @cached_property
    def _since(self) -> dict[str, str]:
        """The texts of the files that changed since."""
        return {path: read_file(self._root, path).decode("utf-8", "replace") for path in self._fresh}

    def sample(self) -> list[str]:
        """Return pieces of the texts from places spread over them."""
        step = max(self.size // _SAMPLES, 1)
        length = min(step // _SAMPLED + 1, _SAMPLE)
        return [self._data[at : at + length].decode("utf-8", "replace") for at in range(0, self.size, step)]

    def scan(self, literals: Sequence[str], rg: RgScanner | None) -> Lines:
        """Return the lines that contain one of the literals, by key."""
        if rg is not None:
            return self._by_key(rg.scan_file(self._path, literals), literals)
        lines = {pair for literal in literals for pair in self._lines(literal.encode(), self.size)}
        return self._by_key(sorted(lines), literals)

    def newest(self, literal: str, most: int) -> Lines:
        """Return the last lines that contain a literal, at most `most`, by key."""
        since = max(self.size - _NEWEST_BYTES, 0)
        return self._by_key(sorted(self._lines(literal.encode(), most, since)), [literal])

    def _lines(self, literal: bytes, most: int, since: int = 0) -> Iterator[tuple[int, str]]:
        end = self.size
        while most and (at := self._rfind(literal, since, end)) >= 0:
            start = end = self._data.rfind(b"\n", 0, at) + 1
            stop = self._data.find(b"\n", at)
            yield start, self._data[start : min(stop, start + 4 * LONGEST_LINE)].decode("utf-8", "replace")
            most -= 1

    def _rfind(self, text: bytes, since: int, end: int) -> int:
        """Return the last place of a text between two places, or -1; by blocks, as a map's own search is slow."""
        while end > since:
            first = max(end - _BLOCK, since)
            at = self._data[first:end].rfind(text)
            if at >= 0 or first == since:
                return first + at if at >= 0 else -1
            end = first + len(text) - 1
        return -1

    def _by_key(self, places: Iterable[tuple[int, str]], literals: Sequence[str]) -> Lines:
        by_key: dict[str, list[Line]] = {}
        key, at, number = "", 0, 0
        for offset, text in places:
            head = self._rfind(_HEAD, max(at - 1, 0), offset + 1) + 1
            if head > at or not key:
                at, number = head, 0
                key = self._data[at + 1 : self._data.find(b"\n", at)].decode("utf-8", "surrogateescape") if head else ""
            number += self._data[at:offset].count(b"\n")
            at = offset
            if key and not text.startswith(_MARK.decode()):
                by_key.setdefault(key, []).append(Line._make((number, text[:LONGEST_LINE])))  # of thousands
        for path, text in self._since.items():
            by_key.pop(path, None)
            if lines := matching_lines(text, literals):
                by_key[path] = lines
        return {path: block_of(lines) for path, lines in by_key.items()}


def open_texts(store: Store, days: Sequence[str]) -> Texts | None:
    """Return the written texts of a store, None without any, if they lack a day, or too many files changed since."""
    path = os.path.join(store.private, FOLDER, "all")
    try:
        with open(path, "rb") as file:
            fresh = _changed_since(store, file.readline(_LONGEST_STATE), days)
            if fresh is not None and len(fresh) <= _MOST_FRESH:
                return Texts(store.documents, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), path, fresh)
    except OSError:
        pass
    return None


def write_texts(store: Store, days: Sequence[str], texts: Iterable[tuple[str, str]]) -> None:
    """Write the texts of all documents, each with its key, the newest last. Raises OSError if a write failed."""
    path = os.path.join(store.private, FOLDER, "all")
    with open(f"{path}.{os.getpid()}", "wb") as out:
        out.write(json.dumps([store.tip, *days]).encode())
        for key, text in texts:
            low = fold(text).encode("utf-8", "replace").replace(_MARK, b" ")
            out.write(b"".join((_HEAD, key.encode("utf-8", "surrogateescape"), b"\n", low, b"\n")))
    os.replace(out.name, path)


def _changed_since(store: Store, state: bytes, days: Sequence[str]) -> list[str] | None:
    """Return the documents that commits changed since the texts were written; None if the texts cannot be used."""
    try:
        since, *known = json.loads(state)
        if known != [*days] or not re.fullmatch("[0-9a-f]{40,64}", since):  # it is passed to git
            return None
        changes = () if since == store.tip else store.repository.changes(since, store.tip or since)
    except (ValueError, TypeError, GitmemError):  # a purge removed the commit
        return None
    paths = (change.path for change in changes if change.new)
    return [path for path in paths if is_searched(path) and not path.startswith(LINKED)]
