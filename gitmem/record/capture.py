"""Capture turns: each becomes entries of the daily log and of `memory.md`, in one commit.

A turn's events stay in the spool until it is committed, so that a crash loses nothing. Entries that are in the daily
log are recognized by the digest in their id. Runs in the background at the end of a turn and every few tool
uses, and before any other command.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from functools import cache

from gitmem.document.code_lines import Written, add_written, digests_of, is_below_project, lines_path
from gitmem.document.document import Document
from gitmem.document.entry import (
    CURRENT_STATE,
    RECENT_CONTEXT,
    STATE,
    TIMELINE,
    Entry,
    clean_text,
    entries_in,
    find_by_digest,
    find_entries,
    put_entry,
    remove_entries,
    replace_entry,
)
from gitmem.document.ids import MEMORY, daily_path, scope_tags, session_tag, slug, tail_of
from gitmem.document.message import Op, Trailer, session_message
from gitmem.errors import RefusedError
from gitmem.git.trust import GITMEM
from gitmem.model.entries import joined_exchange, relative_files, remember
from gitmem.model.events import UserWords, WordKind
from gitmem.model.exchange import EXCHANGE, Fields, join_fields, render_fields, split_fields
from gitmem.model.fact import PATH
from gitmem.model.identity import known_id, queued_as, saved_in, without_known_words
from gitmem.model.turns import Turn
from gitmem.model.words import render_words
from gitmem.model.working import TaskStatus
from gitmem.platform.machine import UTC
from gitmem.project.code import work_tree_of
from gitmem.record.fact_book import Changes, FactBook
from gitmem.record.read import Pending, boot_lines, cleaner, last_turns, redacted, with_recorded
from gitmem.record.save import day_log, day_of, memory_of, memory_text, new_daily, rotate_if_full
from gitmem.record.working_memory import read_working
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction


def _saved_entry(transaction: Transaction, store: Store, turn: Turn) -> tuple[str, str] | None:
    """Return the daily log that already contains a turn's entry, and the entry's text there; None without one.

    A delivery after midnight or from another time zone is a day off, a transcript with a wrong clock more. The days of
    a session are those of its entries in `memory.md`.
    """
    days = [(turn.started + timedelta(days=days)).strftime("%Y-%m-%d") for days in (0, -1, 1)]
    tail, tag = tail_of(turn.exchange_id), session_tag(turn.session)
    for place in find_entries(memory_text(transaction)):
        if tail_of(place.entry.id) == tail or (tag and place.entry.tags[:1] == tag):
            with contextlib.suppress(ValueError):  # a user may have edited it
                days.append(datetime.fromisoformat(place.entry.time[: len("2026-01-13")]).strftime("%Y-%m-%d"))
    for path in dict.fromkeys(map(daily_path, days)):
        saved = find_by_digest(day_log(store, transaction, path), tail)
        if saved is not None:
            return path, saved.entry.text
    return None


def _log_change(transaction: Transaction, turn: Turn, entry: Entry, saved: tuple[str, str] | None) -> Changes:
    """Return the daily log with a turn's new or completed entry, {} if the log has all of it."""
    path = saved[0] if saved else daily_path(f"{turn.started:%Y-%m-%d}")
    if saved:
        before, new = split_fields(saved[1]), split_fields(entry.text)
        # Without a prompt, a part of the turn was saved.
        text = clean_text(render_fields(_updated(before, new) if turn.prompt else join_fields(before, new)))
        if text == saved[1] or transaction.read(path) is None:  # that day was consolidated
            return {}
        entry = entry._replace(text=text)
    document = Document.parse(transaction.read(path) or new_daily(day_of(path)))
    return {path: document.with_body(put_entry(document.body, TIMELINE, entry, document.newline)).render()}


def _updated(before: Fields, new: Fields) -> Fields:
    """Return a saved exchange with missing fields added; a second delivery replaces no words.

    An exchange without an answer was saved during its turn: the new fields contain the whole turn. So they do where
    the agent went on after its answer, which they then have among what it said.
    """
    request, words = _asked(before, new)
    if not before.answer or (new.answer and before.answer in new.said):
        said, files = (tuple(dict.fromkeys(both)) for both in (before.said + new.said, before.files + new.files))
        return new._replace(request=request, said=said, files=files, words=words)
    return before._replace(
        request=request,
        said=tuple(text for text in dict.fromkeys((*before.said, *new.said)) if text not in before.answer),
        errors=before.errors or new.errors,
        files=tuple(dict.fromkeys((*before.files, *new.files))),
        words=words,
        outcome=(new.answer and new.outcome) or before.outcome,
    )


