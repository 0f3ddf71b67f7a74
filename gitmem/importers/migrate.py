"""Migrate memories of older tools into the store: one commit per item, with the item's date.

A trailer of the commit has the item's key, so a second migration adds nothing, even if an item was changed, moved or
cleared since; an item whose commit `gitmem undo` has undone is migrated again. The source is only read.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping

from gitmem.archive.extractive import summarise
from gitmem.archive.summary import render_document
from gitmem.config.values import RotationConfig
from gitmem.document.document import Document
from gitmem.document.entry import (
    CORE_DECISIONS,
    CURRENT_STATE,
    KNOWN_ISSUES,
    RECENT_CONTEXT,
    Entry,
    MemoryType,
    clean_text,
    entry_digests,
    find_entries,
    find_section,
    remove_entries,
    restore_entries,
    section_of,
    without_ids,
)
from gitmem.document.ids import MEMORY, archive_path, daily_path, is_fact_id, make_id, summary_path, tail_of
from gitmem.document.message import Op, Trailer, op_message
from gitmem.errors import GitmemError
from gitmem.history.origin import commits_with
from gitmem.importers.layouts import plan_layout
from gitmem.importers.read import Source, plan_claude_mem, read_source
from gitmem.importers.sources import (
    STAMP,
    ArchiveItem,
    FileItem,
    Left,
    LogItem,
    MemoryItem,
    MigrationItem,
    SourceKind,
    TranscriptItem,
    begins_with_newest,
    item_key,
    reverse_days,
)
from gitmem.learn.end import turns_of_transcript
from gitmem.model.fact import PATH, is_fact_path
from gitmem.model.rotation import plan_rotation
from gitmem.record.exchanges import save_exchanges
from gitmem.record.save import day_log, memory_of, new_daily
from gitmem.store.store import Store
from gitmem.store.transact import preview, transact
from gitmem.store.transaction import Transaction
from gitmem.store.transcripts import put, read
from gitmem.values import Value

BATCH = 50  # items of one transaction, so that it keeps the store's lock for at most a few seconds
_NOTES = "Notes"
TRANSCRIPT = "the transcript of session"


class Brought(Value):
    """A migrated item: the source file, and its path in the store."""

    source: str
    to: str


class Migrated(Value):
    """The result for a source: items migrated, number of existing items, parts left out, and notices.

    `session` is the session name of its commits, by which they can all be undone.
    """

    source: Source
    session: str
    brought: tuple[Brought, ...]
    there: int
    left: tuple[Left, ...]
    notices: tuple[str, ...]


def migrate(
    store: Store, source: Source, *, dry_run: bool = False, progress: Callable[[int, int], object] = lambda *_: None
) -> Migrated:
    """Migrate the items of a source that are not in the store yet; with `dry_run`, only list them.

    Raises GitmemError if an item could not be committed; earlier ones are.
    """
    zone, left = store.context.clock().tzinfo, list[Left]()
    if source.kind is SourceKind.CLAUDE_MEM:
        plan = plan_claude_mem(source.folder, source.project, zone)
    else:
        files, left = read_source(source.folder, zone)
        plan = plan_layout(source.kind, files, store.config.rotation)
    done = Migrated(source, session_of(source), (), 0, (*left, *plan.left), ())
    items = [item for item in plan.items if not isinstance(item, TranscriptItem)]
    size = len(items) or 1 if dry_run else BATCH  # a dry run plans all items at once
    for first in range(0, len(items), size):
        progress(first, len(plan.items))
        done = _bring(store, done, items[first : first + size], dry_run=dry_run)
    transcripts = [item for item in plan.items if isinstance(item, TranscriptItem)]
    for ready, transcript in enumerate(transcripts, len(items)):
        progress(ready, len(plan.items))
        done = _bring_transcript(store, done, transcript, dry_run=dry_run)
    return done


def session_of(source: Source) -> str:
    """Return the session name of a source's migration: always the same."""
    folder = os.path.realpath(source.folder).encode("utf-8", "surrogateescape")
    return f"migrate-{source.kind.value}-{hashlib.sha256(folder).hexdigest()[:8]}"


