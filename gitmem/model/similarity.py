"""Every measure of likeness between texts of memories, its threshold and the reason for it. Pure.

No measure knows the meaning of words: two different rules that share most of their words may contradict each other, so
the pair waits for a user or a model. Lines of files are compared in `gitmem.text.difference`, hits of a search in
`gitmem.search.rank`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from functools import lru_cache

from gitmem.document.ids import do_meet
from gitmem.model.fact import Fact, FactKind
from gitmem.text.numbers import numbers_of
from gitmem.text.words import hangul_stem, is_ending, keywords, phrases, stem, stop_words

RELATED = 1 / 3  # overlap; facts with less are about different things, so no model is asked about them
RIVALS = 1 / 2  # overlap; half are the words of the subject, the other half may differ
GOES_ON = 1 / 2  # overlap; a request that shares half of its words with the task continues it
SAME_CLAIM = 0.6  # overlap within one turn, where other statements rarely share so many words
SAME_LINE, _FEWEST_OF_A_LINE = 0.7, 4  # overlap of lines shown together; with fewer words it is chance
SAME_ERROR = 0.5  # `error_likeness` of one error on two days
_FEWEST_SHARED = 2  # words, of claims or of errors; a single one is only a topic
JOINS = 0.4  # `likeness_of_work` from which an exchange joins a concept: much of both overlaps, or nearly all of one
OWN_WORDS = 1 / 2  # `share` of a rule in texts of the user and the agent, to be theirs and no tool's
COVERED = 2 / 3  # `share` of a quotation in a statement that repeats it with the name of its subject
QUOTED = 0.4  # `share` of a rule in the user's words that it quotes
ANY_WORDS = 1 / 3  # `share` of a summarizing sentence in the record that it is about
NAMED = 2 / 3  # of a fix's code names must have been written in the session; a model may name one that was only read
MERGED = 0.8  # `share` of a merged statement in the two it replaces: it must add nothing
_ECHO, _FEWEST_ECHOED = 0.7, 3  # of a statement's stems in one line; fewer are in any line about its subject
_SUBJECT_AND_VALUE = 2  # words of a statement with only a subject and a value: "Indent with tabs"
WEIGHED = (FactKind.RULE, FactKind.PREFERENCE, FactKind.DECISION)  # kinds whose facts can contradict each other
SAID = 0.9  # the confidence of what a user says
MOST_DISPUTED = 3  # for one new fact; more are a series ("step 1 …", "step 2 …") not worth a review
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_VERB = re.compile(r"(?<=[가-힣]{2})[가-힣]$")  # the last of three syllables or more
# The beginning of a Korean verb's other forms, from its present in jamo: "넣는다", "붙인다", "바꾼다"; not "라인".
_FORMS = re.compile("(.{4,}|..[^\u110b])(?:\u1102\u1173\u11ab|[\u1175\u116e]\u11ab)")
_WHOLE_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_PLAIN_WORD = re.compile(r"\w+(?:[./-]++\w+)*")
_RUN = re.compile("[가-힣]+|[^가-힣]+")  # of a word: `uv로` is a name and a particle
_CODE = r"[A-Za-z]+(?:[a-z0-9][A-Z]|[A-Za-z0-9][_./:])\w[\w./:]*"  # a name by its form: `RateTable`, `rate_table`
# A statement's first words if they name its subject: a name, the word after an article, a Korean subject.
_SUBJECT = re.compile(
    rf"\W*(?:(?:[Tt]he|[Oo]ur)\s+)?(?:[`\"'\u201c]([^`\"'\u201d]{{1,60}})[`\"'\u201d]|({_CODE})(?=\W))"
    r"|(?:[Tt]he|[Oo]ur)\s+([\w-]{1,60})|([^.,;:?!]{1,60}?[가-힣])(?:은|는|이|가)\s"
)
_LONGEST = 400  # characters of a statement
_CLAUSE_END = re.compile(r"(?<=[,;\uff0c])\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?\u3002])\s+")
_PART_END = re.compile(r"[,.;:!?](?!\w)")  # not within `.env`
_OF_ERROR = re.compile(r"<\w+>|[^\W_][\w.$@/-]*[^\W_]|[^\W_]")
_NAME = re.compile(  # quoted, or an option
    r"(?<![A-Za-z0-9])[`'\"\u2018\u201c]([^`'\"\u2019\u201d\n]{1,120})[`'\"\u2019\u201d](?![A-Za-z0-9])|(?<!\S)(--[a-z][\w-]{0,60})"
)


def overlap(first: frozenset[str], second: frozenset[str]) -> float:
    """Return |A∩B| / min(|A|, |B|), 0 if one is empty."""
    return len(first & second) / min(len(first), len(second)) if first and second else 0.0


def likeness_of_work(
    files: tuple[frozenset[str], frozenset[str]], words: tuple[frozenset[str], frozenset[str]]
) -> float:
    """Return the likeness of two pieces of work, 0 to 1: the mean of file and keyword overlap, or of keywords alone.

    If only one has files, their overlap is 0.
    """
    return (overlap(*files) + overlap(*words)) / 2 if any(files) else overlap(*words)


def points_of(text: str) -> frozenset[str]:
    """Return the stems and the numbers of a text."""
    return stems_of(text) | {*_WHOLE_NUMBER.findall(text)}


def share(text: str, among: str) -> float:
    """Return the share of a text's stems and numbers that are in a folded text."""
    return part_of(points_of(text), among)


