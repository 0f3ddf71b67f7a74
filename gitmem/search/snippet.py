"""Show a text in one line: the words around the best matches, for an exchange those in its answer.

A question has the query's words, but its answer the wanted ones: so an exchange's request is cut, and the rest of the
line is from the answer. The next request is shown if it may say that the answer was wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gitmem.document.entry import is_purged
from gitmem.model.request import may_refute
from gitmem.search.cut import ENTRY
from gitmem.search.units import Units

LENGTH = 200  # characters of a snippet, with ellipses
ELLIPSIS = "…"
_LINK = r"(?m)^(?P<head>[^\[\n]*)(?P<open>\[)(?P<said>.*)(?P<target>\]\(\.\./[^()\n]*\)(?: [0-9a-z]{11})?)$"
_BLANKS = r"\s+"


def snippet(text: str, places: list[tuple[int, float]], most: int = LENGTH) -> str:
    """Return `most` characters on one line, cut at words, around the best of weighted `places` of terms."""
    if len(text) <= most:
        clean = re.sub(_BLANKS, " ", text).strip()
        if len(clean) <= most:
            return clean
    start = _best_start(sorted(places), most)
    start = max(0, min(start, len(text) - most + 2))
    if start:
        blank = re.compile(_BLANKS).search(text, start, start + most // 4)
        start = blank.end() if blank else start
    piece = re.sub(_BLANKS, " ", text[start : start + 2 * most]).strip()
    head = ELLIPSIS if start else ""
    room = most - len(head)
    if len(piece) <= room and start + 2 * most >= len(text):
        return head + piece
    room -= len(ELLIPSIS)
    cut = piece.rfind(" ", room * 2 // 3, room + 1)
    return head + piece[: cut if cut > 0 else room].rstrip() + ELLIPSIS


def without_targets(text: str, places: Sequence[tuple[int, float]]) -> tuple[str, list[tuple[int, float]]]:
    """Return a list of links as the texts of its links, and the places in that."""
    links = re.compile(_LINK).finditer(text)
    frames = [span for link in links for span in (link.span("open"), link.span("target"))]
    moved = [(at - sum(min(end, at) - start for start, end in frames if start < at), worth) for at, worth in places]
    return re.sub(_LINK, r"\g<head>\g<said>", text), moved


def _best_start(places: list[tuple[int, float]], most: int) -> int:
    """Return a start a little before the stretch of `most` with the greatest weight."""
    best, start = 0.0, 0
    for index, (position, _) in enumerate(places):
        worth = 0.0
        for rival, value in places[index:]:
            if rival > position + most * 2 // 3:
                break
            worth += value
        if worth > best:
            best, start = worth, position
    return start - most // 5


_REQUEST = 70  # characters of a snippet that an exchange's request may take
_NEXT = 120  # characters of the next request
_ANSWER = r"\n  (?:\*\*(?:Answer|Said):\*\*|(?:Done|한 일):) ?| → "
_END = r"\n  (?:\*\*|[A-Z][a-z]+: |[가-힣 ]{2,4}: )|\Z"
# Begins the parts after the answer.
_AFTER = r"\n  (?:\*\*(?:Error|Files|Outcome):\*\*|(?:Files|Failed|Keywords|Outcome|파일|실패|키워드|결과): )"
_TURN = r"- \[[^]\n]*\] \*\*Exchange\*\*((?: #[\w/-]+)*): ?"
_ID = r"(?m) \^[0-9a-z]{11,20}$"
_KNOWN_TO_BE = r"\n  (?:\*\*Outcome:\*\*|Outcome:|결과:) (?:success|성공|refuted|사실 아님)"


def of_exchange(text: str, places: list[tuple[int, float]]) -> str:
    """Return the snippet of an exchange: its request, shortened, and the best of its answer; "" without an answer."""
    answer = re.search(_ANSWER, text)
    if answer is None:
        return ""
    request = " ".join(re.sub(_ID, "", text[: answer.start()]).split())
    if len(request) > _REQUEST:
        request = f"{request[:_REQUEST].rpartition(' ')[0] or request[:_REQUEST]}{ELLIPSIS}"
    begin = answer.end()
    if after := re.compile(_AFTER).search(text, begin):
        text = text[: after.start()]
    rest = [(at - begin, value) for at, value in places if begin <= at < len(text)]
    reply = snippet(re.sub(_ID, "", text[begin:]) if not rest else text[begin:], rest, LENGTH - len(request) - 3)
    return f"{request} → {reply}" if request and reply else request or reply


def next_request(units: Units, index: int) -> str:
    """Return the request that followed an exchange in its session if it may say that it did not succeed, else ""."""
    here = _turn(units, index)
    if here is None or re.search(_KNOWN_TO_BE, _text(units, index)):
        return ""
    for after in range(index + 1, len(units)):
        turn = _turn(units, after)
        if turn is not None and turn[1] == here[1]:
            text = _text(units, after)[turn.end() :]
            end = re.search(_END, text)
            request = " ".join(re.sub(_ID, "", text[: end.start() if end else None]).partition(" → ")[0].split())
            if is_purged(request) or not may_refute(request, _text(units, index)):
                return ""
            return f'the next request: "{request[:_NEXT]}"'
    return ""


def _turn(units: Units, index: int) -> re.Match[str] | None:
    return re.match(_TURN, _text(units, index)) if units.kind(index) == ENTRY else None


def _text(units: Units, index: int) -> str:
    unit = units.unit(index)
    return units.text[unit.start : unit.end]
