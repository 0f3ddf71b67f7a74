"""The fields of an exchange in the text of its entry in a daily log (docs/format.md, "Turns"). Pure.

The text begins with the request. Then come the parts, in this order, each from a line that begins with its mark, after
a blank line: answer, one for each text between tool calls, one for each error, files, outcome.
"""

from __future__ import annotations

import re

from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable

ANSWER, SAID, ERROR, FILES, OUTCOME = "**Answer:**", "**Said:**", "**Error:**", "**Files:**", "**Outcome:**"
NOTED = "**Noted:**"  # a list of statements of mid-turn, which former versions wrote
MENDED = " → "  # in an error, before its mend
# What gitmem writes before the words of a person or an agent, line by line (docs/format.md, "Turns", "Sessions").
_LABELS = (
    r"(?m)^[ \t]*(?:(?:\*\*Outcome:\*\*|Outcome:|결과:) \w+$|\*\*(?:Answer|Said|Noted|Error|Files):\*\*"
    r"|(?:Asked|Done|Files|Files modified|Failed|Keywords|요청|한 일|파일|실패|키워드):)"
)
_MARK = r"(?m)^\*\*(Answer|Said|Noted|Error|Files|Outcome):\*\*(?= |$)"  # compiled at first use


class Fields(Value):
    """What an entry of the daily log says of an exchange; `outcome` is "" where it succeeded or is not known yet."""

    request: str = ""
    answer: str = ""
    said: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    outcome: str = ""


def render_fields(fields: Fields) -> str:
    """Return the text of an entry with these fields, which `split_fields` takes apart again."""
    parts = [_unmarked(fields.request)] if fields.request else []
    parts += _part(ANSWER, _unmarked(fields.answer))
    for text in fields.said:
        parts += _part(SAID, _unmarked(text))
    for error in fields.errors:
        parts += _part(ERROR, _unmarked(error))
    parts += _part(FILES, ", ".join(_one_line(name) for name in fields.files))
    parts += _part(OUTCOME, _one_line(fields.outcome))
    return "\n\n".join(parts)


def split_fields(text: str) -> Fields:
    """Return the fields in the text of an entry.

    A part ends where the next mark begins. A merge of lines may have put parts into another order, or a part there
    twice: of errors, texts of mid-turn and files all are read; another answer or outcome is text of the part before it.
    """
    ends = [(0, 0, "")]  # of the request; of each part: start, start of its text, mark
    once: set[str] = set()
    for found in re.finditer(_MARK, text):
        if found[0] not in once:
            ends.append((found.start(), found.end(), found[0]))
            once.update({found[0]} & {ANSWER, OUTCOME})
    stops = [start for start, _, _ in ends[1:]] + [len(text)]
    parts = [(mark, text[begin:stop].strip("\n ")) for (_, begin, mark), stop in zip(ends, stops, strict=True)]
    values = dict(parts)
    said = [one for mark, text in parts if mark in {SAID, NOTED} for one in ([text] if mark == SAID else _listed(text))]
    lists = [tuple(name for name in text.split(", ") if name) for mark, text in parts if mark == FILES]
    return Fields(
        request=values[""],
        answer=values.get(ANSWER, ""),
        said=tuple(filter(None, said)),
        errors=tuple(text for mark, text in parts if mark == ERROR and text),
        files=lists[0] if len(lists) == 1 else _each(name for names in lists for name in names),
        outcome=values.get(OUTCOME, ""),
    )


def without_labels(text: str) -> str:
    """Return the text of an exchange without gitmem's own words: labels of its parts, and its outcome."""
    return re.sub(_LABELS, "", text)


def join_fields(before: Fields, after: Fields) -> Fields:
    """Return the fields of a turn joined from two captured parts.

    Of two requests or answers the later stays where it holds the earlier; else both stay, the earlier first.
    """
    return Fields(
        request=_both(before.request, after.request),
        answer=_both(before.answer, after.answer),
        said=_each((*before.said, *after.said)),
        errors=_last_told((*before.errors, *after.errors)),
        files=_each((*before.files, *after.files)),
        outcome=before.outcome if after.answer in before.answer else after.outcome,
    )


def _both(before: str, after: str) -> str:
    if before in after:
        return after
    return before if after in before else f"{before}\n\n{after}"


def _last_told(errors: Iterable[str]) -> tuple[str, ...]:
    """Return errors, each once, with its mend if any of them names one."""
    by_error: dict[str, str] = {}
    for error in errors:
        failure = error.rpartition(MENDED)[0] or error
        if by_error.get(failure, failure) == failure:
            by_error[failure] = error
    return tuple(by_error.values())


def _each(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _listed(text: str) -> list[str]:
    return [line.removeprefix("- ") for line in text.split("\n") if line.strip()]


def _part(mark: str, text: str) -> list[str]:
    """Return a part of an entry; a list, table or code block begins on a line of its own."""
    if not text:
        return []
    apart = text.startswith(("- ", "* ", "```", "~~~", "|", "#", ">", "1. "))
    return [f"{mark}\n{text}" if apart else f"{mark} {text}"]


def _unmarked(text: str) -> str:
    """Return a text in which no line begins like a part: the colon goes out of the bold words."""
    return re.sub(_MARK, r"**\1**:", text.strip("\n"))


def _one_line(text: str) -> str:
    return " ".join(text.split())
