"""What a person chose among options that the answer before offered: "option 3", "let's go with Redis", "2번으로". Pure.

A pick says nothing alone, so its fact is the question with the option's own text. Where the question names no subject
("Which one?"), there is none.
"""

from __future__ import annotations

import re

from gitmem.model.fact.statements import CUES, count_words, without_opening
from gitmem.text.languages import phrases
from gitmem.text.sentences import mask_code, shorten, split
from gitmem.values import Value

_LOOK_AT = 30_000  # characters of an answer, its last
_MOST_LINES = 400
_LONGEST_PROMPT = 160  # characters
_LONGEST = 200  # characters of a question, and of an option
_MOST_WORDS = 8  # of a pick that names its option
_FEWEST_WORDS = 2  # of a question that names its subject
_LINE = re.compile(
    r"\s{0,6}(?:#{2,5}\s|[-*]\s)?(?:\*\*)?(?:\w{3,12}\s)?#?(?P<key>[0-9]{1,2}|[A-Ea-e])(?:\*\*)?[.):]"
    r"(?:\*\*)?\s(?P<text>.{2,600})$"
)
_KEYS = re.compile(r"#?([0-9]{1,2}|[a-e])(?:\s?(?:,|&|\+)?\s?#?([0-9]{1,2}))?", re.IGNORECASE)
_MARKS = re.compile(r"\*\*|__|`")
_PART = re.compile(r"[^\W_]+(?:[.+#-][^\W_]+)*")
_ASKS = ("?", "\uff1f")


class Picked(Value):
    """An option that a person picked, with the question that it answers, and why (as far as it was said)."""

    text: str
    why: str = ""


def picks_of(prompt: str, answer: str) -> list[Picked]:
    """Return the options of the answer before that a prompt picks."""
    said = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    if not answer or len(prompt) > _LONGEST_PROMPT or said.endswith(_ASKS):
        return []
    reason = phrases(CUES, "why").search(said)
    why = said[reason.end() :].strip(" ,.!") if reason else ""
    left = _left_of(said[: reason.start()] if reason else said)
    answer = answer[-_LOOK_AT:]
    options = _options_of(answer)
    chosen = _chosen(left, options) if options else _named_of_two(left, answer)
    question = _question(answer)
    return [Picked(f"{question} {option}", why) for option in chosen] if question else []


def _left_of(said: str) -> str:
    """Return what is left of "let's go with option 2, please": the number, or the words that name an option."""
    said = without_opening(f"{said} ").strip(" .,!")
    left = phrases(CUES, "pick").sub(" ", re.sub(r"(?<=[0-9])(?=[가-힣])", " ", said))
    return " ".join(left.split()).strip(" .,!")


def _options_of(answer: str) -> dict[str, str]:
    """Return the options of an answer by their number or letter; of several lists, the last that has two."""
    lists: list[dict[str, str]] = [{}]
    for line in answer.splitlines()[-_MOST_LINES:]:
        found = _LINE.match(line)
        if found:
            key = found["key"].casefold()
            if key in lists[-1] or key in ("1", "a"):
                lists.append({})
            lists[-1][key] = shorten(_MARKS.sub("", found["text"]), _LONGEST)
    return next((one for one in reversed(lists) if len(one) > 1), {})


def _chosen(left: str, options: dict[str, str]) -> list[str]:
    ordinal = phrases(CUES, "ordinal").match(left)
    keys = _KEYS.fullmatch(left)
    if keys:
        return [options[key.casefold()] for key in keys.groups() if key and key.casefold() in options]
    if ordinal and not left[ordinal.end() :].strip():
        return [*options.values()][_place(ordinal[0]) :][:1]
    words = _words(left)
    named = [option for option in options.values() if words and words <= _words(option)]
    return named if len(named) == 1 and count_words(left) <= _MOST_WORDS else []


def _place(ordinal: str) -> int:
    from gitmem.text.languages import languages, rows

    every = (row.phrases for name in languages() for row in rows(name, CUES) if row.kind == "ordinal")
    return next(names.index(ordinal.casefold()) for names in every if ordinal.casefold() in names)


def _named_of_two(left: str, answer: str) -> list[str]:
    """Return the words of a pick that takes a side of the answer's last question ("Redis or Postgres?")."""
    asked = ([one for one in split(answer) if one.endswith(_ASKS)] or [""])[-1]
    words = _words(left)
    sides = phrases(CUES, "or").split(asked)
    is_side = words and len(sides) > 1 and sum(words <= _words(side) for side in sides) == 1
    return [left] if is_side and count_words(left) <= _MOST_WORDS else []


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _PART.findall(text))


def _question(answer: str) -> str:
    """Return the last question of an answer that names its subject, or the line before its options; "" if none does."""
    asked = [one for one in split(answer) if one.endswith(_ASKS)]
    lines = [line.strip() for line in answer.splitlines()[-_MOST_LINES:] if line.strip()]
    first = next((place for place, line in enumerate(lines) if _LINE.match(line)), 0)
    lead = _MARKS.sub("", lines[first - 1]).strip("# ") if first and lines[first - 1].endswith(":") else ""
    return next(
        (one for one in (*reversed(asked), lead) if len(one) <= _LONGEST and has_subject(one)),
        "",
    )


def has_subject(question: str) -> bool:
    """Return whether a question names what it is about, unlike "Which option would you prefer?"."""
    return count_words(phrases(CUES, "hollow").sub(" ", mask_code(question))) > _FEWEST_WORDS
