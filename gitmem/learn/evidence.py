"""Find a claim's quotation in the record of a session, and who said it. Pure.

Text in a block, after `>` or in quotation marks is quoted, not the author's own.
Tested through `tests/learn/test_reply.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile

from gitmem.document.message import one_line
from gitmem.learn.question import AGENT, CHANGED, CUT, FIXED, RAN, TOOL, USER, RecordPart
from gitmem.learn.statements import as_written, statements_of
from gitmem.model.request import orders
from gitmem.model.similarity import (
    COVERED,
    OWN_WORDS,
    denies,
    is_echo,
    is_negated,
    part_of,
    points_of,
    share,
    stems_of,
    words_of,
)
from gitmem.text.numbers import numbers_of
from gitmem.text.sentences import split
from gitmem.text.words import hangul_stem
from gitmem.values import Value

REDACTED = "[REDACTED:"  # prefix of the placeholder of a secret
LONGEST, _FEWEST_OF_A_STATEMENT = 400, 2  # characters and words of a statement
_FEWEST_WORDS, _MOST_WORDS = 5, 40  # of a quotation
_FEWEST_OF_A_LINE = 3  # words of a quotation that is a whole line or sentence
_LETTERS_OF_A_WORD = 2  # that count as one word in a script without blanks
_LONGEST_LINE = 300  # characters of an output line that is compared
_OUTPUT_CHARACTERS = 4_000_000  # of tool outputs that are compared
_BLOCK = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_SAID_BY_OTHERS = re.compile(r"[\"“”「『](?=[^\"“”」』\n]*\s[^\"“”」』\n]*\s)[^\"“”」』\n]{12,600}[\"“”」』]")
_EMPHASIS = "*`"
_MARKUP = str.maketrans({**dict.fromkeys(_EMPHASIS, ""), "“": '"', "”": '"', "‘": "'", "’": "'"})  # noqa: RUF001  # typographic
_WIDE = re.compile(r"[぀-ヿ㐀-鿿가-힣]")
_END_OF_SENTENCE = re.compile(r"[.!?](?=\s)|[。！？]")  # noqa: RUF001  # of other scripts
_CLAUSE_END = re.compile(r"(?<=[,;:.!?\u3002\uff0c])\s+")
# Joins two clauses: "and", or a Korean verb in "-고" or "-며" outside a longer phrase.
_JOINED = re.compile(
    r"(?<!\s)\s+(?=and\s)|(?<=[가-힣][고며])(?<![말않니라다자냐려재경광창사참신로]고)(?<!그리고)\s+(?!나서|나면|난|있|싶|보|계)",
    re.IGNORECASE,
)
_KOREAN_JOINT = re.compile(r"(?:(?<=[주하])시)?(?:고|으?며)$")
_SUBJECT_AND_VALUE = 2  # points of a clause
_LIMITS = re.compile(r"\b(?:except|unless|if|when|but|only)\b|제외|경우|(?:[가-힣]면|때|빼고|만)\b", re.IGNORECASE)
_PROPOSES = re.compile(
    r"^(?:I would|I'd|We could|I (?:suggest|propose))(?: (?:suggest|propose|that|we|to))* ", re.IGNORECASE
)
_ASKS_YOU = re.compile(r"\W*(?:can|could|would|will) you\b", re.IGNORECASE)  # begins a request for one task
_LONGEST_SAID, _LONGEST_BEFORE = 240, 120  # characters of the new statement and of the replaced one
# ASCII, as a Korean particle follows a name without a blank.
_CODE_NAME = re.compile(r"[\w@./:=+-]*[\w/][._/:=@-][\w@./:=+-]*\w|--?\w[\w-]+|\w*\d\w*", re.ASCII)
_MARKS = " .…\"'!"
_HEADER = re.compile(r"^\W*\[\d+\] [A-Z]+: ")  # of a part in the question
_GAP = re.compile(r" ?(?:\[…\]|…|\.\.\.) ?")  # stands for words left out of a quotation


class RefusedError(ValueError):
    """A claim fails a check; the message names the reason in a word or two."""


class AgentOutput(Value):
    """A text of the agent or an output of a tool, whole; `who` is AGENT or TOOL."""

    who: str
    text: str


class _Part(Value):
    """A part of the record with its author's own words, its whole text and the passage quoted, all folded."""

    part: RecordPart
    own: str
    text: str
    quote: str = ""