def _bring(store: Store, done: Migrated, items: Iterable[MigrationItem], *, dry_run: bool) -> Migrated:
    """Migrate some items in one transaction, and return `done` with them."""

    def plan(transaction: Transaction) -> Migrated:
        commits = commits_with(store.repository, {Trailer.MIGRATED.value: ""}, undone=False)
        known = {key for commit in commits for key in commit.values(Trailer.MIGRATED)}
        bringing = _Bringing(transaction, store, done.session, not dry_run)
        brought, left, there = [*done.brought], [*done.left], done.there  # afresh: a plan may run again
        for item in items:
            try:
                found = [] if item.key in known else bringing.put(item)
            except GitmemError as error:  # only this item fails, others may succeed
                left.append(Left(item.source, error.sentences))
                continue
            brought += [Brought(item.source, path) for path in found]
            there += not found
        return done._replace(brought=tuple(brought), left=tuple(left), there=there)

    if dry_run:
        return preview(store, plan, purpose="migrate")
    outcome = transact(store, plan, purpose="migrate")
    return outcome.value._replace(notices=tuple(dict.fromkeys((*done.notices, *outcome.notices))))


def _bring_transcript(store: Store, done: Migrated, item: TranscriptItem, *, dry_run: bool) -> Migrated:
    """Add a raw transcript to its branch, and its exchanges as the session's file, unless both are there."""
    stored = read(store, item.session)
    is_new = stored is None or len(stored) < len(item.lines)
    try:
        if is_new and not dry_run:
            put(store, item.session, item.when, item.lines, when=item.when)
        # A killed migration may have stored only the transcript.
        is_new |= not dry_run and _make_exchanges(store, item, done.source.kind.value)
    except GitmemError as error:
        return done._replace(left=(*done.left, Left(item.source, error.message)))
    if not is_new:
        return done._replace(there=done.there + 1)
    return done._replace(brought=(*done.brought, Brought(item.source, f"{TRANSCRIPT} {item.session}")))


def _make_exchanges(store: Store, item: TranscriptItem, host: str) -> bool:
    """Make the session's file of a transcript; return False if nothing was missing."""
    # The lines do not show tools; without one a short answer would count as small talk.
    turns = [turn._replace(tools=1) for turn in turns_of_transcript(item.lines, item.session, host)]
    return save_exchanges(store, item.session, host, turns) is not None


class _Bringing(Value):
    """Adds items to one transaction; `session` names the migration, so that it can be undone as a whole."""

    transaction: Transaction
    store: Store
    session: str
    summarize: bool

    def put(self, item: MigrationItem) -> list[str]:
        """Add the commits of an item; return its files, none if they existed."""
        if isinstance(item, MemoryItem):
            return self._memory(item)
        if isinstance(item, ArchiveItem):
            return self._archive(item)
        if isinstance(item, LogItem):
            return self._log(item)
        if isinstance(item, FileItem):
            path = self._free(item.path, item.data)
            # A fact's name is derived from its text: a file of that name is this fact, perhaps corrected.
            is_known = is_fact_path(item.path) and path != item.path
            return [] if is_known else self._commit(item, item.subject, {path: item.data})
        raise TypeError(type(item))

    def _commit(self, item: MigrationItem, subject: str, changes: Mapping[str, bytes], archive: str = "") -> list[str]:
        message = op_message(
            Op.MIGRATE,
            f"Migrate {subject}",
            (Trailer.MIGRATED, item.key),
            (Trailer.SOURCE, item.source),
            *((Trailer.FACT, match["id"]) for match in map(PATH.fullmatch, changes) if match),
            (Trailer.ARCHIVE, archive),
            (Trailer.SESSION, self.session),
        )
        is_new = self.transaction.commit(message, changes, when=item.when)
        return list(changes)[:1] if is_new else []

    def _free(self, path: str, data: bytes | None = None) -> str:
        """Return an unused path: `path`, or one with a number after its name."""
        stem, number = path.removesuffix(".md"), 1
        while (content := self.transaction.read(path)) is not None and content != data:
            number += 1
            path = f"{stem}_{number:02d}.md"  # the suffix of archives of one second, which sorts after the first
        return path

    def _archive(self, item: ArchiveItem) -> list[str]:
        """Add an archive with its summary: the older tool's, else an offline one."""
        path = self._free(archive_path(f"{item.when:{STAMP}}"))  # two parts of one memory may be equal
        changes = {path: item.data}
        if self.transaction.read(summary_path(path)) is None:
            summary = item.summary
            if summary is None and self.summarize:
                summary = summarise(path, item.data.decode("utf-8", "surrogateescape"))
            if summary is not None:
                changes[summary_path(path)] = render_document(summary._replace(archive=path), item.when)
        return self._commit(item, f"{item.source} into {path.rpartition('/')[2]}", changes, path)

    def _memory(self, item: MemoryItem) -> list[str]:
        """Add a rolling memory as `memory.md` if the present one has only facts and it fits, else also an archive."""
        memory = Document.parse(memory_of(self.transaction))
        facts = [
            (section_of(memory.body, entry), entry.entry)
            for entry in find_entries(memory.body)
            if is_fact_id(entry.entry.id)
        ]
        bare = remove_entries(memory.body, {entry.id for _, entry in facts})
        fresh = not re.search(r"^[^#\s]", bare, re.MULTILINE)
        if fresh:
            body = body_of(item) if is_plain(item) else _remaining(memory, body_of(item), self.store.config.rotation)
            entries = facts
            body = without_said(body, {entry.text for _, entry in facts})
        else:
            body = memory.body
            known = entry_digests(body) | {entry.text for _, entry in facts}
            entries = [
                kept_entry
                for kept_entry in kept_entries(item)
                if not known & {tail_of(kept_entry[1].id), kept_entry[1].text}
            ]
        changed = memory.with_body(restore_entries(body, entries, memory.newline)).render()
        paths: list[str] = []
        if item.whole is not None and not (fresh and is_plain(item)):
            # If memory.md does not change, the archive's commit names the item, so that it is not migrated again.
            is_all = changed == memory_of(self.transaction)
            paths = self._archive(item.whole._replace(key=item.key) if is_all else item.whole)
        return [*paths, *self._commit(item, f"{item.source} into {MEMORY}", {MEMORY: changed})]

    def _log(self, item: LogItem) -> list[str]:
        """Add the missing entries of a day's log, and the user's own text."""
        path = daily_path(item.day)
        document = Document.parse(self.transaction.read(path) or new_daily(item.day))
        known = entry_digests(day_log(self.store, self.transaction, path))
        entries = [(section, entry) for section, entry in item.entries if tail_of(entry.id) not in known]
        body = restore_entries(document.body, entries, document.newline)
        if item.prose and item.prose not in body:
            body = f"{body.rstrip()}\n\n## {_NOTES}\n\n{item.prose}"
        count = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
        return self._commit(item, f"{item.source}: {count}", {path: document.with_body(body).render()})


