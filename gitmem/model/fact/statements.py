"""The lasting statements in a person's prompt (spec V4): rules, preferences and decisions, with a word that says so.

What such words are stands in `gitmem/data/LANGUAGE/cues.tsv`. Of a prompt that has a task, too, only the clause with
the cue counts. A clause that refers to something outside of it is none. Precision before recall: a wrong rule in every
session is worse than a missing one.
"""

from __future__ import annotations

import re
from functools import cache

from gitmem.model.fact.fact import FactKind
from gitmem.text.languages import languages, phrases, rows
from gitmem.text.sentences import Kind, blocks, mask_code, sentences_of
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator

CUES = "cues"
WHY = "**Why:**"
_KINDS = {"preference": FactKind.PREFERENCE, "decision": FactKind.DECISION, "rule": FactKind.RULE}
_OWN_WORDS = 2_500  # characters of a prompt; a longer one is a plan or a paste
_MOST_SENTENCES = 40
_LONGEST = 300  # characters of a clause
_FEWEST_WORDS = 3  # of a clause that stands alone; a Korean one says as much in one word less
_LED = 40  # characters of the beginning of a clause that says where it holds: "In the API, always …"
_CLOSING = " ,;:.!\u2013\u2014-"
_OPENING_END = re.compile(r"[\s,.!:]*\s|[,.!:]+$")
_SPLIT = re.compile(r";\s|\s[\u2013\u2014-]{1,2}\s")
_JOINT = re.compile(r"(?:[,;:.!)\u2013\u2014-]|\s(?:and|but|so|und|aber))\s*$", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"\n]{1,300}\"|[\u201c\u300c][^\u201d\u300d\n]{1,300}[\u201d\u300d]")
_WORD = re.compile(r"[^\W\d_]{2,}|[가-힣]")
_HANGUL = re.compile(r"[가-힣]")
_CODE = re.compile(r"[{}]\s*$|=>|\w\(\w*\)[,;]|;\s*(?://|$)")
_ASKS = ("?", "\uff1f")
_ANTECEDENT = 3  # words before a pronoun that speaks of one of them


class Statement(Value):
    """What a person states; `why` is the reason given, "" if none."""

    kind: FactKind
    text: str
    why: str = ""


def statements_of(prompt: str) -> list[Statement]:
    """Return the lasting statements in a person's prompt."""
    if len(prompt) > _OWN_WORDS or prompt.startswith("/"):
        return []
    own = (block for block in blocks(prompt) if block.kind in (Kind.PARAGRAPH, Kind.ITEM))
    sentences = [sentence for block in own for sentence in sentences_of(block)]
    return [said for sentence in sentences[:_MOST_SENTENCES] for said in _of_sentence(sentence)]


def _of_sentence(sentence: str) -> Iterator[Statement]:
    masked = _masked(sentence)
    if masked.rstrip(" )\"'").endswith(_ASKS) or _CODE.search(masked):
        return
    start = 0
    for end in (*(cut.start() for cut in _SPLIT.finditer(masked)), len(masked)):
        said = _of_clause(sentence[start:end].strip(" ;\u2013\u2014-"), masked)
        start = end
        if said is not None:
            yield said


def _of_clause(clause: str, sentence: str) -> Statement | None:
    """Return what a clause states for good, as far as it stands alone; `sentence` is masked."""
    label = phrases(CUES, "label").match(without_opening(clause))
    if label:
        told = without_opening(clause)[label.end() :].lstrip(" :\uff1a,")
        return _standing(FactKind.RULE, told, told)
    clause = without_opening(clause)
    found = _cue(_masked(clause))
    if found is None:
        return None
    language, kind, at = found
    before = clause[:at]
    if _JOINT.search(before) and not (len(before) <= _LED and phrases(CUES, "lead", language).match(before)):
        clause = without_opening(clause[at:])
    leaves, why = phrases(CUES, "leave", language), phrases(CUES, "why")
    if any(leaves.search(why.split(text, maxsplit=1)[0]) for text in (_masked(clause), without_opening(sentence))):
        return None  # a question, a supposition, a report, or for now only
    return _standing(kind, clause, _masked(clause))


def _cue(masked: str) -> tuple[str, FactKind, int] | None:
    """Return the language and kind of the first cue of a clause, and where it begins; None without one."""
    found = [
        (match.start() + len(match[0]) - len(match[0].lstrip(" ,")), number, language, kind)
        for language in languages()
        for number, (name, kind) in enumerate(_KINDS.items())
        if (match := phrases(CUES, name, language).search(masked))
    ]
    if not found:
        return None
    at, _, language, _ = min(found)
    kind = min(found, key=lambda one: one[1])[3]
    return language, kind, at


def _standing(kind: FactKind, clause: str, masked: str) -> Statement | None:
    """Return a clause as a statement, without its reason; None if it needs what stands around it."""
    why = phrases(CUES, "why").search(masked, 8)
    told, reason = (clause[: why.start()], clause[why.end() :]) if why else (clause, "")
    told, reason = told.strip(_CLOSING), reason.strip(_CLOSING)
    if stands_alone(told):
        return Statement(kind, told, reason if count_words(reason) > 1 else "")
    return None


def stands_alone(text: str) -> bool:
    """Return whether a text is understood without what was said before it."""
    masked = _masked(text)
    if len(text) > _LONGEST or count_words(text) < _FEWEST_WORDS or phrases(CUES, "points").search(masked):
        return False
    pronoun = phrases(CUES, "back").search(masked)
    return pronoun is None or count_words(masked[: pronoun.start()]) > _ANTECEDENT


def without_opening(text: str) -> str:
    """Return a text without words such as "ok, and also" that lead over to it."""
    while found := phrases(CUES, "opening").match(text):
        rest = _OPENING_END.match(text, found.end())
        if rest is None:
            break
        text = text[rest.end() :]
    return text


def count_words(text: str) -> int:
    """Return the number of words of a text, one more if it is Korean."""
    return len(_WORD.findall(text)) + bool(_HANGUL.search(text))


def with_reason(statement: str, why: str) -> str:
    """Return the text of a fact: the statement, and its reason as a paragraph of its own."""
    return f"{statement}\n\n{WHY} {why}" if why else statement


@cache
def cue_words() -> frozenset[str]:
    """Return the words of the cues that say *that* something holds, not what: they tell no subject."""
    told = (row for language in languages() for row in rows(language, CUES) if row.kind in _KINDS)
    return frozenset(word.strip("^~$,").casefold() for row in told for phrase in row.phrases for word in phrase.split())


def _masked(text: str) -> str:
    return _QUOTED.sub(lambda quote: "x" * len(quote[0]), mask_code(text))
