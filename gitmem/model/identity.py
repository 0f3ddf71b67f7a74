"""Find the saved exchange of a turn: the single rule that has each turn saved once. Pure.

The host's id of a turn identifies it. If there is none, or another session copied the turn (a fork, a resumed session,
a copied transcript), content, order and time do: the same request at the same moment is the same turn, at another time
it is the next turn with this request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gitmem.document.entry import find_entries
from gitmem.document.ids import exchange_id, session_tag, tail_of
from gitmem.model.events import UserWords, WordKind
from gitmem.model.exchange import EXCHANGE, split_fields
from gitmem.model.turns import NO_ID, TWICE_SECONDS, Turn
from gitmem.model.words import render_words
from gitmem.values import Value

_COPIED_SECONDS = 1.0  # within which another session's turn with the same words is a copy: logs have whole seconds
_NEAR_SECONDS = 600  # between the beginnings of exchanges that may have the same words
_SIGNED = 300  # characters compared: long texts are saved shortened
_MOST = 50  # turns of a session with one prompt, such as "continue"
_WORDS = re.compile(r"\w+")


class SavedExchange(Value):
    """An exchange in a daily log: its id, its session's tag, the second of the day, its texts."""

    id: str
    tags: tuple[str, ...]
    second: int
    request: str
    answer: str
    words: tuple[str, ...] = ()


def saved_in(log: str) -> list[SavedExchange]:
    """Return the exchanges of a day's log."""
    entries = []
    for entry in (place.entry for place in find_entries(log)):
        clock = re.fullmatch(r"(\d\d):(\d\d):(\d\d)", entry.time)
        if entry.label == EXCHANGE and clock:
            fields = split_fields(entry.text)
            second = int(clock[1]) * 3600 + int(clock[2]) * 60 + int(clock[3])
            request, answer, *words = map(_signed, (fields.request, fields.answer, *fields.words))
            entries.append(SavedExchange(entry.id, entry.tags[:1], second, request, answer, tuple(words)))
    return entries


def _second_of(turn: Turn) -> int:
    """Return the second of the day at which a turn began."""
    return turn.started.hour * 3600 + turn.started.minute * 60 + turn.started.second


def known_id(turn: Turn, saved: Iterable[SavedExchange]) -> str:
    """Return the id under which a turn is saved, or must be saved as another turn has its own id.

    It is "" if its own id will do. `saved` are the exchanges of its day's log; the turn is redacted.
    """
    saved, tag = [*saved], session_tag(turn.session)
    second = _second_of(turn)
    asked, answer = _signed(turn.prompt), _signed(turn.answer)
    addition = _signed(render_words(UserWords(WordKind.ADDITION, turn.prompt)))
    for exchange in saved if asked else ():
        apart = abs(exchange.second - second)
        is_answer = not answer or answer == exchange.answer
        if turn.key.startswith(NO_ID) and addition in exchange.words and exchange.tags == tag and is_answer:
            return exchange.id  # a transcript reported it as a message within a running turn
        if exchange.request != asked:
            continue
        # A host without turn ids may deliver a turn again later, with the same answer.
        again = turn.key.startswith(NO_ID) and bool(answer) and answer == exchange.answer
        own = exchange.tags == tag and (apart <= TWICE_SECONDS or again)
        copied = exchange.tags != tag and apart <= _COPIED_SECONDS and (is_answer or not exchange.answer)
        if own or copied:
            return exchange.id
    if not turn.key.startswith(NO_ID):
        return ""
    return _free_id(turn, {tail_of(exchange.id): exchange.second for exchange in saved}, second)


def without_known_words(turn: Turn, saved: Iterable[SavedExchange]) -> Turn:
    """Return a turn without words that an exchange near it has, delivered there in another way.

    This applies if the host gives the turn no id, or its request is unknown; else its words are its own.
    """
    if turn.prompt and not turn.key.startswith(NO_ID):
        return turn
    tag, tail = session_tag(turn.session), tail_of(turn.exchange_id)
    second = _second_of(turn)
    near = [entry for entry in saved if abs(entry.second - second) <= _NEAR_SECONDS and tail_of(entry.id) != tail]
    others = [entry for entry in near if entry.tags == tag or not turn.prompt]
    known = {words for entry in others for words in entry.words}
    known |= {_signed(render_words(UserWords(WordKind.ADDITION, entry.request))) for entry in others if entry.request}
    new_words = tuple(words for words in turn.words if not words.text or _signed(render_words(words)) not in known)
    return turn._replace(words=new_words)


def queued_as(turn: Turn, saved: Iterable[SavedExchange]) -> list[str]:
    """Return the ids of a session's exchanges shortly before a turn that contain its request as a queued message."""
    addition, tag = _signed(render_words(UserWords(WordKind.ADDITION, turn.prompt))), session_tag(turn.session)
    second = _second_of(turn)
    before = [entry for entry in saved if 0 < second - entry.second <= _NEAR_SECONDS and entry.tags == tag]
    own = tail_of(turn.exchange_id)
    return [entry.id for entry in before if turn.prompt and addition in entry.words and tail_of(entry.id) != own]


def _free_id(turn: Turn, seconds: dict[str, int], second: int) -> str:
    """Return the first id for a turn without a host's id that no exchange of another time has."""
    text, _, number = turn.key[len(NO_ID) :].partition("-")
    key, times = turn.key, int(number or 1)
    while abs(seconds.get(tail_of(exchange_id(turn.session, key)), second) - second) > TWICE_SECONDS:
        times += 1
        key = f"{NO_ID}{text}-{times}"
    return exchange_id(turn.session, key) if key != turn.key else ""


def is_copy(turn: Turn) -> bool:
    """Return whether a turn is saved under another session, from which this one was forked or copied."""
    keys = [turn.key]
    if turn.key.startswith(NO_ID):
        first = NO_ID + turn.key[len(NO_ID) :].partition("-")[0]
        keys += [first, *(f"{first}-{times}" for times in range(2, _MOST))]
    return bool(turn.known) and turn.known not in {exchange_id(turn.session, key) for key in keys}


def _signed(text: str) -> str:
    return " ".join(_WORDS.findall(text[: 2 * _SIGNED]))[:_SIGNED].casefold()
