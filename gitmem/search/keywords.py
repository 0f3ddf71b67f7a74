"""The keywords of a store: the words of most entries, counted on each call (docs/spec.md P5, V5).

Tested through `tests/cli/commands/test_keywords.py`.
"""

from __future__ import annotations

import re
from collections import Counter

from gitmem.model.entry.entry import without_ids
from gitmem.model.paths import ARCHIVE, FACTS, summary_path
from gitmem.search.files import list_files
from gitmem.search.sources import load
from gitmem.search.units.cut import FIELD, HEADING
from gitmem.search.units.units import first_line
from gitmem.text.keywords import keywords as words_of
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitmem.search.units.units import Units
    from gitmem.store.store import Store

LIMIT = 50
_LISTS = "concepts/"  # lists of links to exchanges, in words of theirs
_DECLARED = "keywords"  # the field of a fact's header
# What gitmem writes before the words of a person or an agent, line by line (docs/format.md, "Turns", "Sessions").
_LABELS = re.compile(
    r"(?m)^[ \t]*(?:(?:\*\*Outcome:\*\*|Outcome:|결과:) \w+$|\*\*(?:Answer|Noted|Error|Files):\*\*"
    r"|(?:Asked|Done|Files|Files modified|Failed|Keywords|요청|한 일|파일|실패|키워드):)"
)
_COMMON = 0.5  # of all units: a word in more of them is no keyword
_FEW = 8  # units below which no word is too common


class Keyword(Value):
    """A word in its most frequent form, and the number of entries and sections that have it."""

    word: str
    count: int


def keywords(store: Store, limit: int = LIMIT) -> list[Keyword]:
    """Return at most `limit` words of entries and sections, the most frequent first; all with 0."""
    counts: Counter[str] = Counter()
    written: dict[str, Counter[str]] = {}
    total = 0
    for text in _memories(store):
        total += 1
        for key, word in dict(_keys(text)).items():
            counts[key] += 1
            written.setdefault(key, Counter())[word] += 1
    most = total * _COMMON if total > _FEW else total
    ranked = sorted(counts, key=lambda key: (-counts[key], key))
    kept = [Keyword(written[key].most_common(1)[0][0], counts[key]) for key in ranked if counts[key] <= most]
    return kept[: limit or None]


def _memories(store: Store) -> Iterator[str]:
    """Yield the text of each memory once, facts first; copies in later files are skipped.

    Concepts, and summaries of archives in the tree, only repeat other memories and are skipped.
    """
    seen: set[str] = set()
    files = sorted(list_files(store.root), key=lambda file: not file.path.startswith(f"{FACTS}/"))
    again = {summary_path(file.path) for file in files if file.path.startswith(f"{ARCHIVE}/")}
    for file in files:
        if file.path.startswith(_LISTS) or file.path in again:
            continue
        units = load(store.root, file)
        if file.path.startswith(f"{FACTS}/"):
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
    return re.sub(_LABELS, "", without_ids(units.text[head.end("tags") if head else unit.start : unit.end]))


def _keys(text: str) -> Iterator[tuple[str, str]]:
    """Yield the stem and the word of each keyword in a text; of a path the name of its file."""
    for key, word in words_of(text):
        if "/" in key:
            yield from words_of(key.rpartition("/")[2])
        else:
            yield key, word.casefold()
