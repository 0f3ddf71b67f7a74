"""Which entries of a section stay in `memory.md` when a rotation has no room for all of them (spec P2, R3).

Tested through `tests/model/tiers/test_rotation.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from gitmem.model.entry.entry import find_entries
from gitmem.model.ids import is_fact_id
from gitmem.text.tokens import BYTES_PER_TOKEN, utf8_size

SESSIONS = 3  # whose exchanges stay
MORE_TOKENS = 30  # that the line of `with_more` takes at most
_MORE = re.compile(r"(?m)^- (?P<count>[0-9]+) more (?:is a fact|are facts): `gitmem facts list`\.(?:\r?\n)?")


def most_useful(pieces: Sequence[str], tokens: int, uses: Mapping[str, int]) -> str:
    """Return the pieces that fit, the newest and most used first, in their order.

    A fact said three times counts as one that is three times as new. `uses` has how often, by id.
    """
    ids = [_fact(piece) for piece in pieces]
    if not any(ids):
        return _that_fit(pieces, [], tokens, range(len(pieces) - 1, -1, -1))
    ages = [(len(pieces) - place) / max(uses.get(ids[place], 1), 1) for place in range(len(pieces))]
    return _that_fit(pieces, sorted(range(len(pieces)), key=lambda place: (ages[place], -place)), tokens)


def newest_sessions(pieces: Sequence[str], tokens: int) -> str:
    """Return the newest pieces that fit, in their order; each of the last sessions has an equal share for its own."""
    sessions: dict[str, list[int]] = {}
    for place in range(len(pieces) - 1, -1, -1):
        if session := _session(pieces[place]):
            sessions.setdefault(session, []).append(place)
    ahead: list[int] = []
    for places in list(sessions.values())[:SESSIONS]:
        left = tokens // SESSIONS * BYTES_PER_TOKEN
        for place in places:
            left -= utf8_size(pieces[place])
            if left < 0:
                break
            ahead.append(place)
    rest = [place for place in range(len(pieces) - 1, -1, -1) if place not in ahead]
    return _that_fit(pieces, ahead, tokens, rest)


def with_more(text: str, known: Collection[str], before: str, newline: str) -> str:
    """Return the rest of a section, with a line below its heading that counts the facts without a line.

    `known` are the ids of the section's facts, as far as they were read; `before` is the section as it was. Where none
    were read, the ids that it had and the number that it named tell.
    """
    shown = facts_in(text)
    more = len({*known, *facts_in(before)} - shown)
    known_line = _MORE.search(before)
    if known_line and not known:
        more += int(known_line["count"])
    text = _MORE.sub("", text)
    if not more:
        return text
    head, _, rest = text.partition("\n")
    words = f"- {more} more {'is a fact' if more == 1 else 'are facts'}: `gitmem facts list`."
    return f"{head}\n{newline}{words}{newline}" + (rest.lstrip("\r\n") or newline)


def without_count(text: str) -> str:
    """Return a text without the lines that count facts."""
    return _MORE.sub("", text) if ": `gitmem facts list`." in text else text


def counted_down(body: str, start: int, end: int, ended: int) -> str:
    """Return a text whose section from `start` to `end` counts `ended` facts less, which have no line."""
    counting = _MORE.search(body, start, end)
    if counting is None:
        return body
    more = max(int(counting["count"]) - ended, 0)
    line = counting[0].replace(counting["count"], str(more), 1) if more else ""
    return body[: counting.start()] + line + body[counting.end() :]


def facts_in(text: str) -> set[str]:
    """Return the ids of the facts that have a line in a text."""
    return {found.entry.id for found in find_entries(text) if is_fact_id(found.entry.id)}


def _that_fit(pieces: Sequence[str], ahead: Sequence[int], tokens: int, rest: Iterable[int] = ()) -> str:
    """Return the pieces that fit: of `ahead` all that do, then of `rest` up to the first that does not."""
    left, kept = tokens * BYTES_PER_TOKEN, set()
    for place in ahead:
        if utf8_size(pieces[place]) <= left:
            kept.add(place)
            left -= utf8_size(pieces[place])
    for place in rest:
        left -= utf8_size(pieces[place])
        if left < 0:
            break
        kept.add(place)
    return "".join(pieces[place] for place in sorted(kept))


def _fact(piece: str) -> str:
    return next(iter(facts_in(piece)), "")


def _session(piece: str) -> str:
    """Return the tag of the session of an exchange, "" for another piece."""
    found = find_entries(piece)
    return found[0].entry.tags[0] if found and found[0].entry.label == "Exchange" and found[0].entry.tags else ""
