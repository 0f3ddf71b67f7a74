"""What a user states for good, by words that say so and by nothing else: the learner where no model is asked. Pure.

A clause counts if it has one of the few phrases of `gitmem/data/LANGUAGE/cues.tsv` ("from now on", "Decision:",
"never" at the head of an order) and none that takes it back: a question, a report of others, "for now". Nothing is
inferred from choices, moods or tenses. Only the user's own words state something: quotations, code, what programs
printed, diffs, chats, documents and texts to be translated do not. A wrong rule is worse than a missing one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import takewhile

from gitmem.model.fact import FactKind
from gitmem.model.words import own_statements
from gitmem.text.sentences import Kind, blocks, is_korean, mask_code, sentences_of
from gitmem.text.words import keywords, languages, matcher, phrases
from gitmem.values import Value

_KINDS = {
    "decision": FactKind.DECISION,
    "preference": FactKind.PREFERENCE,
    "rule": FactKind.RULE,
    "knowledge": FactKind.CORE_LOGIC,
    "lasts": FactKind.RULE,
    "opens": FactKind.RULE,
}
_REDACTED = "[REDACTED:"  # begins what stands for a secret
_LABELS = ("decision", "preference", "rule", "knowledge")  # kinds whose phrase is no part of the statement
_OWN_WORDS = 2_500  # characters of a prompt; a longer one is a plan or a paste
_LONGEST = 300  # characters of a clause
_FEWEST_WORDS = 2  # of a clause beside its cue: "use pnpm", "no mocks"
_ASKS = ("?", "\uff1f")
_QUESTION_AND_ANSWER = 2  # lines; a question behind more of them is about a text
_CLAUSE_END = re.compile(r";\s|\s[\u2013\u2014]\s")
_LEAD = re.compile(
    r"(?:[^\s,.:;]{1,8} ){0,2}[^\s,.:;]{1,8}(?<![은는이가]), "
)  # a few short words before a label: "alright then, "
_OPENING_END = re.compile(r"[\s,.!:]*\s|[,.!:]+$")
_QUOTED = re.compile(
    r"\"[^\"\n]{1,300}\"|(?<!\w)'[^'\n]{1,300}'(?!\w)|[\u201c\u300c\u2018][^\u201d\u300d\u2019\n]{1,300}[\u201d\u300d\u2019]"
    r"|[\u201e\u201a][^\u201c\u201d\u2018\n]{1,300}[\u201c\u201d\u2018]|\u00ab[^\u00bb\n]{1,300}\u00bb|\u300e[^\u300f\n]{1,300}\u300f"
)
_WORD = re.compile(r"[^\W\d_]{2,}|[가-힣]|\d{2,}")
_CODE = re.compile(r"[{}]\s*$|=>|\w\(\w*\)[,;]|;\s*(?://|$)")
_PLAIN_WORD = re.compile(r"[^\W\d_A-Z]+(?![\w./:@(-])")  # no `new.ts`, `formatDate()` or `dashboard-app`
# A line from which on a message is not the user's own: a heading, a diff, what a program or a chat wrote, the head of a
# mail. What `own_statements` takes for printed is gone by then.
_FOREIGN = re.compile(
    r"\s*(?:#{1,6}\s|##\[|\+ ?\S|-  \S|\S{1,20} (?:WARN|ERR!|ERROR|INFO|DEBUG|FATAL)(?:\s|$)|\[?[0-9]{1,2}:[0-9]{2}"
    r"|(?:From|To|Subject|Date|Re|Fwd|Cc): |\[?(?:오전|오후)|\S{1,30} \(?[0-9]{1,2}:[0-9]{2}|@?[A-Z][a-z]{1,20}: )"
)
# A first line that points to what follows: somebody else's text.
_POINTS = re.compile(
    r"(?i)\b(?:this|these|below|following|here(?:'s| is| are)|diese[rsmn]?|folgende[rsmn]?|unten)\b|아래|다음|이거|이것"
    r"|^이 |[:\u2193\u2b07\U0001f447]\s*$"
)
_ENDS_AT_TEXT = (":", "\u2193", "\u2b07", "\U0001f447")
_BEFORE_COLON = re.compile(r"(\S+(?: \S+){1,30}?): +(?=\S)")
# What follows "always" or "never" in English and is no order: a hyphen, "hits", "ended", "failing".
_TELLS = re.compile(r"[^\s\w,]|\s+\w+(?:[^s]s|ed|ing)\b")
_IS_SENTENCE = re.compile(r"(?<!\.)[.!\u3002\uff01]\s*$")
_CAPITAL_WITHIN = re.compile(r"(?<=[^\W\d_A-Z] )(?=[A-Z])")


class Statement(Value):
    """A lasting statement of a user."""

    kind: FactKind
    text: str


def statements_of(prompt: str) -> list[Statement]:
    """Return the lasting statements in a user's prompt."""
    own, found = own_words(own_statements(unicodedata.normalize("NFC", prompt))), list[Statement]()
    said = (block for block in blocks(own) if block.kind in (Kind.PARAGRAPH, Kind.ITEM))
    stated: Statement | None = None  # by the clause before
    for clause in (clause for block in said for sentence in sentences_of(block) for clause in _clauses(sentence)):
        if _REDACTED in clause:
            stated = None
            continue
        if stated and _is_reason(clause) and len(stated.text) + len(clause) < _LONGEST:
            found[-1] = stated = stated._replace(text=f"{as_statement(stated.text)} {clause}")
            continue
        stated = _stated(clause) or _stated_of_topic(clause) or _stated_with_reason(clause)
        found += [stated] if stated else []
    return found


