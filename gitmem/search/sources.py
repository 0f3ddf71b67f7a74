"""Where a search looks: the files of the work tree, of a revision, what history has lost, and transcripts.

Each source returns what of it is worth ranking, cut into units, and how much of the whole that is.
"""

from __future__ import annotations

from _thread import allocate_lock as Lock  # noqa: N812  # `threading` takes a search a millisecond to import

from gitmem.search.files import is_searched, list_paths, look_at, read_file
from gitmem.search.hits import day_of
from gitmem.search.query.query import fold
from gitmem.search.units.units import Excerpts, Units
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gitmem.search.files import File
    from gitmem.search.query.query import Term
    from gitmem.search.scan.base import Line, Scanner
    from gitmem.store.store import Store

MOST_FILES = 60  # that are read and ranked
FEW_BYTES = 2_000_000  # of a store that is read as a whole: ripgrep takes longer to begin than it would spare
MANY_BYTES = 8_000_000  # of a store in which a query of common words gets a budget
MANY_FILES = 400  # that are read where a query is narrowed by what only reading tells
BUDGET = 2_000  # lines that are looked for in one
_SAMPLED_FILES = 24
_WEIGHED_FILES = 200  # whose sizes tell that of the whole
_NEIGHBOURS = 3  # lines apart at which two lines count as one place when files are chosen
_KEPT_CHARACTERS = 16_000_000  # of files that a process keeps read
_UNDATED = "9999"
_PER_FILE = 200  # lines of one transcript


class Pool(Value):
    """What a source found: the files read, how many times the whole is larger, and the share of lines that is in it.

    `estimated` has the number of lines in the whole in which the terms stand that were not looked for.
    """

    read: list[Units]
    times: float = 1.0
    share: float = 1.0
    estimated: Mapping[int, float] = {}  # never changed


def work_tree(
    store: Store,
    scanner: Scanner | None,
    terms: Sequence[Term],
    literals: Sequence[str],
    allow: Callable[[str], bool],
    *,
    most: int = MOST_FILES,
) -> Pool:
    """Look at the files as they are now, with the best scanner there is if none is given; `most` of them are read."""
    paths = list_paths(store.root)
    size = estimate_size(store.root, paths)
    share = 1.0
    estimated: dict[int, float] = {}
    if scanner is None and len(paths) <= MOST_FILES and size <= FEW_BYTES:
        everything = _load_all(store.root, filter(allow, paths))
        read = [units for units in everything if any(literal in units.low for literal in literals)]
    else:
        from gitmem.search.scan.choose import make_scanner

        if size > MANY_BYTES and len(literals) > 1:
            literals, estimated = within_budget(store.root, paths, size, terms, literals)
        scanner = scanner or make_scanner(store, large=size > MANY_BYTES)
        lines = scanner.scan(store.root, paths, literals)
        chosen, share = choose_files({path: found for path, found in lines.items() if allow(path)}, terms, most)
        read = _load_all(store.root, chosen)
    return Pool(read, _times(size, sum(units.size for units in read)), share, estimated)


def _load_all(root: str, paths: Iterable[str]) -> list[Units]:
    return [load(root, file) for path in paths if (file := look_at(root, path)) is not None]


def _times(whole: float, part: float) -> float:
    """Return how many times a part, which may be nothing, is in the whole."""
    return max(whole / part, 1.0) if part else 1.0


def estimate_size(root: str, paths: Sequence[str]) -> float:
    """Return the bytes of all files, by those of a sample where they are many."""
    sample = paths[:: max(len(paths) // _WEIGHED_FILES, 1)]
    sizes = [file.size for path in sample if (file := look_at(root, path)) is not None]
    return sum(sizes) * len(paths) / max(len(sizes), 1)


def within_budget(
    root: str, paths: Sequence[str], size: float, terms: Sequence[Term], literals: Sequence[str]
) -> tuple[Sequence[str], dict[int, float]]:
    """Return the rarest literals, as many as the budget allows, and for the terms left out in how many lines they are.

    Both are estimated on a sample of the files. What is left out is counted in the files that the others lead to.
    """
    step = max(len(paths) // _SAMPLED_FILES, 1)
    sample = [file for path in paths[step // 2 :: step] if (file := look_at(root, path)) is not None]
    texts = [load(root, file).low for file in sample]
    times = size / max(sum(file.size for file in sample), 1)
    counts = {literal: times * sum(text.count(literal) for text in texts) for literal in literals}
    kept: list[str] = []
    spent = 0.0
    for literal in sorted(literals, key=lambda literal: counts[literal]):
        if kept and spent + counts[literal] > BUDGET:
            break
        kept.append(literal)
        spent += counts[literal]
    estimated = {
        number: max(times * sum(text.count(needle.text) for text in texts) for needle in term.needles)
        for number, term in enumerate(terms)
        if not all(any(literal in needle.text for literal in kept) for needle in term.needles)
    }
    return kept, estimated


def choose_files(
    lines: Mapping[str, Sequence[Line]], terms: Sequence[Term], most: int = MOST_FILES
) -> tuple[list[str], float]:
    """Return the files that are worth reading, and the share of all found lines that stands in them.

    Without terms, those are the newest.
    """
    if len(lines) <= most:
        return sorted(lines), 1.0
    if not terms:
        return sorted(lines, key=lambda path: day_of(path.rpartition("/")[2]) or _UNDATED, reverse=True)[:most], 1.0
    from math import log

    needles = [(needle.text, number) for number, term in enumerate(terms) for needle in term.needles]
    marked = {path: [(line.number, _terms_in(line, needles)) for line in found] for path, found in lines.items()}
    total = sum(map(len, lines.values()))
    counts = [0] * len(terms)
    for found in marked.values():
        for _, present in found:
            for term in present:
                counts[term] += 1
    says = [term.weight * log(1 + total / (count + 1)) for term, count in zip(terms, counts, strict=True)]
    best = sorted(marked, key=lambda path: (-_promise(marked[path], says), path))[:most]
    return sorted(best), sum(len(lines[path]) for path in best) / total


def _terms_in(line: Line, needles: Sequence[tuple[str, int]]) -> set[int]:
    low = fold(line.text)
    return {number for text, number in needles if text in low}


def _promise(found: Sequence[tuple[int, Iterable[int]]], says: Sequence[float]) -> float:
    """Return how good the best place of a file looks: what the different terms say in lines next to each other."""
    best, start = 0.0, 0
    for end, (number, _) in enumerate(found):
        while found[start][0] < number - _NEIGHBOURS:
            start += 1
        window = {term for _, present in found[start : end + 1] for term in present}
        best = max(best, sum(says[term] for term in window))
    return best


class _Read:
    """The files that were read last, within a bound."""

    def __init__(self) -> None:
        self._files: dict[tuple[str, str], tuple[File, Units]] = {}
        self._characters = 0
        self._lock = Lock()

    def get(self, root: str, file: File) -> Units | None:
        """Return a file that was read and has not changed since."""
        with self._lock:
            known = self._forget((root, file.path))
            if known is None or known[0] != file:
                return None
            self._keep((root, file.path), known)
            return known[1]

    def put(self, root: str, file: File, units: Units) -> None:
        """Keep a file, and let go of those that were not asked for longest."""
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


_read = _Read()


def load(root: str, file: File) -> Units:
    """Return a file cut into units; a process that searches again reads only what has changed."""
    units = _read.get(root, file)
    if units is None:
        units = Units(file.path, read_file(root, file.path))
        _read.put(root, file, units)
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
