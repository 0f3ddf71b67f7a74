"""Write a finished session's exchanges into its file and `memory.md`, in one commit, without a model (spec V1, V2).

An exchange has the id of its turn, so in `memory.md` it replaces the entry that the turn wrote. Entries in archives,
and entries that a person reworded, stay as they are.
"""

from __future__ import annotations

import os
from datetime import UTC

from gitmem.memory.capture.clean import boot_lines, redacted
from gitmem.memory.save.save import rotate_if_full
from gitmem.model.document.document import Document
from gitmem.model.entry.entry import find_by_digest
from gitmem.model.entry.log import entry_ids, put_entry, replace_entry
from gitmem.model.ids import short_session, tail_of
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.paths import MEMORY, session_path
from gitmem.model.session.entries import exchange_of
from gitmem.model.session.exchange import (
    LABEL,
    OFFLINE,
    SECTION,
    Exchange,
    details_without,
    new_session,
    parse,
    parts_of_turn,
    render,
    took_the_place,
)
from gitmem.model.session.noise import human_text
from gitmem.model.session.outcome import judge_outcome
from gitmem.model.session.replay import hook_events
from gitmem.model.session.turns import fold
from gitmem.offline.exchange import tell
from gitmem.store.history.records import last_version
from gitmem.store.transaction.transact import transact
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitmem.model.entry.entry import Entry
    from gitmem.model.session.transcript import Record
    from gitmem.model.session.turns import Turn
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

_SHORT_ANSWER = 120  # characters; with a shorter answer and no tool used, an exchange is small talk
_MAX_READ = 20_000  # characters of a request and of an answer that are summarized
_MAX_TOLD = 3_000  # characters of a request, and of an answer, that a model is sent
_FOLDER_OF_MONTH = len("sessions/2026/10")


class Made(Value):
    """An offline exchange, the text its turn wrote into `memory.md`, and the turn with shortened texts."""

    exchange: Exchange
    captured: str
    turn: Turn


def turns_of(parts: Iterable[Record], session: str, host: str) -> list[Turn]:
    """Return the turns of a finished session's transcript; `host` is the host's label in entries."""
    turns = fold(hook_events(parts, None, host))
    return [turn._replace(closed=True) for turn in turns if turn.session in {session, ""}]


def exchanges_of(store: Store, turns: Sequence[Turn]) -> list[Made]:
    """Return the significant exchanges of a session, in order, redacted and made without a model."""
    allow, boot, project = store.config.redaction.allow, boot_lines(store), os.path.dirname(store.root)
    made = []
    for turn, following in zip(turns, (*turns[1:], None), strict=False):  # without turns there is one None
        clean = redacted(turn, allow)
        read = clean._replace(prompt=clean.prompt[:_MAX_READ], answer=clean.answer[:_MAX_READ])
        entry = exchange_of(read, (project, turn.cwd), boot)
        answer = human_text(clean.answer)
        if entry is not None and (turn.tools or len(answer) >= _SHORT_ANSWER):
            brief = clean._replace(prompt=_shortened(human_text(clean.prompt)), answer=_shortened(answer), sources=())
            next_prompt = human_text(following.prompt) if following else ""
            made.append(Made(_offline(clean, entry, answer, next_prompt), entry.text, brief))
    return made


def _shortened(text: str) -> str:
    """Return a text without its middle if it is long."""
    return text if len(text) <= _MAX_TOLD else f"{text[: _MAX_TOLD // 2]} […] {text[-_MAX_TOLD // 2 :]}"


def _offline(turn: Turn, entry: Entry, answer: str, next_prompt: str) -> Exchange:
    asked, done, files, failed = parts_of_turn(entry.text)
    answered = answer[:_MAX_READ]
    request = human_text(turn.prompt)[:_MAX_READ] if asked else ""
    result = tell(request, answered, files, turn.runs, interrupted=turn.interrupted)
    return Exchange(
        id=entry.id,
        time=entry.time,
        tags=entry.tags,
        summary=result.summary or asked or done,
        asked="" if asked and result.summary.startswith(asked.rstrip(" .:…")) else asked,
        details=details_without(done, result.sentence),
        files=files,
        failed=failed,
        keywords=result.keywords,
        outcome=judge_outcome(turn._replace(answer=answered, files=files), next_prompt),
    )


def save_exchanges(store: Store, session: str, host: str, turns: Sequence[Turn]) -> str | None:
    """Save the exchanges of a finished session, made without a model; returns the commit.

    Saved exchanges stay as they are; a second call adds nothing.

    Raises:
        GitmemError: they could not be committed.

    """
    made = exchanges_of(store, turns)
    if not made:
        return None
    return put_exchanges(store, session, turns, made, {}, host=host)


