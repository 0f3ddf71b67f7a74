"""A three-way merge of texts, by line or by other tokens.

A change of one side is taken; changes of both sides are merged without loss. They conflict only if both sides changed
the same tokens of the base, not neighbouring lines.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from gitmem.values import Value

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_BLANK = " \t\r\n"
_MOST = 40_000  # pairs of lines compared if no line is unique; bounds hostile input
_DEPTH = 40  # recursion between unique lines


class Token(Value):
    """A piece of a text: `key` identifies it, `text` is its characters, `order` sorts tokens that both sides add."""

    key: str
    text: str
    order: str = ""


class Joined(Value):
    """Three sequences of pieces, merged; `conflicts` counts the places that both sides changed."""

    tokens: list[Token]
    conflicts: int


class _Edit(Value):
    """The tokens `start` to `end` of the base replaced by the tokens `first` to `last` of a side."""

    start: int
    end: int
    first: int
    last: int


def lines(text: str) -> list[Token]:
    """Return the lines of a text as tokens; line ends are not part of the key."""
    return [Token(line.rstrip("\r\n"), line) for line in _LINES.findall(text)]


def merge_lines(ours: bytes, base: bytes, theirs: bytes, *, both_add: bool = True) -> bytes | None:
    """Merge three versions of a file by line; None if both sides changed the same lines, or one is no text.

    If both only add lines, those of `ours` come first; without `both_add` that is a conflict.
    """
    if b"\0" in ours + base + theirs:
        return None
    texts = [data.decode("utf-8", "surrogateescape") for data in (base, ours, theirs)]
    joined = merge_tokens(*map(lines, texts), added_is_conflict=not both_add)
    if joined.conflicts:
        return None
    return "".join(ended(joined.tokens)).encode("utf-8", "surrogateescape")


def ended(tokens: Sequence[Token]) -> list[str]:
    """Return the texts of tokens, each but the last with a line end."""
    newline = "\r\n" if sum(token.text.endswith("\r\n") for token in tokens) * 2 > len(tokens) else "\n"
    texts = [token.text for token in tokens]
    return [text if text.endswith("\n") else text + newline for text in texts[:-1]] + texts[-1:]


def merge_tokens(
    base: Sequence[Token], first: Sequence[Token], second: Sequence[Token], *, added_is_conflict: bool = False
) -> Joined:
    """Return the base with both sides' changes, `first` before; a line that one side removed is gone."""
    sides = (_without_moved(base, first, second), _without_moved(base, second, first))
    matches = [dict(matching([t.key for t in base], [t.key for t in side])) for side in sides]
    edits = [_edits(len(base), len(side), match) for side, match in zip(sides, matches, strict=True)]
    merged: list[Token] = []
    conflicts = position = 0
    for start, end, parts in _clusters(*edits):
        merged += _unchanged(base, sides, matches, position, start)
        changed = [number for number, part in enumerate(parts) if part]
        if len(changed) == 1:
            side = changed[0]
            merged += sides[side][parts[side][0].first : parts[side][-1].last]
        else:
            spans = [_span(part, start, end) for part in parts]
            tokens, clash = _both(base[start:end], sides, matches, spans, start)
            merged += tokens
            conflicts += clash if start < end or added_is_conflict else 0
        position = end
    merged += _unchanged(base, sides, matches, position, len(base))
    return Joined(merged, conflicts)


def _without_moved(base: Sequence[Token], side: Sequence[Token], opposite: Sequence[Token]) -> Sequence[Token]:
    """Return a side without lines of the base that it moved and the other side removed."""
    before, now = (Counter(token.key for token in tokens) for tokens in (base, side))
    gone = {key for key in before.keys() - {token.key for token in opposite} if key.strip(_BLANK)}
    gone = {key for key in gone if 0 < now[key] <= before[key]}
    if not gone:
        return side
    stayed = {place for _, place in matching([token.key for token in base], [token.key for token in side])}
    return [token for place, token in enumerate(side) if place in stayed or token.key not in gone]


