"""What a page needs: the store, what the address asks for, and the project."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gitmem.model.fact.holds import what_holds
from gitmem.project.code import project_code
from gitmem.store.headers.facts import known_facts
from gitmem.store.history.records import records

if TYPE_CHECKING:
    from datetime import date, datetime

    from gitmem.model.fact.fact import Fact
    from gitmem.model.fact.holds import Status
    from gitmem.project.code import ProjectCode
    from gitmem.store.history.records import CommitRecord
    from gitmem.store.store import Store

LENGTH = 50  # items of a list on one page


class Kept(dict[str, tuple[object, Any]]):
    """What was worked out of a commit, by name, each with that commit: one of each is kept."""

    def get_or_make(self, name: str, of: object, make: Callable[[], Any]) -> Any:
        """Return what is kept of this commit, else make it."""
        found = self.get(name)
        if found is None or found[0] != of:
            found = self[name] = (of, make())
        return found[1]


@dataclass(frozen=True)
class View:
    """A request: the store as it is now, the words of the address, and what is kept between requests."""

    store: Store
    asked: Mapping[str, str] = field(default_factory=dict)
    kept: Kept = field(default_factory=Kept)

    def word(self, name: str) -> str:
        """Return what the address says of a name, "" if nothing."""
        return self.asked.get(name, "").strip()

    def days(self) -> Counter[date]:
        """Return how many commits each day has."""
        store = self.store
        if not store.tip:
            return Counter()
        found: Counter[date] = self.kept.get_or_make(
            "days", store.tip, lambda: Counter(record.date.astimezone().date() for record in records(store))
        )
        return found

    def facts(self) -> list[Fact]:
        """Return all facts, without their texts."""
        return known_facts(self.store)

    def statuses(self) -> Mapping[str, Status]:
        """Return how each fact stands."""
        return what_holds(self.facts())

    def code(self) -> ProjectCode | None:
        """Return the code of the project that the store stands in."""
        return project_code(self.project(), self.store.context.environ)

    def project(self) -> str:
        """Return the folder of the project."""
        return os.path.dirname(self.store.root)


def moment(value: datetime | None) -> str | None:
    """Return a moment for JSON, and for the templates' filter `time`."""
    return value.isoformat() if value else None


def commit_value(record: CommitRecord) -> dict[str, Any]:
    """Return a commit for a list."""
    return {
        "commit": record.commit,
        "date": moment(record.date),
        "subject": record.subject,
        "op": record.op or "edit",
        "type": record.type,
        "session": record.session,
        "host": record.host,
        "machine": record.machine,
        "author": record.author,
        "entries": list(record.entries),
    }