def _remaining(memory: Document, body: str, limits: RotationConfig) -> str:
    """Return the body after a rotation: its end, or if the newest comes first, its beginning."""
    header = memory.opening + (memory.header or "") + memory.closing
    turn = reverse_days if begins_with_newest(body) else str
    rotation = plan_rotation(turn(body), header=header, stamp="", taken=(), limits=limits)
    return body if rotation is None else turn(rotation.remaining.removeprefix(header))


# The plugin's template has longer headings: "## Core Decisions (for ever)".
_KNOWN = re.compile(
    rf"^## ({CORE_DECISIONS}|{CURRENT_STATE}|{RECENT_CONTEXT}|{KNOWN_ISSUES})[ \t]*[(\uff08][^\r\n]*$",
    re.MULTILINE | re.IGNORECASE,
)
_ITEM = re.compile(r"^[-*] (?P<text>[^\n]*(?:\n[ \t]+\S[^\n]*)*)\n?", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\[[^\]]*\]")


def body_of(item: MemoryItem) -> str:
    """Return the text of a rolling memory with gitmem's headings."""
    return _KNOWN.sub(r"## \1", Document.parse(item.data).body)


def is_plain(item: MemoryItem) -> bool:
    """Return whether a rolling memory can become `memory.md` unchanged: it has one part and no header."""
    return item.whole is not None and not Document.parse(item.data).opening


def kept_entries(item: MemoryItem) -> list[tuple[str, Entry]]:
    """Return the decisions and issues of a rolling memory as entries, each with its section."""
    body = body_of(item)
    entries: list[tuple[str, Entry]] = []
    for kind in (MemoryType.DECISION, MemoryType.ISSUE):
        place = find_section(body, kind.section)
        text = body[place.body : place.end].replace("\r\n", "\n") if place else ""
        for match in _ITEM.finditer(text):
            words = _said(match)
            if words and not _PLACEHOLDER.fullmatch(words):
                digest = bytes.fromhex(item_key(SourceKind.ROTATION, kind.value, words))
                identifier = make_id(int(item.when.timestamp() * 1000) + len(entries), digest)  # in order of the file
                entry = Entry(identifier, item.when.strftime("%Y-%m-%d %H:%M:%S"), kind.label, words)
                entries.append((kind.section, entry))
    return entries


def without_said(body: str, facts: Collection[str]) -> str:
    """Return a body without decisions and issues that are also facts, since facts have their own lines."""
    for kind in (MemoryType.ISSUE, MemoryType.DECISION):
        place = find_section(body, kind.section)
        if place:
            text = _ITEM.sub(lambda match: "" if _said(match) in facts else match[0], body[place.body : place.end])
            body = body[: place.body] + text + body[place.end :]
    return body


def _said(item: re.Match[str]) -> str:
    return clean_text(without_ids(re.sub(r"\n[ \t]+", "\n", item["text"])))
