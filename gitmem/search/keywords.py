"""The keywords of a store: the words of most entries, counted on each call (docs/spec.md P5, V5).

Tested through `tests/cli/commands/test_keywords.py`.
"""

from __future__ import annotations

import re
from collections import Counter

from gitmem.model.entry.entry import without_ids
from gitmem.search.files import list_files
from gitmem.search.query.query import fold
from gitmem.search.sources import load
from gitmem.search.units.cut import FIELD, HEADING
from gitmem.search.units.units import first_line
from gitmem.text.stems import hangul_stem, stem, stop_words
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitmem.store.store import Store

LIMIT = 50
_WORD = re.compile(r"[A-Za-z](?:[A-Za-z0-9_-]*[A-Za-z0-9])?|[\uac00-\ud7a3]+|[^\W\d_a-zA-Z\uac00-\ud7a3]{2,}")
_SHORTEST = 3  # letters of a keyword in a script with letters
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
    seen: set[str] = set()
    total = 0
    for file in list_files(store.root):
        units = load(store.root, file)
        for index in range(len(units)):
            identifier = units.entry_id(index)
            if identifier in seen or units.kind(index) in {HEADING, FIELD}:
                continue
            unit = units.unit(index)
            seen.update({identifier} - {""})
            total += 1
            head = first_line().match(units.text, unit.start, unit.end)
            start = head.end("tags") if head else unit.start
            forms = dict(_keys(without_ids(units.text[start : unit.end])))
            for key, word in forms.items():
                counts[key] += 1
                written.setdefault(key, Counter())[word] += 1
    most = total * _COMMON if total > _FEW else total
    ranked = sorted(counts, key=lambda key: (-counts[key], key))
    kept = [Keyword(written[key].most_common(1)[0][0], counts[key]) for key in ranked if counts[key] <= most]
    return kept[: limit or None]


def _keys(text: str) -> Iterator[tuple[str, str]]:
    """Yield the stem and the word of each possible keyword in a text."""
    stop = stop_words()
    for match in _WORD.finditer(text):
        word = fold(match[0])
        if word in stop or (word.isascii() and len(word) < _SHORTEST):
            continue
        if "\uac00" <= word[0] <= "\ud7a3":
            word = hangul_stem(word)
            if len(word) > 1 and word not in stop:
                yield word, word
        else:
            yield stem(word), word
