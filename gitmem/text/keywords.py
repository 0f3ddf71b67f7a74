"""Keywords: words for the subject of a text, in English, Korean, Chinese and Japanese.

A keyword is a stem (`gitmem.text.stems`): "rotated" and "rotations" are one, "설정을" and "설정은" too. Everything is
linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from gitmem.text.data import words
from gitmem.text.stems import hangul_stem, is_ending, stem, stop_words

_LONGEST = 40  # characters of a word; longer ones are hashes and data
_SHORTEST = 2  # letters of a word: "uv", "db"
_SHORTEST_STEM = 3  # letters of a stem that stands for its word
_SHORTEST_ATION = 8  # letters: "rotation" is a form of "rotate", "station" is not one of "state"
# Identifiers and file names are one word; so is a run of Hangul, kana or Han, and a number with its counter ("5회로").
_LATIN = "A-Za-zÀ-ɏЀ-ӿ"
_WORD = (
    rf"(?<![0-9{_LATIN}])(?:[{_LATIN}_][{_LATIN}0-9_]*(?:[./-][{_LATIN}0-9_]+){{0,6}}|[0-9]+[가-힣]+)"
    r"|[가-힣]+|[ァ-ヶー]{2,}|[一-鿿]{2,}"
)
_REDACTED, _MARKER = "[REDACTED:", r"\[REDACTED:[a-z-]{1,40}\]"  # the placeholder of a secret


@cache
def _stop() -> frozenset[str]:
    """Return the words without a topic, those that every report of an agent is full of, and their stems."""
    empty = [*words("noise"), *stop_words()]
    return frozenset([*empty, *map(_key, empty)])


@cache
def _word_form() -> re.Pattern[str]:
    return re.compile(_WORD)


def keywords(text: str) -> Iterator[tuple[str, str]]:
    """Yield each word of a text that carries a topic: its stem, and the word as it is written."""
    stop = _stop()
    if _REDACTED in text:
        text = re.sub(_MARKER, " ", text)
    for match in _word_form().finditer(text):
        word = match[0]
        if len(word) > _LONGEST or word[0].isdecimal():
            continue
        if "가" <= word[0] <= "힣":
            key = _hangul_key(word)
            after_code = text[match.start() - 1 : match.start()] == "`" and is_ending(word)
            if len(key) > 1 and key not in stop and word not in stop and not after_code:
                yield key, key
        elif word[0] > "\u3000":
            yield word, word
        else:
            folded = word.strip("_").casefold()
            key = _key(folded)
            # The stem of "settings" is that of the stop word "set".
            empty = folded in stop or (key in stop and len(key) > _SHORTEST_STEM)
            if len(key) >= _SHORTEST and not empty and not _is_hash(folded):
                yield key, word


def _is_hash(word: str) -> bool:
    """Return whether a word is hexadecimal with a digit in it."""
    return len(word) > 6 and any(c.isdigit() for c in word) and all(c in "0123456789abcdef-" for c in word)  # noqa: PLR2004


_hangul_key = lru_cache(maxsize=50_000)(hangul_stem)


@lru_cache(maxsize=50_000)
def _key(word: str) -> str:
    """Return the common stem of a folded word's forms, "rotation" and "settings" included; identifiers unchanged."""
    if word.endswith("s") and word.endswith(("ings", "ations")):
        word = word[:-1]
    key = stem(word)
    return key[:-3] if key.endswith("ation") and len(key) >= _SHORTEST_ATION else key
