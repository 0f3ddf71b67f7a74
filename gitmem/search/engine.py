"""A search from words to hits: one pass over the files, the best of them read, their units ranked."""

from __future__ import annotations

from gitmem.search.files import LAYERS, layer_of, list_files
from gitmem.search.hits import make_hit
from gitmem.search.query import fold, parse_query
from gitmem.search.rank import Corpus, find_terms, score_file, weights
from gitmem.search.scanning import read_file
from gitmem.search.units import HEADING, Units
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitmem.search.files import File
    from gitmem.search.hits import Hit
    from gitmem.search.query import Query, Term
    from gitmem.search.rank import Found
    from gitmem.search.scanning import Line, Scanner
    from gitmem.store.store import Store

LIMIT = 10
MOST_FILES = 60  # that are read and ranked
_NEIGHBOURS = 3  # lines apart at which two lines count as one place when files are chosen
_ALONE = 0.5  # what a heading with nothing under it counts, beside what is told somewhere
_KEPT_CHARACTERS = 16_000_000  # of files that a process keeps read


class Ranked(Value):
    """A unit with its score and what was found in it."""

    score: float
    units: Units
    index: int
    found: Found


def search(store: Store, text: str, *, limit: int = LIMIT, scanner: Scanner | None = None) -> list[Hit]:
    """Return the best hits for a query, the best first; at most `limit`, all with 0."""
    query = parse_query(text)
    files = list_files(store.root)
    ranked, says = rank(store.root, files, query, scanner or make_scanner(store))
    best = once(ranked)[: limit or None]
    return [make_hit(item.units, item.units.units[item.index], item.found, says, item.score) for item in best]


def once(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Return ranked units with each entry once: at its best place in the order, out of the first layer it stands in."""
    copies: dict[str, Ranked] = {}
    order: list[str | Ranked] = []
    for item in ranked:
        identifier = item.units.entry_id(item.units.units[item.index])
        if not identifier:
            order.append(item)
            continue
        other = copies.get(identifier)
        if other is None:
            order.append(identifier)
        if other is None or _layer(item) < _layer(other):
            copies[identifier] = item if other is None else item._replace(score=other.score)
    return [copies[item] if isinstance(item, str) else item for item in order]


def make_scanner(store: Store) -> Scanner:
    """Return the best scanner there is on this machine."""
    from gitmem.search.ripgrep import BindingsMissingError, BindingsScanner

    try:
        return BindingsScanner(store.private, store.context.home)
    except BindingsMissingError:
        from gitmem.search.scanning import PythonScanner

        return PythonScanner()


def rank(root: str, files: Sequence[File], query: Query, scanner: Scanner) -> tuple[list[Ranked], list[float]]:
    """Return the units that answer a query, the best first, and what each of its terms says."""
    if not query.terms:
        return [], []
    lines = scanner.scan(root, files, literals_of(query.terms))
    by_path = {file.path: file for file in files}
    chosen, scale = choose_files(lines, query.terms)
    read = [load(root, by_path[path]) for path in chosen]
    for loosely in (False, True):
        found = [find_terms(units, query.terms, loosely=loosely) for units in read]
        if any(found):
            break
    corpus = measure(files, read, found, len(query.terms), scale)
    says = weights(query.terms, corpus)
    ranked = []
    for units, of_file in zip(read, found, strict=True):
        scores = score_file(units, of_file, says, corpus.average)
        for index, score in scores.items():
            alone = _ALONE if units.units[index].kind == HEADING else 1.0
            ranked.append(Ranked(score * alone, units, index, of_file[index]))
    ranked.sort(key=_order)
    return ranked, says


def literals_of(terms: Sequence[Term]) -> list[str]:
    """Return what to look for so that each line with any needle is found; what holds another one needs no look."""
    shortest: list[str] = []
    for text in sorted({needle.text for term in terms for needle in term.needles}, key=lambda text: (len(text), text)):
        if not any(other in text for other in shortest):
            shortest.append(text)
    return shortest


def _order(item: Ranked) -> tuple[float, int, str, int]:
    return -item.score, _layer(item), item.units.path, item.index


def _layer(item: Ranked) -> int:
    return LAYERS.index(layer_of(item.units.path))


def choose_files(lines: Mapping[str, Sequence[Line]], terms: Sequence[Term]) -> tuple[list[str], float]:
    """Return the files that are worth reading, and the share of all found lines that stands in them."""
    if len(lines) <= MOST_FILES:
        return sorted(lines), 1.0
    from math import log

    marked = {path: [(line.number, _terms_in(line, terms)) for line in found] for path, found in lines.items()}
    total = sum(map(len, lines.values()))
    counts = [0] * len(terms)
    for found in marked.values():
        for _, present in found:
            for term in present:
                counts[term] += 1
    says = [term.weight * log(1 + total / (count + 1)) for term, count in zip(terms, counts, strict=True)]
    best = sorted(marked, key=lambda path: (-_promise(marked[path], says), path))[:MOST_FILES]
    return sorted(best), sum(len(lines[path]) for path in best) / total


def _terms_in(line: Line, terms: Sequence[Term]) -> list[int]:
    low = fold(line.text)
    return [number for number, term in enumerate(terms) if any(needle.text in low for needle in term.needles)]


def _promise(found: Sequence[tuple[int, Sequence[int]]], says: Sequence[float]) -> float:
    """Return how good the best place of a file looks: what the different terms say in lines next to each other."""
    best, start = 0.0, 0
    for end, (number, _) in enumerate(found):
        while found[start][0] < number - _NEIGHBOURS:
            start += 1
        best = max(
            best, sum(says[term] for term in {term for _, present in found[start : end + 1] for term in present})
        )
    return best


def measure(
    files: Sequence[File], read: Sequence[Units], found: Sequence[Mapping[int, Found]], terms: int, scale: float
) -> Corpus:
    """Return what the ranking must know of the whole store, from the part of it that was read."""
    units = sum(len(one.units) for one in read)
    characters = sum(unit.end - unit.start for one in read for unit in one.units)
    average = max(characters / units, 1.0) if units else 1.0
    size, all_sizes = sum(len(one.text) for one in read), sum(file.size for file in files)
    by_path = {file.path: file.size for file in files}
    read_bytes = sum(by_path[one.path] for one in read)
    total = units * all_sizes / read_bytes if read_bytes and size else float(units)
    frequencies = [0.0] * terms
    for of_file in found:
        for unit in of_file.values():
            for term in unit.counts:
                frequencies[term] += 1 / scale
    return Corpus(max(total, float(units)), average, tuple(frequencies))


_read: dict[str, tuple[File, Units]] = {}


def load(root: str, file: File) -> Units:
    """Return a file cut into units; a process that searches again reads only what has changed."""
    key = f"{root}\0{file.path}"
    known = _read.pop(key, None)
    if known is None or known[0] != file:
        known = (file, Units(file.path, read_file(root, file.path)))
        kept = sum(len(units.text) for _, units in _read.values())
        while _read and kept + len(known[1].text) > _KEPT_CHARACTERS:
            kept -= len(_read.pop(next(iter(_read)))[1].text)
    _read[key] = known
    return known[1]
