"""Word lists by language, which a speaker can correct: `gitmem/data/LANGUAGE/NAME.tsv`, and synonyms.

A phrase is plain words. `^` before it ties it to the start of a text and `$` behind it to the end, `*` stands for up to
60 characters, and `~` before a word lets it begin inside of a longer one, as Korean endings do. Phrases of a row are
parted by ` | `. No repetition is unbounded, so that no text makes matching slow.
"""

from __future__ import annotations

import os
import re
from functools import cache

from gitmem.text.stems import hangul_stem, stem
from gitmem.values import Value

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data")


@cache
def table(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a file such as `effects.tsv`, without comments and empty lines."""
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    return tuple(tuple(line.split("\t")) for line in lines if line and not line.startswith(("#", "kind\t")))


@cache
def files_of(name: str) -> tuple[str, ...]:
    """Return the files of this name of all languages, each a folder."""
    found = (f"{folder}/{name}" for folder in sorted(os.listdir(_FOLDER)))
    return tuple(path for path in found if os.path.isfile(os.path.join(_FOLDER, path)))


@cache
def matcher(name: str, kind: str) -> re.Pattern[str]:
    """Return the form that has one of the forms of a kind, in any language."""
    forms = (row[1] for path in files_of(name) for row in table(path) if row[0] == kind)
    return re.compile("|".join(forms), re.IGNORECASE)


_NOTHING = re.compile(r"(?!)")
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_ENDS_IN_CJK, _BEGINS_IN_CJK = re.compile(rf"[{_CJK}]$"), re.compile(rf"[{_CJK}]")
_HANGUL = re.compile(r"[\uac00-\ud7a3]")


class Row(Value):
    """A row: what its phrases tell, and a text that they find and one that they do not."""

    kind: str
    phrases: tuple[str, ...]
    example: str
    counter: str


@cache
def languages(name: str = "cues") -> tuple[str, ...]:
    """Return the languages that have a list."""
    return tuple(path.partition("/")[0] for path in files_of(f"{name}.tsv"))


@cache
def rows(language: str, name: str) -> tuple[Row, ...]:
    """Return the rows of a list; none if the language lacks it."""
    if language not in languages(name):
        return ()
    return tuple(Row(kind, tuple(said.split(" | ")), *more) for kind, said, *more in table(f"{language}/{name}.tsv"))


@cache
def phrases(name: str, kind: str, language: str = "") -> re.Pattern[str]:
    """Return a pattern for the phrases of a kind in one language, or in all; case is ignored."""
    wanted = (language,) if language else languages(name)
    found = [phrase for one in wanted for row in rows(one, name) if row.kind == kind for phrase in row.phrases]
    longest_first = sorted(dict.fromkeys(found), key=len, reverse=True)
    return re.compile("|".join(map(form, longest_first)), re.IGNORECASE) if found else _NOTHING


def form(phrase: str) -> str:
    """Return the regular expression of a phrase."""
    start, end = phrase.startswith("^"), phrase.endswith("$")
    words = phrase.strip("^$ ").split()
    pattern = r"^\W*" if start else ""
    before = ""  # the word before, "" after a gap
    for word in words:
        bare = word.lstrip("~")
        if before:
            pattern += r"\s{0,2}" if _ENDS_IN_CJK.search(before) and _BEGINS_IN_CJK.match(bare) else r"\s{1,3}"
        if word == "*":
            pattern, before = f"{pattern}.{{1,60}}?", ""
            continue
        if not before and not word.startswith("~"):
            is_spaced = bare[:1].isalnum() and (_HANGUL.match(bare) or not _BEGINS_IN_CJK.match(bare))
            pattern += r"(?<![\w'])" if is_spaced else ""
        pattern += re.escape(bare)
        before = bare
    if before[-1:].isalnum() and not _ENDS_IN_CJK.search(before):
        pattern += r"(?!\w)"
    return pattern + (r"\W*$" if end else "")


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
