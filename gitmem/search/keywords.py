"""The keywords of a store: the words of most entries, counted on each call (docs/spec.md P5, V5).

In a store of many files the numbers are estimated from some of them, spread over all folders and times.

Tested through `tests/cli/commands/test_keywords.py`.
"""

from __future__ import annotations

import re
from collections import Counter

from gitmem.model.ids import ID_FORM
from gitmem.model.paths import ARCHIVE, FACTS, summary_path
from gitmem.model.session.fields import without_labels
from gitmem.search.files import list_paths, stat_file
from gitmem.search.sources import load
from gitmem.search.units.cut import FIELD, HEADING
from gitmem.search.units.units import LINKED, first_line
from gitmem.text.keywords import keywords as words_of
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitmem.search.units.units import Units
    from gitmem.store.store import Store

LIMIT = 50
MOST_FILES = 500  # read
_DECLARED = "keywords"  # the field of a fact's header
_COMMON = 0.5  # of all units: a word in more of them is no keyword
_FEW = 8  # units below which no word is too common
_ID = rf"\^{ID_FORM}\b"


class Keyword(Value):
    """A word in its most frequent form, and the number of entries and sections that have it."""

    word: str
    count: int


def keywords(store: Store, limit: int = LIMIT) -> tuple[list[Keyword], bool]:
    """Return at most `limit` words of entries and sections, the most frequent first, and whether they are estimated.

    The limit 0 stands for all.
    """
    files = sorted(_files(store), key=lambda path: not path.startswith(f"{FACTS}/"))
    step = max(len(files) / MOST_FILES, 1.0)
    read = [files[int(place * step)] for place in range(int(len(files) / step))]
    counts: Counter[str] = Counter()
    written: dict[str, Counter[str]] = {}
    total = 0
    for text in _memories(store, read):
        total += 1
        for key, word in dict(_keys(text)).items():
            counts[key] += 1
            written.setdefault(key, Counter())[word] += 1
    most = total * _COMMON if total > _FEW else total
    ranked = sorted(counts, key=lambda key: (-counts[key], key))
    kept = [
        Keyword(written[key].most_common(1)[0][0], round(counts[key] * step)) for key in ranked if counts[key] <= most
    ]
    return kept[: limit or None], step > 1


def _files(store: Store) -> list[str]:
    """Return the documents without those that only repeat others: concepts, episodes, summaries of archives."""
    paths = list_paths(store.root)
    again = {summary_path(path) for path in paths if path.startswith(f"{ARCHIVE}/")}
    return [path for path in paths if not path.startswith(LINKED) and path not in again]


def _memories(store: Store, paths: Sequence[str]) -> Iterator[str]:
    """Yield the text of each memory of some files once; copies in later files are skipped."""
    seen: set[str] = set()
    for path in paths:
        file = stat_file(store.root, path)
        if file is None:
            continue
        units = load(store.root, file)
        if path.startswith(f"{FACTS}/"):
            seen.update({units.named} - {""})
            yield "\n".join(_texts(units, fields=(_DECLARED,)))
            continue
        for index in range(len(units)):
            memory = units.memory(index)
            if memory not in seen and units.kind(index) not in {HEADING, FIELD}:
                seen.update({memory} - {""})
                yield _text(units, index)


def _texts(units: Units, fields: Sequence[str]) -> Iterator[str]:
    """Yield the texts of a document and of these fields of its header."""
    for index in range(len(units)):
        kind, unit = units.kind(index), units.unit(index)
        if kind == FIELD and unit.name in fields:
            yield units.text[unit.start + len(unit.name) + 1 : unit.end]
        elif kind not in {HEADING, FIELD}:
            yield _text(units, index)


def _text(units: Units, index: int) -> str:
    """Return the text of a unit, without its frame and the labels of its lines."""
    unit = units.unit(index)
    head = first_line().match(units.text, unit.start, unit.end)
    return without_labels(re.sub(_ID, "", units.text[head.end("tags") if head else unit.start : unit.end]))


def _keys(text: str) -> Iterator[tuple[str, str]]:
    """Yield the stem and the word of each keyword in a text; of a path the name of its file."""
    for key, word in words_of(text):
        if "/" in key:
            yield from words_of(key.rpartition("/")[2])
        else:
            yield key, word.casefold()