class Evidence(Value):
    """Where a quotation was found: its request, who said it, and the sentences around it."""

    request: int
    who: str
    sentences: str


class WindowRecord:
    """One window of a session's record, in which quotations are looked up.

    `outputs` is what the agent and its tools said in the whole session; None if the tools' output is unknown; then
    any words of the agent may be a tool's.
    """

    def __init__(self, window: Sequence[RecordPart], outputs: Sequence[AgentOutput] | None) -> None:
        self._parts = [_Part(part, folded(_own(part)), folded(part.text)) for part in window]
        self._outputs = _Outputs(window, outputs)
        self.requests = {part.request for part in window}
        self.user = " ".join(part.own for part in self._parts if part.part.who == USER)
        self.own = " ".join(part.own for part in self._parts if part.part.who != TOOL)
        self.whole = " ".join(part.text for part in self._parts)
        done = (part.text for part in self._parts if part.part.text.startswith((FIXED, CHANGED, RAN)))
        self.done = " ".join((self.own, *done))

    def own_words_of(self, request: int) -> str:
        """Return the words of the user and the agent in a request, folded."""
        return " ".join(part.own for part in self._parts if part.part.request == request and part.part.who != TOOL)

    def users_sentences(self, request: int) -> list[str]:
        """Return the user's own sentences in a request."""
        texts = (_own(part.part) for part in self._parts if part.part.request == request and part.part.who == USER)
        return [sentence for text in texts for sentence in split(text)]

    def find(self, item: Mapping[str, object], *, own: bool) -> Evidence:
        """Return where a quotation occurs and who said it, preferring the user, then the agent, then a tool.

        Words that it leaves out count as quoted. Raises RefusedError if it is too short or too long, occurs nowhere, or
        is a tool's although `own` words are required.
        """
        quote = folded(_HEADER.sub("", str(item["quote"]))).strip(_MARKS)
        places = [part._replace(quote=_whole(quote, part.own) or _whole(quote, part.text)) for part in self._parts]
        if not any(place.quote for place in places):
            raise RefusedError("quotation")
        usable = [
            place
            for place in places
            if place.quote and (not own or (place.part.who != TOOL and place.quote in place.own))
        ]
        if not usable:
            raise RefusedError("tool's words")
        order = (USER, AGENT, TOOL).index
        place = min(
            usable, key=lambda place: (place.part.request != item["request"], order(place.part.who), place.part.request)
        )
        self._check_length(place)
        if own and place.part.who == AGENT and self._outputs.said(lambda line: place.quote in line, place.quote):
            raise RefusedError("tool's words")
        return Evidence(place.part.request, place.part.who, _sentences_around(place.quote, place.part))

    def _check_length(self, place: _Part) -> None:
        words = _words(place.quote)
        if words > _MOST_WORDS:
            raise RefusedError("length")
        if words >= _FEWEST_WORDS or (place.part.who == USER and _words(place.text) < _FEWEST_WORDS + 2):
            return
        whole = (folded(text).strip(_MARKS) for line in place.part.text.splitlines() for text in (line, *split(line)))
        if words < _FEWEST_OF_A_LINE or place.quote not in whole:
            raise RefusedError("length")

    def echoes(self, statement: str, quote: str) -> bool:
        """Return whether a line of a tool's output made a statement before the agent did, and the user did not."""
        if share(statement, self.user) >= OWN_WORDS:
            return False
        return self._outputs.said(partial(is_echo, statement), folded(quote).strip(_MARKS))

    def tools_contain(self, points: Iterable[str]) -> bool:
        """Return whether a tool's output contains one of these stems or numbers, or the outputs are unknown."""
        names = {*points}
        return bool(names) and self._outputs.said(lambda line: part_of(names, line) > 0)