def part_of(points: Collection[str], among: str) -> float:
    """Return the share of stems and numbers that are in a folded text; endings of Korean verbs may differ."""
    numbers = {*_WHOLE_NUMBER.findall(among)}
    stand = sum(
        point in numbers if _WHOLE_NUMBER.fullmatch(point) else stands_in(_VERB.sub("", point) or point, among)
        for point in points
    )
    return stand / len(points) if points else 0.0


def stands_in(stem: str, text: str) -> bool:
    """Return whether a folded text has a word with a stem: "policy" has `polici`, "붙여" has `붙인`."""
    if stem in text or (stem.endswith("i") and f"{stem[:-1]}y" in text):
        return True
    forms = None if stem.isascii() else _FORMS.fullmatch(unicodedata.normalize("NFD", stem))
    return forms is not None and f" {forms[1]}" in unicodedata.normalize("NFD", f" {text}")


def is_echo(statement: str, line: str) -> bool:
    """Return whether a folded line contains most of a statement's stems."""
    stems = stems_of(statement)
    return sum(stands_in(stem, line) for stem in stems) >= max(_FEWEST_ECHOED, _ECHO * len(stems))


@lru_cache(maxsize=4_096)
def stems_of(text: str) -> frozenset[str]:
    """Return the stems of a text's keywords, case folded."""
    return frozenset(stem.casefold() for stem, _ in keywords(text))


@lru_cache(maxsize=4_096)
def content_of(text: str) -> frozenset[str]:
    """Return the stems of a statement, without politeness, quantity, purpose and reasons."""
    return stems_of(_claim(text))


@lru_cache(maxsize=4_096)
def _claim(text: str) -> str:
    """Return the first paragraph of a statement without politeness, quantity, purpose and reasons."""
    first, *more = _SENTENCE_END.split(text.split("\n\n", maxsplit=1)[0][:_LONGEST])
    clauses = (_without_reasons(first), *(_without_reasons(clause) for clause in more if not _is_reason(clause)))
    return phrases("aside").sub(" ", " ".join(clauses))


def _without_reasons(sentence: str) -> str:
    """Return a sentence without clauses of reason; such a clause after a statement extends to the end."""
    remaining: list[str] = []
    for clause in _CLAUSE_END.split(sentence):
        if not _is_reason(clause):
            remaining.append(clause)
        elif remaining and phrases("reason").match(clause):  # in Korean the reason word ends its clause
            break
    return " ".join(remaining) or sentence


def _is_reason(text: str) -> bool:
    return phrases("reason").search(text.strip(" ,.!")) is not None


@lru_cache(maxsize=4_096)
def words_of(text: str) -> frozenset[str]:
    """Return the stems of all content words of a text, also of common ones that are no keywords."""
    runs = (_RUN.findall(word) for word in _PLAIN_WORD.findall(text.casefold()))
    parts = (part for run in runs for place, part in enumerate(run) if not (place and is_ending(part)))
    return frozenset(stem(hangul_stem(part)) for part in parts) - stop_words()


def _in_order(text: str) -> list[str]:
    return [stem.casefold() for stem, _ in keywords(_claim(text))]


def has_same_words(text: str, rival: str) -> bool:
    """Return whether two statements have the same plain words in the same order; see `_plain_words`."""
    first = _plain_words(text)
    return bool(first) and first == _plain_words(rival)


def _plain_words(text: str) -> list[str]:
    """Return the words of a statement without politeness, reasons, marks and "from now on"."""
    return re.findall(r"\w+", _claim(unicodedata.normalize("NFC", text)).casefold())