def _asked(before: Fields, new: Fields) -> tuple[str, tuple[str, ...]]:
    """Return the request and other words of an exchange delivered twice; a transcript has more of them than hooks.

    If the requests differ, one is a message within the turn, whose first hook was lost.
    """
    words = {_plain(words): words for words in (*before.words, *new.words)}
    requests = {_plain(added): (text, added) for text in (before.request, new.request) if (added := _addition(text))}
    if len(requests) > 1 and _plain(_addition(before.request)) in map(_plain, new.words):
        requests = dict(reversed(requests.items()))
    texts = list(requests.values())
    words |= {_plain(added): added for _, added in texts[1:] if _plain(added) not in words}
    own = _plain(texts[0][1]) if texts else ""
    return texts[0][0] if texts else "", tuple(text for key, text in words.items() if key != own)


def _addition(text: str) -> str:
    return render_words(UserWords(WordKind.ADDITION, text)) if text else ""


def _plain(text: str) -> str:
    return " ".join(text.split())


Learn = Callable[[FactBook, Turn, Collection[str]], Changes]  # returns the changes that save a turn's facts
BETWEEN_SAVES = timedelta(seconds=60)  # of one unfinished turn
BATCH_BYTES = 8_000_000  # of files, after which a transaction takes no more turns: it has the log of each
_TAG_PART = 20  # characters of a user's or a branch's name in a tag
_MOST_STATES = 8  # in Current State; the newest of other users and branches stay
_MOST_STEPS, _MOST_OPEN = 8, 3  # of a plan, and failed commands, in a state


def capture(store: Store, read: Callable[[], Pending], notices: list[str], learn: Learn) -> None:
    """Commit finished turns and long unfinished ones, and remove the events of finished turns.

    `notices` gets the messages for the user, also those of commits before one that fails. Raises GitmemError if the
    turns could not be committed; they stay in the spool.
    """
    spool = HookSpool(store.private)

    def plan(transaction: Transaction) -> tuple[Pending, list[str], bool]:
        """Add a commit for each turn that is due; return the spool, the events done, and whether more wait."""
        pending = read()
        over, boot = pending.over(), boot_lines(store)
        transcripts, recorded = {session.name: session.transcript for session in pending.sessions}, cache(last_turns)
        done: list[str] = []
        for turn in pending.turns:
            if not is_due(turn, over, store, transaction.now):
                continue
            if done and transaction.planned > BATCH_BYTES:
                return pending, done, True
            turn = turn._replace(closed=turn.closed or turn.session in over)  # noqa: PLW2901
            if turn.closed and transcripts[turn.session]:
                turn = with_recorded(turn, recorded(transcripts[turn.session], turn.host))  # noqa: PLW2901
            try:
                capture_turn(transaction, store, turn, boot, learn)
            except RefusedError as error:  # it stays in the spool; others may belong to another day's log
                transaction.notices.append(f"A turn is not saved yet: {error.sentences}")
                continue
            done += turn.sources if turn.closed else ()
        return pending, done, False

    is_full = True
    while is_full:
        outcome = transact(store, plan, purpose="capture", scan=True)
        pending, done, is_full = outcome.value
        notices += outcome.notices
        spool.remove([*done, *pending.useless])
        for name in pending.unreadable:
            spool.put_aside(name)
            notices.append(f"A hook's payload could not be parsed and was kept aside: {name}.")


class _DryRunError(Exception):
    """End a transaction that is not to be committed."""


def capture_recorded(
    store: Store, turns: Sequence[Turn], learn: Learn, purpose: str, *, dry_run: bool = False
) -> tuple[int, list[str], list[str]]:
    """Save the turns of a transcript that the logs lack; a second call changes nothing, nor does a dry run.

    Returns how many are new or longer than before, the archives that rotations made, and notices. Raises GitmemError
    if it could not be committed.
    """
    saved = done = 0
    archives: list[str] = []
    notices: list[str] = []
    boot = boot_lines(store)

    def plan(transaction: Transaction) -> tuple[int, int, list[str]]:
        """Capture a batch of turns; return the index of the next turn, the number saved, and the archives."""
        new, rotated = 0, list[str]()
        for place, turn in enumerate(turns[done:], done):
            if place > done and transaction.planned > BATCH_BYTES and not dry_run:
                return place, new, rotated
            before = len(transaction.drafts)
            rotated += capture_turn(transaction, store, turn, boot, learn)
            new += len(transaction.drafts) > before
        if dry_run:
            raise _DryRunError(new)
        return len(turns), new, rotated

    while done < len(turns):
        try:
            outcome = transact(store, plan, purpose=purpose)
        except _DryRunError as planned:
            return planned.args[0], [], []
        done, new, rotated = outcome.value
        saved, archives = saved + new, archives + rotated
        notices += outcome.notices
    return saved, archives, notices


