"""The parts of a start, and how they share its budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gitmem.text.words import estimate_tokens
from gitmem.values import Value


class Part(Value):
    """A part of the context: its title and its pieces in reading order, each with the id of its memory or "".

    `share` is the percentage of the budget it may take. Pieces that do not fit are dropped from the end, or with
    `keep_last` from the beginning, as in a log whose newest entries are last. `show` returns the text of a piece, ""
    to leave it out; of hundreds of pieces only those that may fit are passed to it.
    """

    title: str
    pieces: Sequence[tuple[str, str]]
    share: int = 100
    keep_last: bool = False
    show: Callable[[str], str] = str


class Shown(Value):
    """A part of the printed context: its text, the number of its pieces, and of those there were, and their ids."""

    title: str
    text: str
    pieces: int
    of: int
    ids: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Return the tokens of the part."""
        return estimate_tokens(self.text) + 1


def fit(lead: str, parts: Iterable[Part], close: str, budget: int) -> list[Shown]:
    """Return the parts as they fit between two lines into `budget` tokens, without those of which nothing fits."""
    left = budget - estimate_tokens(lead + close) - 2
    shown = []
    for part in parts:
        fitted = _part(part, min(left, budget * part.share // 100))
        if fitted.pieces:
            shown.append(fitted)
            left -= fitted.tokens
    return shown


def _part(part: Part, budget: int) -> Shown:
    """Return the first pieces that fit; a piece larger than the whole budget is skipped."""
    head = f"## {part.title}"
    kept, budget = list[tuple[str, str]](), budget - estimate_tokens(head) - 2
    left = budget
    for piece, identifier in part.pieces[:: -1 if part.keep_last else 1]:
        text = part.show(piece)
        size = estimate_tokens(text + "\n")
        if size <= left and (text or not piece):
            kept.append((text, identifier))
            left -= size
        elif left < size <= budget:
            break
    kept = kept[:: -1 if part.keep_last else 1]
    text = "\n".join([head, *(piece for piece, _ in kept)])
    return Shown(part.title, text, len(kept), len(part.pieces), tuple(one for _, one in kept if one))
