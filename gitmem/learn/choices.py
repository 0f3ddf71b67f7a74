"""What a person chooses among options that an answer offers ("option 3", "let's go with Redis"). Pure.

A choice that lasts is the option's own text behind what it settles; it is none where nothing names a subject.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile

from gitmem.learn.statements import Statement, count_words, is_pasted, stands_alone, without_opening
from gitmem.model.fact import FactKind
from gitmem.model.turns import TaskType, asks_back, classify
from gitmem.model.words import human_text
from gitmem.text.sentences import blocks, mask_code, sentences_of, shorten, split
from gitmem.text.words import languages, phrases, rows

_ASKS = ("?", "\uff1f")
_LEADS_TO = (":", "\uff1a")
_LOOK_AT = 30_000  # characters of an answer, its last
_MOST_LINES = 400
_LONGEST_PROMPT = 160  # characters
_LONGEST_OPTION = 200  # characters of a question, and of an option
_MOST_WORDS = 8  # of a pick that names its option
_FEWEST_OF_SUBJECT = 2  # words of a question that names its subject
_LONGEST_PART = 95  # characters of a request before a choice, and of the option: a fact tells 200
_LONGEST_TASK = 60  # characters of the request in which something came up
_LEAD = 3  # sentences before a list of options
_LEADS_ON = re.compile(r"(?:,\s*(?:so|and|but))?[\s,;.:\uff1a]*$")
_LINE = re.compile(
    r"\s{0,6}(?:#{2,5}\s|[-*]\s)?(?:\*\*)?(?:\w{3,12}\s)?#?(?P<key>[0-9]{1,2}|[A-Ea-e])(?:\*\*)?[.):]"
    r"(?:\*\*)?\s(?P<text>.{2,600})$"
)
_KEYS = re.compile(r"#?([0-9]{1,2}|[a-e])(?:\s?(?:,|&|\+)?\s?#?([0-9]{1,2}))?", re.IGNORECASE)
_AND_MORE = re.compile(r"[.,;:)]\s")  # "2. and never …"
_MARKS = re.compile(r"\*\*|__|`")
_PART = re.compile(r"[^\W_]+(?:[.+#-][^\W_]+)*")


def picks_of(prompt: str, answer: str, request: str = "") -> list[Statement]:
    """Return the options of the answer before that a prompt picks, each behind what it settles.

    That is the answer's question, else the person's `request` before it, else what leads to its list. A list that
    nobody calls a choice is one of things to do. What is picked for now only is none, nor what somebody does next ("You
    log in, and I try again").
    """
    said, why = _pick_in(prompt)
    chosen = [] if phrases("leave").search(said) else chosen_options(prompt, answer)
    about = _settled_by(answer[-_LOOK_AT:], request) if chosen else ""
    lasting = (shorten(option, _LONGEST_PART) for option in chosen if about and not phrases("errand").match(option))
    return [Statement(FactKind.DECISION, f"{about} {option.rstrip('?')}", why) for option in lasting]


def _settled_by(answer: str, request: str) -> str:
    """Return what the choice among the options of an answer settles: its question, the request, or what leads to it."""
    if not _options_of(answer):
        return _question(answer)
    lead, after = _around(answer)
    question = lead[-1] if lead and lead[-1].endswith(_ASKS) else ""
    if not question and not phrases("offer").search("\n".join((request, *lead, after))):
        return ""
    if question and not _speaks_of(question) and _names_subject(question):
        return question
    own = (block for block in blocks(human_text(request)) if not is_pasted(block.text))
    asked = [sentence for block in own for sentence in sentences_of(block) if not asks_back(sentence)]
    begun = shorten(" ".join(dropwhile(lambda sentence: not has_subject(sentence), asked)), _LONGEST_PART)
    led = [sentence for sentence in reversed(lead) if not _speaks_of(sentence)]
    # Of a request that asks for no options the agent tells what came up.
    met = [] if _asks_for_options(asked) else [one for one in led if not phrases("offer").search(one)]
    met = [one for one in met if not one.endswith(_LEADS_TO) and _names_subject(one)]
    task = next(filter(_names_subject, asked), "") if met else ""
    settled = (met or [*filter(_names_subject, (begun, *led)), ""])[0]
    settled = _LEADS_ON.sub("", shorten(settled, _LONGEST_PART))
    if task:
        settled = f"{_LEADS_ON.sub('', shorten(without_opening(task), _LONGEST_TASK))} ({settled})"
    return settled and f"{settled} \u2192"


def _asks_for_options(request: Sequence[str]) -> bool:
    asks = (one for one in request if one.endswith(_ASKS))
    return any(map(phrases("offer").search, request)) or any(classify(one) is TaskType.QUESTION for one in asks)


def _around(answer: str) -> tuple[list[str], str]:
    """Return the last sentences of the paragraph before the last list of options, and the text behind the list."""
    lines = answer.splitlines()[-_MOST_LINES:]
    keys = [(match["key"].casefold() if (match := _LINE.match(line)) else "") for line in lines]
    options = list(_options_of(answer))
    first, last = (len(keys) - 1 - keys[::-1].index(key) for key in (options[0], options[-1]))
    before = blocks("\n".join(line for line, key in zip(lines[:first], keys, strict=False) if not key))
    return sentences_of(before[-1])[-_LEAD:] if before else [], "\n".join(lines[last + 1 :])


def _names_subject(sentence: str) -> bool:
    """Return whether a sentence is understood alone, and says what it is about."""
    return len(sentence) <= _LONGEST_OPTION and has_subject(sentence) and stands_alone(sentence)


def _speaks_of(sentence: str) -> bool:
    """Return whether a sentence has a pronoun that may speak of something before it."""
    return phrases("back").search(mask_code(sentence)) is not None


def chosen_options(prompt: str, answer: str) -> list[str]:
    """Return the options of an answer that the next prompt picks."""
    said, _ = _pick_in(prompt)
    answer = answer[-_LOOK_AT:]
    return _chosen(_left_of(said), _options_of(answer), (_asked(answer) or [""])[-1]) if said and answer else []


def without_options(answer: str) -> str:
    """Return an answer without the lines of a list of options."""
    return "\n".join(line for line in answer.splitlines() if not _LINE.match(line))


def _pick_in(prompt: str) -> tuple[str, str]:
    """Return the first line of a short prompt that asks nothing, and the reason it gives; "" for none."""
    said = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    if len(prompt) > _LONGEST_PROMPT or said.endswith(_ASKS):
        return "", ""
    reason = phrases("why").search(said)
    return (said[: reason.start()], said[reason.end() :].strip(" ,.!")) if reason else (said, "")


def _asked(answer: str) -> list[str]:
    return [sentence for sentence in split(answer) if sentence.endswith(_ASKS)]


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
    if keys := _KEYS.fullmatch(left) or _KEYS.fullmatch(_AND_MORE.split(left, maxsplit=1)[0].strip()):
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


def _question(answer: str) -> str:
    """Return the last question of an answer that names its subject, options aside; "" if none does."""
    asked = (one for one in reversed(_asked(without_options(answer))) if not _speaks_of(one))
    return next(filter(_names_subject, asked), "")


def has_subject(question: str) -> bool:
    """Return whether a question names what it is about, unlike "Which option would you prefer?"."""
    return count_words(phrases("hollow").sub(" ", mask_code(question))) > _FEWEST_OF_SUBJECT