class _Outputs:
    """The folded lines of the tools' outputs, and the agent's texts with the number of lines before each."""

    def __init__(self, window: Sequence[RecordPart], outputs: Sequence[AgentOutput] | None) -> None:
        self._are_known = outputs is not None
        parts = (part for part in window if part.who != USER and not part.text.startswith(RAN))  # RAN is no output
        stream = outputs or [AgentOutput(part.who, part.text) for part in parts]
        self._said: list[tuple[str, int]] = []  # the agent's texts, and how many lines came before each
        self._lines: list[str] = []
        size = 0
        for heard_text in stream:
            if heard_text.who == AGENT:
                self._said.append((folded(heard_text.text), len(self._lines)))
                continue
            size += len(heard_text.text)
            if size <= _OUTPUT_CHARACTERS:
                lines = (line for line in heard_text.text.splitlines() if len(line) <= _LONGEST_LINE)
                self._lines += filter(None, map(folded, lines))

    def said(self, says: Callable[[str], bool], quote: str | None = None) -> bool:
        """Return whether a line before the agent's quoted words satisfies `says`, or the outputs are unknown."""
        before = next((lines for text, lines in self._said if quote is not None and quote in text), len(self._lines))
        return not self._are_known or any(map(says, self._lines[:before]))


def _whole(quote: str, text: str) -> str:
    """Return the passage of a text that a quotation covers, with words it leaves out, or ""; both are folded."""
    pieces = [quote] if quote in text else _GAP.split(quote)
    begin = end = text.find(pieces[0])
    for piece in pieces:
        at = text.find(piece, end) if len(pieces) == 1 or _words(piece) >= _FEWEST_OF_A_LINE else -1
        if at < 0:
            return ""
        end = at + len(piece)
    return text[begin:end]


def _sentences_around(quote: str, part: RecordPart) -> str:
    """Return the sentences of a part that contain a folded quotation, with their emphasis marks."""
    for line in (*part.text.splitlines(), part.text):
        text = " ".join(line.split())
        places = [*_plain_places(text)]
        at = "".join(text[place] for place in places).translate(_MARKUP).casefold().find(quote)
        if at >= 0:
            break
    at, last = max(at, 0), min(max(at, 0) + len(quote), len(places))
    first, last = (places[at], places[last - 1] + 1) if last else (0, 0)
    ends = [match.end() for match in _END_OF_SENTENCE.finditer(text)]
    begin = max((end for end in ends if end <= first), default=0)
    end = min((end for end in ends if end >= last), default=len(text))
    return text[begin:end].strip()


def _plain_places(text: str) -> Iterator[int]:
    """Yield the indexes of the characters of a one-line text that folding keeps."""
    before = " "
    for place, char in enumerate(text):
        if char not in _EMPHASIS and not (char == before == " "):
            before = char
            yield place


def as_quoted(statement: str, evidence: Evidence, before: str, own: str) -> str:
    """Return the quoted sentences if a statement adds little to them, else "".

    They protect from a statement that says the contrary: "accept" for "refuse", words in another order, a "not" left
    out. Words that it adds from elsewhere (`own`) are put first, if they name the subject. A quotation of the agent may
    list options, so nothing else may be new. `before` are the facts that the statement replaces.
    Raises RefusedError for an order for one task: without a word that lasts, and polite or stated only in part.
    """
    quoted = evidence.sentences
    if evidence.who == AGENT and not quoted[:1].isalpha():
        return ""  # a list item: the statement says what became of it
    points, numbers = all_points(statement), numbers_of(quoted)
    new = [point for point in points - numbers if not part_of((point,), folded(quoted))]
    said_elsewhere = {point for point in new if part_of((point,), f"{own} {folded(before)}")}
    subject = head_with(statement, said_elsewhere) if evidence.who == USER or len(new) == len(said_elsewhere) else ""
    is_whole = part_of(all_points(quoted), folded(statement)) >= COVERED
    if len(new) > len(points) / 2 or (said_elsewhere and not (is_whole and subject)):
        return ""
    lasts = (is_whole or before or is_negated(statement)) and not _ASKS_YOU.match(quoted)
    if orders(quoted) and not (lasts or statements_of(quoted)):
        raise RefusedError("one task")
    part = clauses_with(statement, quoted)
    if not is_statement(part) or (new and len(points_of(part)) < len(points_of(statement))):
        part = quoted  # "it" may refer to a word of the clause before
    if evidence.who == AGENT:
        part = _PROPOSES.sub("", part)
    text = as_written(f"{subject}: {part}" if subject else part)
    if before and not (subject or words_of(part) & words_of(before)):
        text = with_replaced_fact(text, before)
    return text if is_statement(text) and "?" not in text else ""


