"""What a person states to an agent as standing: choices, plans, constraints, preferences. Pure.

A sentence counts if it has a form that people use for such statements and is understood alone. One that begins with
"it" or "they" is joined to the sentence before it; of a sentence that as a whole states nothing, each half is looked
at ("looks good, but never log tokens").
"""

from __future__ import annotations

import re
from functools import cache

from gitmem.model.fact.fact import FactKind
from gitmem.model.fact.said import cues, cues_ko
from gitmem.model.fact.said.reason import count_words, split_reason
from gitmem.model.session.cues import patterns
from gitmem.text.sentences import Kind, blocks, mask_code, sentences_of
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator

SURE = {FactKind.PREFERENCE: 0.9, FactKind.RULE: 0.9, FactKind.DECISION: 0.9, FactKind.CORE_LOGIC: 0.8}
_AGREED = 0.6  # the confidence of a question that the answer agrees with
_SHORTEST, _LONGEST = 8, 300  # characters of a sentence
_OWN_WORDS = 2_500  # characters of a prompt; a longer one is a plan or a paste
_MOST_SENTENCES = 30
_FEWEST_WORDS = 3  # of a sentence
# Behind a request: "speed up the parser, we decided to use a lexer".
_DECIDED = re.compile(r"[,;]\s+(?:and\s|but\s)?(?=(?:we|i)(?:'ve|\shave)?\s(?:decided|agreed)\s)", re.IGNORECASE)
_COLONS = (":", "\uff1a")
_CLAUSE = re.compile(
    r"(?:[,;]| [\u2013\u2014-]{1,2}) (?:but|and|so|also|however|except|though)[, ]+|; | [\u2013\u2014] "
    r"|(?<=[은는던])데,? |(?<=지)만,? "
)
_MODAL = re.compile(
    r"\b(?:should|shouldn't|must|mustn't|needs? to|ha(?:s|ve) to|can't|cannot|may not)\b", re.IGNORECASE
)


_DOES = re.compile(r"^(?:and )?it [a-z]{3,14}s\s", re.IGNORECASE)


class Statement(Value):
    """What a person states; `why` is the reason given, "" if none."""

    kind: FactKind
    text: str
    why: str = ""
    confidence: float = 0.0


def statements_of(prompt: str, answer: str = "") -> list[Statement]:
    """Return the statements in a prompt; a proposal in the form of a question counts if the answer agrees."""
    if len(prompt) > _OWN_WORDS or prompt.startswith("/"):
        return []
    found: list[Statement] = []
    under_lead = False  # whether the items that follow are listed as preferences
    for block in blocks(prompt):
        if block.kind not in (Kind.PARAGRAPH, Kind.ITEM):
            continue
        before = _Before()
        under_lead = under_lead and block.kind is Kind.ITEM
        for sentence in sentences_of(block)[:_MOST_SENTENCES]:
            for statement in _of_sentence(sentence, before, answer, listed=under_lead and not before.text):
                if before.statement is not None and statement.text.startswith(before.statement.text):
                    found.remove(before.statement)
                found.append(statement)
                before.statement = statement
            under_lead = under_lead or bool(_re(cues.LEAD).search(f"{sentence} "))
            before = _Before(sentence, found[-1] if found and found[-1] is before.statement else None)
    return [_with_reason(statement) for statement in found[:_MOST_SENTENCES]]


class _Before:
    """The sentence before the one looked at, and the statement it made."""

    def __init__(self, text: str = "", statement: Statement | None = None) -> None:
        self.text, self.statement = text, statement


def _of_sentence(sentence: str, before: _Before, answer: str, *, listed: bool) -> Iterator[Statement]:
    told, given = _without_label(sentence)
    kind = given or (FactKind.PREFERENCE if listed else None)
    if kind is not None and _stands_alone(told):
        yield Statement(kind, told, confidence=SURE[kind])
        return
    if sentence.endswith(("?", "\uff1f")):
        yield from _proposed(sentence, answer)
        return
    if _re(cues.LEANS_BACK).match(sentence):
        leaning = [*_leaning(sentence, before)]
        if leaning:
            yield from leaning
            return
    decided = _DECIDED.search(sentence)
    parts = [
        *([sentence[decided.end() :]] if decided else []),
        sentence,
        *(_CLAUSE.split(sentence) if _CLAUSE.search(sentence) else []),
    ]
    for part in parts:
        kind = kind_stated(part)
        if kind is not None:
            yield Statement(kind, part, confidence=SURE[kind])
            return


