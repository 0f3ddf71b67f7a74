"""Split a word into runs of one script, which are searched for in different ways.

Tested through `tests/search/query/test_query.py`.
"""

from __future__ import annotations

from bisect import bisect_right

from gitmem.values import Value

WORD, HANGUL, HAN, UNSPACED, MARKED = "word", "hangul", "han", "unspaced", "marked"
# First and last code points, in order. HAN is Chinese and Japanese; UNSPACED scripts have no blanks between words;
# MARKED scripts, those of India, have vowel signs that are not letters.
_RANGES = (
    (0x0900, 0x0DFF, MARKED),
    (0x0E01, 0x0FFF, UNSPACED),  # Thai, Lao, Tibetan
    (0x1000, 0x109F, UNSPACED),  # Burmese
    (0x1100, 0x11FF, HANGUL),
    (0x1780, 0x17FF, UNSPACED),  # Khmer
    (0x3005, 0x3007, HAN),
    (0x3041, 0x3096, HAN),
    (0x309D, 0x30FF, HAN),
    (0x3130, 0x318F, HANGUL),
    (0x31F0, 0x31FF, HAN),
    (0x3400, 0x4DBF, HAN),
    (0x4E00, 0x9FFF, HAN),
    (0xA960, 0xA97F, HANGUL),
    (0xAC00, 0xD7FF, HANGUL),
    (0xF900, 0xFAFF, HAN),
    (0xFF66, 0xFF9F, HAN),
    (0x20000, 0x323AF, HAN),
)
_FIRSTS = [first for first, _, _ in _RANGES]


class Run(Value):
    """Consecutive characters of one script in a word, with their positions."""

    script: str
    text: str
    start: int
    end: int


def runs(word: str) -> list[Run]:
    """Return the runs of a word, without characters that are neither letters nor digits."""
    found = []
    start, script = 0, ""
    for position, character in enumerate(word):
        here = _script(character)
        if here != script:
            if script:
                found.append(Run(script, word[start:position], start, position))
            start, script = position, here
    if script:
        found.append(Run(script, word[start:], start, len(word)))
    return found


def _script(character: str) -> str:
    """Return the script of a character, or "" if it separates words."""
    code = ord(character)
    if code >= _FIRSTS[0]:
        _, last, script = _RANGES[bisect_right(_FIRSTS, code) - 1]
        if code <= last:
            return script
    return WORD if character.isalnum() else ""
