"""Word lists as data, and words: stems, stop words, synonyms, keywords, tokens.

Lists by language are in `gitmem/data/LANGUAGE/NAME.txt`, for speakers to correct, tables in `data/NAME.tsv`.

A phrase consists of plain words. `^` before it ties it to the start of a text, `$` after it to the end; `*` matches up
to 60 characters, at the end the rest of the sentence; `~` before a word lets it begin within a longer one, as Korean
endings do. ` | ` separates the phrases of a row. Every repetition is bounded, so that matching is never slow.

Stems cover English and Korean, keywords also Chinese and Japanese. There is no dictionary or analyser: a morphological
analyser for Korean takes 80 MB and a second to start. An English stem is the beginning of its word, so that it can be
searched for directly. A token is four bytes of UTF-8. A keyword is the stem of a topic word of a text: "rotated" and
"rotations" are the same, and so are "설정을" and "설정은".
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache, lru_cache

from gitmem.platform.machine import DATA, lines, table

_REST = r".{1,200}?(?=[.;!?](?:\s|$)|$)"  # of a sentence


@cache
def words(name: str) -> tuple[str, ...]:
    """Return the words of the lists `NAME.txt` of all languages."""
    return tuple(word for path in files_of(f"{name}.txt") for line in lines(path) for word in line.split())


@cache
def files_of(name: str) -> tuple[str, ...]:
    """Return the files of this name in all language folders."""
    paths = (f"{folder}/{name}" for folder in sorted(os.listdir(DATA)))
    return tuple(path for path in paths if os.path.isfile(os.path.join(DATA, path)))


@cache
def matcher(name: str, kind: str) -> re.Pattern[str]:
    """Return a pattern that matches any of the patterns of a kind, in all languages."""
    forms = (row[1] for path in files_of(name) for row in table(path) if row[0] == kind)
    return re.compile("|".join(forms), re.IGNORECASE)


_CJK = (("\u3040", "\u30ff"), ("\u3400", "\u9fff"), ("\uac00", "\ud7a3"))  # the last is Hangul


@cache
def languages() -> tuple[str, ...]:
    """Return the languages that have cues."""
    return tuple(path.partition("/")[0] for path in files_of("cues.tsv"))


@cache
def phrases(kind: str, language: str = "") -> re.Pattern[str]:
    """Return a pattern for the phrases of a kind of cues in one language, or in all; case is ignored."""
    wanted = (language,) if language else languages()
    cues = (row for file in wanted for row in table(f"{file}/cues.tsv"))
    listed_phrases = (phrase for name, listed, *_ in cues if name == kind for phrase in listed.split(" | "))
    longest_first = sorted(dict.fromkeys(listed_phrases), key=len, reverse=True)
    return re.compile("|".join(map(form, longest_first)) or "(?!)", re.IGNORECASE)


def form(phrase: str) -> str:
    """Return the regular expression of a phrase."""
    start, end = phrase.startswith("^"), phrase.endswith("$")
    words = phrase.strip("^$ ").split()
    pattern = r"^\W*" if start else ""
    before = ""  # the word before, "" after a gap
    for place, word in enumerate(words, 1):
        bare = word.lstrip("~")
        if before:
            pattern += r"\s{0,2}" if _is_cjk(before[-1]) and _is_cjk(bare[:1]) else r"\s{1,3}"
        if word == "*":
            pattern, before = pattern + (_REST if place == len(words) else ".{1,60}?"), ""
            continue
        if not before and not word.startswith("~"):
            is_spaced = bare[:1].isalnum() and (not _is_cjk(bare[:1]) or bare >= _CJK[-1][0])
            pattern += r"(?<![\w'])" if is_spaced else ""
        pattern += re.escape(bare[:-1]) + r"\s?[:\uff1a]" if bare.endswith(":") else re.escape(bare)
        before = bare
    if before[-1:].isalnum() and not _is_cjk(before[-1]):
        pattern += r"(?!\w)"
    return pattern + (r"\W*$" if end else "")


def _is_cjk(character: str) -> bool:
    return any(
        first <= character <= last for first, last in _CJK
    )  # compiled as a pattern, it would cost a hook a millisecond


_VOWELS = frozenset("aeiouy")
_SHORTEST_STEM = 3
# Suffixes that derive a noun or an adjective, the longest first.
_DERIVED = (
    *("ization", "isation", "izer", "ation", "ition", "ement", "ment", "ness", "iti", "ion", "able", "ible", "abl"),
    *("ibl", "ance", "ence", "anc", "enc", "ing", "ive", "iv", "ful", "less", "ism", "ist", "al", "er", "or"),
)
_SHORTEST_ROOT = 5

_LONGEST_ENDING = 5
_SHORTEST_HANGUL = 2  # least syllables of a stem
_ROUNDS = 2  # endings taken off a word: 지명수배+되었던+의 has two


@cache
def stop_words() -> frozenset[str]:
    """Return the words that carry no topic, in any language."""
    return frozenset(words("stops"))


@cache
def _irregular() -> dict[str, tuple[str, ...]]:
    families = [tuple(line.split()) for line in lines("en/forms.txt")]
    return {form: family for family in families for form in family}


@cache
def _endings() -> frozenset[str]:
    return frozenset(words("endings"))


def other_forms(word: str) -> tuple[str, ...]:
    """Return the other forms of an irregular English word: "buy" for "bought"."""
    return tuple(form for form in _irregular().get(word, ()) if form != word)


def stem(word: str) -> str:
    """Return the stem shared by all regular forms of a lower-case English word; other words unchanged.

    It is a prefix of the word, except that a final `y` becomes `i` as in the plural: see `literal_of`.
    """
    if len(word) <= _SHORTEST_STEM or not word.isascii() or not word.isalpha():
        return word
    return _final(_without_suffix(word))


def root(key: str) -> str:
    """Return a stem without its derivational suffix: `token` of `tokenization`."""
    for suffix in _DERIVED:
        base = key.removesuffix(suffix)
        if base != key and len(base) >= _SHORTEST_ROOT:
            return base
    return key


def literal_of(word: str, key: str) -> str:
    """Return the prefix shared by all forms of `word`, to search files for."""
    return key if word.startswith(key) else key[:-1]


def _without_suffix(word: str) -> str:
    if word.endswith(("ies", "ied")) and len(word) > _SHORTEST_STEM + 1:
        return word[:-2]
    for suffix in ("ingly", "edly", "ing", "ed"):
        base = word.removesuffix(suffix)
        if base != word and len(base) >= _SHORTEST_STEM and not _VOWELS.isdisjoint(base):
            return base
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word[:-2] if word.endswith("ly") and len(word) > _SHORTEST_STEM + 2 else word


def _final(base: str) -> str:
    """Normalise the end of a stem: `hopp` to `hop`, `make` to `mak`, `story` to `stori`."""
    if len(base) <= _SHORTEST_STEM:
        return base
    if base[-1] == base[-2] and base[-1] not in "aeiouls":
        return base[:-1]
    if base.endswith("e"):
        return base[:-1]
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "i"
    return base


def is_ending(text: str) -> bool:
    """Return whether a run of Hangul is only a particle or ending, as after a Latin word: `API를`."""
    return text in _endings()


def hangul_stem(word: str) -> str:
    """Return a Hangul word without its particles and endings."""
    endings = _endings()
    for _ in range(_ROUNDS):
        if word.endswith(words("loanwords")):
            break
        longest = min(_LONGEST_ENDING, len(word) - _SHORTEST_HANGUL)
        cut = next((size for size in range(longest, 0, -1) if word[-size:] in endings), 0)
        if not cut:
            break
        word = word[:-cut]
    return word


BYTES_PER_TOKEN = 4


def tokens_of_size(size: int) -> int:
    """Return the estimated tokens of `size` bytes, rounded up."""
    return -(-size // BYTES_PER_TOKEN)


def utf8_size(text: str) -> int:
    """Return the size of a text in bytes; a lone surrogate (a byte that was not UTF-8) counts one."""
    return len(text.encode("utf-8", "replace"))  # "?" for a surrogate: one byte too, and never an error


def estimate_tokens(text: str) -> int:
    """Return the estimated tokens of a text: "Hello World" is 3, ten Hangul syllables are 8."""
    return tokens_of_size(utf8_size(text))


_KEPT = 2  # first characters that a word and its stem share, used as an index


def synonyms(word: str) -> tuple[str, ...]:
    """Return the synonyms of a word, in lower case; most words have none."""
    key = _stem_of(word)
    words: dict[str, None] = {}
    for listed, others in _synonyms().get(word[:_KEPT], ()):
        if _stem_of(listed) == key:
            words.update((word, None) for word in others if word != listed)
    return tuple(words)


@cache
def _synonyms() -> dict[str, list[tuple[str, list[str]]]]:
    """Return each word of the file with its synonyms, by the beginning of the word."""
    by_word: dict[str, list[tuple[str, list[str]]]] = {}
    for line in lines("synonyms.txt"):
        same = line.split()
        for word in same:
            by_word.setdefault(word[:_KEPT], []).append((word, same))
    return by_word


def _stem_of(word: str) -> str:
    if word.isascii():
        return stem(word) if word.isalpha() else word
    return hangul_stem(word)


_LONGEST_WORD = 40  # characters of a word; longer ones are hashes and data
_SHORTEST_WORD = 2  # letters of a word: "uv", "db"
_SHORTEST_ATION = 8  # letters: "rotation" is a form of "rotate", "station" is not one of "state"
# Identifiers and file names are one word; so is a run of Hangul, kana or Han, and a number with its counter ("5회로").
_LATIN = r"A-Za-zÀ-ɏ\u0370-\u10ff\u1200-\u1fff"  # includes the scripts from Greek to Georgian, and from Ethiopic on
_WORD = (
    rf"(?<![0-9{_LATIN}])(?:[{_LATIN}_][{_LATIN}0-9_]*(?:[./-][{_LATIN}0-9_]+){{0,6}}|[0-9]+[가-힣]+)"
    r"|[가-힣]+|[ァ-ヶー]{2,}|[一-鿿]{2,}"
)
_REDACTED, _MARKER = "[REDACTED:", r"\[REDACTED:[a-z-]{1,40}\]"  # the placeholder of a secret


@cache
def _stop() -> frozenset[str]:
    """Return stop words, words common in all reports of agents, and their stems."""
    empty = [*words("noise"), *stop_words()]
    return frozenset([*empty, *map(_key, empty)])


def keywords(text: str) -> Iterator[tuple[str, str]]:
    """Yield each topic word of a text, as (stem, word as written)."""
    stop = _stop()
    if _REDACTED in text:
        text = re.sub(_MARKER, " ", text)
    for match in re.finditer(_WORD, text):
        word = match[0]
        if len(word) > _LONGEST_WORD or word[0].isdecimal():
            continue
        if "가" <= word[0] <= "힣":
            key = _hangul_key(word)
            after_code = text[match.start() - 1 : match.start()] == "`" and is_ending(word)
            empty = key in stop or word in stop or key.endswith(words("asking"))
            if len(key) > 1 and not empty and not after_code:
                yield key, key
        elif word[0] > "\u3000":
            yield word, word
        else:
            folded = word.strip("_").casefold()
            key = _key(folded)
            # The stem of "settings" is that of the stop word "set".
            empty = folded in stop or (key in stop and len(key) > _SHORTEST_STEM)
            if len(key) >= _SHORTEST_WORD and not empty and not _is_hash(folded):
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