def put_exchanges(
    store: Store,
    session: str,
    turns: Sequence[Turn],
    made: Sequence[Made],
    better: Mapping[str, Exchange],
    *,
    host: str,
    method: str = OFFLINE,
    provider: str = "",
    cost: float | None = None,
) -> str | None:
    """Commit exchanges; `better` are those reworded by `method`, by the digest in their ids.

    Raises:
        GitmemError: they could not be committed.

    """

    def plan(transaction: Transaction) -> int:
        path, data = _file(transaction, session, turns)
        if data is None and last_version(store.repository, path) is not None:
            return 0  # cleared since
        document = Document.parse(data or new_session(session, host, _name(session), turns[0].started))
        body, changed = document.body, []
        memory = transaction.read(MEMORY) or b""
        for one in _as_known(made, memory):
            body, new = _with_exchange(body, document.newline, one, better.get(tail_of(one.exchange.id)))
            changed += [one] if new else []
        document = document.with_body(body)
        if method != OFFLINE and changed:
            document = document.set("method", method).set("provider", provider)
            document = document if cost is None else document.set("cost", round(cost, 6))
        if not changed and data is not None:
            return 0
        rotate_if_full(transaction, store)
        changes: dict[str, bytes | None] = {path: document.render()}
        if memory := transaction.read(MEMORY) or b"":
            changes[MEMORY] = _with_exchanges(memory, changed, better)
        message = _message(session, host, changed, method)
        return len(changed) if transaction.commit(message, changes, when=turns[-1].ended) else 0

    outcome = transact(store, plan, purpose="exchanges")
    return outcome.commits[-1] if outcome.value else None


def _as_known(made: Iterable[Made], memory: bytes) -> list[Made]:
    """Return exchanges with their ids in `memory.md`, where a live turn's time is some milliseconds later."""
    body = memory.decode("utf-8", "surrogateescape")
    ids = {tail_of(identifier): identifier for identifier in entry_ids(body)}
    return [
        one._replace(exchange=one.exchange._replace(id=ids.get(tail_of(one.exchange.id), one.exchange.id)))
        for one in made
    ]


def _message(session: str, host: str, changed: Sequence[Made], method: str) -> Message:
    summary = changed[0].exchange.summary if len(changed) == 1 else f"{len(changed)} exchanges"
    by = "" if method == OFFLINE else f" ({method})"
    trailers = (
        (Trailer.OP.value, Op.EXCHANGES.value),
        *((Trailer.ENTRY.value, one.exchange.id) for one in changed),
        (Trailer.SESSION.value, session),
        (Trailer.HOST.value, host),
    )
    message = Message(f"Session {short_session(_name(session))}{by}: {summary}", trailers)
    return message.by("" if method == OFFLINE else method)


def _with_exchange(body: str, newline: str, one: Made, better: Exchange | None) -> tuple[str, bool]:
    """Return a session's text with an exchange, and whether it changed; a reworded exchange stays."""
    present = find_by_digest(body, tail_of(one.exchange.id))
    offline = render(one.exchange)
    if present is None:
        return put_entry(
            body, SECTION, render(better)._replace(id=one.exchange.id) if better else offline, newline
        ), True
    if better is None or present.entry.text != offline.text:
        return body, False
    return replace_entry(body, present, render(better)._replace(id=present.entry.id), newline), True


def _with_exchanges(data: bytes, changed: Sequence[Made], better: Mapping[str, Exchange]) -> bytes:
    """Return `memory.md` with exchanges instead of the entries their turns wrote, if those are unchanged."""
    document = Document.parse(data)
    body = document.body
    for one in changed:
        present = find_by_digest(body, tail_of(one.exchange.id))
        if present is None or present.entry.label != LABEL:
            continue
        now, offline = present.entry.text, one.exchange
        raw = took_the_place(now, one.captured)
        if not raw and now != render(_with_files_of(one.exchange, parse(present.entry))).text:
            continue
        new = better.get(tail_of(offline.id), offline)
        if raw:  # the live entry keeps its files and errors, which may be of a longer turn
            _, _, files, failed = parts_of_turn(now)
            new = new._replace(files=files, failed=failed)
        entry = render(new)._replace(id=present.entry.id, time=present.entry.time)
        body = replace_entry(body, present, entry, document.newline)
    return document.with_body(body).render()


def _with_files_of(exchange: Exchange, now: Exchange | None) -> Exchange:
    return exchange if now is None else exchange._replace(files=now.files, failed=now.failed)


def _file(transaction: Transaction, session: str, turns: Sequence[Turn]) -> tuple[str, bytes | None]:
    """Return path and content of a session's file; an existing file of the session in the same month is kept."""
    name = _name(session)
    path = session_path(turns[0].started.astimezone(UTC).strftime("%Y%m%d_%H%M%S"), name)
    folder = path[:_FOLDER_OF_MONTH]
    others = sorted(other for other in transaction.names(folder) if other.endswith(f"-{name}.md"))
    path = f"{folder}/{others[0]}" if others else path
    return path, transaction.read(path)


def _name(session: str) -> str:
    from gitmem.store.transcripts.transcripts import file_name

    return file_name(session)
