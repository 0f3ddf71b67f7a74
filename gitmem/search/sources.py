"""The sources of a search: the working tree, a revision, lines that history lost, and transcripts.

Each source returns the files worth ranking, cut into units, and how large a part of the source they are.
"""

from __future__ import annotations

from _thread import allocate_lock as Lock  # noqa: N812  # `threading` takes a search a millisecond to import
from functools import cache

from gitmem.search.files import is_searched, list_paths, read_file, stat_file
from gitmem.search.order.hits import day_of
from gitmem.search.query.query import fold
from gitmem.search.scan.base import LONGEST_LINE
from gitmem.search.units.past import PastUnits
from gitmem.search.units.units import Excerpts, Units
from gitmem.store.history.kept import FOLDER, kept_days, week_name
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from gitmem.search.files import File
    from gitmem.search.query.query import Term
    from gitmem.search.scan.base import Line, Scanner
    from gitmem.store.store import Store

MOST_FILES = 60  # read and ranked
# Of a store that is read whole: loading and starting ripgrep would take longer than it saves.
FEW_FILES, FEW_BYTES = 200, 2_000_000
MANY_BYTES = 8_000_000  # of a store in which common words of a query are not scanned for (BUDGET)
MANY_FILES = 400  # read where a filter needs the text of a unit
BUDGET = 2_000  # matching lines of one scan
_SAMPLED_FILES = 24
_WEIGHED_FILES = 200  # from which the size of all files is estimated
_NEIGHBOURS = 3  # lines apart that count as one place when files are chosen
_KEPT_CHARACTERS = 16_000_000  # of the files in the cache of a process
_UNDATED = "9999"
_PER_FILE = 200  # lines of one transcript


class Pool(Value):
    """The files read from a source, the factor by which the source is larger, and their share of matching lines.

    `estimated` maps each term that was not scanned for to its number of lines in the source. `complete` means that all
    matching files were read; `told` are days and weeks that are covered in full by days kept from history. `without`
    are texts that were scanned for and that a file has not.
    """

    read: list[Units]
    times: float = 1.0
    share: float = 1.0
    estimated: Mapping[int, float] = {}  # never changed
    complete: bool = True
    told: frozenset[str] = frozenset()
    without: Mapping[Units, Collection[str]] = {}  # never changed


def work_tree(
    store: Store,
    scanner: Scanner | None,
    terms: Sequence[Term],
    literals: Sequence[str],
    allow: Callable[[str], bool],
    *,
    most: int = MOST_FILES,
) -> Pool:
    """Search the files of the working tree and the days that history holds; read at most `most` of them.

    The default is the best scanner available.
    """
    documents = Documents(store)
    size = documents.size()
    share, complete = 1.0, True
    estimated: dict[int, float] = {}
    without: Mapping[Units, Collection[str]] = {}
    if scanner is None and len(documents.keys) <= FEW_FILES and size <= FEW_BYTES:
        everything = documents.load_all(filter(documents.allowed(allow), documents.keys))
        # The ranking looks for the terms itself; for filters only files that hold a literal are worth cutting.
        read = everything if terms else [one for one in everything if any(literal in one.low for literal in literals)]
    else:
        from gitmem.search.scan.choose import make_scanner

        if size > MANY_BYTES and len(literals) > 1:
            literals, estimated = within_budget(documents, size, terms, literals)
        scanner = scanner or make_scanner(store, large=size > MANY_BYTES)
        lines = documents.scan(scanner, literals)
        lines = {key: lines[key] for key in filter(documents.allowed(allow), lines)}
        chosen, share = choose_files(lines, terms, literals, most)
        complete = len(chosen) == len(lines) and not estimated
        without = {units: chosen[key] for key in chosen for units in documents.load_all([key])}
        read = list(without)
    times = _times(size, sum(units.size for units in read))
    return Pool(read, times, share, estimated, complete, documents.told, without)


