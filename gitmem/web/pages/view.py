"""The input of a page: the store, the query of the address, and the project."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitmemError
from gitmem.project.code import project_code
from gitmem.store.headers.facts import known_facts, known_marks, standing_of
from gitmem.store.history.authors import People
from gitmem.store.history.records import records
from gitmem.store.review.waiting import documents_to_review, review_since

if TYPE_CHECKING:
    from datetime import date, datetime

    from gitmem.model.fact.fact import Fact
    from gitmem.model.fact.holds import Status
    from gitmem.model.fact.views.marks import Marks
    from gitmem.project.code import ProjectCode
    from gitmem.store.history.records import CommitRecord
    from gitmem.store.review.waiting import ToReview
    from gitmem.store.store import Store

LENGTH = 50  # items of a list on one page
_GROWN = 200  # commits to search for the newest known one


class Kept(dict[str, tuple[object, Any]]):
    """A cache of values derived from a commit, by name, with one value each."""

    def get_or_make(self, name: str, of: object, make: Callable[[], Any]) -> Any:
        """Return the cached value of this commit, else make it."""
        found = self.get(name)
        if found is None or found[0] != of:
            found = self[name] = (of, make())
        return found[1]


@dataclass(frozen=True)
class View:
    """A request: the store in its present state, the query of the address, and the cache between requests."""

    store: Store
    asked: Mapping[str, str] = field(default_factory=dict)
    kept: Kept = field(default_factory=Kept)

    def word(self, name: str) -> str:
        """Return the value of a query parameter, "" if it has none."""
        return self.asked.get(name, "").strip()

    def records(self) -> list[CommitRecord]:
        """Return all commits, the newest first; only new ones are read if history grew without a merge."""
        tip = self.store.tip
        if tip is None:
            return []
        before: object
        known: list[CommitRecord]
        before, known = self.kept.get("records", (None, []))
        if before != tip:
            newest = records(self.store, limit=_GROWN) if known else []
            place = next((place for place, one in enumerate(newest) if one.commit == before), None)
            in_line = place is not None and all(len(one.parents) == 1 for one in newest[:place])
            known = [*newest[:place], *known] if in_line else records(self.store)
            self.kept["records"] = (tip, known)
        return known

    def days(self) -> Counter[date]:
        """Return how many commits each day has."""
        every = self.records()
        found: Counter[date] = self.kept.get_or_make(
            "days", self.store.tip, lambda: Counter(record.date.astimezone().date() for record in every)
        )
        return found

    @cached_property
    def people(self) -> People:
        """Whose memories are."""
        return People(self.store)

    @cached_property
    def facts(self) -> list[Fact]:
        """All facts, without their texts."""
        return known_facts(self.store)

    @property
    def statuses(self) -> Mapping[str, Status]:
        """Return the status of each fact."""
        return standing_of(self.facts)

    @cached_property
    def marks(self) -> Marks:
        """The marks of facts that ended, are in dispute, or were changed by others."""
        return known_marks(self.store)

    def documents_to_review(self) -> list[ToReview]:
        """Return the documents of the tip that hold two versions."""
        store, tip = self.store, self.store.tip
        before, known = self.kept.get("documents", (None, []))
        if tip and before != tip:
            try:
                with store.repository.reading():
                    known = review_since(store, known, store.repository.changes(str(before), tip)) if before else None
            except GitmemError:  # the commit before is gone: a purge rewrote it
                known = None
            known = documents_to_review(store) if known is None else known
            self.kept["documents"] = (tip, known)
        found: list[ToReview] = known
        return found

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
