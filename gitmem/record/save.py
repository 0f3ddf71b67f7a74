"""Save: write an event into the spool, then drain the spool into `memory.md` and the daily log.

One save is one commit, made by the first process that drains the spool, after a rotation if one is due.
An event that is delivered or drained twice is recognized by its id in the daily log.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache, partial

from gitmem.document.document import Document
from gitmem.document.entry import TIMELINE, Entry, MemoryType, add_entry, clean_text, entry_ids
from gitmem.document.event import Save, UnknownEventError, parse_event
from gitmem.document.ids import MEMORY, TAIL_BYTES, daily_path, make_id, scope_tags, scopes_in
from gitmem.document.message import Op, Trailer, op_message
from gitmem.errors import BusyError, DoesNotFitError, GitmemError, RefusedError
from gitmem.git.log import log
from gitmem.model.rotation import needs_rotation
from gitmem.platform.machine import datetime, timedelta
from gitmem.redact.redact import kinds_of, redact
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.terminal import plain
from gitmem.values import TYPE_CHECKING, Value

if TYPE_CHECKING:
    from gitmem.record.fact_book import FactBook

_FEWEST_BYTES = 3  # per token of a full file, at least; the estimate is four
BATCH = 500  # events of one lock and one fast-import


class Saved(Value):
    """A committed save: its entry's id, and the commit (None if another process made it).

    The id is the fact's for a type that lasts. `redacted` counts the secrets and `<private>` passages
    removed from its text, by kind. `known` is a sentence if nothing was saved, as a fact in force has the same words.
    """

    id: str
    commit: str | None
    archive: str | None
    notices: tuple[str, ...]
    redacted: dict[str, int]
    known: str = ""


class Drained(Value):
    """The result of a drain: commits by event name, archives made, and notices for the user.

    `refused` has the reasons why events were set aside, as they cannot be committed, or stay in the spool until a user
    solves a problem. `added` are the added entries by event name.
    """

    commits: dict[str, str]
    archives: list[str]
    notices: list[str]
    refused: dict[str, RefusedError]
    added: dict[str, Added]


def labelled(kind: MemoryType, text: str) -> tuple[MemoryType, str]:
    """Return the type and rest of a note that begins with a label such as "Decision:", else the arguments."""
    from gitmem.text.words import phrases  # late: its tables

    line = text.strip().partition("\n")[0]
    if kind is not MemoryType.NOTE or line.endswith(("?", "\uff1f")) or phrases("empty").search(line):
        return kind, text
    for name, labelled_kind in _LABELS.items():
        label = phrases(name).match(text)
        if label and label[0].rstrip().endswith((":", "\uff1a")) and (rest := text[label.end() :].strip()):
            return labelled_kind, rest
    return kind, text


_LABELS = {
    "decision": MemoryType.DECISION,
    "preference": MemoryType.PREFERENCE,
    "rule": MemoryType.RULE,
    "knowledge": MemoryType.LEARNING,
}


def save_text(
    store: Store,
    text: str,
    kind: MemoryType,
    tags: tuple[str, ...] = (),
    *,
    session: str = "",
    host: str,
    forbids: tuple[str, ...] = (),
    enforce: str = "",
) -> Saved:
    """Save a new text under its own id, unless a fact in force has the same words. Raises as `save`."""
    if "\0" in text:
        raise RefusedError("The text has a NUL character, as pictures and programs have.", "Save words about it.")
    at = store.context.clock()
    identifier = make_id(int(at.timestamp() * 1000), os.urandom(TAIL_BYTES))
    event = _with_scope(store, Save(identifier, at, text, kind, tags, session, host, forbids, enforce))
    if kind.lasts:
        from gitmem.record.fact_book import existing_fact

        store.check_writes()
        if fact := existing_fact(store, event):
            known = f"Already known: {fact.kind.word} {fact.id}, since {fact.created:%Y-%m-%d}: {fact.description}"
            return Saved(fact.id, None, None, (), {}, plain(known))
    saved = save(store, event, scan=True)
    return saved._replace(notices=(*saved.notices, *_contradictions(store, saved.id))) if kind.lasts else saved


def _contradictions(store: Store, identifier: str) -> Iterator[str]:
    """Yield a notice if a saved fact waits for a decision."""
    from gitmem.store.known_facts import known_facts

    facts = {fact.id: fact for fact in known_facts(store)}
    review = facts[identifier].review if identifier in facts else ()
    if others := [facts[key].description.rstrip(".") for key in review if key in facts]:
        yield plain(f"It contradicts: {' / '.join(others)}. 'gitmem review' decides which is in force.")


def save(store: Store, event: Save, *, scan: bool = False) -> Saved:
    """Save one event; returns when its commit is on disk.

    Raises:
        GitmemError: it is not committed; the message says whether it is in the spool or was set aside.
        OSError: it could not be written into the spool.
    """
    store.check_writes()
    event = _with_scope(store, event)
    spool, tip_before = store.spool, store.recorded_checkout()
    name = spool.deliver(event.to_event())
    try:
        drained = drain(store, scan=scan)
        if name in drained.refused:
            raise drained.refused[name]
    except GitmemError as error:
        # Before the look at the spool, as an event leaves it after its commit.
        commit = _committed_since(store, tip_before, event)
        if commit is None and name in spool.names():
            error.message = f"Not committed yet: {error.message.removeprefix(f'Nothing was saved to {store.root}: ')}"
            first = error.remedy or "'gitmem doctor' says what is wrong."
            first = "Do not save it again." if isinstance(error, BusyError) else first
            error.remedy = f"{first} What you saved is kept on the disk; the next gitmem command commits it.".strip()
            raise
        if commit is None and name in spool.aside():
            raise
        drained = Drained({name: commit} if commit else {}, [], [], {}, {})
    archive = drained.archives[-1] if drained.archives else None
    added = drained.added.get(name) or _added(store, event)
    notices = (*drained.notices, *([_notice(added.redacted)] if added.redacted else ()))
    return Saved(added.id, drained.commits.get(name), archive, notices, added.redacted)


def _with_scope(store: Store, event: Save) -> Save:
    """Return a save with the command's part of the project, unless it names one."""
    scope = "" if scopes_in(event.tags) else store.scope_of(store.folder)
    return event._replace(tags=(*event.tags, *scope_tags(scope))) if scope else event


