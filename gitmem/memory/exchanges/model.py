"""A session's exchanges in a model's words (spec V1): asked once, behind the hooks, after the offline ones are saved.

Which sessions wait for it stands in the private folder, a file each, made when the session ends and only where a model
is named. What fails is asked again later, for two days; the offline exchanges stand meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import os
from datetime import datetime, timedelta
from functools import partial

from gitmem.llm.protocol import Question
from gitmem.llm.replies import ReplyError
from gitmem.machine.beneath import read_text
from gitmem.machine.resources import read_resource
from gitmem.memory.ask.ask import ask, is_worth_asking, without_secrets
from gitmem.memory.capture.session_end import read_records
from gitmem.memory.exchanges.offline import Made, exchanges_of, put_exchanges, turns_of
from gitmem.model.ids import TIME_LENGTH
from gitmem.model.session.exchange import SCHEMA, Exchange, reworded
from gitmem.store.transcripts.transcripts import file_name

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gitmem.llm.http import Patience
    from gitmem.store.store import Store

_FOLDER = "asking"
_KEPT = timedelta(days=2)
_AT_ONCE = 40  # exchanges of one question
_SAID = 300  # characters that are told of a command, and of what it said
_RUNS = 8  # commands that are told, the last


def wait_for_words(store: Store, session: str, host: str, transcript: str) -> None:
    """Note that the exchanges of a session are to be put in a model's words."""
    path = os.path.join(store.private, _FOLDER, f"{file_name(session)}.json")
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    at = store.context.clock().isoformat()
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(json.dumps({"session": session, "host": host, "transcript": transcript, "at": at}))


def improve_sessions(store: Store, late: Callable[[], bool], tries: Patience | None = None) -> list[str]:
    """Have a model put into words what waits for it, until it is `late`; returns why it could not, a sentence each."""
    folder = os.path.join(store.private, _FOLDER)
    failed: list[str] = []
    if not os.path.isdir(folder):
        return failed
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if late():
            break
        try:
            said = json.loads(read_text(path))
            session, host, transcript = (str(said[key]) for key in ("session", "host", "transcript"))
            old = store.context.clock() - datetime.fromisoformat(said["at"]) > _KEPT
        except (ValueError, TypeError, KeyError):
            session, old = "", True
        if session and not old and not is_worth_asking(store, f"session {session}"):
            continue
        why = improve_session(store, session, host, transcript, tries) if session and not old else ""
        if why:
            failed.append(f"The exchanges of session {session} stay as they are: {why}")
        else:
            with contextlib.suppress(OSError):
                os.unlink(path)
    return failed


def improve_session(store: Store, session: str, host: str, transcript: str, tries: Patience | None = None) -> str:
    """Put the exchanges of a session in a model's words; returns why that could not be, "" where it could.

    Raises:
        GitmemError: they could not be committed.

    """
    turns = turns_of(read_records(transcript), session)
    made = exchanges_of(store, turns)
    instructions = read_resource("templates", "prompts", "exchanges.md").decode()
    for start in range(0, len(made), _AT_ONCE):
        some = made[start : start + _AT_ONCE]
        question = Question("exchanges", instructions, _material(some), SCHEMA, most_tokens=10_000)
        asked = ask(store, question, f"session {session}", partial(_read, store, some), tries)
        if asked.value is None:
            return asked.why
        put_exchanges(
            store,
            session,
            turns,
            some,
            asked.value,
            host=host,
            method=asked.model,
            provider=asked.provider,
            cost=asked.dollars,
        )
    return ""


def _material(made: Iterable[Made]) -> str:
    return "\n\n".join(_told(one) for one in made)


def _told(one: Made) -> str:
    turn, exchange = one.turn, one.exchange
    lines = [f"id: {exchange.id}", f"asked: {turn.prompt or '(goes on)'}", f"answered: {turn.answer or '(nothing)'}"]
    lines += [f"files changed: {', '.join(exchange.files)}"] if exchange.files else []
    for run in turn.runs[-_RUNS:]:
        said = " ".join(run.said[-_SAID:].split())
        lines.append(f"ran: {' '.join(run.command.split())[:_SAID]} -> {'failed' if run.failed else 'worked'}: {said}")
    return "\n".join(lines)


def _read(store: Store, made: Sequence[Made], given: Mapping[str, object]) -> dict[str, Exchange]:
    """Return the exchanges that an answer is about, by the digest in their ids.

    Raises:
        ReplyError: it is about none of them.

    """
    known = {one.exchange.id: one.exchange for one in made}
    items = without_secrets(store, given)["exchanges"]
    found = {}
    for item in items if isinstance(items, list) else []:
        exchange = known.get(str(item.get("id", "")).removeprefix("^")) if isinstance(item, dict) else None
        better = reworded(exchange, item) if exchange else None
        if better:
            found[better.id[TIME_LENGTH:]] = better
    if not found:
        raise ReplyError("is about none of the exchanges")
    return found
