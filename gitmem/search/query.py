"""A query: its terms, phrases, excluded words and filters.

    "exact phrase"  -without  path:daily  type:decision  tag:build  since:2026-11-01
    until:yesterday  session:1b4e  author:kim

Everything else is words, split into runs of one script, which are searched for in different ways. Any text is a query:
one without a word is searched for literally.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping

from gitmem.errors import UsageError
from gitmem.text.words import hangul_stem, is_ending, literal_of, matcher, other_forms, root, stem, stop_words, synonyms
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


class ScriptRun(Value):
    """Consecutive characters of one script in a word, with their positions."""

    script: str
    text: str
    start: int
    end: int


def runs(word: str) -> list[ScriptRun]:
    """Return the runs of a word, without characters that are neither letters nor digits."""
    joined = []
    start, script = 0, ""
    for position, character in enumerate(word):
        here = _script(character)
        if here != script:
            if script:
                joined.append(ScriptRun(script, word[start:position], start, position))
            start, script = position, here
    if script:
        joined.append(ScriptRun(script, word[start:], start, len(word)))
    return joined


def _script(character: str) -> str:
    """Return the script of a character, or "" if it separates words."""
    code = ord(character)
    if code >= _FIRSTS[0]:
        _, last, script = _RANGES[bisect_right(_FIRSTS, code) - 1]
        if code <= last:
            return script
    return WORD if character.isalnum() else ""


MAX_CHARACTERS = 10_000  # of a query; the rest is ignored
MAX_TERMS = 48
# Where a needle matches: at the beginning of a word, as a whole word, or anywhere.
PREFIX, WHOLE, INSIDE = "prefix", "whole", "inside"

HALF = 0.5
PART = 0.5  # weight of a part of an identifier, which is also searched for as a whole
KINDRED = 0.3  # weight of a synonym
_SHORTEST_COMPOUND, _LONGEST_COMPOUND = 3, 12  # syllables of words that Korean users write together or apart
FILTERS = ("path", "type", "tag", "since", "until", "session", "author")
_PIECE = re.compile(
    rf'(?P<minus>-?)"(?P<phrase>[^"]+)"|(?P<name>(?i:{"|".join(FILTERS)})):(?:"(?P<quoted>[^"]*)"|(?P<value>\S+))|(?P<word>\S+)'
)
# Joints of identifiers, paths, `node.js`, `utf-8`.
_JOINT = r"_|[^\W\d_](?=[^\w\s]*[.\-/:@#+])[^\w\s]+\w|\w[.\-/:@#+]+[^\W\d_]"
_HUMP = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"


class Needle(Value):
    """A lower-case text, where in a word it matches, and the weight of a match.

    A needle with a `key`, a stem, is the beginning of an English word: other forms of that word count in full, other
    words with this beginning count less.
    """

    text: str
    mode: str
    weight: float = 1.0
    key: str = ""


class Term(Value):
    """The forms of a word or part of a word, and its weight. Terms of one word share its `group`.

    If `is_expansion`, it is a synonym of a word of the query.
    """

    needles: tuple[Needle, ...]
    weight: float
    group: int
    is_expansion: bool = False


class Query(Value):
    """A parsed query. The values of filters are as the user wrote them; `words` is the text without filters."""

    terms: tuple[Term, ...]
    phrases: tuple[str, ...] = ()
    without: tuple[Term, ...] = ()
    without_phrases: tuple[str, ...] = ()
    filters: tuple[tuple[str, str], ...] = ()
    words: str = ""

    def decomposed(self) -> Query | None:
        """Return the query in decomposed characters (NFD), as some systems write; None if unchanged."""

        def decompose(text: str) -> str:
            return unicodedata.normalize("NFD", text)

        terms = tuple(
            term._replace(needles=tuple(needle._replace(text=decompose(needle.text)) for needle in term.needles))
            for term in self.terms
        )
        phrases = tuple(map(decompose, self.phrases))
        same = (terms, phrases) == (self.terms, self.phrases)
        return None if same else self._replace(terms=terms, phrases=phrases)

    def parted(self, matched: Collection[int]) -> Query | None:
        """Return the query with unmatched Hangul words also split: "커밋메시지" as "커밋 메시지".

        `matched` are the numbers of matched terms; None if all other words are short or of another script.
        """
        terms = tuple(
            term
            if number in matched
            else term._replace(needles=tuple(more for needle in term.needles for more in (needle, *_parted(needle))))
            for number, term in enumerate(self.terms)
        )
        return None if terms == self.terms else self._replace(terms=terms)

    def filter(self, name: str) -> tuple[str, ...]:
        """Return the values of a filter."""
        return tuple(value for key, value in self.filters if key == name)


def _parted(needle: Needle) -> Iterator[Needle]:
    """Yield a Hangul needle split into two words, or into more of at least two syllables each."""
    text = needle.text
    if _SHORTEST_COMPOUND <= len(text) <= _LONGEST_COMPOUND and all(_script(character) == HANGUL for character in text):
        two = {f"{text[:at]} {text[at:]}" for at in range(1, len(text))}
        yield from (needle._replace(text=words) for words in sorted(two | {*_in_words(text)}, key=len) if words != text)


def _in_words(text: str) -> Iterator[str]:
    """Yield the splits of a text into words of at least two characters, and the whole text."""
    yield text
    for at in range(2, len(text) - 1):
        yield from (f"{text[:at]} {rest}" for rest in _in_words(text[at:]))


def fold(text: str) -> str:
    """Return a text in lower case, of the same length."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(low if len(low := character.lower()) == 1 else character for character in text)


