"""Clean purged words that an agent's transcript or notes would bring back into the store.

Text from before the purge is cleaned as the store was (docs/sync.md, "Purging"); later text is new.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import lru_cache

from gitmem.document.ids import PURGED
from gitmem.purge.erased import is_named, session_key
from gitmem.purge.record import PurgeRecord, Replacer, Seeker
from gitmem.purge.records import applied_records, read_records, read_state, state_file
from gitmem.purge.rewrite import by_others
from gitmem.store.store import Store


def purges_of(store: Store) -> _Purges:
    """Return the purges that are applied here, read again once they change."""
    try:
        changed = os.stat(state_file(store.private)).st_mtime_ns
    except OSError:
        changed = 0
    return _purges(store, tuple(sorted(store.names(PURGED))), changed)


class _Purges:
    """The records that are applied here, and the texts of them that were found."""

    def __init__(self, store: Store) -> None:
        self._store, agreed = store, {*read_state(store.private).agreed}
        records = applied_records(store, read_records(store, filter(None, [store.tip]))[0])
        self._made = {record: datetime.fromisoformat(record.created) for record in records}
        self._seeker = Seeker([*self._made], limited={record.key for record in self._made} - agreed)
        self._named: dict[tuple[str, str], bool] = {}
        self._trusted = {record: True for record in self._made if record.key in agreed}

    def without_purged(self, text: str, said: datetime) -> str:
        """Return a text of the time `said` without what was purged since; effort for others' purges is bounded."""
        since = [record for record, created in self._made.items() if created >= said.astimezone(UTC)]
        if not since:
            return text
        data = text.encode("utf-8", "surrogatepass")
        self._seeker.seek(data)
        met = (
            self._seeker.found[record.key]
            for record in since
            if self._seeker.found[record.key] and self._is_trusted(record)
        )
        clean = _replacer(frozenset[bytes]().union(*met)).clean(data)
        return text if clean == data else clean.decode("utf-8", "replace")

    def is_forgotten(self, session: str, said: datetime) -> bool:
        """Return whether a session was forgotten after the time `said`."""
        since = (record for record, created in self._made.items() if record.whose and created >= said.astimezone(UTC))
        return any(self._names(record, session) and self._is_trusted(record) for record in since)

    def _names(self, record: PurgeRecord, session: str) -> bool:
        named = self._named.get((record.key, session))
        if named is None:
            named = self._named[record.key, session] = is_named(record, session_key(session))
        return named

    def _is_trusted(self, record: PurgeRecord) -> bool:
        """Return whether the user, or a machine of theirs, made or accepted a record."""
        if record not in self._trusted:
            tip = self._store.tip
            self._trusted[record] = not by_others(self._store, [tip] if tip else [], [record])
        return self._trusted[record]


@lru_cache(maxsize=4)
def _purges(store: Store, _names: tuple[str, ...], _changed: int) -> _Purges:
    return _Purges(store)


@lru_cache(maxsize=16)
def _replacer(texts: frozenset[bytes]) -> Replacer:
    return Replacer(texts)
