"""One search over many stores (spec T7): ripgrep over all their files, our ranking over the best of them.

The files themselves are the index. Words that are in very many files are looked for only where the rarer words of the
query are not in files enough.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from typing import TYPE_CHECKING

from gitmem.document.ids import FORMAT
from gitmem.errors import GitmemError, UsageError
from gitmem.history.authors import People
from gitmem.platform.programs import find_program
from gitmem.platform.spawn import Child
from gitmem.search.dedupe import BUDGET, Rarity
from gitmem.search.engine import LIMIT, fits, literals_of, marked, once, rank, with_authors, without_views
from gitmem.search.files import is_searched, list_paths, read_file
from gitmem.search.filters import read_filters
from gitmem.search.hits import make_hit
from gitmem.search.query import fold, parse_query
from gitmem.search.rank import worths
from gitmem.search.scan import PythonScanner
from gitmem.search.sources import Pool
from gitmem.search.units import Units
from gitmem.store.known_facts import marks_for
from gitmem.store.locate import STORE_FOLDER, is_store, known_stores
from gitmem.store.store import Store
from gitmem.values import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from gitmem.platform.clock import Context
    from gitmem.search.hits import Hit
    from gitmem.search.query import Query
    from gitmem.search.rank import Ranked

    Lines = dict[str, set[str]]  # which texts a file has, by its absolute path

ALL = "all"  # all stores that were made, cloned or accepted here
MOST_FILES = 60  # read and ranked
_DEEPEST = 4  # folders between the one that is named and a store
_MOST_STORES = 20_000
_SAMPLED = 24
_PER_FILE = 3  # lines of a file that count for a common word
_SECONDS = 60.0
_RG = (
    *("--no-config", "--no-ignore", "--text", "--encoding=none", "--ignore-case", "--fixed-strings", "--glob=*.md"),
    *("--heading", "--no-line-number", "--with-filename", "--null", "--color=never", "--no-messages"),
    "--only-matching",
)


class StoreHit(Value):
    """A hit, and the folder of its store."""

    store: str
    hit: Hit


class StoresAnswer(Value):
    """The hits over many stores, the number of stores, and the folders of those not read: damaged, or opened."""

    hits: list[StoreHit]
    stores: int
    unreadable: tuple[str, ...] = ()


def find_stores(where: str, home: str) -> list[str]:
    """Return the stores below a folder, or, for `all`, those that were made, cloned or accepted on this machine."""
    if where != ALL:
        return sorted(_below(os.path.abspath(where), 0))[:_MOST_STORES]
    return list(filter(_is_memory, known_stores(home)))[:_MOST_STORES]


def _is_memory(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, FORMAT)) and is_store(folder)


def _below(folder: str, depth: int) -> Iterator[str]:
    """Yield a folder that is a store, or the stores in it; links are not followed."""
    if _is_memory(folder):
        yield folder
        return
    try:
        with os.scandir(folder) as entries:
            inner = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    if STORE_FOLDER in inner and _is_memory(os.path.join(folder, STORE_FOLDER)):
        yield os.path.join(folder, STORE_FOLDER)
    if depth < _DEEPEST:
        for name in inner:
            if not name.startswith("."):
                yield from _below(os.path.join(folder, name), depth + 1)


def search_stores(
    roots: Sequence[str], context: Context, text: str, *, limit: int = LIMIT, ended: bool = False
) -> StoresAnswer:
    """Return the best memories of many stores, at most `limit`; facts that no longer hold only if `ended`.

    Raises:
        UsageError: the query has no words, or a filter that is one store's own.

    """
    query = parse_query(text)
    if not query.terms or query.filter("session") or query.filter("author"):
        raise UsageError("A search of many stores needs words, and takes no session: and author:.", "Give words.")
    if not roots:
        return StoresAnswer([], 0)
    lines = _scan(roots, context, query)
    ranked = _ranked(roots, lines, query, context)
    return _answer(ranked, context, query, len(roots), limit=limit, ended=ended)


def _scan(roots: Sequence[str], context: Context, query: Query) -> Lines:
    """Return which files of the stores have which texts of the query, the rarest first, until there are enough."""
    sample = roots[:: max(len(roots) // _SAMPLED, 1)]
    paths = {root: [f"{root}/{path}" for path in list_paths(root)] for root in sample}
    every = [path for inner in paths.values() for path in inner]
    texts = [_text(path, sample) for path in every[:: max(len(every) // _SAMPLED, 1)]]
    literals = literals_of(query.terms)
    times = len(every) / max(len(texts), 1) * len(roots) / len(sample)
    rarity = Rarity([fold(text) for text in texts], times, query.terms, literals)
    found: Lines = {}
    rg = find_program("rg", context.environ)
    for number, part in enumerate(filter(None, rarity.parts)):
        if number and len(found) >= MOST_FILES:
            break
        common = sum(map(rarity.estimate, part)) > BUDGET
        most = (f"--max-count={_PER_FILE}",) if number or common else ()
        for path, literal in _rg(rg, roots, part, most, context) if rg else _python(roots, part):
            found.setdefault(path, set()).add(literal)
    return found


def _text(path: str, roots: Collection[str]) -> str:
    root = _root_of(path, roots)
    return read_file(root, os.path.relpath(path, root).replace(os.sep, "/")).decode("utf-8", "replace")


def _root_of(path: str, roots: Collection[str]) -> str:
    folder = os.path.dirname(path)
    while folder not in roots and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder


def _rg(
    rg: str, roots: Sequence[str], literals: Sequence[str], most: tuple[str, ...], context: Context
) -> Iterator[tuple[str, str]]:
    command = (rg, *_RG, *most, *(f"--regexp={literal}" for literal in literals), "--", *roots)
    with Child(command, dict(context.environ), stdin=False) as child:
        output, _ = child.communicate(timeout=_SECONDS)
    for file in output.split(b"\n\n"):
        path, _, texts = file.rstrip(b"\n").partition(b"\0")
        yield from (
            (os.fsdecode(path), fold(text.decode("utf-8", "replace"))) for text in set(texts.split(b"\n")) if text
        )


def _python(roots: Sequence[str], literals: Sequence[str]) -> Iterator[tuple[str, str]]:
    for root in roots:
        for path, lines in PythonScanner().scan(root, list_paths(root), literals).items():
            said = fold("\n".join(line.text for line in lines))
            yield from ((f"{root}/{path}", literal) for literal in literals if literal in said)


def _ranked(roots: Sequence[str], lines: Lines, query: Query, context: Context) -> list[tuple[str, Ranked]]:
    """Read the files that have most of the rare words, and rank their memories; each once in its store."""
    known = set(roots)
    having = Counter(text for texts in lines.values() for text in texts)
    worth = {path: sum(math.log(1 + len(lines) / having[text]) for text in texts) for path, texts in lines.items()}
    filters = read_filters(Store(roots[0], context), query)
    place: dict[Units, str] = {}
    chosen = []
    for path in sorted(worth, key=lambda path: (-worth[path], path)):
        root = _root_of(path, known)
        inside = os.path.relpath(path, root).replace(os.sep, "/")
        if is_searched(inside) and filters.allow_path(inside):
            chosen.append(path)
            place[Units(inside, read_file(root, inside))] = root
            if len(place) == MOST_FILES:
                break
    read = list(place)
    times = len(lines) / max(len(read), 1)
    pool = Pool(read, times, _more(lines, chosen, query))
    ranked = [item for item in rank(pool, query) if fits(item, query, filters)]
    ranked.sort(key=lambda item: -item.score)
    by_store: dict[str, list[Ranked]] = {}
    for item in ranked:
        by_store.setdefault(place[item.units], []).append(item)
    each = ((root, item) for root, items in by_store.items() for item in without_views(once(items)))
    return sorted(each, key=lambda pair: (-pair[1].score, pair[0]))


def _more(lines: Mapping[str, set[str]], chosen: Iterable[str], query: Query) -> list[float]:
    """Return for each term how many times more files have it than those that are read."""
    read = [lines[path] for path in chosen]
    more = []
    for term in query.terms:
        needles = [needle.text for needle in term.needles]

        def has(texts: set[str], needles: Sequence[str] = needles) -> bool:
            return any(text in needle for text in texts for needle in needles)

        more.append(max(sum(map(has, lines.values())) / max(sum(map(has, read)), 1), 1.0))
    return more


def _answer(
    ranked: Sequence[tuple[str, Ranked]], context: Context, query: Query, stores: int, *, limit: int, ended: bool
) -> StoresAnswer:
    """Make the hits of the best, with marks on what does not hold in its store."""
    marks, people = {}, {}
    unreadable: dict[str, None] = {}
    top: list[tuple[str, Ranked]] = []
    for root, item in ranked:
        if limit and len(top) == limit:
            break
        if root not in marks and root not in unreadable:
            try:
                store = Store(root, context)
                store.acceptance.check()  # who asks may be an agent
                shown = {one.units.memory(one.index) for name, one in ranked if name == root}
                marks[root], people[root] = marks_for(store, shown), People(store)
            except GitmemError:  # of another format, another user's, or opened
                unreadable[root] = None
        if root in marks and (ended or not marks[root].has_ended(item.units.memory(item.index))):
            top.append((root, item))
    worth = worths([item for _, item in top], query)
    hits = []
    for (root, item), one in zip(top, worth, strict=True):
        hit = marked(make_hit(item)._replace(worth=one, weak=one.weak), marks[root])
        hits.append(StoreHit(root, *with_authors(people[root], [hit])))
    return StoresAnswer(hits, stores, tuple(unreadable))