def is_due(turn: Turn, over: Collection[str], store: Store, now: datetime) -> bool:
    """Return whether a turn is due: finished, or long and not saved recently."""
    if turn.closed or turn.session in over:
        return True
    if turn.tools < store.config.save.interval:
        return False
    text = (store.read(MEMORY) or b"").decode("utf-8", "surrogateescape")
    saved = find_by_digest(text, tail_of(turn.exchange_id))
    since = saved.entry.time if saved else turn.started.strftime("%Y-%m-%d %H:%M:%S")
    return since <= (now - BETWEEN_SAVES).astimezone(turn.started.tzinfo).strftime("%Y-%m-%d %H:%M:%S")


def capture_turn(transaction: Transaction, store: Store, turn: Turn, boot: Collection[str], learn: Learn) -> list[str]:
    """Add the commit of a turn, after a rotation if one is due; return the archives made.

    `boot` are the `boot_lines` of the project. Raises RefusedError if a file of the store cannot hold the entry, or is
    a link.
    """
    clean = redacted(turn, store)
    if not clean.logged:
        exchanges = saved_in(day_log(store, transaction, daily_path(f"{clean.started:%Y-%m-%d}")))
        clean = without_known_words(clean._replace(known=clean.known or known_id(clean, exchanges)), exchanges)
        turn = turn._replace(known=clean.known)
    config, roots = store.config, (os.path.dirname(store.root), clean.cwd)
    exchange = config.save.mode != "ask"
    remembered = remember(clean, roots, boot, exchange=exchange, answer_chars=config.capture.answer_chars)
    if remembered is None:
        return []
    book, saved = FactBook(store, transaction), _saved_entry(transaction, store, clean)
    recent = _recent_entry(transaction, clean, remembered.recent, saved)
    changes = _log_change(transaction, turn, remembered.logged, saved)
    entries = dict.fromkeys(entry.id for entry in (recent, remembered.logged if changes else None) if entry)
    changes |= written_lines(transaction, store, turn)
    changes |= _without_queued(transaction, changes, clean)
    if turn.closed and not changes:
        return []  # captured before: delivered twice, or killed before the events were removed
    archive = rotate_if_full(transaction, store)
    facts = learn(book, clean, boot)
    changes |= facts
    changes[MEMORY] = _with_remembered(memory_of(transaction), recent, _state_of(store, book, turn))
    subject = f"{('Complete' if turn.closed else 'Continue') if saved else EXCHANGE}: {remembered.head}"
    message = session_message(subject, Op.TURN, Trailer.ENTRY, entries, session=turn.session, host=turn.host)
    named = [(Trailer.FACT.value, match["id"]) for match in map(PATH.fullmatch, facts) if match]
    transaction.commit(message._replace(trailers=(*message.trailers, *named)), changes, when=turn.ended)
    return [archive] if archive else []


def _without_queued(transaction: Transaction, changes: dict[str, bytes | None], turn: Turn) -> dict[str, bytes | None]:
    """Return the daily log without an earlier turn's queued message that became this turn's request."""
    path = daily_path(f"{turn.started:%Y-%m-%d}")
    document = Document.parse(changes.get(path) or transaction.read(path) or b"")
    body, queued = document.body, queued_as(turn, saved_in(document.body))
    for exchange in queued:
        place = find_by_digest(body, tail_of(exchange))
        fields = split_fields(place.entry.text) if place else Fields()
        kept = tuple(word for word in fields.words if _plain(word) != _plain(_addition(turn.prompt)))
        if place and kept != fields.words:
            text = clean_text(render_fields(fields._replace(words=kept)))
            body = replace_entry(body, place, place.entry._replace(text=text), document.newline)
    return {} if body == document.body else {path: document.with_body(body).render()}