def is_statement(text: str) -> bool:
    """Return whether a text can state a fact: uncut, no question, two words or more, one of them a content word."""
    is_whole = not any(mark in text for mark in (REDACTED, CUT))
    is_long_enough = _words(text) >= _FEWEST_OF_A_STATEMENT and bool(stems_of(text))
    return is_whole and is_long_enough and len(text) <= LONGEST and not text.endswith("?")


def clauses_with(statement: str, text: str) -> str:
    """Return the clauses of a text from the first to the last that a statement mentions.

    Return the whole text if a clause left out denies or limits something, or the result ends with a question mark.
    """
    clauses, words, points = _clauses(text), words_of(statement), all_points(statement)
    shared = [
        words_of(part) & words | {point for point in points if part_of((point,), folded(part))} for part in clauses
    ]
    places = [place for place, stems in enumerate(shared) if stems and not any(stems < other for other in shared)]
    first, last = (places[0], places[-1] + 1) if places else (0, len(clauses))
    part = " ".join(clauses[first:last]).rstrip(" ,;:")
    part = part if last == len(clauses) else _KOREAN_JOINT.sub("기", part)  # "쓰고" cannot end a sentence, "쓰기" can
    beside = " ".join((*clauses[:first], *clauses[last:]))
    return text if denies(beside) or _LIMITS.search(beside) or part.endswith("?") else part


def _clauses(text: str) -> list[str]:
    """Split a text into clauses; "and" separates two if each has a subject and a value."""
    clauses: list[str] = []
    for piece in _CLAUSE_END.split(text):
        clauses.append("")
        for clause in _JOINED.split(piece):
            is_own = min(len(all_points(clauses[-1])), len(all_points(clause))) >= _SUBJECT_AND_VALUE
            clauses[-1:] = [clauses[-1], clause] if is_own else [f"{clauses[-1]} {clause}".strip()]
    return clauses


def head_with(statement: str, points: Collection[str]) -> str:
    """Return a statement's first words if they contain exactly these stems and numbers, else ""."""
    words = statement.split()
    head = [*takewhile(lambda word: not (own := all_points(word)) or own & {*points}, words)]
    while head and not all_points(head[-1]):
        head.pop()
    if head:
        head[-1] = hangul_stem(head[-1])
    return " ".join(head) if frozenset().union(*map(all_points, head)) == {*points} else ""


def with_replaced_fact(statement: str, before: str) -> str:
    """Return a statement with the fact that it replaces: `STATEMENT (before: FACT)`."""
    return f"{one_line(statement, _LONGEST_SAID).rstrip(' .')} (before: {one_line(before, _LONGEST_BEFORE)})"


def all_points(text: str) -> frozenset[str]:
    """Return the stems and numbers of a text, spelled-out numbers included."""
    return points_of(text) | numbers_of(text)


def is_contrary(sentence: str, said: str) -> bool:
    """Return whether a sentence has only words of the user's text, and one of the two denies what the other says.

    If one clause has all of the sentence's words, a "no" in another clause is about something else.
    """
    points, clauses = all_points(sentence), _CLAUSE_END.split(said)
    are_apart = all(all_points(clause) for clause in clauses if denies(clause))  # "Never, ever, …" denies what follows
    whole = [text for text in (said, *(clauses if are_apart else ())) if part_of(points, folded(text)) == 1]
    return len(points) > 1 and {is_negated(text) for text in whole[1:] or whole} == {not is_negated(sentence)}


def code_names(text: str) -> set[str]:
    """Return the commands, files, options and numbers that a text names, folded."""
    return {*_CODE_NAME.findall(folded(text))}


def _own(part: RecordPart) -> str:
    """Return a text without quotations: blocks, lines with `>`, and in an agent's text quoted sentences."""
    if part.own is not None:
        return part.own
    text = _QUOTED_LINE.sub("", _BLOCK.sub("", part.text))
    return _SAID_BY_OTHERS.sub("", text) if part.who == AGENT else text


def folded(text: str) -> str:
    """Return a text in lower case, without emphasis marks, with single blanks."""
    return " ".join(text.translate(_MARKUP).casefold().split())


def _words(text: str) -> int:
    """Count words; two letters of a script without blanks, or with long words, count as one word."""
    wide = len(_WIDE.findall(text))
    return max(len(text.split()), wide // _LETTERS_OF_A_WORD)
