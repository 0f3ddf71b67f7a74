"""Words of development that stand for each other, English and Korean: for queries (`gitmem.search`).

A line of `gitmem/data/synonyms.txt` are words for one thing. Tested through `tests/search/query/test_query.py`.
"""

from __future__ import annotations

import os
from functools import cache

from gitmem.text.stems import hangul_stem, stem

_FILE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "synonyms.txt")
_COMMENT = "#"
_KEPT = 2  # characters at the beginning of a word that its stem keeps: only words that share them are stemmed


def kindred(word: str) -> tuple[str, ...]:
    """Return the synonyms of a word, in lower case; most words have none."""
    key = _key(word)
    found: dict[str, None] = {}
    for listed, others in _lists().get(word[:_KEPT], ()):
        if _key(listed) == key:
            found.update((other, None) for other in others if other != listed)
    return tuple(found)


@cache
def _lists() -> dict[str, list[tuple[str, list[str]]]]:
    """Return each word of the file with its synonyms, by the beginning of the word."""
    found: dict[str, list[tuple[str, list[str]]]] = {}
    with open(_FILE, encoding="utf-8") as file:
        lines = [line.split() for line in file if not line.startswith(_COMMENT)]
    for words in lines:
        for word in words:
            found.setdefault(word[:_KEPT], []).append((word, words))
    return found


def _key(word: str) -> str:
    if word.isascii():
        return stem(word) if word.isalpha() else word
    return hangul_stem(word)