class Documents:
    """The files of the working tree by their paths, and the days that history holds, by keys that begin with `/`."""

    def __init__(self, store: Store) -> None:
        self._root = store.root
        self._private = store.private
        self._paths = list_paths(store.root)
        self._days = {f"/{FOLDER}/{day.name}": day for day in kept_days(store.private, frozenset(self._paths))}
        self.keys = [*self._paths, *self._days]

    @property
    def told(self) -> frozenset[str]:
        """The days kept from history, and their weeks: weeks and months only repeat them."""
        days = {day.day for day in self._days.values()}
        return frozenset(days.union(map(week_name, days)))

    def allowed(self, allow: Callable[[str], bool]) -> Callable[[str], bool]:
        """Return `allow`, which takes paths, for keys."""
        return lambda key: allow(day.path if (day := self._days.get(key)) else key)

    def stat(self, key: str) -> File | None:
        """Return size and times of a file, or None if it is gone."""
        return stat_file(self._private, key[1:]) if key in self._days else stat_file(self._root, key)

    def size(self) -> float:
        """Return the bytes of all files, estimated from a sample where they are many."""
        sample = self.keys[:: max(len(self.keys) // _WEIGHED_FILES, 1)]
        sizes = [file.size for key in sample if (file := self.stat(key)) is not None]
        return sum(sizes) * len(self.keys) / max(len(sizes), 1)

    def load(self, key: str, file: File) -> Units:
        """Return a file cut into units."""
        day = self._days.get(key)
        if day is None:
            return load(self._root, file)
        return load(self._private, file, lambda data: PastUnits(day.path, data, day.commit))

    def load_all(self, keys: Iterable[str]) -> list[Units]:
        """Return those of some files that are not gone, cut into units."""
        return [self.load(key, file) for key in keys if (file := self.stat(key)) is not None]

    def scan(self, scanner: Scanner, literals: Sequence[str]) -> dict[str, list[Line]]:
        """Return the lines that hold one of the literals, by key."""
        found = scanner.scan(self._root, self._paths, literals)
        if self._days:
            past = scanner.scan(self._private, [key[1:] for key in self._days], literals)
            found = {**found, **{f"/{path}": lines for path, lines in past.items()}}
        return found


def _times(whole: float, part: float) -> float:
    """Return the ratio of a whole to its part, 1 for an empty part."""
    return max(whole / part, 1.0) if part else 1.0


def within_budget(
    documents: Documents, size: float, terms: Sequence[Term], literals: Sequence[str]
) -> tuple[Sequence[str], dict[int, float]]:
    """Return the rarest literals within the budget, and for each term left out its estimated number of lines.

    Both are estimated from a sample of the files. Terms left out still count in the files that the others match.
    """
    step = max(len(documents.keys) // _SAMPLED_FILES, 1)
    sample = documents.load_all(documents.keys[step // 2 :: step])
    texts = [units.low for units in sample]
    times = size / max(sum(units.size for units in sample), 1)

    @cache
    def estimate(literal: str) -> float:
        return times * sum(text.count(literal) for text in texts)

    kept: list[str] = []
    spent = 0.0
    for literal in sorted(literals, key=estimate):
        if kept and spent + estimate(literal) > BUDGET:
            break
        kept.append(literal)
        spent += estimate(literal)
    estimated = {
        number: max(estimate(needle.text) for needle in term.needles)
        for number, term in enumerate(terms)
        if not all(any(literal in needle.text for literal in kept) for needle in term.needles)
    }
    return kept, estimated


def choose_files(
    lines: Mapping[str, Sequence[Line]], terms: Sequence[Term], literals: Sequence[str], most: int = MOST_FILES
) -> tuple[dict[str, Collection[str]], float]:
    """Return the most promising files, sorted, and their share of all matching lines; without terms the newest files.

    With each file come the texts of needles that it has not, as far as its `lines` with `literals` say so.
    """
    if not terms:
        newest = sorted(lines, key=lambda path: day_of(path.rpartition("/")[2]) or _UNDATED, reverse=True)
        return dict.fromkeys(sorted(newest) if len(newest) <= most else newest[:most], ()), 1.0
    needles = _Needles(terms, literals)
    marked = {path: [(line.number, needles.within(line)) for line in found] for path, found in lines.items()}
    best, share = list(marked), 1.0
    if len(lines) > most:
        needles.weigh([mask for found in marked.values() for _, mask in found])
        best = sorted(marked, key=lambda path: (-_promise(marked[path], needles), path))[:most]
        share = sum(len(lines[path]) for path in best) / sum(map(len, lines.values()))
    return {path: needles.missing(lines[path], marked[path]) for path in sorted(best)}, share


class _Needles:
    """The needles of a query; a set of them is an integer with one bit for each needle."""

    def __init__(self, terms: Sequence[Term], literals: Sequence[str]) -> None:
        self._terms = terms
        texts = dict.fromkeys(needle.text for term in terms for needle in term.needles)
        self._bits = [(text, 1 << place) for place, text in enumerate(texts)]
        bits = dict(self._bits)
        self._masks = [sum({bits[needle.text] for needle in term.needles}) for term in terms]
        self._scanned = [pair for pair in self._bits if any(literal in pair[0] for literal in literals)]
        self._says: list[float] = []
        self._worth: dict[int, float] = {}

    def within(self, line: Line) -> int:
        """Return the needles in a line."""
        low = fold(line.text)
        mask = 0
        for text, bit in self._bits:
            if text in low:
                mask |= bit
        return mask

    def missing(self, lines: Sequence[Line], marked: Sequence[tuple[int, int]]) -> Collection[str]:
        """Return the texts of needles that were scanned for and that are in none of a file's lines."""
        if any(len(line.text) >= LONGEST_LINE for line in lines):  # the rest of it was not looked at
            return ()
        there = 0
        for _, mask in marked:
            there |= mask
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
            known = sum(says for says, own in zip(self._says, self._masks, strict=True) if mask & own)
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


class _Cache:
    """The files that were read last, up to a number of characters."""

    def __init__(self) -> None:
        self._files: dict[tuple[str, str], tuple[File, Units]] = {}
        self._characters = 0
        self._lock = Lock()

    def get(self, root: str, file: File) -> Units | None:
        """Return a file if it is cached and has not changed since."""
        with self._lock:
            known = self._forget((root, file.path))
            if known is None or known[0] != file:
                return None
            self._keep((root, file.path), known)
            return known[1]

    def put(self, root: str, file: File, units: Units) -> None:
        """Cache a file, and drop the least recently used ones."""
        with self._lock:
            self._forget((root, file.path))
            self._keep((root, file.path), (file, units))
            while self._characters > _KEPT_CHARACTERS:
                self._forget(next(iter(self._files)))

    def _forget(self, key: tuple[str, str]) -> tuple[File, Units] | None:
        known = self._files.pop(key, None)
        self._characters -= len(known[1].text) if known else 0
        return known

    def _keep(self, key: tuple[str, str], value: tuple[File, Units]) -> None:
        self._files[key] = value
        self._characters += len(value[1].text)


_cache = _Cache()


def load(root: str, file: File, make: Callable[[bytes], Units] | None = None) -> Units:
    """Return a file cut into units, from the cache of the process if it has not changed; `make` cuts it."""
    units = _cache.get(root, file)
    if units is None:
        data = read_file(root, file.path)
        units = make(data) if make else Units(file.path, data)
        _cache.put(root, file, units)
    return units


def revision(store: Store, commit: str, literals: Sequence[str], allow: Callable[[str], bool]) -> Pool:
    """Search the files of a commit."""
    from gitmem.store.history.grep import matching_paths, read_blobs

    files = [file for file in store.repository.files(commit) if file.mode[:3] == "100" and is_searched(file.path)]
    matching = matching_paths(store, commit, literals)
    matches = [file for file in files if file.path in matching and allow(file.path)]
    read = [Units(file.path, data) for file, data in zip(matches, read_blobs(store, matches), strict=True)]
    return Pool(read, _times(sum(file.size for file in files), sum(file.size for file in matches)))


def transcripts(store: Store, literals: Sequence[str], allow: Callable[[str], bool]) -> Pool:
    """Search the raw transcripts; each line of one is a unit."""
    from gitmem.store.history.grep import matching_lines
    from gitmem.store.transcripts.transcripts import tip_of

    tip = tip_of(store)
    if tip is None:
        return Pool([])
    lines: dict[str, list[tuple[int, str]]] = {}
    for line in matching_lines(store, tip, literals, below="sessions", most=_PER_FILE):
        if allow(line.path):
            lines.setdefault(line.path, []).append((line.number, _message(line.text)))
    return Pool([Excerpts(path, found) for path, found in sorted(lines.items())])


def _message(line: str) -> str:
    """Return a line of a transcript as time, role and text."""
    import json

    try:
        value = json.loads(line)
        text = value.get("text") or json.dumps(value.get("input", ""), ensure_ascii=False)
        return f"{value.get('at', '')} {value.get('role', '')}: {text}".strip()
    except (ValueError, AttributeError, RecursionError):
        return line


def lost(store: Store, literals: Sequence[str], allow: Callable[[str], bool]) -> Pool:
    """Search the lines that commits removed and that no file has any more."""
    from gitmem.store.history.grep import removed_lines

    present = _present(store)
    lines: dict[tuple[str, str, str], list[tuple[int, str]]] = {}
    seen: set[str] = set()
    for line in removed_lines(store, literals):
        bare, low = line.text.strip(), fold(line.text)
        if bare in present or bare in seen or not is_searched(line.path) or not allow(line.path):
            continue
        if any(literal in low for literal in literals):
            seen.add(bare)
            lines.setdefault((line.path, line.commit, line.date), []).append((line.number, line.text))
    return Pool([Excerpts(path, found, commit, date) for (path, commit, date), found in lines.items()])


def _present(store: Store) -> set[str]:
    """Return the lines of all files, stripped."""
    return {
        line.strip()
        for path in list_paths(store.root)
        for line in read_file(store.root, path).decode("utf-8", "replace").split("\n")
    }
