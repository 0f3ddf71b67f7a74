"""Word lists by language, which a speaker can correct: `gitmem/data/LANGUAGE/NAME.txt`, and tables, `data/NAME.tsv`.

A phrase is plain words. `^` before it ties it to the start of a text and `$` behind it to the end, `*` stands for up to
60 characters, and `~` before a word lets it begin inside of a longer one, as Korean endings do. Phrases of a row are
parted by ` | `. No repetition is unbounded, so that no text makes matching slow.
"""

from __future__ import annotations

import os
from functools import cache

from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    import re

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data")


def lines(name: str) -> tuple[str, ...]:
    """Return the lines of a file such as `synonyms.txt`, without comments and empty lines."""
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return tuple(line.rstrip("\n") for line in file if line.strip() and not line.startswith("#"))


@cache
def words(name: str) -> tuple[str, ...]:
    """Return the words of the lists `NAME.txt` of all languages."""
    return tuple(word for path in files_of(f"{name}.txt") for line in lines(path) for word in line.split())


@cache
def table(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a file such as `effects.tsv`."""
    return tuple(tuple(line.split("\t")) for line in lines(name) if not line.startswith("kind\t"))


@cache
def files_of(name: str) -> tuple[str, ...]:
    """Return the files of this name of all languages, each a folder."""
    found = (f"{folder}/{name}" for folder in sorted(os.listdir(_FOLDER)))
    return tuple(path for path in found if os.path.isfile(os.path.join(_FOLDER, path)))


@cache
def matcher(name: str, kind: str) -> re.Pattern[str]:
    """Return the form that has one of the forms of a kind, in any language."""
    import re  # the tables of settings are read where it is not needed

    forms = (row[1] for path in files_of(name) for row in table(path) if row[0] == kind)
    return re.compile("|".join(forms), re.IGNORECASE)


_CJK = (("\u3040", "\u30ff"), ("\u3400", "\u9fff"), ("\uac00", "\ud7a3"))  # the last is Hangul


class Row(Value):
    """A row: what its phrases tell, and a text that they find and one that they do not."""

    kind: str
    phrases: tuple[str, ...]
    example: str
    counter: str


@cache
def languages() -> tuple[str, ...]:
    """Return the languages that have cues."""
    return tuple(path.partition("/")[0] for path in files_of("cues.tsv"))


@cache
def rows(language: str) -> tuple[Row, ...]:
    """Return the cues of a language."""
    return tuple(Row(kind, tuple(said.split(" | ")), *more) for kind, said, *more in table(f"{language}/cues.tsv"))


@cache
def phrases(kind: str, language: str = "") -> re.Pattern[str]:
    """Return a pattern for the phrases of a kind of cues in one language, or in all; case is ignored."""
    import re

    wanted = (language,) if language else languages()
    found = [phrase for one in wanted for row in rows(one) if row.kind == kind for phrase in row.phrases]
    longest_first = sorted(dict.fromkeys(found), key=len, reverse=True)
    return re.compile("|".join(map(form, longest_first)) or "(?!)", re.IGNORECASE)


def form(phrase: str) -> str:
    """Return the regular expression of a phrase."""
    import re

    start, end = phrase.startswith("^"), phrase.endswith("$")
    words = phrase.strip("^$ ").split()
    pattern = r"^\W*" if start else ""
    before = ""  # the word before, "" after a gap
    for word in words:
        bare = word.lstrip("~")
        if before:
            pattern += r"\s{0,2}" if _is_cjk(before[-1]) and _is_cjk(bare[:1]) else r"\s{1,3}"
        if word == "*":
            pattern, before = f"{pattern}.{{1,60}}?", ""
            continue
        if not before and not word.startswith("~"):
            is_spaced = bare[:1].isalnum() and (not _is_cjk(bare[:1]) or bare >= _CJK[-1][0])
            pattern += r"(?<![\w'])" if is_spaced else ""
        pattern += re.escape(bare)
        before = bare
    if before[-1:].isalnum() and not _is_cjk(before[-1]):
        pattern += r"(?!\w)"
    return pattern + (r"\W*$" if end else "")


def _is_cjk(character: str) -> bool:
    return any(first <= character <= last for first, last in _CJK)  # compiling such a range takes a hook a millisecond