def _numbers(text: str) -> frozenset[str]:
    """Return all numbers of a text, also those in names and spelled out."""
    return frozenset(_NUMBER.findall(text)) | numbers_of(text)


def denies(text: str) -> bool:
    """Return whether a text has a word that forbids or denies something."""
    return phrases("negation").search(text) is not None


def is_negated(text: str) -> bool:
    """Return whether a statement forbids or denies something."""
    return len(phrases("negation").findall(text)) % 2 == 1


def is_same_fact(fact: Fact, known: Fact) -> bool:
    """Return whether two facts have one id, or are of comparable kinds and say the same."""
    return fact.id == known.id or (_are_of_a_kind(fact, known) and says_the_same(fact.description, known.description))


def _are_of_a_kind(fact: Fact, known: Fact) -> bool:
    return fact.kind == known.kind or (fact.kind in WEIGHED and known.kind in WEIGHED)


def says_the_same(claim: str, rival: str) -> bool:
    """Return whether two statements have the same words, numbers and negation, in any order if nothing is negated.

    "Use uv, not pip" is not "Use pip, not uv".
    """
    claim, rival = _claim(claim), _claim(rival)
    first, second = ((content_of(text), _numbers(text), is_negated(text)) for text in (claim, rival))
    in_order = not first[2] or _in_order(claim) == _in_order(rival)
    return claim == rival or (bool(first[0]) and first == second and in_order)


def contradict(text: str, rival: str) -> bool:
    """Return whether two statements may contradict each other: they share more than half of the words of the shorter.

    Half is enough if each has only a subject and a value. A single word is only a topic, unless the other statement
    rejects it: "Use tabs", "Use spaces, not tabs".
    """
    text, rival = _claim(text), _claim(rival)
    first, second = content_of(text), content_of(rival)
    if any(_denies(a, content_of(b)) and not is_negated(b) for a, b in ((text, rival), (rival, text))):
        return not says_the_same(text, rival)
    sizes, shared = sorted((len(first), len(second))), overlap(first, second)
    is_short = sizes == [_SUBJECT_AND_VALUE] * 2
    is_topic = sizes[0] < _SUBJECT_AND_VALUE <= sizes[1]
    is_near = (shared > RIVALS and not is_topic) or (shared == RIVALS and is_short)
    return is_near and not (are_of_two_things(text, rival) or _adds_to(text, rival))


def _set_aside(text: str) -> set[str]:
    """Return the single words that a statement rejects: "tab" in "not tabs" and "instead of tabs", 탭 in "탭 말고"."""
    parts = (
        _PART_END.split(text[cue.end() :])[0] if cue[0].isascii() else _PART_END.split(text[: cue.start()])[-1]
        for cue in phrases("instead").finditer(text)
    )
    rejected = (content_of(part) or {part.strip().casefold()} for part in parts if part.strip())
    return {word for words in rejected if len(words) == 1 for word in words}


def _denies(text: str, topic: frozenset[str]) -> bool:
    """Return whether a statement rejects another one's topic, if that is a single word."""
    return len(topic) == 1 and min(topic).startswith(tuple(_set_aside(text)))


def _adds_to(claim: str, rival: str) -> bool:
    """Return whether two statements say the same, or one contains the other.

    It has all words and numbers of the other, neither negated, or continues it: "…, and never print".
    """
    first, second = (words_of(text) | _numbers(text) for text in (claim, rival))
    is_plain = not any(is_negated(text) or phrases("instead").search(text) for text in (claim, rival))
    if says_the_same(claim, rival) or (is_plain and (first <= second or second <= first)):
        return True
    short, long = sorted((text.casefold().strip(" .") for text in (claim, rival)), key=len)
    rest = long.removeprefix(short).lstrip(" ,;.")
    return rest != long and phrases("opening").match(rest) is not None


def are_of_two_things(claim: str, rival: str) -> bool:
    """Return whether two statements name different things: other subjects, two bans, or more than one difference.

    "Service 1 listens on port 81" and "Service 2 listens on port 82" name two things with a value each, "retry uploads"
    and "never retry logins" an order and a ban. A single difference is the value of the same thing. Two bans can both
    be kept, unless they bound a number: "never more than 50 lines".
    """
    first, second = (_SUBJECT.match(text) for text in (claim, rival))
    if first and second and stems_of(first[0]) != stems_of(second[0]):
        return True
    if _only_forbids(claim) and _only_forbids(rival) and _numbers(claim) == _numbers(rival):
        return True
    forbids, other_forbids = (is_negated(text.partition(",")[0]) for text in (claim, rival))
    return _places_that_differ(*sorted((claim, rival))) + (forbids != other_forbids) > 1


