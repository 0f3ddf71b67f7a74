"""Clear old memory, or all of it, from the work tree.

Clearing old memory removes logs, archives and session files, links to them in concepts, and concepts without other
links; summaries, facts and `memory.md` stay. Raw transcripts are not touched.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from gitmem.document.document import Document
from gitmem.document.ids import MEMORY, OF_GITMEM, PURGED
from gitmem.document.message import Op, op_message
from gitmem.history.past_days import drop_days
from gitmem.model.concept import lines_of, link_of, parse_concept, render_changed
from gitmem.model.rotation import last_day
from gitmem.platform.machine import date
from gitmem.store.init import new_memory
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.sentences import count
from gitmem.values import Value

OLD_DAYS = 30  # as for consolidated days


class Cleared(Value):
    """The cleared files, their total bytes, and the commit, None if nothing was cleared or in a dry run."""

    files: tuple[str, ...]
    size: int
    commit: str | None
    notices: tuple[str, ...] = ()


def clear(store: Store, *, days: int | None, dry_run: bool = False) -> Cleared:
    """Commit edits by hand, then remove files older than `days`, or with None all memory, from the work tree."""
    if dry_run:
        files = _chosen(store, days)
        return Cleared(tuple(files), sum(files.values()), None)
    edits = transact(store, lambda _: None, purpose="clear", scan=True)
    files = {}

    def plan(transaction: Transaction) -> bool:
        files.clear()
        files.update(_chosen(store, days))
        changes: dict[str, bytes | None] = {path: None for path in files if transaction.read(path) is not None}
        if days is None:
            changes[MEMORY] = new_memory(transaction.now)
        else:
            for path, data in _without_links(store, files).items():
                changes.setdefault(path, data)
        scope = "all memory" if days is None else f"memory older than {days} days"
        message = op_message(Op.CLEAR, f"Clear {scope} ({count(len(files), 'file')})")
        return bool(files) and transaction.commit(message, changes)

    outcome = transact(store, plan, purpose="clear")
    commit = outcome.commit
    if commit:
        drop_days(store.private)
    return Cleared(tuple(files), sum(files.values()), commit, (*edits.notices, *outcome.notices))


def _chosen(store: Store, days: int | None) -> dict[str, int]:
    """Return the files to clear, with their sizes; links and purge records stay."""
    tip = store.repository.resolve(store.repository.branch())
    sizes = {file.path: file.size for file in store.repository.files(tip) if file.mode.startswith("100")}
    sizes = {path: size for path, size in sizes.items() if not path.startswith(f"{PURGED}/")}
    if days is None:
        body = Document.parse(store.read(MEMORY) or b"").body
        memory = {MEMORY: sizes[MEMORY]} if MEMORY in sizes and re.search(r"^[^#\s]", body, re.MULTILINE) else {}
        return {**memory, **{path: size for path, size in sizes.items() if path not in {*OF_GITMEM, MEMORY}}}
    old = {path: sizes[path] for path in old_files(sizes, store.context.clock().date(), days)}
    emptied = (path for path, data in _without_links(store, old).items() if data is None)
    return {**old, **{path: sizes[path] for path in emptied if path in sizes}}


def _without_links(store: Store, gone: Collection[str]) -> dict[str, bytes | None]:
    """Return the new text of concepts without links to deleted files; None for concepts without other links."""
    if not any(path.startswith("sessions/") for path in gone):
        return {}
    changed: dict[str, bytes | None] = {}
    for name in store.files.names("concepts"):
        path = f"concepts/{name}"
        data = store.read(path)
        concept = None if data is None else parse_concept(data, path)
        if concept is None or data is None:
            continue
        body = Document.parse(data).body
        lost = {identifier for identifier, line in lines_of(body) if link_of(line) in gone}
        left = tuple(exchange for exchange in concept.exchanges if exchange not in lost)
        if lost:
            changed[path] = render_changed(data, concept._replace(exchanges=left), (), lost) if left else None
    return changed


def old_files(paths: Iterable[str], today: date, days: int) -> list[str]:
    """Return the paths whose last day is more than `days` ago."""
    dated = ((path, last_day(path)) for path in sorted(paths))
    return [path for path, last in dated if last is not None and (today - last).days > days]
