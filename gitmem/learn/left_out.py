"""Statements behind a label that `find_facts` leaves out, since they may be pasted: the user says in a review.

A file in the private folder has a line an exchange: its day, its id, and "-" once it was answered. The words stay in
the exchange alone, so what is undone or purged is asked about no more, nor is a day that was joined with others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from gitmem.document.entry import find_by_digest
from gitmem.document.ids import daily_path, tail_of
from gitmem.learn.facts import learn_findings
from gitmem.learn.statements import FoundFact, as_statement, labels_left_out
from gitmem.model.exchange import split_fields
from gitmem.model.lines import normalized
from gitmem.model.similarity import SAID
from gitmem.model.turns import Turn
from gitmem.model.words import human_text
from gitmem.platform.machine import datetime
from gitmem.platform.safe_open import read_text, replace_file
from gitmem.store.known_facts import known_facts
from gitmem.store.store import LEFT_OUT, Store

_MOST = 200  # exchanges, the newest


def note_left_out(store: Store, turns: Sequence[Turn]) -> None:
    """Note the exchanges of a session with statements to ask the user about."""
    rows, asked = _rows(store), [turn for turn in turns if labels_left_out(human_text(turn.prompt))]
    new = {f"{turn.started:%Y-%m-%d} {turn.exchange_id}": "" for turn in asked}
    if not new.keys() <= rows.keys():
        _write(store, new | rows)


def waiting_left_out(store: Store, *, answered: bool = False) -> dict[str, list[FoundFact]]:
    """Return by day and exchange the statements that wait for an answer, or were `answered`, without known facts."""
    rows = [row for row, answer in _rows(store).items() if bool(answer) is answered]
    known = {normalized(fact.description) for fact in (known_facts(store) if rows else ())}
    waiting = dict[str, list[FoundFact]]()
    for row in rows:
        day, exchange = row.split()
        place = find_by_digest((store.read(daily_path(day)) or b"").decode("utf-8", "replace"), tail_of(exchange))
        if place is None:
            continue
        for statement in labels_left_out(split_fields(place.entry.text).request):
            text, at = as_statement(statement.text), datetime.fromisoformat(f"{day}T{place.entry.time}").astimezone()
            if normalized(text) not in known:
                waiting.setdefault(row, []).append(FoundFact(statement.kind, text, SAID, at, exchange))
    return waiting


def answer_left_out(store: Store, row: str, stated: Sequence[FoundFact], *, accept: bool) -> str | None:
    """Make facts of statements, or ask no more; return the commit, if any."""
    commit = learn_findings(store, "", "cli", stated) if accept else None
    _write(store, _rows(store) | {row: "-"})
    return commit


def _rows(store: Store) -> dict[str, str]:
    lines = (line.split() for line in read_text(os.path.join(store.private, LEFT_OUT)).splitlines())
    return {" ".join(words[:2]): "".join(words[2:]) for words in lines if len(words) > 1}


def _write(store: Store, rows: Mapping[str, str]) -> None:
    lines = [f"{row} {answer}\n" for row, answer in sorted(rows.items())[-_MOST:]]
    replace_file(os.path.join(store.private, LEFT_OUT), "".join(lines).encode())
