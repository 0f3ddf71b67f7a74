"""What a person states for good: a rule, preference or decision with a word that says so (spec V4). Pure.

The words that say so stand in `gitmem/data/LANGUAGE/cues.tsv`. Of a prompt that has a task, too, only the clause with
the cue counts; one that refers to something outside of it does not. Precision before recall: a wrong rule in every
session is worse than a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gitmem.model.compare import is_negated, stems_of
from gitmem.model.fact import FactKind
from gitmem.model.turns import tells
from gitmem.model.words import human_text
from gitmem.text.sentences import Kind, blocks, is_korean, mask_code, sentences_of, split
from gitmem.text.words import files_of, languages, phrases
from gitmem.values import Value

WHY = "**Why:**"
_KINDS = {"preference": FactKind.PREFERENCE, "decision": FactKind.DECISION, "rule": FactKind.RULE}
_PRACTICE = "practice"  # a rule by what it says, such as who pushes
_OWN_WORDS = 2_500  # characters of a prompt; a longer one is a plan or a paste
_LONGEST = 300  # characters of a clause
_FEWEST_WORDS = 3  # of a clause that stands alone; a Korean one says as much in one word less
_LED = 40  # characters of the beginning of a clause that says where it holds: "In the API, always …"
_CLOSING = " ,;:.!"
_DASHES = re.compile(r"^[\s\u2013\u2014-]+\s|[\s\u2013\u2014-]+$")  # but the one of `-v`
_OPENING_END = re.compile(r"[\s,.!:]*\s|[,.!:]+$")
_SPLIT = re.compile(r";\s|\s[\u2013\u2014-]{1,2}\s")
_JOINT = re.compile(r"(?:[,;:.!)\u2013\u2014-]|\s(?:and|but|so|und|aber))\s*$", re.IGNORECASE)
_INNER_JOINT = re.compile(r":\s|,\s(?:and|but|und|aber)\s", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"\n]{1,300}\"|[\u201c\u300c][^\u201d\u300d\n]{1,300}[\u201d\u300d]")
_WORD = re.compile(r"[^\W\d_]{2,}|[가-힣]")
_HANGUL = re.compile(r"[가-힣]")
_CODE = re.compile(r"[{}]\s*$|=>|\w\(\w*\)[,;]|;\s*(?://|$)")
# A line that a program printed.
_PASTED = re.compile(r"\b[A-Z]\w{0,60}(?:Error|Exception|Warning): |^(?:error|fatal|FATAL|ERROR)(?:\[\w+\])?: ")
_ASKS = ("?", "\uff1f")
_ANTECEDENT = 3  # words before a pronoun that speaks of one of them
_LOOK_AT = 30_000  # characters of an answer, its last
_LONGEST_OPTION = 200  # characters of a question, and of an option
_SHORT = 5  # words of a clause that needs the one before it: "It is shipped then; always add a new file"
_FEW = 2  # words of a statement that needs the sentence before it
_LONGEST_BEFORE = 200  # characters of that
_FEWEST_OF_CONTEXT = 3  # words of a sentence that says what a statement speaks of
_PLAIN_WORD = re.compile(r"[^\W\d_A-Z]+(?![\w./:@(-])")  # no `new.ts`, `formatDate()` or `dashboard-app`


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
    return [said for block in own if not is_pasted(block.text) for said in _of_paragraph(sentences_of(block))]


def is_pasted(text: str) -> bool:
    """Return whether a text has a line that a program printed."""
    return _PASTED.search(text) is not None


def _of_paragraph(sentences: Iterable[str]) -> list[Statement]:
    """Return the statements of a paragraph, with the sentences before or behind one that belong to it."""
    found: list[Statement] = []
    last = ""  # the sentence before
    before: list[Statement] = []  # of it
    for sentence in sentences:
        is_bare = _is_bare_cue(sentence)
        stated = [] if is_bare else list(_of_sentence(sentence))
        if before and not stated and _is_open(before[-1].text) and tells(sentence):
            stated = [_joined(found.pop(), Statement(FactKind.DECISION, sentence))]
        elif len(stated) == 1 and _says_little(stated[0].text, after_rule=bool(before)):
            stated = [_joined(found.pop() if before else stated[0]._replace(text=last), stated[0])] if last else stated
        elif last and not before and is_bare and _holds(last):
            stated = [_joined(Statement(FactKind.RULE, last), Statement(FactKind.RULE, sentence))]
        found += stated
        last, before = sentence if _leads(sentence) else "", stated
    return [one for one in found if not _is_open(one.text) or len(split(one.text)) > 1]


def _joined(said: Statement, more: Statement) -> Statement:
    text = f"{as_statement(said.text)} {as_statement(more.text)}"
    return said._replace(text=text, why=said.why or more.why)


def _is_open(text: str) -> bool:
    """Return whether a text begins with a decision to change something that does not say to what."""
    first = next(iter(split(text)), "")
    return bool(phrases("open").search(first)) and not phrases("settled").search(first)


def _says_little(text: str, *, after_rule: bool) -> bool:
    """Return whether a statement has so few words that it needs the sentence before it: "Never floats."."""
    left = phrases("opening").sub(" ", _without_cues(text, gaps=False))
    most = _FEW * (1 + (after_rule and is_korean(text) and is_negated(text)))  # the verb of a Korean ban has two
    return len(_WORD.findall(left)) <= most


def _is_bare_cue(sentence: str) -> bool:
    """Return whether a sentence only says that what stands before it holds for good: "From now on.", "Always so."."""
    masked, left = _masked(sentence), _without_cues(sentence, gaps=False)
    if left == masked or phrases("leave").search(masked):
        return False
    left = phrases("opening").sub(" ", phrases("points").sub(" ", left))
    return len(_WORD.findall(left)) <= is_korean(sentence)


def _leads(sentence: str) -> bool:
    """Return whether a sentence may stand before a short statement: it is short itself, and asks nothing."""
    return len(sentence) <= _LONGEST_BEFORE and not sentence.endswith(_ASKS)


def _holds(sentence: str) -> bool:
    """Return whether a sentence that is to hold for good is understood alone, and no question or supposition."""
    return stands_alone(sentence) and not sentence.endswith(_ASKS) and not phrases("leave").search(_masked(sentence))


def _of_sentence(sentence: str) -> Iterator[Statement]:
    masked = _masked(sentence)
    if masked.rstrip(" )\"'").endswith(_ASKS) or _CODE.search(masked):
        return
    ends = [*(cut.start() for cut in _SPLIT.finditer(masked)), len(masked)]
    before = ""  # the clause before, if it states nothing for good
    for start, end in zip([0, *ends], ends, strict=False):
        clause = _DASHES.sub("", sentence[start:end].strip(" ;"))
        said = _of_clause(clause, masked)
        if said and before and tells(before) and count_words(said.text) <= _SHORT:
            said = said._replace(text=f"{before}; {said.text}")
        before = "" if said else clause
        if said is not None:
            yield said


def _of_clause(clause: str, sentence: str) -> Statement | None:
    """Return what a clause states for good, as far as it stands alone; `sentence` is masked."""
    label = phrases("label").match(without_opening(clause))
    if label:
        told = without_opening(clause)[label.end() :].lstrip(" :\uff1a,")
        return _standing(FactKind.RULE, told)
    clause = without_opening(clause)
    found = _cue(_masked(clause))
    if found is None:
        return None
    language, kind, at, end = found
    leaves, why = phrases("leave", language), phrases("why")
    for part in _parts(clause, language, at, end):
        if any(leaves.search(why.split(text, maxsplit=1)[0]) for text in (_masked(part), without_opening(sentence))):
            return None  # a question, a supposition, a report, or for now only
        said = _standing(kind, part)
        if said and _cue(_masked(said.text)):  # and no reason before what holds
            return said
    return None


def _parts(clause: str, language: str, at: int, end: int) -> Iterator[str]:
    """Yield the parts of a clause that may state something for good, the likeliest first.

    A part begins with the clause, behind its last colon or another joint before the cue, which stands between `at` and
    `end`; or at the cue, if words of a task lead over to it. Each may do without what follows the next comma ("Never
    sell the key, they lost one with it").
    """
    before = clause[:at]
    led = len(before) <= _LED and phrases("lead", language).match(before)
    contrasts = phrases("contrast", language).search(clause) and tells(before)  # "X, never Y"
    joints = [match.end() for match in _INNER_JOINT.finditer(before)]
    if led or contrasts or not _JOINT.search(before):
        starts = [0, *joints[-1:]]
    else:
        colon = before.rfind(": ") + 1
        is_whole = count_words(clause[at:]) >= _FEWEST_WORDS and _declares(before[colon:], language)
        starts = [colon, at] if is_whole else [at]
        starts += [] if _WORD.search(clause[end:]) else [0, *joints[-1:]]  # "No exceptions in the library, never"
    comma = clause.find(", ", end)
    for start in starts:
        yield without_opening(clause[start:])
        if comma > 0:
            yield without_opening(clause[start:comma])


def _declares(text: str, language: str) -> bool:
    """Return whether a text orders nothing: it begins with who or what it speaks of, or has no word of a task."""
    if phrases("subject").match(without_opening(text.strip())):
        return True
    return f"{language}/tasks.tsv" in files_of("tasks.tsv") and tells(text)


def _cue(masked: str) -> tuple[str, FactKind, int, int] | None:
    """Return the language and kind of the first cue of a clause, and where it begins and ends; None without one."""
    found = [
        (match.start() + len(match[0]) - len(match[0].lstrip(" ,:")), number, language, kind, match.end())
        for language in languages()
        for number, (name, kind) in enumerate([*_KINDS.items(), (_PRACTICE, FactKind.RULE)])
        if (match := phrases(name, language).search(masked))
    ]
    if not found:
        return None
    at, _, language, _, end = min(found)
    kind = min(found, key=lambda one: one[1])[3]
    return language, kind, at, end


def _standing(kind: FactKind, clause: str) -> Statement | None:
    """Return a clause as a statement, without its reason; None if it needs what stands around it."""
    why = phrases("why").search(_masked(clause), 8)
    told, reason = (clause[: why.start()], clause[why.end() :]) if why else (clause, "")
    told, reason = _DASHES.sub("", told).strip(_CLOSING), reason.strip(_CLOSING)
    if stands_alone(told) and _WORD.search(_without_cues(told, gaps=False)):
        return Statement(kind, told, reason if count_words(reason) > 1 else "")
    return None


def stands_alone(text: str) -> bool:
    """Return whether a text is understood without what was said before it."""
    masked = _masked(text)
    if len(text) > _LONGEST or count_words(text) < _FEWEST_WORDS or phrases("points").search(masked):
        return False
    pronoun = phrases("back").search(masked)
    return pronoun is None or count_words(masked[: pronoun.start()]) > _ANTECEDENT


def in_context(text: str, answer: str) -> str:
    """Return a statement about one thing alone behind the sentence of the answer before that names it.

    That is "" if the sentence says no more than the statement. If the answer does not name the thing, it needs none.
    """
    about = stems_of(_without_cues(text))
    if len(about) != 1 or phrases(_PRACTICE).search(_masked(text)):
        return text
    said = (one for block in blocks(human_text(answer)[-_LOOK_AT:]) for one in sentences_of(block))
    named = next((one for one in said if about <= stems_of(one)), "")
    if named and len(stems_of(named)) < _FEWEST_OF_CONTEXT:
        return ""
    return f"{as_statement(named)} {as_statement(text)}" if named and len(named) <= _LONGEST_OPTION else text


def _without_cues(text: str, *, gaps: bool = True) -> str:
    """Return the masked text of a statement without the words that make it one.

    Without `gaps` those stay that find words of the subject, too ("never * again").
    """
    masked = _masked(text)
    for kind in _KINDS:
        masked = phrases(kind, gaps=gaps).sub(" ", masked)
    return masked


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


def _masked(text: str) -> str:
    return _QUOTED.sub(lambda quote: "x" * len(quote[0]), mask_code(text))


def as_statement(text: str) -> str:
    """Return a sentence normalised as a fact's text, so that variants of its writing make one fact."""
    text = without_opening(" ".join(text.split())).rstrip(" .,;:!…")
    if _PLAIN_WORD.match(text) and not is_korean(text):  # whose first word in Latin letters is a name
        text = text[0].upper() + text[1:]
    return text if text.endswith(("?", "。")) else f"{text}."
