"""Check the documents that changed since the last check, cheaply enough for `gitmem status`.

`examined.json` in the private folder names the checked commit, documents to check again (with findings or uncommitted
edits), and documents of the commit that wait for review. Without it all documents are checked.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from typing import TYPE_CHECKING

from gitmem import __version__
from gitmem.errors import GitFailedError, GitmemError
from gitmem.git.upkeep.integrity import known_files
from gitmem.store.health.files import broken_headers, conflicts, conflicts_finding, headers_finding
from gitmem.store.review.waiting import ToReview, documents_to_review, review_since
from gitmem.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitmem.git.objects.treediff import PathChange
    from gitmem.store.store import Store
    from gitmem.store.upkeep.findings import Finding

_FILE = "examined.json"
_MAX_BYTES = 1 << 20


class Looked(Value):
    """The findings in changed documents, and the documents of the tip that wait for review."""

    findings: tuple[Finding, ...]
    review: tuple[ToReview, ...]


class _Seen(Value):
    """The last look: its commit, the documents to check again, and those to review in that commit."""

    commit: str
    again: tuple[str, ...]
    review: tuple[ToReview, ...]


def look(store: Store, edited: Iterable[str]) -> Looked:
    """Look for broken headers, conflict markers, and documents to review; `edited` are the files unlike the tip."""
    tip, seen, edited = _tip(store), _seen(store), set(edited)
    changes = _changes(store, seen, tip) if seen else None
    if seen is None or changes is None:
        paths = sorted(edited.union(known_files(store.repository.git)))
        review = tuple(documents_to_review(store))
    else:
        paths = sorted(edited.union(seen.again, (change.path for change in changes)))
        review = tuple(review_since(store, seen.review, changes)) if changes else seen.review
    headers, markers = list(broken_headers(store, paths)), list(conflicts(store, paths))
    again = tuple(sorted(edited.union(path for path, _ in (*headers, *markers))))
    if seen != (now := _Seen(tip, again, review)):
        _remember(store, now)
    findings = headers_finding(words for _, words in headers), conflicts_finding(place for _, place in markers)
    return Looked(findings, review)


def check_documents(store: Store, edited: Iterable[str]) -> Iterator[Finding]:
    """Report broken headers and conflict markers in documents; `edited` are the files that differ from the tip."""
    yield from look(store, edited).findings


def _tip(store: Store) -> str:
    """Return the commit that `HEAD` names, also in the middle of a merge; "" if there is none."""
    try:
        return store.tip or ""
    except GitmemError:
        return store.repository.git.run("rev-parse", "--verify", "--quiet", "HEAD", ok=(0, 1, 128)).decode().strip()


def _seen(store: Store) -> _Seen | None:
    """Return the last look, None if there is no valid record of it."""
    try:
        with open(os.path.join(store.private, _FILE), "rb") as file:
            fields = json.loads(file.read(_MAX_BYTES))
        if fields["by"] != __version__ or not re.fullmatch("[0-9a-f]{40,64}", fields["commit"]):
            return None
        review = tuple(ToReview(str(path), tuple(map(str, places))) for path, places in fields["review"].items())
        return _Seen(fields["commit"], tuple(map(str, fields["again"])), review)
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


def _remember(store: Store, seen: _Seen) -> None:
    path = os.path.join(store.private, _FILE)
    review = {item.path: list(item.places) for item in seen.review}
    fields = {"by": __version__, "commit": seen.commit, "again": list(seen.again), "review": review}
    with contextlib.suppress(OSError):  # the store may be read-only
        with open(f"{path}.new", "w", encoding="utf-8", errors="surrogateescape") as file:
            json.dump(fields, file)
        os.replace(f"{path}.new", path)