def written_lines(transaction: Transaction, store: Store, turn: Turn) -> dict[str, bytes | None]:
    """Return the record of code lines with a turn's lines added, {} if there are none to add.

    Lines with a secret are left out: a few unknown characters can be guessed from a digest.
    """
    clean, began = cleaner(store, turn.started), turn.started.astimezone(UTC)
    roots = (os.path.dirname(store.root), _work_tree(turn.cwd), turn.cwd)
    rows = []
    for path, text in turn.added:
        names = [name for name in relative_files((path,), roots) if is_below_project(name)]
        lines = set(clean(text).split("\n"))
        digests = digests_of(line for line in text.split("\n") if line in lines)
        rows += [Written(f"{began:%H:%M:%S}", turn.exchange_id, name, digests) for name in names]
    path = lines_path(f"{began:%Y-%m-%d}")
    before = transaction.read(path) or b""
    after = add_written(before, rows) if rows else before
    return {} if after == before else {path: after}


def _work_tree(folder: str) -> str:
    """Return the top folder of the work tree of a session's folder, or ""."""
    try:
        return work_tree_of(folder)[0] if folder else ""
    except ValueError:  # not a valid name of a folder
        return ""


def _recent_entry(
    transaction: Transaction, turn: Turn, recent: Entry | None, saved: tuple[str, str] | None
) -> Entry | None:
    """Return a turn's entry for `memory.md`, None if that contains or contained it."""
    if turn.prompt:
        return None if saved and split_fields(saved[1]).answer else recent
    before = find_by_digest(memory_text(transaction), tail_of(turn.exchange_id))
    if before is None or recent is None:
        return recent
    return recent._replace(text=joined_exchange(before.entry.text, recent.text))  # the turn continues a saved one


def _whose(store: Store, book: FactBook, turn: Turn) -> str:
    """Return the tag of a state: the user, by name and address, else the machine, and the branch."""
    user = store.identity().result()
    name, address = user.name, user.email
    if address == GITMEM.email:  # in a container, the user has no name
        name = address = store.context.machine
    digest = f"{zlib.crc32(address.casefold().encode()):08x}"[:4]
    branch = slug(book.branch_of(turn.cwd), length=_TAG_PART)
    return "/".join(filter(None, ("by", f"{slug(name, length=_TAG_PART) or 'x'}-{digest}", branch)))


def _state_of(store: Store, book: FactBook, turn: Turn) -> tuple[str, Entry | None] | None:
    """Return the tag and the entry of Current State: the task, its plan, failed commands and open steps.

    The entry is None if nothing is open; the result is None if the session has no working memory.
    """
    memory = read_working(store, turn.session)
    if memory is None or memory.task is None:
        return None
    tag, running = _whose(store, book, turn), memory.task.status is TaskStatus.ACTIVE
    steps = [f"[{'x' if step.status == 'completed' else ' '}] {step.text}" for step in memory.steps[:_MOST_STEPS]]
    failed = [f"`{error.command}`: {error.message}" for error in memory.failed[-_MOST_OPEN:]]
    if not running or not memory.pending:
        return tag, None
    labels = (("Task", [memory.task.description]), ("Plan", steps), ("Open", failed))
    text = clean_text("\n".join(f"{label}: {'; '.join(parts)}" for label, parts in labels if parts))
    at = f"{turn.ended:%Y-%m-%d %H:%M:%S}"
    tags = (*session_tag(turn.session), *scope_tags(turn.scope), tag)
    return tag, Entry(turn.entry_id("state"), at, STATE, text, tags)


def _with_remembered(data: bytes, exchange: Entry | None, state: tuple[str, Entry | None] | None) -> bytes:
    """Return `memory.md` with the exchange of a turn and its state, which replaces that of the same user and branch."""
    document = Document.parse(data)
    body = document.body
    if exchange is not None:
        body = put_entry(body, RECENT_CONTEXT, exchange, document.newline)
    if state is not None:
        tag, entry = state
        every = [known.entry for known in entries_in(body, CURRENT_STATE) if known.entry.label == STATE]
        others = sorted((known for known in every if known.tags[-1:] != (tag,)), key=lambda known: known.time)
        others = others[-_MOST_STATES + 1 :]
        gone = {known.id for known in every if known not in others}
        body = remove_entries(body, gone - ({entry.id} if entry else set()))
        body = put_entry(body, CURRENT_STATE, entry, document.newline) if entry else body
    return document.with_body(body).render()
