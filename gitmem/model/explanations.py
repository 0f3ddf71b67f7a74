"""What an agent's sentences say of an error: how it was mended, or what caused it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from gitmem.document.message import one_line
from gitmem.model.compare import stems_of
from gitmem.model.error import ErrorSignature, long_numbers, port_in
from gitmem.model.outcome import reports
from gitmem.model.turns import Failure, Turn, inner_program
from gitmem.model.words import human_text
from gitmem.text.sentences import blocks, is_korean, sentences_of
from gitmem.text.words import matcher

_COMMAND = 400  # characters of a command
_SENTENCE = 240  # characters of a sentence
_FEWEST = 2  # words that a sentence shares with an error, unless it has its name
_READ = 8_000  # characters of a text
_NO_WORD = re.compile(r"(?<![\w./=-])[\w@]{2,40}(?:[-/.][\w]{2,40}){1,6}(?![\w=])")  # a path, or a name with a hyphen
_SPAN = re.compile(r"`([^`\n]{4,80})`")
_CODE = re.compile(r"\b[A-Z]{1,8}[0-9]{2,5}\b")  # an error's: `P1001`
_CALLED = re.compile(r"\b[A-Za-z_]\w{3,}(?=\(\))")
# A name in a sentence; one that may be an ordinary word counts only if it is marked as code.
_MENTION = r"`{0}`|(?=(?-i:\S*[a-z0-9][A-Z_]|\S+[_./@-]\w))(?<![A-Za-z0-9_]){0}(?![A-Za-z0-9_])"


def in_words(said: Iterable[tuple[str, str]], error: ErrorSignature, failure: Failure, kind: str) -> str:
    """Return the sentence of this kind in which the agent says most of an error, "" if none speaks of it.

    `said` are sentences, each with the next. A cause may be named by the program that failed, the error's port, or code
    of the output; a mend then follows it. A cause says more than the message and the command.
    """
    is_cause = kind == "cause"
    known = stems_of(f"{error.message} {failure.command}")
    about, names = stems_of(error.message), _names(error, failure, is_wide=is_cause)
    output, number = (failure.error, port_in(failure.error, error)) if is_cause else ("", "")
    best, score = "", 0
    for sentence, behind in said:
        if not _is_of_kind(sentence, kind) or (is_cause and stems_of(f"{sentence} {behind}") <= known):
            continue
        named = sum(bool(re.search(name, sentence, re.IGNORECASE)) for name in names)
        named += 2 * (number in long_numbers(sentence)) + any(span in output for span in _SPAN.findall(sentence))
        shared = len(stems_of(sentence) & about)
        fewest = _FEWEST if is_cause else _FEWEST + 1
        if is_cause and is_korean(sentence) and not is_korean(error.message):
            fewest = 1  # what such a sentence shares is a name
        if (named or shared >= fewest) and shared + 2 * named > score:
            both = f"{sentence} {behind}" if is_cause and _is_of_kind(behind, "mend") else sentence
            best, score = both if len(both) <= _SENTENCE else sentence, shared + 2 * named
    return best


def told_sentences(turn: Turn) -> Iterator[tuple[str, str]]:
    """Yield the sentences of an answer, and of what was said before it, that report something, each with the next."""
    for text in (turn.answer, *turn.said):
        for block in blocks(human_text(text)[:_READ]):
            said = [one_line(one, _READ) for one in sentences_of(block)]
            told = [one if len(one) <= _SENTENCE and reports(one) else "" for one in said]
            yield from ((one, behind) for one, behind in pairwise((*told, "")) if one)


def _names(error: ErrorSignature, failure: Failure, *, is_wide: bool) -> list[str]:
    """Return patterns of the names of an error; if `is_wide`, of its code and the program that failed, too.

    A name that may be an ordinary word counts if it is marked as code or, in the wide sense, stands before Hangul.
    Words of the command count if they are none, such as `drizzle-kit`.
    """
    known = [name for name in (*error.names, *_CALLED.findall(error.message)) if re.search(r"\w", name)]
    names = [_MENTION.format(re.escape(name)) for name in known]
    if is_wide:
        both = inner_program(failure.command)
        programs = map(re.escape, {both, both.partition(" ")[0]} - {""})
        names += [rf"(?<![A-Za-z0-9_]){re.escape(name)}(?=[가-힣])" for name in known]
        names += [rf"`{one}`|^{one}(?![\w./-])" for one in programs]
        names += _CODE.findall(error.message)
        names += [rf"(?<![\w/.-]){re.escape(word)}(?![\w/-])" for word in _NO_WORD.findall(failure.command[:_COMMAND])]
    return names


def _is_of_kind(sentence: str, kind: str) -> bool:
    return matcher("outcomes.tsv", kind).search(sentence) is not None
