"""What a person states for good (spec V4), or chooses among the options that the answer before offered. Pure.

The words that say so stand in `gitmem/data/LANGUAGE/cues.tsv`. Of a prompt that has a task, too, only the clause with
the cue counts; one that refers to something outside of it does not. A choice ("option 3", "let's go with Redis") is the
question with the option's own text, and none where the question names no subject. Precision before recall: a wrong
rule in every session is worse than a missing one.
"""

from __future__ import annotations

import re
from functools import cache

from gitmem.facts.fact import FactKind
from gitmem.text.data import languages, phrases, rows
from gitmem.text.sentences import Kind, blocks, mask_code, sentences_of, shorten, split
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


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
_LOOK_AT = 30_000  # characters of an answer, its last
_MOST_LINES = 400
_LONGEST_PROMPT = 160  # characters
_LONGEST_OPTION = 200  # characters of a question, and of an option
_MOST_WORDS = 8  # of a pick that names its option
_FEWEST_OF_SUBJECT = 2  # words of a question that names its subject
_LINE = re.compile(
    r"\s{0,6}(?:#{2,5}\s|[-*]\s)?(?:\*\*)?(?:\w{3,12}\s)?#?(?P<key>[0-9]{1,2}|[A-Ea-e])(?:\*\*)?[.):]"
    r"(?:\*\*)?\s(?P<text>.{2,600})$"
)
_KEYS = re.compile(r"#?([0-9]{1,2}|[a-e])(?:\s?(?:,|&|\+)?\s?#?([0-9]{1,2}))?", re.IGNORECASE)
_MARKS = re.compile(r"\*\*|__|`")
_PART = re.compile(r"[^\W_]+(?:[.+#-][^\W_]+)*")


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
    label = phrases("label").match(without_opening(clause))
    if label:
        told = without_opening(clause)[label.end() :].lstrip(" :\uff1a,")
        return _standing(FactKind.RULE, told, told)
    clause = without_opening(clause)
    found = _cue(_masked(clause))
    if found is None:
        return None
    language, kind, at = found
    before = clause[:at]
    if _JOINT.search(before) and not (len(before) <= _LED and phrases("lead", language).match(before)):
        clause = without_opening(clause[at:])
    leaves, why = phrases("leave", language), phrases("why")
    if any(leaves.search(why.split(text, maxsplit=1)[0]) for text in (_masked(clause), without_opening(sentence))):
        return None  # a question, a supposition, a report, or for now only
    return _standing(kind, clause, _masked(clause))


def _cue(masked: str) -> tuple[str, FactKind, int] | None:
    """Return the language and kind of the first cue of a clause, and where it begins; None without one."""
    found = [
        (match.start() + len(match[0]) - len(match[0].lstrip(" ,")), number, language, kind)
        for language in languages()
        for number, (name, kind) in enumerate(_KINDS.items())
        if (match := phrases(name, language).search(masked))
    ]
    if not found:
        return None
    at, _, language, _ = min(found)
    kind = min(found, key=lambda one: one[1])[3]
    return language, kind, at


def _standing(kind: FactKind, clause: str, masked: str) -> Statement | None:
    """Return a clause as a statement, without its reason; None if it needs what stands around it."""
    why = phrases("why").search(masked, 8)
    told, reason = (clause[: why.start()], clause[why.end() :]) if why else (clause, "")
    told, reason = told.strip(_CLOSING), reason.strip(_CLOSING)
    if stands_alone(told):
        return Statement(kind, told, reason if count_words(reason) > 1 else "")
    return None


def stands_alone(text: str) -> bool:
    """Return whether a text is understood without what was said before it."""
    masked = _masked(text)
    if len(text) > _LONGEST or count_words(text) < _FEWEST_WORDS or phrases("points").search(masked):
        return False
    pronoun = phrases("back").search(masked)
    return pronoun is None or count_words(masked[: pronoun.start()]) > _ANTECEDENT


