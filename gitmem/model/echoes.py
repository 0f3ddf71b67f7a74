"""Find what memories say of an ended fact in words other than its own ("Noted: tabs it is").

Only a memory from which the fact was learned is read for it, so that words as common as any do no harm.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from gitmem.text.sentences import split

_WORD = re.compile(r"[^\W\d_]{4,}|[\u1100-\u9fff\uac00-\ud7a3]{2,}")
_LABEL = re.compile(r"^\w{1,20}: +")  # of a line of an exchange


def places_of_echoes(
    text: str,
    taught: Iterable[tuple[str, str, str]],
    normalized: Callable[[str], str],
    stated: Sequence[tuple[int, int, str]],
) -> list[tuple[int, int, str]]:
    """Return begin, end and fact of each sentence that says an ended fact in other words, outside what is `stated`.

    `taught` are the texts that taught ended facts, each with the fact's id and what it says; `normalized` brings two
    statements into one form.
    """
    echoes = {sentence: fact for source, fact, said in taught for sentence in _sentences(source, said, normalized)}
    places = []
    for sentence, fact in echoes.items():
        form = r"\s+".join(map(re.escape, sentence.rstrip(".").split()))
        found = (match.span() for match in re.finditer(rf"(?<!\w){form}(?!\w)[.!?…。]*", text, re.IGNORECASE))
        places += [
            (begin, end, fact)
            for begin, end in found
            if not any(start < end and begin < stop for start, stop, _ in stated)
        ]
    return places


def _sentences(text: str, statement: str, normalized: Callable[[str], str]) -> Iterator[str]:
    words, said = set(_WORD.findall(statement.casefold())), normalized(statement)
    for line in text.split("\n"):
        for sentence in split(_LABEL.sub("", line.strip())):
            if said not in normalized(sentence) and words.intersection(_WORD.findall(sentence.casefold())):
                yield sentence
