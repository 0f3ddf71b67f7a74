"""The sources of a search: the working tree, a revision, lines that history lost, and transcripts.

Each source returns the files worth ranking, cut into units, and how large a part of the source they are.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate, chain

from gitmem.history.past_days import (
    FOLDER,
    KeptDay,
    kept_days,
    matching_lines,
    matching_paths,
    removed_lines,
    week_name,
)
from gitmem.search.files import (
    LINKED,
    FileVersion,
    Lines,
    Scanner,
    is_searched,
    list_paths,
    make_rg,
    make_scanner,
    read_file,
    stat_file,
)
from gitmem.search.query import Term, fold
from gitmem.search.scan import FOLDER as TEXTS
from gitmem.search.scan import Rarity, add_lines, alternated, choose_files, open_texts, write_texts
from gitmem.search.units import Excerpts, Units
from gitmem.store.store import Store
from gitmem.values import Value

MOST_FILES = 60  # read and ranked
# For a prompt, which waits. With 30 files and 2,000 lines, 1 of 120 prompts in 10 MB gets another first memory.
HURRIED_FILES, HURRIED_BUDGET = 20, 500
# A smaller store is read whole, as choosing files would save a search no time; a prompt chooses fewer.
FEW_FILES, FEW_BYTES, FEW_HURRIED_BYTES = 200, 2_500_000, 2_000_000
MANY_BYTES = 8_000_000  # of a store, from which common words of a query are not scanned for (BUDGET)
MANY_FILES = 400  # with a hit, if a filter needs the text of units
_SAMPLED_FILES = 24
_MOST_APART = 12  # other texts that one pass also looks for; with more, `rg` may take three times as long
_PATIENCE = 60.0  # seconds that a background process waits for another
_NEWEST = 150  # lines of a word beyond the budget in a hurried search
_WEIGHED_FILES = 200  # from which the size of all files is estimated
_KEPT_FILES, _KEPT_BYTES = 256, 262_144  # that a process keeps, and the longest of them
_PER_FILE = 200  # lines of one transcript


class Pool(Value):
    """The files read from a source.

    The source is larger by the factor `times` in bytes; `counts` are the numbers of each term in the source, if empty
    those in the files. `complete`: all matching files were read; `covered` are the days and weeks fully covered by days
    kept from history; `lacking` has, by file, the numbers of terms that need not be looked for.
    `texts` are all lines of the source with a text of `scanned`, or, if that is None, the whole source in lower case.
    """

    read: list[Units]
    times: float = 1.0
    counts: Sequence[float] = ()
    complete: bool = True
    covered: frozenset[str] = frozenset()
    lacking: Sequence[frozenset[int]] = ()
    texts: Sequence[str] = ()
    scanned: frozenset[str] | None = frozenset()


def work_tree(
    store: Store,
    terms: Sequence[Term],
    literals: Sequence[str],
    allow: Callable[[str], bool],
    *,
    most: int = MOST_FILES,
    fits: Callable[[Units], bool] | None = None,
    hurried: bool = False,
    apart: Sequence[Sequence[str]] = (),
) -> Pool:
    """Search the files of the working tree and the days kept from history; return at most `most` of them.

    If more match, those that do not fit are skipped, so that they hide no rare hit. A `hurried` search uses the written
    texts. The same pass also looks for the texts in `apart`, for a later `has_any`.
    """
    if hurried and not fits and (pool := _in_texts(store, terms, literals, allow, most)):
        return pool
    documents = Documents(store)
    size = documents.size()
    if documents.are_few(FEW_HURRIED_BYTES if hurried else FEW_BYTES):
        read = everything = documents.load_all(filter(documents.allowed(allow), documents.keys))
        if not terms:  # for filters, only files with a literal need to be cut; the ranking finds terms itself
            read = [units for units in everything if any(literal in units.low for literal in literals)]
        times = _times(size, sum(units.size for units in read))
        return Pool(read, times, covered=documents.covered, texts=[units.low for units in everything], scanned=None)
    large = size > MANY_BYTES
    if hurried:
        _want_texts(store)
    scan = partial(documents.scan, make_scanner(store.context, store.private, large=large), allow=allow)
    rarity = Rarity(*documents.sample(size), terms, literals) if large and terms and len(literals) > 1 else None
    counted = zip(apart, accumulate(map(len, apart)), strict=True)
    beside = [*chain(*(group for group, count in counted if count <= _MOST_APART))]
    unscanned: Mapping[int, float] = {}
    if rarity:
        lines, scanned = rarity.scan(scan, len(documents.keys) if fits else most, beside)
        unscanned = rarity.unscanned(scanned)
    else:
        lines = scan([*literals, *beside])
    lines = {key: lines[key] for key in alternated(lines)}
    pool = _chosen(documents, size, lines, terms, unscanned, most=most, fits=fits)
    return pool._replace(texts=[*lines.values()], scanned=frozenset(beside))


def _chosen(
    documents: Documents,
    size: float,
    lines: Lines,
    terms: Sequence[Term],
    unscanned: Mapping[int, float],
    *,
    most: int,
    fits: Callable[[Units], bool] | None = None,
) -> Pool:
    """Return the most promising of the files with these lines."""
    passes = None if fits is None else lambda key: any(map(fits, documents.load_all([key])))
    chosen = choose_files(lines, terms, most, passes)
    files = [
        (units, lacking.difference(unscanned))
        for key, lacking in zip(chosen.paths, chosen.lacking, strict=True)
        for units in documents.load_all([key])
    ]
    read = [units for units, _ in files]
    is_all = len(chosen.paths) == len(lines) or (fits is not None and len(chosen.paths) < most)
    counts = [max(count, unscanned.get(number, 0.0)) for number, count in enumerate(chosen.counts)]
    times = _times(size, sum(units.size for units in read))
    lacking = [numbers for _, numbers in files]
    return Pool(read, times, counts, is_all and not unscanned, documents.covered, lacking)


def has_any(store: Store, pool: Pool, groups: Iterable[Sequence[str]]) -> bool:
    """Return whether a document contains a text of a group, whose texts begin alike; `pool` was read before."""
    later: list[str] = []
    for group in groups:
        if pool.scanned is not None and not pool.scanned.issuperset(group):
            later += group
        elif any(map(re.compile("|".join(map(re.escape, group))).search, pool.texts)):
            return True
    if not later:
        return False
    documents = Documents(store)
    scanner = make_scanner(store.context, store.private, large=documents.size() > MANY_BYTES)
    return bool(documents.scan(scanner, later, lambda _: True))


class Documents:
    """The files of the working tree by path, and the days kept from history by keys that begin with `/`."""

    def __init__(self, store: Store, *, listed: bool = True) -> None:
        """List the documents; without `listed` only the days of history."""
        self._root = store.documents
        self._private = store.private
        self._paths = list_paths(store.documents) if listed else []
        there = frozenset(self._paths) if listed else None
        self._days = {f"/{FOLDER}/{day.name}": day for day in kept_days(store.private, there)}
        self.keys = [*self._paths, *self._days]
        self._versions: dict[str, FileVersion | None] = {}

    @property
    def covered(self) -> frozenset[str]:
        """The days kept from history, and their weeks: weeks and months only repeat them."""
        days = {day.day for day in self._days.values()}
        return frozenset(days.union(map(week_name, days)))

    def allowed(self, allow: Callable[[str], bool]) -> Callable[[str], bool]:
        """Return `allow`, which takes paths, as a test of keys."""
        return lambda key: allow(day.path if (day := self._days.get(key)) else key)

    def stat(self, key: str) -> FileVersion | None:
        """Return a file's size and times when first asked for, or None if it is gone."""
        if key not in self._versions:
            place = (self._private, key[1:]) if key in self._days else (self._root, key)
            self._versions[key] = stat_file(*place)
        return self._versions[key]

    def are_few(self, most: int) -> bool:
        """Return whether they are so few, and have so few bytes (`most`), that a search reads them all."""
        return len(self.keys) <= FEW_FILES and self.size() <= most

    def size(self) -> float:
        """Return the bytes of all files, estimated from a sample if there are many."""
        sample = self.keys[:: max(len(self.keys) // _WEIGHED_FILES, 1)]
        sizes = [file.size for key in sample if (file := self.stat(key)) is not None]
        return sum(sizes) * len(self.keys) / max(len(sizes), 1)

    def sample(self, size: float) -> tuple[list[str], float]:
        """Return some of the texts, and how many times larger all files are."""
        step = max(len(self.keys) // _SAMPLED_FILES, 1)
        some = self.load_all(self.keys[step // 2 :: step])
        return [units.low for units in some], size / max(sum(units.size for units in some), 1)

    def load(self, key: str, file: FileVersion) -> Units:
        """Return a file cut into units."""
        day = self._days.get(key)
        return load(self._private if day else self._root, file, day)

    @property
    def days(self) -> list[str]:
        """The keys of the days."""
        return [*self._days]

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield key and text of all documents outside `LINKED`, alternating between folders, the newest last."""
        for key in reversed(alternated(key for key in self.keys if not key.startswith(LINKED))):
            root, path = (self._private, key[1:]) if key in self._days else (self._root, key)
            yield key, read_file(root, path).decode("utf-8", "replace")

    def load_all(self, keys: Iterable[str]) -> list[Units]:
        """Return the existing ones of these files, cut into units."""
        return [self.load(key, file) for key in keys if (file := self.stat(key)) is not None]

    def scan(self, scanner: Scanner, literals: Sequence[str], allow: Callable[[str], bool]) -> Lines:
        """Return the lines of allowed files that contain one of the literals, by key."""
        lines_of = scanner.scan(self._root, self._paths, literals)
        if self._days:
            past = scanner.scan(self._private, [key[1:] for key in self._days], literals)
            lines_of = {**lines_of, **{f"/{path}": lines for path, lines in past.items()}}
        return {key: lines_of[key] for key in filter(self.allowed(allow), filter(lines_of.__contains__, self.keys))}


def _in_texts(
    store: Store, terms: Sequence[Term], literals: Sequence[str], allow: Callable[[str], bool], most: int
) -> Pool | None:
    """Search the written texts of a large store, for common words only the newest lines; None without texts."""
    documents = Documents(store, listed=False)
    texts = open_texts(store, documents.days) if terms else None
    if texts is None:
        return None
    sample = texts.sample()
    rarity = Rarity(sample, texts.size / max(sum(map(len, sample)), 1), terms, literals, HURRIED_BUDGET)

    def scan(part: list[str]) -> Lines:
        rare = [literal for literal in part if rarity.estimate(literal) <= HURRIED_BUDGET]
        lines_of = texts.scan(rare, make_rg(store.context) if texts.size > FEW_HURRIED_BYTES else None) if rare else {}
        for literal in part:
            if literal not in rare:
                add_lines(lines_of, texts.newest(literal, _NEWEST))
        return {key: lines_of[key] for key in filter(documents.allowed(allow), lines_of)}

    lines, scanned = rarity.scan(scan, most)
    unscanned = rarity.unscanned([literal for literal in scanned if rarity.estimate(literal) <= HURRIED_BUDGET])
    newest = dict(reversed(lines.items()))
    chosen = _chosen(documents, texts.size, newest, terms, unscanned, most=most)
    return chosen._replace(complete=False)


def _want_texts(store: Store) -> None:
    """Start a background process to write the texts, unless one was started; each commit renews them."""
    try:
        os.mkdir(os.path.join(store.private, TEXTS), 0o700)
    except OSError:
        return
    store.start("reindex", "--background")


def renew_texts(store: Store) -> None:
    """Write the texts of a store with many files, unless the existing ones are usable.

    Raises OSError if a write failed, BusyError if another process is writing.
    """
    folder = os.path.join(store.private, TEXTS)
    documents = Documents(store)
    if not documents.are_few(FEW_HURRIED_BYTES):
        os.makedirs(folder, 0o700, exist_ok=True)
        with store.folder_lock(folder, "texts").acquire(_PATIENCE):
            texts = open_texts(store, documents.days)
            if texts is None or texts.are_worn:
                write_texts(store, documents.days, documents.texts())


def _times(whole: float, part: float) -> float:
    """Return the ratio of a whole to its part, 1 for an empty part."""
    return max(whole / part, 1.0) if part else 1.0


def load(root: str, file: FileVersion, day: KeptDay | None = None) -> Units:
    """Return a file, or the copy of a day, cut into units; the last ones used are cached."""
    return (_kept if file.size <= _KEPT_BYTES else _kept.__wrapped__)(root, file, day)


@lru_cache(maxsize=_KEPT_FILES)
def _kept(root: str, file: FileVersion, day: KeptDay | None) -> Units:
    data = read_file(root, file.path)
    return Units(day.path, data, day.commit) if day else Units(file.path, data)


def revision(store: Store, commit: str, literals: Sequence[str], allow: Callable[[str], bool]) -> Pool:
    """Search the files of a commit."""
    files = [file for file in store.repository.files(commit) if file.mode[:3] == "100" and is_searched(file.path)]
    matching = matching_paths(store, commit, literals)
    matches = [file for file in files if file.path in matching and allow(file.path)]
    contents = store.repository.blobs([file.oid for file in matches])
    read = [Units(file.path, data) for file, data in zip(matches, contents, strict=True)]
    return Pool(read, _times(sum(file.size for file in files), sum(file.size for file in matches)))


def transcripts(store: Store, literals: Sequence[str], allow: Callable[[str], bool]) -> Pool:
    """Search the raw transcripts; each line of one is a unit."""
    from gitmem.store.transcripts import tips

    commits = dict.fromkeys(tips(store).values())
    lines: dict[str, dict[int, str]] = {}
    for line in matching_lines(store, [*commits], literals, below="sessions", most=_PER_FILE) if commits else ():
        if allow(line.path):
            lines.setdefault(line.path, {})[line.number] = _message(line.text)
    return Pool([Excerpts(path, sorted(by_line.items())) for path, by_line in sorted(lines.items())])


def _message(line: str) -> str:
    """Return a line of a transcript as time, role and text."""
    try:
        value = json.loads(line)
        text = value.get("text") or json.dumps(value.get("input", ""), ensure_ascii=False)
        return f"{value.get('at', '')} {value.get('role', '')}: {text}".strip()
    except (ValueError, AttributeError, RecursionError):
        return line


def lost(store: Store, literals: Sequence[str], allow: Callable[[str], bool]) -> Pool:
    """Search the lines that commits removed and that no file has any more."""
    present = _present(store)
    lines: dict[tuple[str, str], list[tuple[int, str]]] = {}
    seen: set[str] = set()
    for line in removed_lines(store, literals):
        bare, low = line.text.strip(), fold(line.text)
        if bare in present or bare in seen or not is_searched(line.path) or not allow(line.path):
            continue
        if any(literal in low for literal in literals):
            seen.add(bare)
            lines.setdefault((line.path, line.commit), []).append((line.number, line.text))
    return Pool([Excerpts(path, excerpts, commit) for (path, commit), excerpts in lines.items()])


def _present(store: Store) -> set[str]:
    """Return the lines of all files, stripped."""
    return {
        line.strip()
        for path in list_paths(store.documents)
        for line in read_file(store.documents, path).decode("utf-8", "replace").split("\n")
    }