def _committed_since(store: Store, tip_before: str | None, event: Save) -> str | None:
    """Return the commit of an event that another process committed since the tip was `tip_before`, or None."""
    identifier = _added(store, event).id
    try:
        commits = log(
            store.repository.git, f"{tip_before}..HEAD" if tip_before else "HEAD", trailers={Trailer.ENTRY: identifier}
        )
    except GitmemError:  # a purge rewrote history
        return None
    at = event.at.replace(microsecond=0)
    return next((commit.oid for commit in commits if commit.authored == at), None)


def _added(store: Store, event: Save) -> Added:
    """Return the entry that another process added for a save."""
    clean, identifier = redact(event.text, allow=store.config.redaction.allow), event.id
    if event.type.lasts:
        from gitmem.record.fact_book import fact_of

        fact = fact_of(event, clean_text(clean.text))
        identifier = fact.id if fact else event.id
    return Added(identifier, kinds_of(clean.findings))


def _notice(kinds: dict[str, int]) -> str:
    secrets = [f"{number} {kind}" for kind, number in sorted(kinds.items()) if kind != "private"]
    private = kinds.get("private", 0)
    parts = [f"what looked like a secret ({', '.join(secrets)})"] if secrets else []
    parts += [f"{private} private {'passage' if private == 1 else 'passages'}"] if private else []
    return f"Left out of what was saved: {' and '.join(parts)}."


def drain(store: Store, *, scan: bool = False) -> Drained:
    """Commit all events in the spool, in order, and remove them; an error includes the notices so far."""
    done = Drained({}, [], [], {}, {})
    while True:
        try:
            outcome = transact(store, partial(plan_saves, store), purpose="save", scan=scan)
        except GitmemError as failure:
            failure.message = " ".join((failure.message, *done.notices))
            raise
        batch: _Batch = outcome.value
        ours = outcome.commits[len(outcome.commits) - batch.drafts :]
        done.commits.update((name, ours[index]) for name, index in batch.placed.items())
        done.archives.extend(batch.archives)
        done.notices.extend(outcome.notices)
        done.refused.update(batch.refused)
        done.added.update(batch.added)
        store.spool.remove(batch.done)
        for name in batch.unreadable:
            store.spool.put_aside(name)
            done.notices.append(f"An event that could not be parsed was kept aside: {name}.")
        for name, error in batch.refused.items():
            if isinstance(error, DoesNotFitError):
                store.spool.put_aside(name)
                error.remedy = f"{error.remedy} It is not saved; its text is kept aside in {name}.".strip()
            done.notices.append(error.sentences)
        if len(batch.done) < BATCH:
            return done
        scan = False


class _Batch(Value):
    """The plan of a transaction over the spool, by event name; `placed` are indexes of commits in its `drafts`."""

    placed: dict[str, int]
    added: dict[str, Added]
    done: list[str]
    unreadable: list[str]
    refused: dict[str, RefusedError]
    archives: list[str]
    drafts: int = 0