def _only_forbids(text: str) -> bool:
    """Return whether a statement forbids in each of its parts, and orders nothing beside: "Never use pip; use uv"."""
    return all(is_negated(part) for part in _PART_END.split(text) if part.strip())


def _places_that_differ(claim: str, rival: str) -> int:
    """Count the places where each of two statements has content words or numbers missing from the other."""
    from difflib import SequenceMatcher  # imported late: most hooks compare nothing

    words, others = (_PLAIN_WORD.findall(text.casefold()[:_LONGEST]) for text in (claim, rival))
    contents = [content_of(text) | _numbers(text) for text in (claim, rival)]

    def has_own(part: list[str], text: frozenset[str], beside: frozenset[str]) -> bool:
        return any((stems_of(word) | {word}) & text - beside for word in part)

    return sum(
        has_own(words[begin:end], contents[0], contents[1]) and has_own(others[start:stop], contents[1], contents[0])
        for kind, begin, end, start, stop in SequenceMatcher(None, words, others, autojunk=False).get_opcodes()
        if kind == "replace"
    )


def repeats(claim: str, rival: str) -> bool:
    """Return whether a claim repeats another one of the same turn in other words."""
    first, second = (stems_of(text) | _numbers(text) for text in (claim, rival))
    enough = len(first & second) >= _FEWEST_SHARED and overlap(first, second) >= SAME_CLAIM
    return says_the_same(claim, rival) or (enough and is_negated(claim) == is_negated(rival))


def is_same_line(claim: str, rival: str) -> bool:
    """Return whether two lines shown together say the same, by their plain words."""
    words, others = (frozenset(re.findall(r"\w+", text.casefold())) for text in (claim, rival))
    return claim == rival or (min(len(words), len(others)) >= _FEWEST_OF_A_LINE and overlap(words, others) >= SAME_LINE)


def may_concern(text: str, rival: str) -> bool:
    """Return whether two facts share enough keywords that a model should judge whether they contradict each other."""
    return overlap(stems_of(text), stems_of(rival)) >= RELATED


def rivals_of(new: Fact, facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Return the newest facts in force, of the same part of the project, that may contradict a new fact."""
    if new.kind not in WEIGHED:
        return ()
    words = {*content_of(new.description), *_set_aside(new.description)}
    begins = tuple(word[:3] for word in words)  # a quick test: most facts contain none of these
    weighed = (fact for fact in facts if fact.kind in WEIGHED and fact.id != new.id and do_meet(fact.scope, new.scope))
    near = (fact for fact in weighed if any(begin in fact.description.casefold() for begin in begins))
    rivals = [fact for fact in near if contradict(fact.description, new.description)]
    return tuple(sorted(rivals, key=lambda fact: (fact.created, fact.id))[-MOST_DISPUTED:])


def twin_of(new: Fact, facts: Iterable[Fact]) -> Fact | None:
    """Return the fact in force with the same words as a new fact, shown in the same parts of the project or more."""
    shown = (fact for fact in facts if not fact.scope or (new.scope and {*new.scope} <= {*fact.scope}))
    alike = (fact for fact in shown if _are_of_a_kind(fact, new))
    same = (fact for fact in alike if fact.id == new.id or has_same_words(fact.description, new.description))
    return next(same, None)


def winner_over(own: Fact, project: Iterable[Fact]) -> Fact | None:
    """Return the project's fact that overrides a contradicting fact of the user store, else None."""
    return next(iter(rivals_of(own, project)), None)


def shared_with_error(described: str, title: str) -> int:
    """Return how many keywords a described error shares with the title of one that occurred, 0 for too few."""
    named = stems_of(title)
    shared = len(stems_of(described) & named)
    return shared if shared >= min(_FEWEST_SHARED, len(named)) else 0


def error_words(message: str) -> Counter[str]:
    """Return the words of an error's message, without common and masked ones."""
    words = (word.casefold() for word in _OF_ERROR.findall(message))
    return Counter(word for word in words if word[0] != "<" and word not in stop_words())


def error_likeness(text: str, rival: str) -> float:
    """Return the likeness of two error messages, 0 to 1: the share of words in both, weighing differing words double.

    Messages that quote different names or options are different: the same sentence about another thing.
    """
    if {*_NAME.findall(text)} != {*_NAME.findall(rival)}:
        return 0.0
    first, second = error_words(text), error_words(rival)
    shared, all_words = (first & second).total(), (first | second).total()
    return shared / (2 * all_words - shared) if shared else 0.0