def kind_stated(sentence: str) -> FactKind | None:
    """Return the kind of fact in a person's sentence, None if it has none that is clear by itself."""
    told, _ = split_reason(sentence)
    if not _stands_alone(told):
        return None
    masked = _masked(told)
    if _re(cues.LEANS_BACK).match(masked) or _re(cues.NOT_A_FACT).search(masked):
        return None
    return _form(masked) or _form(_masked(sentence))


def _form(masked: str) -> FactKind | None:
    return next((kind for kind, form in cues.SAID_BY_A_PERSON.items() if _re(form).search(masked)), None)


def _without_label(sentence: str) -> tuple[str, FactKind | None]:
    """Return a sentence without "Preferences:" or "Remember:", and the kind that this word gives it."""
    for form, kind in ((cues.LEAD, FactKind.PREFERENCE), (cues.NOTE, FactKind.RULE), (cues_ko.NOTE, FactKind.RULE)):
        label = _re(form).match(sentence)
        if label:
            return sentence[label.end() :], kind
    return sentence, None


def _stands_alone(sentence: str) -> bool:
    """Return whether a sentence is no fragment, no code and refers to nothing outside of it."""
    if len(sentence) + count_words(sentence) < _SHORTEST or len(sentence) > _LONGEST or sentence.endswith(_COLONS):
        return False
    masked = _masked(sentence)
    if points_elsewhere(masked) or _re(patterns.CODE).search(masked):
        return False
    return count_words(sentence) >= _FEWEST_WORDS


def points_elsewhere(masked: str) -> bool:
    """Return whether a sentence, its code masked, refers to something in the conversation around it."""
    half = _re(cues.JOINT).split(masked, maxsplit=1)[0]
    return bool(_re(cues.DEICTIC).search(masked) or _re(cues.PRONOUN).search(half))


def _leaning(sentence: str, before: _Before) -> Iterator[Statement]:
    """Yield a sentence that begins with "it" and the like together with the one before it."""
    masked = _masked(sentence)
    if points_elsewhere(_re(cues.LEANS_BACK).sub("", masked, count=1)) or not before.text:
        return
    joined = f"{before.statement.text if before.statement else before.text} {sentence}"
    if len(joined) > _LONGEST or before.text.endswith(("?", *_COLONS)):
        return
    describes = before.statement is not None and before.statement.kind is FactKind.CORE_LOGIC and _DOES.match(masked)
    if before.statement is not None and (describes or _MODAL.search(masked)):
        yield before.statement._replace(text=joined)
    elif (kind := _form(masked)) and not _re(cues.NOT_A_FACT).search(masked) and _stands_alone(before.text):
        yield Statement(kind, joined, confidence=SURE[kind])


def _proposed(question: str, answer: str) -> Iterator[Statement]:
    """Yield the proposals in questions that the answer accepts ("can't we just use X?", "we shouldn't ..., or?")."""
    if not _re(cues.AGREED).match(answer):
        return
    proposal, tagged = _re(cues.PROPOSED).match(question), _re(cues.TAGGED).match(question)
    text = proposal[1] if proposal else tagged["said"] if tagged else ""
    if not proposal and not _re(cues.TAGGED_FORM).search(text):
        return
    if _stands_alone(text):
        yield Statement(FactKind.DECISION, text, confidence=_AGREED)


def _with_reason(statement: Statement) -> Statement:
    statement = statement._replace(text=_re(cues.ASIDE).sub("", statement.text, count=1))
    text, why = split_reason(statement.text)
    return statement._replace(text=text, why=why) if why and _stands_alone(text) else statement


def _masked(sentence: str) -> str:
    return _quoted().sub(lambda quote: "x" * len(quote[0]), mask_code(sentence))


@cache
def _quoted() -> re.Pattern[str]:
    return re.compile(r"\"[^\"\n]{1,300}\"|[\u201c\u300c][^\u201d\u300d\n]{1,300}[\u201d\u300d]")


@cache
def _re(form: str) -> re.Pattern[str]:
    return re.compile(form, re.IGNORECASE)