def _is_reason(clause: str) -> bool:
    """Return whether a clause gives the reason of the statement before it: "Because the reports need it."."""
    return phrases("reason").search(_masked(clause).strip(" .!…")) is not None


def own_words(prompt: str) -> str:
    """Return the part of a prompt that is plainly the user's own, "" for a message about somebody else's text."""
    if len(prompt) > _OWN_WORDS or prompt.startswith("/"):
        return ""
    lines = prompt.split("\n")
    end = next((at for at, line in enumerate(lines) if _FOREIGN.match(line) and not _label(line)), len(lines))
    if end < len(lines) and lines[end].startswith("+"):  # of a diff, whose lines before it were removed
        end -= len(list(takewhile(lambda line: line.startswith("-"), reversed(lines[:end]))))
    asks_about = len(lines) > _QUESTION_AND_ANSWER and prompt.rstrip().endswith(_ASKS)  # what stands before it
    if asks_about or any(phrases("task").search(line.strip()) for line in lines):
        return ""
    own = [*map(_without_text, lines[:end])]
    gap = next((at for at, line in enumerate(own) if not line.strip()), len(own))
    points = _POINTS.search(own[0]) if own and not _label(own[0]) else None
    if points and own[0].rstrip().endswith(_ENDS_AT_TEXT):
        return own[0]
    if own and (task := _task_before_text(own[0])):
        return task
    # Behind a line break the user goes on after a sentence; after a heading, a question or a hint stands a text to be
    # worked on.
    if gap > 1 and not _goes_on(own[0]) and not _is_order_before_label(own[0], own[1]):
        return own[0]
    behind = next((line for line in own[gap:] if line.strip()), "")
    goes_on = gap and (_is_sentence(own[gap - 1]) or _is_order_before_label(own[gap - 1], behind))
    is_paste = gap < len(own) and not _label(own[gap - 1]) and (points or not goes_on)
    return "\n".join(own[:gap] if is_paste else own)


def _goes_on(line: str) -> bool:
    """Return whether a line is a whole sentence, a statement or an item of a list, behind which its writer goes on."""
    states = any(phrases(kind).search(line) for kind in ("lasts", "opens"))
    return bool(states or _label(line) or _is_sentence(line) or line.startswith(("- ", "* ")))


def _is_sentence(line: str) -> bool:
    """Return whether a line ends in a full stop, or as an order in a language that marks it there."""
    return bool(_IS_SENTENCE.search(line) or phrases("ending").search(line))


def _is_order_before_label(line: str, behind: str) -> bool:
    """Return whether a line orders work, and names no text, and the one behind it begins with a label of a statement.

    "Add a login page" may do without a full stop: whoever pastes a text below it has it worked on, and says so.
    """
    order = matcher("tasks.tsv", "orders").match(line.strip())
    return order is not None and not line.rstrip().endswith((":", "?")) and not _POINTS.search(line) and _label(behind)


def _task_before_text(line: str) -> str:
    """Return the words before a colon behind which a text begins that would state something, or ''."""
    match = _BEFORE_COLON.match(line)
    if match is None or _label(line):
        return ""
    states = [phrases(kind) for kind in ("lasts", "opens")]
    follows = any(cue.match(line[match.end() :]) for cue in states)
    return match[1] if follows and not any(cue.search(match[1]) for cue in states) else ""


def _without_text(line: str) -> str:
    """Return a line up to a text in it: behind ">>>", or a statement with a capital, as in "the slogan Never …"."""
    states = [phrases(kind) for kind in ("lasts", "opens")]
    line = line.partition(">>>")[0]
    begins = (place.start() for place in _CAPITAL_WITHIN.finditer(line))
    return line[: next((at for at in begins if any(cue.match(line[at:]) for cue in states)), len(line))]


def _label(line: str) -> bool:
    """Return whether a line begins with a label of a statement ("Decision:"), and with no speaker's name."""
    return any(_cue(kind, line) for kind in _LABELS)


def _cue(kind: str, text: str, language: str = "") -> re.Match[str] | None:
    """Return the phrase of a kind that a text has, None without one; a label ends where its word does."""
    cue = phrases(kind, language).search(text)
    is_within = cue is not None and kind in _LABELS and cue[0][-1:].isalnum() and text[cue.end() :][:1].isalnum()
    return None if is_within else cue


