"""What the day's log keeps of a prompt and of an agent's texts: all words up to a limit, code and tables whole. Pure.

The middle of what is longer is left out, at the end of a paragraph, and a mark stands in its place.
"""

from __future__ import annotations

import re

from gitmem.document.entry import clean_text
from gitmem.text.sentences import shorten
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


LEFT_OUT = "[…]"
PROMPT_LENGTH = 4_000  # characters; the transcript has the rest
_READ = 400_000  # characters of a text; real ones have a few thousand
_LONGEST = 1_000  # characters of a piece of a line without an end
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？])")  # noqa: RUF001
_BEGINNING = 0.6  # share of the kept text that comes from the beginning
_FENCE = re.compile(r"[ \t]{0,12}(?P<mark>`{3,}|~{3,})")
_HEADING = re.compile(r"#{1,6}[ \t]+(?P<title>\S.*)")


class _Piece(Value):
    """A part of a text, kept or left out as a whole, and the gap before it."""

    text: str
    gap: str = "\n\n"
    whole: bool = False  # a code block or a table


def kept(text: str, limit: int) -> str:
    """Return a text truncated in the middle to about `limit` characters."""
    pieces = list(_pieces(clean_text(text[:_READ])))
    if len(whole := _joined(pieces)) <= limit:
        return whole
    pieces = [part for piece in pieces for part in _parts(piece, limit)]
    first, last = _ends(pieces, limit)
    head = pieces[:first] or [pieces[0]._replace(text=_cut(pieces[0].text, limit // 2))]
    tail = pieces[len(pieces) - last :]
    return "\n\n".join(filter(None, (_joined(head), LEFT_OUT, _joined(tail))))


def _joined(pieces: Sequence[_Piece]) -> str:
    return "".join(piece.gap + piece.text for piece in pieces).lstrip("\n")


def headline(asked: str, limit: int) -> str:
    """Return the first sentences of a request, with the next heading after a lead-in.

    "Implement the following plan:" says nothing without the title of the plan.
    """
    lines = [line for line in asked[:_READ].split("\n") if line.strip()]
    if len(lines) > 1 and lines[0].rstrip().endswith(":") and (title := _HEADING.match(lines[1].strip())):
        return shorten(f"{lines[0].strip()} {title['title'].strip()}", limit)
    return shorten(asked[:_READ], limit)


def said(texts: Iterable[str], answer: str, limit: int) -> tuple[str, ...]:
    """Return what an agent said between its tool calls, each text once, without those that the answer holds."""
    known = " ".join(answer.split())
    found = dict.fromkeys(kept(text, limit) for text in texts if " ".join(text.split()) not in known)
    return tuple(filter(None, found))


def _pieces(text: str) -> Iterator[_Piece]:
    """Yield the paragraphs, code blocks and tables of a text; an unclosed block is code up to the end."""
    lines: list[str] = []
    mark = ""
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if mark:
            lines.append(line)
            if fence and fence["mark"].startswith(mark) and not line.strip().strip(mark[0]):
                yield _Piece("\n".join(lines), whole=True)
                lines, mark = [], ""
        elif fence:
            yield from _paragraph(lines)
            lines, mark = [line], fence["mark"]
        elif line.strip():
            lines.append(line)
        else:
            yield from _paragraph(lines)
            lines = []
    yield from [_Piece("\n".join(lines), whole=True)] if mark else _paragraph(lines)


def _paragraph(lines: Sequence[str]) -> list[_Piece]:
    table = any(line.lstrip().startswith("|") for line in lines)
    return [_Piece("\n".join(lines), whole=table)] if lines else []


def _parts(piece: _Piece, limit: int) -> Iterator[_Piece]:
    """Yield the lines of a paragraph, the sentences of a long line, and pieces of one without any."""
    if piece.whole:
        yield piece
        return
    gap = piece.gap
    for line in piece.text.split("\n"):
        for sentence in _SENTENCE_END.split(line) if len(line) > limit // 10 else [line]:
            for start in range(0, max(1, len(sentence)), _LONGEST):
                yield _Piece(sentence[start : start + _LONGEST], gap)
                gap = ""
            gap = " "
        gap = "\n"


def _ends(pieces: Sequence[_Piece], limit: int) -> tuple[int, int]:
    """Return how many pieces of the beginning and of the end are kept."""
    first = last = 0
    room = limit * _BEGINNING
    while first < len(pieces) and (size := _size(pieces[first])) <= room:
        room -= size
        first += 1
    room += limit * (1 - _BEGINNING)
    while first + last < len(pieces) and (size := _size(pieces[-1 - last])) <= room:
        room -= size
        last += 1
    return first, last


def _size(piece: _Piece) -> int:
    return len(piece.gap) + len(piece.text)


def _cut(text: str, limit: int) -> str:
    """Return the beginning of a text, cut at the end of a line, else of a sentence or word."""
    cut = text[:limit]
    for end, least in (("\n", limit // 2), (". ", limit // 2), (" ", limit // 2)):
        if (at := cut.rfind(end)) > least:
            return cut[: at + len(end)].rstrip()
    return cut
