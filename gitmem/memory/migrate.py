"""Memories of older tools brought into the store (spec R10, V7): one commit a thing, with its own date.

A commit says in a trailer which thing it brought. So history tells what is here already: done again it adds nothing,
also where a thing has been changed, moved or cleared since; and what was taken back by `gitmem undo` comes again.
The source is only read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gitmem.errors import GitmemError
from gitmem.git.history import log
from gitmem.memory.entries import memory_of, new_daily
from gitmem.memory.summarize import summarize_archive
from gitmem.model.document import Document
from gitmem.model.ids import TIME_LENGTH
from gitmem.model.legacy import (
    ArchiveItem,
    FileItem,
    Item,
    Kind,
    Left,
    LogItem,
    MemoryItem,
    TranscriptItem,
)
from gitmem.model.legacy_jikime import plan_jikime_layout
from gitmem.model.legacy_keeper import plan_keeper_layout
from gitmem.model.legacy_memory import body_of, is_plain, kept_entries
from gitmem.model.legacy_rotation import plan_rotation_layout
from gitmem.model.limits import Limits
from gitmem.model.log import entry_digests, restore_entries
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.paths import MEMORY, archive_path, daily_path, summary_path
from gitmem.model.rotation import plan_rotation
from gitmem.model.summary import render_document
from gitmem.model.undo import undone_commits
from gitmem.store.foreign import Source, read_source
from gitmem.store.undo import reversals

if TYPE_CHECKING:
    from gitmem.store.store import Store
    from gitmem.store.transaction import Transaction

BATCH = 200  # things of one transaction
_LAYOUTS = {
    Kind.ROTATION: plan_rotation_layout,
    Kind.KEEPER: plan_keeper_layout,
    Kind.JIKIME: plan_jikime_layout,
}
_NOTES = "Notes"


@dataclass(frozen=True, slots=True)
class Brought:
    """A thing that was brought in, or would be: the file it comes from, and where it is now."""

    source: str
    to: str


@dataclass(frozen=True, slots=True)
class Migrated:
    """What became of a source: what was brought in, how many things were here already, what is left, and notices."""

    source: Source
    brought: tuple[Brought, ...]
    there: int
    left: tuple[Left, ...]
    notices: tuple[str, ...]


class _DryRunError(Exception):
    """Ends a transaction that was only to be planned."""


def migrate(
    store: Store, source: Source, *, dry_run: bool = False, progress: Callable[[int, int], object] = lambda *_: None
) -> Migrated:
    """Bring in what a source holds and the store has not got from it yet; with `dry_run`, only say so.

    Raises:
        GitmemError: something could not be committed; what was before it is.

    """
    read = read_source(source.folder, store.context.clock().tzinfo)
    config = store.config.rotation
    plan = _LAYOUTS[source.kind](read.files, Limits(config.threshold_tokens, config.carryover_tokens))
    done = Migrated(source, (), 0, (*read.left, *plan.left), ())
    items = [item for item in plan.items if not isinstance(item, TranscriptItem)]
    batches = [items[start : start + BATCH] for start in range(0, len(items), BATCH)]
    if dry_run:
        batches = [items]  # what one batch makes, the next one has to see
    for number, batch in enumerate(batches):
        progress(number * BATCH, len(plan.items))
        done = _joined(done, _bring(store, batch, dry_run=dry_run))
    for number, transcript in enumerate(item for item in plan.items if isinstance(item, TranscriptItem)):
        progress(len(items) + number, len(plan.items))
        done = _joined(done, _bring_transcript(store, transcript, dry_run=dry_run))
    return done


@dataclass(frozen=True, slots=True)
class _Result:
    brought: tuple[Brought, ...] = ()
    there: int = 0
    left: tuple[Left, ...] = ()
    notices: tuple[str, ...] = ()


def _joined(done: Migrated, more: _Result) -> Migrated:
    return replace(
        done,
        brought=(*done.brought, *more.brought),
        there=done.there + more.there,
        left=(*done.left, *more.left),
        notices=tuple(dict.fromkeys((*done.notices, *more.notices))),
    )


def _bring(store: Store, items: Iterable[Item], *, dry_run: bool) -> _Result:
    """Bring in some things, in one transaction."""
    pass_ = _Pass(store, tuple(items))

    def plan(transaction: Transaction) -> None:
        pass_.plan(transaction)
        if dry_run:
            raise _DryRunError

    try:
        outcome = store.transact(plan, purpose="migrate")
    except _DryRunError:
        return pass_.result
    return replace(pass_.result, notices=outcome.notices)


def _bring_transcript(store: Store, item: TranscriptItem, *, dry_run: bool) -> _Result:
    """Put a raw transcript on its branch, which says itself whether it is there."""
    from gitmem.store.transcripts import put, read

    there = read(store, item.session)
    if there is not None and len(there) >= len(item.lines):
        return _Result(there=1)
    to = f"the transcript of session {item.session}"
    if dry_run:
        return _Result(brought=(Brought(item.source, to),))
    try:
        put(store, item.session, item.when, item.lines, when=item.when)
    except GitmemError as error:
        return _Result(left=(Left(item.source, error.message),))
    return _Result(brought=(Brought(item.source, to),))


class _Pass:
    """One transaction of a migration; its plan may run again, so it begins afresh each time."""

    def __init__(self, store: Store, items: tuple[Item, ...]) -> None:
        self._store = store
        self._items = items
        self.result = _Result()

    def plan(self, transaction: Transaction) -> None:
        """Add a commit for each thing that is not here yet."""
        known = brought_before(self._store)
        brought: list[Brought] = []
        left: list[Left] = []
        there = 0
        for item in self._items:
            if item.key in known:
                there += 1
                continue
            try:
                found = _put(transaction, self._store, item, known)
            except GitmemError as error:  # of this one; others may well be brought in
                left.append(Left(item.source, f"{error.message} {error.remedy}".strip()))
                continue
            brought += [Brought(item.source, path) for path in found]
            there += not found
        self.result = _Result(tuple(brought), there, tuple(left))


def brought_before(store: Store) -> set[str]:
    """Return the keys of what was brought in and not taken back."""
    git, tip = store.repository.git, store.repository.resolve(store.repository.branch())
    commits = log(git, tip, trailers={Trailer.MIGRATED.value: ""})
    undone = undone_commits(reversals(git, tip)) if commits else {}
    return {key for commit in commits if commit.oid not in undone for key in commit.values(Trailer.MIGRATED)}


def _put(transaction: Transaction, store: Store, item: Item, known: set[str]) -> list[str]:
    """Add the commits of a thing; returns the files it is in now, none where all of it is there."""
    if isinstance(item, MemoryItem):
        return _put_memory(transaction, store, item, known)
    if isinstance(item, ArchiveItem):
        return _put_archive(transaction, item)
    if isinstance(item, LogItem):
        return _put_log(transaction, item)
    if isinstance(item, FileItem):
        path = _free(transaction, item.path, item.data)
        # A fact's name says what it says: another file of that name is that fact, corrected.
        if item.path.startswith("facts/") and path != item.path:
            return []
        made = transaction.commit(_message(item, item.subject), {path: item.data}, when=item.when)
        return [path] if made else []
    raise TypeError(type(item))


def _message(item: Item, what: str) -> Message:
    trailers = (
        (Trailer.OP.value, Op.MIGRATE.value),
        (Trailer.MIGRATED.value, item.key),
        (Trailer.SOURCE.value, item.source),
    )
    return Message(f"Migrate {what}", trailers)


def _free(transaction: Transaction, path: str, data: bytes | None = None) -> str:
    """Return a path at which nothing is but perhaps this: the one asked for, or one with a number after its name."""
    stem, number = path.removesuffix(".md"), 1
    while (there := transaction.read(path)) is not None and there != data:
        number += 1
        path = f"{stem}_{number:02d}.md"  # as archives of one second have it, which sorts after the first
    return path


def _put_archive(transaction: Transaction, item: ArchiveItem) -> list[str]:
    """Add an archive and its summary: the one an older tool made, else the offline one, which a model may better."""
    path = _free(transaction, archive_path(item.stamp))  # two parts of one memory may hold the same
    message = _message(item, f"{item.source} into {path.rpartition('/')[2]}")
    message = message._replace(trailers=(*message.trailers, (Trailer.ARCHIVE.value, path)))
    transaction.commit(message, {path: item.data}, when=item.when)
    if item.summary is not None:
        summary = item.summary._replace(archive=path)
        trailers = ((Trailer.OP.value, Op.SUMMARIZE.value), (Trailer.ARCHIVE.value, path))
        name = path.rpartition("/")[2]
        message = Message(f"Summarize {name} ({summary.method})", trailers)
        transaction.commit(message, {summary_path(path): render_document(summary, item.when)}, when=item.when)
    else:
        text = (transaction.read(path) or b"").decode("utf-8", "surrogateescape")
        summarize_archive(transaction, path, text)
    return [path, summary_path(path)]


def _put_memory(transaction: Transaction, store: Store, item: MemoryItem, known: set[str]) -> list[str]:
    """Add a rolling memory: as ours where ours is empty and it fits, else as archives and what a rotation keeps."""
    config = store.config.rotation
    memory = Document.parse(memory_of(transaction))
    fresh = not re.search(r"^[^#\s]", memory.body, re.MULTILINE)
    paths: list[str] = []
    if fresh and is_plain(item):
        changed = memory.with_body(body_of(item))
    else:
        for part in item.parts:
            if part.key not in known:
                paths += _put_archive(transaction, part)
        changed = memory
        if fresh:
            changed = memory.with_body(
                _remaining(memory, body_of(item), Limits(config.threshold_tokens, config.carryover_tokens))
            )
        digests = entry_digests(changed.body)
        entries = [(section, one) for section, one in kept_entries(item) if one.id[TIME_LENGTH:] not in digests]
        if not fresh:
            changed = changed.with_body(restore_entries(changed.body, entries, changed.newline))
    message = _message(item, f"{item.source} into {MEMORY}")
    return [*paths, *([MEMORY] if transaction.commit(message, {MEMORY: changed.render()}, when=item.when) else [])]


def _remaining(memory: Document, body: str, limits: Limits) -> str:
    """Return what a rotation would leave of a body; all of it where it is under the threshold."""
    header = memory.opening + (memory.header or "") + memory.closing
    rotation = plan_rotation(body, header=header, stamp="", taken=(), limits=limits)
    return rotation.remaining.removeprefix(header) if rotation else body


def _put_log(transaction: Transaction, item: LogItem) -> list[str]:
    """Add the entries of a day that its log does not hold yet, and what a person wrote besides."""
    path = daily_path(item.day)
    document = Document.parse(transaction.read(path) or new_daily(item.day))
    known = entry_digests(document.body)
    entries = [(section, entry) for section, entry in item.entries if entry.id[TIME_LENGTH:] not in known]
    body = restore_entries(document.body, entries, document.newline)
    if item.prose and item.prose not in body:
        body = f"{body.rstrip()}\n\n## {_NOTES}\n\n{item.prose}"
    what = f"{item.source}: {len(entries)} entries" if len(entries) != 1 else f"{item.source}: 1 entry"
    made = transaction.commit(_message(item, what), {path: document.with_body(body).render()}, when=item.when)
    return [path] if made else []