def without_opening(text: str) -> str:
    """Return a text without words such as "ok, and also" that lead over to it."""
    while match := phrases("opening").match(text):
        rest = _OPENING_END.match(text, match.end())
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
    told = (row for language in languages() for row in rows(language) if row.kind in ("decision", "rule"))
    return frozenset(word.strip("^~$,").casefold() for row in told for phrase in row.phrases for word in phrase.split())


def _masked(text: str) -> str:
    return _QUOTED.sub(lambda quote: "x" * len(quote[0]), mask_code(text))


def picks_of(prompt: str, answer: str) -> list[Statement]:
    """Return the options of the answer before that a prompt picks, each behind the question."""
    said = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    if not answer or len(prompt) > _LONGEST_PROMPT or said.endswith(_ASKS):
        return []
    reason = phrases("why").search(said)
    why = said[reason.end() :].strip(" ,.!") if reason else ""
    left = _left_of(said[: reason.start()] if reason else said)
    answer = answer[-_LOOK_AT:]
    asked = [sentence for sentence in split(answer) if sentence.endswith(_ASKS)]
    options, question = _options_of(answer), _question(answer, asked)
    chosen = _chosen(left, options, asked[-1] if asked else "") if question else []
    return [Statement(FactKind.DECISION, f"{question} {option}", why) for option in chosen]


def _left_of(said: str) -> str:
    """Return what is left of "let's go with option 2, please": the number, or the words that name an option."""
    said = without_opening(f"{said} ").strip(" .,!")
    left = phrases("pick").sub(" ", re.sub(r"(?<=[0-9])(?=[가-힣])", " ", said))
    return " ".join(left.split()).strip(" .,!")


def _options_of(answer: str) -> dict[str, str]:
    """Return the options of an answer by their number or letter; of several lists, the last that has two."""
    lists: list[dict[str, str]] = [{}]
    for line in answer.splitlines()[-_MOST_LINES:]:
        match = _LINE.match(line)
        if match:
            key = match["key"].casefold()
            if key in lists[-1] or key in ("1", "a"):
                lists.append({})
            lists[-1][key] = shorten(_MARKS.sub("", match["text"]), _LONGEST_OPTION)
    return next((options for options in reversed(lists) if len(options) > 1), {})


def _chosen(left: str, options: dict[str, str], asked: str) -> list[str]:
    """Return the options that a pick names by number, letter, place or words, or its side of "Redis or Postgres?"."""
    if keys := _KEYS.fullmatch(left):
        return [options[key.casefold()] for key in keys.groups() if key and key.casefold() in options]
    if phrases("ordinal").fullmatch(left):
        return [*options.values()][_place(left.casefold()) :][:1]
    sides = [*options.values()] or phrases("or").split(asked)
    words = _words(left)
    named = [side for side in sides if words and words <= _words(side)]
    if len(named) != 1 or len(sides) < 2 or count_words(left) > _MOST_WORDS:  # noqa: PLR2004  # a choice
        return []
    return named if options else [left]


def _place(ordinal: str) -> int:
    told = (row.phrases for language in languages() for row in rows(language) if row.kind == "ordinal")
    return next(ordinals.index(ordinal) for ordinals in told if ordinal in ordinals)


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _PART.findall(text))


def _question(answer: str, asked: Sequence[str]) -> str:
    """Return the last question of an answer that names its subject, or the line before its options; "" if none does."""
    lines = [line.strip() for line in answer.splitlines()[-_MOST_LINES:] if line.strip()]
    first = next((place for place, line in enumerate(lines) if _LINE.match(line)), 0)
    lead = _MARKS.sub("", lines[first - 1]).strip("# ") if first and lines[first - 1].endswith(":") else ""
    return next((text for text in (*reversed(asked), lead) if len(text) <= _LONGEST_OPTION and has_subject(text)), "")


def has_subject(question: str) -> bool:
    """Return whether a question names what it is about, unlike "Which option would you prefer?"."""
    return count_words(phrases("hollow").sub(" ", mask_code(question))) > _FEWEST_OF_SUBJECT