def matching(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """Return rising pairs of positions at which two sequences are equal: nearly a longest common subsequence.

    Tokens that are unique in both are matched first (patience diff, Bram Cohen), then the ranges between them.
    """
    pairs: list[tuple[int, int]] = []
    todo = [(0, len(first), 0, len(second), 0)]
    while todo:
        low, high, left, right, depth = todo.pop()
        while low < high and left < right and first[low] == second[left]:
            pairs.append((low, left))
            low, left = low + 1, left + 1
        while low < high and left < right and first[high - 1] == second[right - 1]:
            high, right = high - 1, right - 1
            pairs.append((high, right))
        if low >= high or left >= right:
            continue
        anchors = _unique(first, second, (low, high), (left, right)) if depth < _DEPTH else []
        if anchors:
            for (a, b), (c, d) in zip([(low - 1, left - 1), *anchors], [*anchors, (high, right)], strict=True):
                todo.append((a + 1, c, b + 1, d, depth + 1))
            pairs += anchors
        elif (high - low) * (right - left) <= _MOST:
            matcher = SequenceMatcher(None, first[low:high], second[left:right], autojunk=False)
            for a, b, size in matcher.get_matching_blocks():
                pairs += [(low + a + n, left + b + n) for n in range(size)]
    return sorted(pairs)


def _unique(
    first: Sequence[str], second: Sequence[str], span: tuple[int, int], span_other: tuple[int, int]
) -> list[tuple[int, int]]:
    """Return the longest rising sequence of pairs of tokens that are unique in both."""
    counts, counts_other = Counter(first[slice(*span)]), Counter(second[slice(*span_other)])
    places = {second[at]: at for at in range(*span_other) if counts_other[second[at]] == 1}
    pairs = [(at, places[first[at]]) for at in range(*span) if counts[first[at]] == 1 and first[at] in places]
    ends: list[int] = []
    rows: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        at = bisect_left(ends, place)
        before.append(rows[at - 1] if at else -1)
        ends[at : at + 1] = [place]
        rows[at : at + 1] = [number]
    row = []
    number = rows[-1] if rows else -1
    while number >= 0:
        row.append(pairs[number])
        number = before[number]
    return row[::-1]


def _edits(size: int, size_side: int, match: dict[int, int]) -> list[_Edit]:
    edits = []
    at = at_side = 0
    for place, place_side in [*match.items(), (size, size_side)]:
        if place > at or place_side > at_side:
            edits.append(_Edit(at, place, at_side, place_side))
        at, at_side = place + 1, place_side + 1
    return edits


def _clusters(first: list[_Edit], second: list[_Edit]) -> list[tuple[int, int, list[list[_Edit]]]]:
    """Return the edits of both sides in order, overlapping ones grouped."""
    clusters: list[tuple[int, int, list[list[_Edit]]]] = []
    edits = [(edit, 0) for edit in first] + [(edit, 1) for edit in second]
    for edit, side in sorted(edits, key=lambda item: (item[0].start, item[0].end, item[1])):
        if clusters:
            start, end, parts = clusters[-1]
            inserts = start == end == edit.start == edit.end
            if edit.start < end or inserts:
                parts[side].append(edit)
                clusters[-1] = (start, max(end, edit.end), parts)
                continue
        clusters.append((edit.start, edit.end, [[edit], []] if side == 0 else [[], [edit]]))
    return clusters


def _span(edits: list[_Edit], start: int, end: int) -> tuple[int, int]:
    """Return the range of a side that corresponds to the tokens `start` to `end` of the base."""
    # Outside its edits, a side equals the base token by token.
    return edits[0].first - (edits[0].start - start), edits[-1].last + (end - edits[-1].end)


def _unchanged(
    base: Sequence[Token], sides: Sequence[Sequence[Token]], matches: list[dict[int, int]], start: int, end: int
) -> list[Token]:
    """Return tokens that neither side changed; a different line end of either side is kept."""
    tokens = []
    for place in range(start, end):
        texts = [side[match[place]].text for side, match in zip(sides, matches, strict=True)]
        own = base[place]
        tokens.append(own._replace(text=next((text for text in (max(texts), *texts) if text != own.text), own.text)))
    return tokens


def _both(
    base: Sequence[Token],
    sides: Sequence[Sequence[Token]],
    matches: list[dict[int, int]],
    spans: list[tuple[int, int]],
    start: int,
) -> tuple[list[Token], bool]:
    """Merge both sides' versions of the same part of the base; return the tokens and whether to review them."""
    places = range(start, start + len(base))
    gone = [{place for place in places if place not in match} for match in matches]
    parts = []
    for number in (0, 1):
        # Drop tokens that the other side removed and this one left unchanged.
        dropped = {matches[number][place] for place in gone[1 - number] - gone[number]}
        parts.append([sides[number][at] for at in range(*spans[number]) if at not in dropped])
    first, second = parts
    clash = _clash(*([token for token in part if token.key.strip(_BLANK) and not token.order] for part in parts))
    for mine, theirs in ((first, second), (second, first)):
        if _is_within(mine, theirs):
            return theirs, clash
    return union(first, second), clash


def _clash(first: Sequence[Token], second: Sequence[Token]) -> bool:
    """Return whether two versions of the same part need review: neither contains the other."""
    if not first or not second:
        return bool(first or second)
    return not _is_within(first, second) and not _is_within(second, first)


def _is_within(small: Sequence[Token], large: Sequence[Token]) -> bool:
    rest = iter(token.key for token in large)
    return all(token.key in rest for token in small)


def union(first: Sequence[Token], second: Sequence[Token]) -> list[Token]:
    """Return two sequences merged, each token once; tokens with an `order` are sorted by it, followers included."""
    tokens: list[Token] = []
    at = at_second = 0
    pairs = matching([token.key for token in first], [token.key for token in second])
    for place, place_second in [*pairs, (len(first), len(second))]:
        tokens += _interleaved(first[at:place], second[at_second:place_second])
        tokens += first[place : place + 1]
        at, at_second = place + 1, place_second + 1
    return tokens


def _interleaved(first: Sequence[Token], second: Sequence[Token]) -> list[Token]:
    (head, *groups), (head_second, *groups_second) = _groups(first), _groups(second)
    tokens = [*head, *head_second]
    while groups or groups_second:
        take = groups if not groups_second or (groups and groups[0][0].order <= groups_second[0][0].order) else None
        tokens += (groups_second if take is None else take).pop(0)
    return tokens


def _groups(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return tokens in groups: those before the first with an order, then each of those with its followers."""
    groups: list[list[Token]] = [[]]
    for token in tokens:
        if token.order:
            groups.append([])
        groups[-1].append(token)
    return groups
