"""The context an agent gets when a session starts, within a budget (spec R8): whole pieces, the most binding first."""

from __future__ import annotations

from gitmem.text.stems import estimate_tokens
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class Part(Value):
    """A part of the context: its title and its pieces in reading order.

    `share` is the percentage of the budget it may take. Pieces that do not fit are dropped from the end, or with
    `keep_last` from the beginning, as in a log whose newest entries are last. `ids` are the memories that the pieces
    tell, piece by piece, "" for a piece without one; empty if no piece has one. `show` returns the text of a piece, ""
    to leave it out; of hundreds of pieces only those that may fit are passed to it.
    """

    title: str
    pieces: tuple[str, ...]
    share: int = 100
    keep_last: bool = False
    ids: tuple[str, ...] = ()
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


def joined(lead: str, shown: Sequence[Shown], close: str) -> str:
    """Return the text of these parts between two lines; "" if there are none."""
    return "\n\n".join([lead, *(part.text for part in shown), close]) if shown else ""


def _part(part: Part, budget: int) -> Shown:
    head = f"## {part.title}"
    left = budget - estimate_tokens(head) - 2
    named = zip(part.pieces, part.ids or ("",) * len(part.pieces), strict=True)
    pieces = list(named)[:: -1 if part.keep_last else 1]
    shown = ((piece, part.show(piece), identifier) for piece, identifier in pieces)
    kept = _that_fit(((text, identifier) for piece, text, identifier in shown if text or not piece), left)
    if part.keep_last:
        kept.reverse()
    text = "\n".join([head, *(piece for piece, _ in kept)])
    return Shown(part.title, text, len(kept), len(pieces), tuple(one for _, one in kept if one))


def _that_fit(pieces: Iterable[tuple[str, str]], budget: int) -> list[tuple[str, str]]:
    """Return the first pieces that fit, with their ids; a piece larger than the whole budget is skipped."""
    kept, left = [], budget
    for piece, identifier in pieces:
        size = estimate_tokens(piece + "\n")
        if size <= left:
            kept.append((piece, identifier))
            left -= size
        elif size <= budget:
            break
    return kept