def check_query(text: str) -> None:
    """Refuse an empty query of a user or an agent."""
    if not text.strip():
        raise UsageError("The query is empty.", "Give words, or a filter such as type:decision.")


def parse_query(text: str) -> Query:
    """Parse any text as a query; lone surrogates and control characters count as blanks."""
    plain = unicodedata.normalize("NFC", text[:MAX_CHARACTERS].encode("utf-8", "replace").decode())
    clean = "".join(" " if unicodedata.category(character) in {"Cc", "Cs"} else character for character in plain)
    words: list[str] = []
    without: list[str] = []
    filters: list[tuple[str, str]] = []
    phrases: list[str] = []
    without_phrases: list[str] = []
    for piece in _PIECE.finditer(clean):
        if piece["phrase"]:
            target = without_phrases if piece["minus"] else phrases
            target.append(" ".join(fold(piece["phrase"]).split()))
        elif piece["name"]:
            filters.append((piece["name"].lower(), piece["quoted"] if piece["value"] is None else piece["value"]))
        elif len(piece["word"]) > 1 and piece["word"][0] == "-" and piece["word"][1].isalnum():
            without.append(piece["word"][1:])
        else:
            words.append(piece["word"])
    words += [word for phrase in phrases for word in phrase.split()]
    return Query(
        terms=_terms(words) or _terms(words, keep_stop=True) or _literal_terms(words),
        phrases=tuple(filter(None, phrases)),
        without=_terms(without, keep_stop=True),
        without_phrases=tuple(filter(None, without_phrases)),
        filters=tuple((name, value) for name, value in filters if value),
        words=" ".join(words),
    )


def _terms(words: list[str], *, keep_stop: bool = False) -> tuple[Term, ...]:
    """Return the terms of words, in order, without copies."""
    terms: dict[tuple[Needle, ...], Term] = {}
    for group, word in enumerate(words):
        for needles, weight in _word_terms(word, keep_stop=keep_stop):
            old = terms.get(needles)
            if old is None or old.weight < weight:
                terms[needles] = Term(needles, weight, group if old is None else old.group)
        if len(terms) >= MAX_TERMS:
            break
    return (*list(terms.values())[:MAX_TERMS], *(() if keep_stop else _synonym_terms(words, terms)))


