"""A search in many stores at once.

Their files are the index: ripgrep over all of them, then a search in each of the most promising stores. Very common
words are looked for only if too few files have the rarer words of the query. Tested through
`tests/search/test_recall.py`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

from gitmem.document.ids import FORMAT
from gitmem.errors import GitmemError, NotFoundError, StoreFormatError, UsageError
from gitmem.git.layout import STORE_FOLDER
from gitmem.platform.machine import Context
from gitmem.search.engine import LIMIT, answer, literals_of
from gitmem.search.files import Lines, PythonScanner, is_searched, list_paths, make_rg, read_file
from gitmem.search.filters import check_types, read_filters
from gitmem.search.hits import Hit
from gitmem.search.query import Query, fold, parse_query
from gitmem.search.scan import BUDGET, Rarity, choose_files
from gitmem.search.sources import MOST_FILES
from gitmem.store.acceptance import known_stores
from gitmem.store.locate import is_store
from gitmem.store.store import Store
from gitmem.values import Value

ALL = "all"  # all stores that were made, cloned or accepted here
_DEEPEST = 4  # folder levels between the named folder and a store
_MOST_STORES = 20_000
_SAMPLED = 24
# For a common word, the beginning of one line of each file suffices.
_ONE_LINE = ("--max-count=1", "--max-columns=500", "--max-columns-preview")


class StoreHit(Value):
    """A hit, and the folder of its store."""

    store: str
    hit: Hit


class StoresAnswer(Value):
    """The hits of many stores, the number of stores, and the folders of those not read: damaged, or not accepted."""

    hits: list[StoreHit]
    stores: int
    unreadable: tuple[str, ...] = ()


def find_stores(where: str, home: str) -> list[str]:
    """Return the stores below a folder, or for `all` those known on this machine; raises NotFoundError."""
    if where != ALL:
        if not os.path.isdir(where):
            remedy = "--stores takes a folder with stores below it, or 'all'."
            raise NotFoundError(f"There is no folder {where}.", remedy)
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
    """Return the best memories of many stores, at most `limit`; facts that are no longer in force only if `ended`.

    Raises UsageError if the query has no words, or a filter that is one store's own.
    """
    query = parse_query(text)
    if not query.terms or query.filter("session") or query.filter("author"):
        raise UsageError("A search of many stores needs words, and takes no session: and author:.", "Give words.")
    hits: list[StoreHit] = []
    unreadable: list[str] = []
    asked = _promising(roots, context, query)[: limit or None] if roots else []
    for root in asked:
        try:
            store = Store(root, context)
            store.acceptance.check()  # the caller may be an agent
            found = answer(store, text, limit=limit, ended=ended, vectors=False).hits
        except GitmemError:  # of another format, another user's, or not accepted
            unreadable.append(root)
            continue
        hits += [StoreHit(root, hit) for hit in found if ended or not (hit.marks and hit.marks.has_ended(hit.entry))]
    if not hits:
        check_types(text)
    hits.sort(key=lambda result: (-result.hit.score, result.store))
    return StoresAnswer(hits[: limit or None], len(roots), tuple(unreadable))


def _promising(roots: Sequence[str], context: Context, query: Query) -> list[str]:
    """Return the stores of the most promising files, each once."""
    lines, filters = _scan(roots, context, query), read_filters(_first(roots, context), query)
    known, stores = set(roots), dict[str, str]()
    for path in sorted(lines):
        root = path
        while root and root not in known:
            root = root[: max(root.rfind(os.sep), 0)]
        name = path[len(root) + 1 :].replace(os.sep, "/")
        if root and is_searched(name) and filters.allow_path(name):
            stores[path] = root
    chosen = choose_files({path: lines[path] for path in stores}, query.terms, MOST_FILES)
    return [*dict.fromkeys(map(stores.__getitem__, chosen.paths))]


def _first(roots: Sequence[str], context: Context) -> Store:
    """Open the first store whose format is known."""
    for root in roots[:-1]:
        with contextlib.suppress(StoreFormatError):
            return Store(root, context)
    return Store(roots[-1], context)


def _scan(roots: Sequence[str], context: Context, query: Query) -> Lines:
    """Return matching lines by file, scanning for the rarest words first until there are enough."""
    sample = roots[:: max(len(roots) // _SAMPLED, 1)]
    every = [(root, path) for root in sample for path in list_paths(root)]
    read = (read_file(*place) for place in every[:: max(len(every) // _SAMPLED, 1)])
    texts = [fold(data.decode("utf-8", "replace")) for data in read]
    times = len(every) / max(len(texts), 1) * len(roots) / len(sample)
    rarity = Rarity(texts, times, query.terms, literals_of(query.terms))
    rg = make_rg(context)

    def scan(part: list[str]) -> Lines:
        few = sum(map(rarity.estimate, part)) > BUDGET
        lines = rg.lines(roots, part, "--glob=*.md", *(_ONE_LINE if few else ())) if rg else None
        return _by_python(roots, part) if lines is None else lines

    return rarity.scan(scan, MOST_FILES)[0]


def _by_python(roots: Sequence[str], literals: Sequence[str]) -> Lines:
    return {
        f"{root}/{path}": block
        for root in roots
        for path, block in PythonScanner().scan(root, list_paths(root), literals).items()
    }
