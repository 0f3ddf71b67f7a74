"""The view, from which pages are made, and the values of charts, which templates draw as SVG."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from gitmem.document.ids import slug
from gitmem.errors import GitmemError
from gitmem.git.layout import STORE_FOLDER
from gitmem.git.log import log
from gitmem.git.repository import blob_id
from gitmem.history.authors import Authors
from gitmem.history.marks import place_marks, with_changes
from gitmem.history.records import CommitRecord, record
from gitmem.history.review import ToReview, documents_to_review, review_since
from gitmem.history.sessions import SessionSummary
from gitmem.model.concept import Concept
from gitmem.model.fact import Fact
from gitmem.model.lines import Marks
from gitmem.model.validity import Status
from gitmem.platform.machine import local
from gitmem.store.known_facts import known_facts
from gitmem.store.locate import PRIVATE_SUFFIX
from gitmem.store.store import Store
from gitmem.text.terminal import fields
from gitmem.values import Value

_LEAST_BARS, _MOST_BARS = 12, 52


def columns(title: str, starts: Sequence[str], series: Mapping[str, Sequence[int]], each: str = "") -> dict[str, Any]:
    """Return a chart with a column for each start, in which the series are stacked.

    `each` describes a column. The table beside the chart has the same values. `bars` counts the columns that are not
    empty: with only one, no chart is drawn.
    """
    values = list(zip(*series.values(), strict=True))
    drawn = [{"start": start, "values": column} for start, column in zip(starts, values, strict=True)]
    size = {"most": max(map(sum, values), default=0), "bars": sum(map(any, values))}
    return {"title": title, "each": each, "names": list(series), **size, "columns": drawn}


def over_time(title: str, name: str, days: Mapping[date, int], first: date, last: date) -> dict[str, Any]:
    """Return a chart of the sums of `days` per week, or per several weeks, from the first to the last day."""
    monday = min(first, last - timedelta(weeks=_LEAST_BARS - 1))
    monday -= timedelta(days=monday.weekday())
    step = 7 * ((last - monday).days // 7 // _MOST_BARS + 1)
    counts = [0] * ((last - monday).days // step + 1)
    for day, number in days.items():
        if monday <= day <= last:
            counts[(day - monday).days // step] += number
    starts = [(monday + timedelta(days=step * place)).isoformat() for place in range(len(counts))]
    return columns(title, starts, {name: counts}, "week" if step == 7 else f"{step // 7} weeks")  # noqa: PLR2004


T = TypeVar("T")
Item = TypeVar("Item", Fact, SessionSummary, Concept)
LENGTH = 50  # items of a list on one page


class PageCache(dict[str, tuple[object, Any]]):
    """A cache with one value for each name, derived from a commit."""

    def get_or_make(self, name: str, of: object, make: Callable[[], T]) -> T:
        """Return the cached value of this commit, else make it."""
        found = self.get(name)
        if found is None or found[0] != of:
            found = self[name] = (of, make())
        value: T = found[1]
        return value


class ShownProject(Value):
    """A project in the viewer: the key in its addresses ("": the viewer was started in it), and its store."""

    key: str
    root: str

    @classmethod
    def of(cls, root: str) -> ShownProject:
        """Return the project of a store other than the one where the viewer was started."""
        digest = sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:8]
        name = slug(_named(root)).encode("ascii", "ignore").decode().strip("-")
        return cls(f"{name or 'project'}-{digest}", root)

    @property
    def base(self) -> str:
        """Return the prefix of its pages' addresses."""
        return f"/p/{self.key}" if self.key else ""

    @property
    def name(self) -> str:
        """Return its displayed name."""
        return _named(self.root)

    @property
    def moves(self) -> str:
        """Return the act that moves facts to the other layer: promote from the private one, or demote to it."""
        own = os.path.join(os.path.expanduser("~"), STORE_FOLDER)
        return "" if self.root == own else "promote" if self.root.endswith(PRIVATE_SUFFIX) else "demote"


def _named(root: str) -> str:
    folder, name = os.path.split(root)
    if name != STORE_FOLDER:  # `init --home` names the store after the project
        return (name.rpartition("-")[0] or name) + (", private" if name.endswith(PRIVATE_SUFFIX) else "")
    return "yours, in every project" if folder == os.path.expanduser("~") else os.path.basename(folder)