def _synonym_terms(words: list[str], by_needles: Mapping[tuple[Needle, ...], Term]) -> Iterator[Term]:
    """Yield a term for each synonym of the query's words that is not in the query."""
    seen = set(by_needles)
    for group, word in enumerate(words[:MAX_TERMS]):
        for run in runs(word):
            if run.script not in {WORD, HANGUL}:
                continue
            for synonym in synonyms(fold(run.text)):
                needles = _english(synonym) if synonym.isascii() else (Needle(synonym, INSIDE),)
                if needles not in seen:
                    seen.add(needles)
                    yield Term(needles, KINDRED, group, is_expansion=True)


def _literal_terms(words: list[str]) -> tuple[Term, ...]:
    """Return terms for texts without letters and digits."""
    texts = dict.fromkeys(fold(word)[:MAX_TERMS] for word in words)
    return tuple(Term((Needle(text, INSIDE),), 1.0, group) for group, text in enumerate(texts))[:MAX_TERMS]


def _word_terms(word: str, *, keep_stop: bool) -> Iterator[tuple[tuple[Needle, ...], float]]:
    """Yield the needles and weights of one word between blanks."""
    stop = frozenset() if keep_stop else stop_words()
    parts = runs(word)
    if not parts:
        return
    bare = word[parts[0].start : parts[-1].end]
    share = 1.0
    if len(parts) > 1 and re.search(_JOINT, bare):
        yield (Needle(fold(bare), INSIDE),), 1.0
        share = PART
    for index, run in enumerate(parts):
        before = parts[index - 1].text if index and parts[index - 1].end == run.start else ""
        if run.script == HANGUL and before.isdigit():  # `1989년`, `3월`
            yield (Needle(before + run.text[0], INSIDE),), 1.0
        elif run.script == HANGUL:
            if not (before and is_ending(run.text)):
                yield from _hangul_terms(run.text, stop)
        elif run.script in {HAN, UNSPACED}:
            yield from _bigrams(run.text)
        elif run.script == MARKED:
            yield (Needle(run.text, PREFIX),), 1.0
        else:
            yield from ((needles, share * weight) for needles, weight in _latin_terms(run.text, stop))


def _latin_terms(text: str, stop: frozenset[str]) -> Iterator[tuple[tuple[Needle, ...], float]]:
    word = fold(text)
    if word in stop:
        return
    one_case = text.isupper() or text.islower() or text[1:].islower()
    parts = [] if one_case or not text.isascii() else [fold(part) for part in re.findall(_HUMP, text)]
    if len(parts) > 1:  # getUserName
        yield (Needle(word, INSIDE), Needle("_".join(parts), INSIDE)), 1.0
        for part in parts:
            if part not in stop and len(part) > 1:
                yield _english(part), 1.0
        return
    yield _english(word), 1.0


def _english(word: str) -> tuple[Needle, ...]:
    if not word.isascii() or not word.isalpha():
        return (Needle(word, WHOLE if word.isdigit() else PREFIX),)
    key = stem(word)
    first = Needle(root(literal_of(word, key)), PREFIX, 1.0, key)
    others = tuple(Needle(form, WHOLE) for form in other_forms(word) if not form.startswith(first.text))
    return (first, *others)


def _hangul_terms(word: str, stop: frozenset[str]) -> Iterator[tuple[tuple[Needle, ...], float]]:
    if stop and (word in stop or matcher("tasks.tsv", "question_word").search(word)):
        return
    base = hangul_stem(word)
    if base in stop:
        return
    if len(base) == 1:
        yield (Needle(base, PREFIX),), HALF
    else:
        yield (Needle(base, INSIDE),), 1.0


def _bigrams(text: str) -> Iterator[tuple[tuple[Needle, ...], float]]:
    if len(text) == 1:
        yield (Needle(text, INSIDE),), HALF
    for start in range(len(text) - 1):
        yield (Needle(text[start : start + 2], INSIDE),), 1.0