def plan_saves(store: Store, transaction: Transaction) -> _Batch:
    """Add a commit for each event."""
    batch = _Batch({}, {}, [], [], {}, [])

    @cache
    def book() -> FactBook:  # needed only for saves that last
        from gitmem.record.fact_book import FactBook

        return FactBook(store, transaction)

    for event in store.spool.events():
        if len(batch.done) >= BATCH:
            break
        try:
            parsed = parse_event(event.content)
        except UnknownEventError:
            continue
        except (ValueError, TypeError, KeyError):
            batch.unreadable.append(event.name)
            continue
        try:
            if archive := rotate_if_full(transaction, store):
                batch.archives.append(archive)
            added = add_save(transaction, store, parsed, book)
        except RefusedError as error:  # others may belong to another day's log
            batch.refused[event.name] = error
            continue
        if added is not None:
            batch.placed[event.name], batch.added[event.name] = len(transaction.drafts) - 1, added
        batch.done.append(event.name)
    return batch._replace(drafts=len(transaction.drafts))


def rotate_if_full(transaction: Transaction, store: Store) -> str | None:
    """Rotate a full `memory.md`, so that later entries go into the new one; return the archive."""
    config = store.config.rotation
    size = len(transaction.read(MEMORY) or b"")
    if size < _FEWEST_BYTES * config.threshold_tokens:  # then skip the import
        return None

    if not needs_rotation(size, config):
        return None
    from gitmem.archive.rotate import rotate  # imported late: few saves rotate

    try:
        return rotate(transaction, store).archive
    except RefusedError as error:  # such as a file in place of the folder: saves continue in the full memory.md
        transaction.notices.append(f"memory.md is full and stays as it is: {error.sentences}")
        return None


_RECENT = timedelta(days=2)  # newer days are never consolidated


class Added(Value):
    """An added entry: its id, and the number of redacted secrets and private passages by kind."""

    id: str
    redacted: dict[str, int]


def add_save(transaction: Transaction, store: Store, event: Save, lasting: Callable[[], FactBook]) -> Added | None:
    """Add the commit of a save, with its fact if it lasts; None if it was committed before."""
    day = event.at.strftime("%Y-%m-%d")
    path = daily_path(day)
    daily = transaction.read(path) or new_daily(day)
    log = day_log(store, transaction, path)
    if event.id in log and event.id in entry_ids(log):
        return None

    redacted = redact(event.text, allow=store.config.redaction.allow)
    text = clean_text(redacted.text)
    identifier, facts = lasting().keep_save(event, text) if event.type.lasts else (event.id, {})
    if facts is None:
        return None
    entry = Entry(identifier, event.at.strftime("%H:%M:%S"), event.type.label, text, event.tags)
    dated = entry._replace(time=f"{day} {entry.time}")
    message = op_message(
        Op.SAVE,
        f"Save {event.type.label.lower()}: {text}",
        (Trailer.TYPE, event.type.value),
        (Trailer.ENTRY, identifier),
        (Trailer.SESSION, event.session),
        (Trailer.HOST, event.host),
    )
    changes = {
        path: _with(daily, event.type.label, entry),
        MEMORY: _with(memory_of(transaction), event.type.section, dated),
        **facts,
    }
    if not transaction.commit(message, changes, when=event.at):
        return None
    return Added(identifier, kinds_of(redacted.findings))


def day_of(path: str) -> str:
    """Return the day of a daily log."""
    return path[-len("2026-01-13.md") : -len(".md")]


def day_log(store: Store, transaction: Transaction, path: str) -> str:
    """Return the text of a daily log, or the last version of a consolidated one, or ""."""
    daily = transaction.read(path)
    if daily is None and day_of(path) < (transaction.now - _RECENT).strftime("%Y-%m-%d"):
        from gitmem.archive.rotate import log_before

        daily = log_before(store, transaction, datetime.fromisoformat(day_of(path)).date())
    return (daily or b"").decode("utf-8", "surrogateescape")


def _with(data: bytes, section: str, entry: Entry) -> bytes:
    document = Document.parse(data)
    return document.with_body(add_entry(document.body, section, entry, document.newline)).render()


def memory_of(transaction: Transaction) -> bytes:
    """Return `memory.md`, or a new one."""
    memory = transaction.read(MEMORY)
    if memory is None:
        from gitmem.store.init import new_memory  # imported late: a store nearly always has its memory.md

        return new_memory(transaction.now)
    return memory


def memory_text(transaction: Transaction) -> str:
    """Return the text of `memory.md`, or of a new one."""
    return memory_of(transaction).decode("utf-8", "surrogateescape")


def new_daily(day: str) -> bytes:
    """Return a new daily log, the same bytes on every machine (docs/format.md, "Documents")."""
    return (
        f"---\nid: day-{day}\nkind: daily\ncreated: {day}T00:00:00Z\ndate: {day}\n---\n# {day}\n\n## {TIMELINE}\n"
    ).encode()
