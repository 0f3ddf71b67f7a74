"""Compare the entries of a turn with the daily logs, which may hold them already in full or in part.

Tested through `tests/memory/capture/test_turns.py`.
"""

from __future__ import annotations

import contextlib
from datetime import datetime, timedelta
from enum import Enum

from gitmem.memory.save.entries import day_log, memory_of, new_daily
from gitmem.model.entry.entry import clean_text, find_by_digest, find_entries
from gitmem.model.ids import tail_of
from gitmem.model.paths import daily_path
from gitmem.model.session.entries import EXCHANGE, Placed, Remembered, earlier_tails, session_tag
from gitmem.model.session.fields import Fields, join_fields, render_fields, split_fields

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitmem.model.session.turns import Turn
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction


class Saved(Enum):
    """The part of a turn that a daily log holds: nothing, its entries of version 1, a part, or its answer as well."""

    NOTHING = 0
    EARLIER = 1
    PART = 2
    ANSWERED = 3


def saved_before(transaction: Transaction, store: Store, turn: Turn, remembered: Remembered) -> Saved:
    """Return the part of a turn that a daily log holds already."""
    tails = earlier_tails(turn)
    exchange = remembered.daily[0]
    for near in _possible_logs(transaction, exchange, exchange.entry.tags):
        text = (day_log(store, transaction, near) or b"").decode("utf-8", "surrogateescape")
        found = find_by_digest(text, tail_of(exchange.entry.id))
        if found is not None:
            return Saved.ANSWERED if split_fields(found.entry.text).answer else Saved.PART
        if any(find_by_digest(text, tail) for tail in tails):
            return Saved.EARLIER
    return Saved.NOTHING


def new_by_day(
    transaction: Transaction, store: Store, daily: Iterable[Placed], session: str, *, goes_on: bool = False
) -> dict[str, tuple[bytes, list[Placed]]]:
    """Return by daily log the content of a new file, and the entries that the log lacks or holds in an older form.

    `goes_on` means that the beginning of the turn was saved before.
    """
    days: dict[str, tuple[bytes, list[Placed]]] = {}
    tags = session_tag(session)
    for placed in daily:
        path, news = _news(transaction, store, placed, tags, goes_on=goes_on)
        if news is not None:
            days.setdefault(path, (new_daily(path[-len("2026-01-13.md") : -len(".md")]), []))[1].append(news)
    return days


def _news(
    transaction: Transaction, store: Store, placed: Placed, tags: tuple[str, ...], *, goes_on: bool
) -> tuple[str, Placed | None]:
    """Return the daily log of an entry, and the entry in its new form; None if the log needs no change."""
    path = daily_path(placed.at.strftime("%Y-%m-%d"))
    for near in _possible_logs(transaction, placed, tags):
        text = (day_log(store, transaction, near) or b"").decode("utf-8", "surrogateescape")
        found = find_by_digest(text, tail_of(placed.entry.id))
        if found is None:
            continue
        if placed.entry.label != EXCHANGE or transaction.read(near) is None:  # that day was consolidated
            return near, None
        new, before = split_fields(placed.entry.text), split_fields(found.entry.text)
        text = clean_text(render_fields(join_fields(before, new) if goes_on else _updated(before, new)))
        news = None if text == found.entry.text else placed._replace(entry=found.entry._replace(text=text))
        return near, news
    return path, placed


def _updated(before: Fields, new: Fields) -> Fields:
    """Return a saved exchange with the fields it lacked; a second delivery replaces no words.

    An exchange without an answer was saved while its turn went on: the new fields have all of that turn.
    """
    if not before.answer:
        said = tuple(dict.fromkeys((*before.said, *new.said)))
        files = tuple(dict.fromkeys((*before.files, *new.files)))
        return new._replace(request=new.request or before.request, said=said, files=files)
    return before._replace(
        request=before.request or new.request,
        said=before.said or new.said,
        errors=before.errors or new.errors,
        files=before.files or new.files,
        outcome=(new.answer and new.outcome) or before.outcome,
    )


def _possible_logs(transaction: Transaction, placed: Placed, tags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the daily logs that may hold an entry: of its day, of the days beside it, and of its session.

    A delivery after midnight or from another time zone is a day off; a transcript whose clock was wrong is off by more.
    The days of a session are those of its entries in `memory.md`.
    """
    days = [(placed.at + timedelta(days=days)).strftime("%Y-%m-%d") for days in (0, -1, 1)]
    tail = tail_of(placed.entry.id)
    for found in find_entries(memory_of(transaction).decode("utf-8", "surrogateescape")):
        view = found.entry
        if tail_of(view.id) == tail or (view.tags and view.tags == tags):
            with contextlib.suppress(ValueError):  # a person may have edited it
                days.append(datetime.fromisoformat(view.time[: len("2026-01-13")]).strftime("%Y-%m-%d"))
    return tuple(dict.fromkeys(map(daily_path, days)))
