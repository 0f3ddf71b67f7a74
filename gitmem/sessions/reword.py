"""Exchanges in a model's words.

Have a model reword a session's exchanges, once, in the background, after the offline ones are saved (spec V1).

If a model is named, the end of a session writes a request into the private folder, a file each. A failed request is
repeated for two days.

Tested through `tests/sessions/test_exchanges.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import cast

from gitmem.document.ids import tail_of
from gitmem.facts.book import learn_told
from gitmem.facts.extract import Finding
from gitmem.facts.told_by_model import SCHEMA as FACTS
from gitmem.facts.told_by_model import told_facts
from gitmem.judgement.ask import ask, instructions_for, is_worth_asking, without_secrets
from gitmem.llm.http import Patience
from gitmem.llm.protocol import Question, ReplyError
from gitmem.platform.safe_open import read_text
from gitmem.sessions.end import read_records
from gitmem.sessions.exchange import SCHEMA, Exchange, reworded
from gitmem.sessions.exchanges import Made, exchanges_of, put_exchanges, turns_of
from gitmem.store.store import Store
from gitmem.store.transcripts import file_name

# One question asks for the exchanges of a session and for its facts.
_ASKED: dict[str, object] = {
    **SCHEMA,
    "properties": {**cast("dict[str, object]", SCHEMA["properties"]), "facts": FACTS},
    "required": [*cast("list[str]", SCHEMA["required"]), "facts"],
}
_FOLDER = "asking"
_KEPT = timedelta(days=2)
_AT_ONCE = 40  # exchanges of one question
_MAX_OUTPUT = 300  # characters of a command, and of its output, that are sent
_MAX_RUNS = 8  # commands that are sent, the last


def request_rewording(store: Store, session: str, host: str, transcript: str) -> None:
    """Request that a model rewords the exchanges of a session."""
    path = os.path.join(store.private, _FOLDER, f"{file_name(session)}.json")
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    at = store.context.clock().isoformat()
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(json.dumps({"session": session, "host": host, "transcript": transcript, "at": at}))


def reword_requested(store: Store, late: Callable[[], bool], tries: Patience | None = None) -> None:
    """Have a model reword requested sessions until it is `late`."""
    folder = os.path.join(store.private, _FOLDER)
    if not os.path.isdir(folder):
        return
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if late():
            break
        try:
            request = json.loads(read_text(path))
            session, host, transcript = (str(request[key]) for key in ("session", "host", "transcript"))
            old = store.context.clock() - datetime.fromisoformat(request["at"]) > _KEPT
        except (ValueError, TypeError, KeyError):
            session, old = "", True
        if session and not old and not is_worth_asking(store, f"session {session}"):
            continue
        if not session or old or not reword_session(store, session, host, transcript, tries):
            with contextlib.suppress(OSError):
                os.unlink(path)


def reword_session(store: Store, session: str, host: str, transcript: str, tries: Patience | None = None) -> str:
    """Have a model reword the exchanges of a session; returns why it failed, or "".

    Raises:
        GitmemError: they could not be committed.

    """
    turns = turns_of(read_records(transcript), session, host)
    made = exchanges_of(store, turns)
    instructions = instructions_for(store, "exchanges")
    for start in range(0, len(made), _AT_ONCE):
        batch = made[start : start + _AT_ONCE]
        question = Question("exchanges", instructions, _material(batch), _ASKED, most_tokens=10_000)
        asked = ask(store, question, f"session {session}", partial(_read, store, batch), tries)
        if asked.value is None:
            return asked.why
        better, told = asked.value
        put_exchanges(
            store,
            session,
            turns,
            batch,
            better,
            host=host,
            method=asked.model,
            provider=asked.provider,
            cost=asked.dollars,
        )
        learn_told(store, session, host, told, asked.model)
    return ""


def _material(made: Iterable[Made]) -> str:
    return "\n\n".join(_description(one) for one in made)


def _description(one: Made) -> str:
    turn, exchange = one.turn, one.exchange
    lines = [f"id: {exchange.id}", f"asked: {turn.prompt or '(goes on)'}", f"answered: {turn.answer or '(nothing)'}"]
    lines += [f"files changed: {', '.join(exchange.files)}"] if exchange.files else []
    for run in turn.runs[-_MAX_RUNS:]:
        output = " ".join(run.said[-_MAX_OUTPUT:].split())
        lines.append(
            f"ran: {' '.join(run.command.split())[:_MAX_OUTPUT]} -> {'failed' if run.failed else 'worked'}: {output}"
        )
    return "\n".join(lines)


def _read(store: Store, made: Sequence[Made], given: Mapping[str, object]) -> tuple[dict[str, Exchange], list[Finding]]:
    """Return the reworded exchanges of a reply, by the digest in their ids, and the facts it tells.

    Raises:
        ReplyError: it is about none of these exchanges.

    """
    known = {one.exchange.id: one.exchange for one in made}
    clean = without_secrets(store, given)
    items = clean["exchanges"]
    reworded_by_digest = {}
    for item in items if isinstance(items, list) else []:
        exchange = known.get(str(item.get("id", "")).removeprefix("^")) if isinstance(item, dict) else None
        better = reworded(exchange, item) if exchange else None
        if better:
            reworded_by_digest[tail_of(better.id)] = better
    if not reworded_by_digest:
        raise ReplyError("is about none of the exchanges")
    return reworded_by_digest, list(told_facts(clean["facts"], {one.exchange.id: one.turn for one in made}))
