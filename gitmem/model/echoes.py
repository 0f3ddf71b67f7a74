"""Find what memories say of an ended fact in words other than its own ("Noted: tabs it is").

Only a memory from which the fact was learned is read for it, so that words as common as any do no harm.
"""

from __future__ import annotations

import re

from gitmem.model.lines import Marks, normalized
from gitmem.text.sentences import split
from gitmem.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitmem.document.entry import Entry

_WORD = re.compile(r"[^\W\d_]{4,}|[\u1100-\u9fff\uac00-\ud7a3]{2,}")
_LABEL = re.compile(r"^\w{1,20}: +")  # of a line of an exchange


def places_of_echoes(
    text: str, entries: Iterable[Entry], marks: Marks, stated: Sequence[tuple[int, int, str]]
) -> list[tuple[int, int, str]]:
    """Return begin, end and fact of each sentence that says an ended fact in other words, outside what is `stated`.

    The sentences are those of `entries`, which taught the facts.
    """
    places = []
    for sentence, fact in _echoes(entries, marks).items():
        form = r"\s+".join(map(re.escape, sentence.rstrip(".").split()))
        found = (match.span() for match in re.finditer(rf"(?<!\w){form}(?!\w)[.!?…。]*", text, re.IGNORECASE))
        places += [
            (begin, end, fact)
            for begin, end in found
            if not any(start < end and begin < stop for start, stop, _ in stated)
        ]
    return places


def _echoes(entries: Iterable[Entry], marks: Marks) -> dict[str, str]:
    """Return by sentence the ended fact that it says in other words."""
    echoes: dict[str, str] = {}
    for entry in entries:
        for fact in marks.learned(entry.id, ""):
            if marks.has_ended(fact):
                echoes |= dict.fromkeys(_sentences(entry.text, marks.facts[fact].description), fact)
    return echoes


def _sentences(text: str, statement: str) -> Iterator[str]:
    words, said = set(_WORD.findall(statement.casefold())), normalized(statement)
    for line in text.split("\n"):
        for sentence in split(_LABEL.sub("", line.strip())):
            if said not in normalized(sentence) and words.intersection(_WORD.findall(sentence.casefold())):
                yield sentence