def _clauses(sentence: str) -> Iterator[str]:
    masked = _masked(sentence)
    if masked.rstrip(" )\"'").endswith(_ASKS) or _CODE.search(masked):
        return
    ends = [*(end.start() for end in _CLAUSE_END.finditer(masked)), len(masked)]
    yield from (sentence[start:end].strip(" ;\u2013\u2014") for start, end in zip([0, *ends], ends, strict=False))


def _stated_of_topic(clause: str) -> Statement | None:
    """Return an order that names its topic before "always" or "never", where its language does: "시크릿은 절대 …"."""
    clause = without_opening(clause)
    topic = matcher("tasks.tsv", "topic").match(_masked(clause).rstrip(" .!…"))
    order = clause[topic.end() :] if topic else ""
    stated = _stated(order) if phrases("opens").match(order) else None
    return stated and stated._replace(text=clause.strip(" ,.:"))


def _stated_with_reason(clause: str) -> Statement | None:
    """Return a statement whose reason stands behind a comma, where its language marks orders at their end."""
    head, _, reason = clause.rpartition(", ")
    if not head or not is_korean(head) or not _is_reason(reason) or _is_taken_back(_masked(reason), is_label=False):
        return None
    stated = _stated(head) or _stated_of_topic(head)
    return stated and stated._replace(text=f"{stated.text}, {reason}")


def _without_lead(clause: str) -> str:
    """Return a clause without up to three short words before its label that have no topic: "well then, rule: …"."""
    lead = _LEAD.match(clause)
    if lead is None or any(keywords(lead[0])) or _is_taken_back(lead[0], is_label=False):
        return clause
    return clause[lead.end() :] if _label(clause[lead.end() :]) else clause


def _stated(clause: str) -> Statement | None:
    """Return a clause as a statement, None if it has no phrase that says that it lasts, or one that takes it back."""
    whole, clause = clause, _without_lead(without_opening(clause))
    # "Good decision: …" has no label; in Korean praise ends otherwise than what leads over.
    is_praise = whole.removesuffix(clause).rstrip()[-1:].isalnum() and not is_korean(whole)
    masked = _masked(clause)
    bare = masked.strip(" .!…")
    for language in languages():
        for name, kind in _KINDS.items():
            cue = _cue(name, bare, language)
            if cue is None or (name in ("lasts", "opens") and not _orders(bare, language, name)):
                continue
            if name in _LABELS and name != "knowledge" and is_praise:
                return None
            rest = bare[: cue.start()] + bare[cue.end() :]
            if name in ("lasts", "opens") and _reports(rest, language, is_open=name == "opens"):
                return None
            is_whole = len(_WORD.findall(rest)) >= _FEWEST_WORDS and len(clause) <= _LONGEST
            if not is_whole or _is_taken_back(bare, is_label=cue[0].rstrip().endswith(":")):
                return None
            label = cue.end() if name in _LABELS else 0
            return Statement(kind, clause[label:].strip(" ,.:"))
    return None


def _is_taken_back(clause: str, *, is_label: bool) -> bool:
    """Return whether words of a clause say that it states nothing. A label alone says that it lasts."""
    return any(phrases(kind).search(clause) for kind in (("empty",) if is_label else ("empty", "unless")))


def _orders(clause: str, language: str, name: str) -> bool:
    """Return whether a clause ends as an order, in a language that marks it at the end of a sentence."""
    ending = phrases("ending", language)
    if ending.pattern == "(?!)":
        return True
    is_order = ending.search(clause) is not None
    if name == "lasts" and phrases("plain", language).search(clause):
        is_order = is_order or matcher("tasks.tsv", "subject").search(clause) is None
    is_task = name == "opens" and phrases("once", language).search(clause)  # on what is always so
    return is_order and not is_task and matcher("tasks.tsv", "describes").search(clause) is None


def _reports(rest: str, language: str, *, is_open: bool) -> bool:
    """Return whether words behind "from now on" or "always" tell what happens, in a language that marks it there."""
    report = phrases("report", language)
    if report.pattern == "(?!)":
        return False
    return report.search(rest.lstrip(" ,")) is not None or (is_open and _TELLS.match(rest) is not None)


def without_opening(text: str) -> str:
    """Return a text without words such as "ok, and also" that lead over to it."""
    while match := phrases("opening").match(text):
        rest = _OPENING_END.match(text, match.end())
        if rest is None:
            break
        text = text[rest.end() :]
    return text


def _masked(text: str) -> str:
    return _QUOTED.sub(lambda quote: "x" * len(quote[0]), mask_code(text))


def as_statement(text: str) -> str:
    """Return a sentence normalised as a fact's text, so that variants of its writing make one fact."""
    text = as_written(text)
    if _PLAIN_WORD.match(text) and not is_korean(text):  # whose first word in Latin letters is a name
        text = text[0].upper() + text[1:]
    return text


def as_written(text: str) -> str:
    """Return a sentence on one line with a full stop and without words that lead over to it, its case as it is."""
    text = without_opening(" ".join(text.split())).rstrip(" .,;:!…")
    return text if text.endswith(("?", "。")) else f"{text}."