@dataclass(frozen=True)
class View:
    """A request: the store in its present state, the query of the address, and the cache between requests.

    `zone` is the time zone of the reader's browser, "" if not known yet. A page `for_others` shows only this store,
    without private memories and the user's own rules.
    """

    store: Store
    asked: Mapping[str, str] = field(default_factory=dict)
    kept: PageCache = field(default_factory=PageCache)
    here: ShownProject = field(default_factory=lambda: ShownProject("", ""))
    projects: Sequence[ShownProject] = ()
    zone: str = ""
    for_others: bool = False

    def word(self, name: str) -> str:
        """Return the value of a query parameter, "" if it has none."""
        return self.asked.get(name, "").strip()

    def page_of(self, every: Sequence[Item]) -> tuple[Sequence[Item], dict[str, Any]]:
        """Return the items of a page, which begins after the item `after`, and {total, next} of the list."""
        first = next((place + 1 for place, item in enumerate(every) if item.id == self.word("after")), 0)
        page = every[first : first + LENGTH]
        return page, {"total": len(every), "next": page[-1].id if first + LENGTH < len(every) else None}

    def at_home(self, moment: datetime) -> datetime:
        """Return a moment in the reader's time zone."""
        return in_zone(moment, self.zone)

    @cached_property
    def tip(self) -> str | None:
        """The store's tip, read once."""
        return self.store.tip

    def blob(self, path: str) -> str:
        """Return the blob id of a file; forms include it, so that their act is refused if the file has changed."""
        return blob_id(self.store.read(path) or b"", self.tip or "")

    def records(self) -> list[CommitRecord]:
        """Return all commits, the newest first; if history grew without a merge, read only new ones."""
        tip = self.tip
        if tip is None:
            return []
        before: object
        known: list[CommitRecord]
        before, known = self.kept.get("records", (None, []))
        if before != tip:
            newest = []
            with contextlib.suppress(GitmemError):  # the commit before is gone: a purge rewrote it
                newest = [record(commit) for commit in self.store.repository.since(str(before), tip)] if known else []
            in_line = newest and newest[-1].parents == (before,) and all(len(commit.parents) == 1 for commit in newest)
            known = [*newest, *known] if in_line else [*map(record, log(self.store.repository.history, tip))]
            self.kept["records"] = (tip, known)
        return known

    def days(self) -> Counter[date]:
        """Return the number of commits of each day."""
        every, of = self.records(), (self.tip, self.zone)
        return self.kept.get_or_make("days", of, lambda: Counter(self.at_home(record.date).date() for record in every))

    @cached_property
    def authors(self) -> Authors:
        """The authors of memories."""
        return Authors(self.store)

    @cached_property
    def facts(self) -> list[Fact]:
        """All facts, without their texts."""
        return known_facts(self.store)

    @cached_property
    def _placed(self) -> Marks:
        return place_marks(self.store, self.facts)

    @property
    def statuses(self) -> Mapping[str, Status]:
        """The status of each fact."""
        return self._placed.statuses

    @cached_property
    def marks(self) -> Marks:
        """The marks of facts that ended, are in dispute, or were changed by others."""
        return with_changes(self.store, self._placed)

    def documents_to_review(self) -> list[ToReview]:
        """Return the documents of the tip that hold two versions."""
        store, tip = self.store, self.tip
        before, known = self.kept.get("documents", (None, []))
        if tip and before != tip:
            try:
                with store.repository.reading():
                    known = review_since(store, known, store.repository.changes(str(before), tip)) if before else None
            except GitmemError:  # the commit before is gone: a purge rewrote it
                known = None
            known = documents_to_review(store) if known is None else known
            self.kept["documents"] = (tip, known)
        reviews: list[ToReview] = known
        return reviews

    def project(self) -> str:
        """Return the folder of the project."""
        return os.path.dirname(self.store.root)


def in_zone(moment: datetime, zone: str) -> datetime:
    """Return a moment in the named time zone, or in this machine's if the name is "" or unknown."""
    named: tzinfo | None = None
    with contextlib.suppress(ValueError, OSError, KeyError):  # Windows knows none without the package tzdata
        named = ZoneInfo(zone) if zone else None
    return moment.astimezone(named) if named else local(moment)


def moment(value: datetime | None) -> str | None:
    """Return a moment for JSON, and for the templates' filter `time`."""
    return value.isoformat() if value else None


def commit_value(store: Store, record: CommitRecord) -> dict[str, Any]:
    """Return a commit for a list; `by` is the name of another author, or ""."""
    return {
        "by": "" if store.is_user(record.author, record.email, record.machine) else record.author,
        **fields(record, "commit date subject"),
        "op": record.op or "edit",
        **fields(record, "type session host machine author entries"),
    }
