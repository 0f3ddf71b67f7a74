"""What the day's log keeps of a prompt and of an answer: all its words up to a limit, code and tables whole. Pure.

The middle of what is longer is left out, at the end of a paragraph, and a mark stands in its place.
"""

from __future__ import annotations

import re

from gitmem.model.entry.entry import clean_text
from gitmem.text.sentences import blocks, sentences_of, shorten
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LEFT_OUT = "[…]"
PROMPT_LENGTH = 4_000  # characters; the transcript has the rest
MAX_CODE = 30  # lines of a code block
MAX_NOTED, MAX_STATEMENT = 8, 300
_SHORTEST = 20  # characters of a statement
_HEAD, _TAIL = 20, 9  # lines that a longer code block keeps
_READ = 400_000  # characters of a text; real ones have a few thousand
_LONGEST = 1_000  # characters of a piece of a line without an end
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？])")  # noqa: RUF001
_BEGINNING = 0.6  # share of the kept text that comes from the beginning
_FENCE = re.compile(r"[ \t]{0,12}(?P<mark>`{3,}|~{3,})")
_HEADING = re.compile(r"#{1,6}[ \t]+(?P<title>\S.*)")
# A finding, a decision or a cause, in a sentence between two tool calls.
_STATES = re.compile(
    r"\b(?:root cause|the (?:actual |real |underlying )?(?:cause|problem|issue|bug|reason|culprit|fix) (?:is|was)"
    r"|(?:this|that|which|it)(?: i|')s (?:why|because)|is caused by|was caused by|turns out|it appears that|so the"
    r"|(?:i|we) (?:found|confirmed|discovered|decided|chose|verified)|found (?:it|the|that)|confirmed[:,]"
    r"|(?:fails?|failed|breaks?|broke|happens|happened) (?:because|since|due to|when)|decided to|instead of)\b"
    r"|원인은|원인이|때문(?:입니다|이다|에)|확인(?:했습니다|됐습니다|되었습니다)|발견했|문제는|결정했|하기로",
    re.IGNORECASE,
)
_NO_STATEMENT = re.compile(
    r"\s*(?:let me|let's|now (?:let me|i)|i'll|i will|i need to|i should|next[,:]|first[,:]|wait|hmm|actually|maybe"
    r"|perhaps|이제|먼저|다음으로)\b|\?\s*$|[:\uff1a]\s*$",
    re.IGNORECASE,
)


class _Piece(Value):
    """A part of a text, kept or left out as a whole, and the gap before it."""

    text: str
    gap: str = "\n\n"
    whole: bool = False  # a code block or a table


def kept(text: str, limit: int) -> str:
    """Return a text truncated in the middle to about `limit` characters."""
    pieces = [_shortened_code(piece) for piece in _pieces(clean_text(text[:_READ]))]
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


def noted(texts: Iterable[str], answer: str) -> tuple[str, ...]:
    """Return findings, decisions and causes that an agent stated between its tool calls and the answer lacks."""
    found: dict[str, str] = {}
    known = " ".join(answer.casefold().split())
    for text in texts:
        for block in blocks(text[:_READ]):
            for sentence in sentences_of(block):
                folded = sentence.casefold()
                if _states(sentence) and folded not in known:
                    found.setdefault(folded, shorten(sentence, MAX_STATEMENT))
    return tuple(found.values())[-MAX_NOTED:]


def _states(sentence: str) -> bool:
    if not _SHORTEST <= len(sentence) <= 2 * MAX_STATEMENT:
        return False
    return bool(_STATES.search(sentence)) and not _NO_STATEMENT.search(sentence)


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


def _shortened_code(piece: _Piece) -> _Piece:
    lines = piece.text.split("\n")
    if not _FENCE.match(lines[0]) or len(lines) <= MAX_CODE + 2:
        return piece
    return piece._replace(text="\n".join([*lines[: _HEAD + 1], LEFT_OUT, *lines[-_TAIL - 1 :]]))


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
