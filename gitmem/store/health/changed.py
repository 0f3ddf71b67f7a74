"""Check the documents that changed since the last check, cheaply enough for `gitmem status`.

`examined.json` in the private folder names the checked commit, documents to check again (with findings or uncommitted
edits), documents of the commit that wait for review, and up to which path all have been checked. Without it this begins
anew: each look checks some more, since a person waits for it, and upkeep checks the rest (format.md, "Tree").
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from gitmem import __version__
from gitmem.errors import GitFailedError, GitmemError
from gitmem.git.objects.treediff import PathChange
from gitmem.store.health.files import Checked, broken_headers, conflicts, conflicts_finding, headers_finding
from gitmem.store.review.waiting import ToReview, review_since
from gitmem.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gitmem.store.store import Store
    from gitmem.store.upkeep.findings import Finding

    MoreChecks = Sequence[Callable[[Store, Sequence[str]], Checked]]

EXAMINED = "examined.json"
AT_ONCE = 300  # documents that were never checked
_MAX_BYTES = 1 << 20


class Looked(Value):
    """The findings in changed documents, the tip's documents that wait for review, and how many were never checked."""

    findings: tuple[Finding, ...]
    review: tuple[ToReview, ...]
    left: int


class _Seen(Value):
    """The last look: its commit, documents to check again, those to review, and the last path checked (None: all)."""

    commit: str
    again: tuple[str, ...]
    review: tuple[ToReview, ...]
    upto: str | None


def look(
    store: Store, edited: Iterable[str], *, most: int | None = AT_ONCE, record: str = EXAMINED, more: MoreChecks = ()
) -> Looked:
    """Look for broken headers, conflict markers, and documents to review; `edited` are the files unlike the tip.

    At most `most` documents are checked that never were. `more` checks add their findings to those of changed files.
    `record` is the file that says what was checked.
    """
    tip, seen, edited = _tip(store), _seen(store, record), set(edited)
    changes = _changes(store, seen, tip) if seen else None
    if seen is None or changes is None:
        seen, changes = _Seen(tip, (), (), ""), ()
    due, left = _never_checked(store, tip, seen.upto, most) if tip else ([], 0)
    paths = sorted(edited.union(seen.again, (change.path for change in (*changes, *due))))
    review = tuple(review_since(store, seen.review, [*changes, *due])) if changes or due else seen.review
    headers, markers = list(broken_headers(store, paths)), list(conflicts(store, paths))
    others = [check(store, paths) for check in more]
    found = [path for path, _ in (*headers, *markers, *(pair for checked in others for pair in checked.found))]
    now = _Seen(tip, tuple(sorted(edited.union(found))), review, due[-1].path if left else None)
    if seen != now:
        _remember(store, now, record)
    findings = headers_finding(words for _, words in headers), conflicts_finding(place for _, place in markers)
    return Looked((*findings, *(checked.finding for checked in others)), review, left)


def check_documents(store: Store, edited: Iterable[str]) -> Iterator[Finding]:
    """Report broken headers and conflict markers in documents; `edited` are the files that differ from the tip."""
    yield from look(store, edited).findings


def _never_checked(store: Store, tip: str, upto: str | None, most: int | None) -> tuple[list[PathChange], int]:
    """Return the first files of the tip behind a path, each as one that the tip adds, and how many more there are."""
    if upto is None:
        return [], 0
    lines = store.repository.git.run("ls-tree", "-r", "-z", "--full-tree", tip).split(b"\0")[:-1]  # by path
    lines = lines[bisect_right(lines, os.fsencode(upto), key=lambda line: line.partition(b"\t")[2]) :]
    due = []
    for line in lines[:most]:
        meta, _, path = line.partition(b"\t")
        mode, _, oid = meta.decode().split()
        due.append(PathChange(os.fsdecode(path), None, oid, mode))
    return due, len(lines) - len(due)


def _tip(store: Store) -> str:
    """Return the commit that `HEAD` names, also in the middle of a merge; "" if there is none."""
    try:
        return store.tip or ""
    except GitmemError:
        return store.repository.git.run("rev-parse", "--verify", "--quiet", "HEAD", ok=(0, 1, 128)).decode().strip()


def _seen(store: Store, record: str) -> _Seen | None:
    """Return the last look, None if there is no valid record of it."""
    try:
        with open(os.path.join(store.private, record), "rb") as file:
            fields = json.loads(file.read(_MAX_BYTES))
        if fields["by"] != __version__ or not re.fullmatch("[0-9a-f]{40,64}", fields["commit"]):
            return None
        review = tuple(ToReview(str(path), tuple(map(str, places))) for path, places in fields["review"].items())
        upto = None if fields["upto"] is None else str(fields["upto"])
        return _Seen(fields["commit"], tuple(map(str, fields["again"])), review, upto)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _changes(store: Store, seen: _Seen, tip: str) -> Sequence[PathChange] | None:
    """Return what changed since the last look, None if its commit is gone."""
    if seen.commit == tip:
        return ()
    try:
        return store.repository.changes(seen.commit, tip)
    except GitFailedError:
        return None


def _remember(store: Store, seen: _Seen, record: str) -> None:
    path = os.path.join(store.private, record)
    review = {item.path: list(item.places) for item in seen.review}
    fields = {"by": __version__, "commit": seen.commit, "again": list(seen.again), "review": review, "upto": seen.upto}
    with contextlib.suppress(OSError):  # the store may be read-only
        with open(f"{path}.new", "w", encoding="utf-8", errors="surrogateescape") as file:
            json.dump(fields, file)
        os.replace(f"{path}.new", path)
