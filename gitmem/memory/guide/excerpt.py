"""Choose the lines of a memory that share most words with a question, within a budget of tokens. Pure.

Tested through `tests/memory/guide/test_prompt.py`.
"""

from __future__ import annotations

import re

from gitmem.search.query.query import fold
from gitmem.text.tokens import estimate_tokens

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Sequence

_BEFORE, _AFTER = 0.5, 0.3  # of a line's words count for the lines after and before it
_NAMES = 0.3  # weight of names, numbers and code in a line
_FIRST = 0.3  # factor of the first line, the request, which repeats the question
_LONG = 1_000  # characters of a line that counts half
_WIDE = 200  # characters from which a line is split into sentences
_SENTENCE_END = re.compile(r"(?<=[.!?。;])(?<!^[0-9]\.)(?<!^[0-9]{2}\.)\s+")  # not behind the number of a list
_WORD = re.compile(r"[^\W_]{2}")  # a line without one is a bracket, the number of a list, or the mark of a cut
_MACHINE = re.compile(r"[{<]|\S{100}")  # how a pasted line of data or of a log begins
_HEADING = "#"
_NAME = re.compile(r"[`/_=]|[0-9]|[a-z][A-Z]|\b[A-Z]{2,}")


def excerpt(text: str, needles: Sequence[str], tokens: int) -> str:
    """Return the lines of a text with most of these words in or around them, in order, in at most `tokens`."""
    lines = lines_of(text)
    lines = [line for line in lines if not _MACHINE.match(line)] or lines
    low = [fold(line) for line in lines]
    counts = {needle: sum(needle in line for line in low) for needle in needles}
    weights = {needle: number**-0.5 for needle, number in counts.items() if number}
    own = [sum(weight for needle, weight in weights.items() if needle in line) for line in low]
    padded = [0.0, *own, 0.0]
    near = [padded[at] * _BEFORE + padded[at + 1] + padded[at + 2] * _AFTER for at in range(len(lines))]
    worth = [sure + _NAMES * _names(line) if sure else 0.0 for line, sure in zip(lines, near, strict=True)]
    if worth:
        worth[0] *= _FIRST
    kept: set[int] = set()
    for at in sorted(range(len(lines)), key=lambda at: -worth[at] / (1 + len(lines[at]) / _LONG)):
        size = estimate_tokens(lines[at]) + 1
        if worth[at] and size <= tokens:
            kept.add(at)
            tokens -= size
    said = [lines[at] for at in sorted(kept)]
    return "" if all(line.startswith(_HEADING) for line in said) else "\n".join(said)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text without fences, each once, long ones as sentences."""
    lines: list[str] = []
    for line in text.split("\n"):
        if _WORD.search(line) and not line.strip().startswith("```"):
            lines += _SENTENCE_END.split(line.rstrip()) if len(line) > _WIDE else [line.rstrip()]
    return list(dict.fromkeys(lines))


def _names(line: str) -> float:
    """Return how full of names, numbers and code a line is, 0 to 2."""
    return min(len(_NAME.findall(line)) / (len(line) / 40 + 1), 2.0)
