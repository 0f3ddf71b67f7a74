"""List documents that hold two versions, or are a second version, for review (docs/format.md, "Merging").

Tested through `tests/store/review/test_take.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import NotFoundError
from gitmem.git.objects.treediff import read_tree
from gitmem.model.document.document import Document
from gitmem.model.merge.documents import REVIEW, is_beside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.store.store import Store

_FACT = re.compile(r"[a-z][0-9a-z]{10}")


@dataclass(frozen=True, slots=True)
class ToReview:
    """A document to review; `places` are its sections with two versions, () for a file that is a second version."""

    path: str
    places: tuple[str, ...]


def documents_to_review(store: Store) -> list[ToReview]:
    """Return the documents of the tip that hold two versions; contradicting facts are no such documents."""
    found = []
    for item in to_review(store):
        facts = contradicted(item.places, item.path)
        places = tuple(place for place in item.places if place not in facts)
        if places or not item.places:
            found.append(ToReview(item.path, places))
    return found


def contradicted(places: Sequence[str], path: str) -> list[str]:
    """Return the ids of the facts that a fact contradicts, from the places of its review field."""
    return [place for place in places if path.startswith("facts/") and _FACT.fullmatch(place)]


def to_review(store: Store, revision: str = "HEAD") -> list[ToReview]:
    """Return the documents with a field `review`, and second versions, by path; starts three processes at most."""
    repository = store.repository
    try:
        commit = repository.resolve(revision)
    except NotFoundError:
        return []
    options = ("--files-with-matches", "-z", "--full-name", "--text", "-e", f"^{REVIEW}:")
    output = repository.git.run("grep", *options, commit, "--", "*.md", ok=(0, 1))
    tree = {path: oid for path, (mode, oid) in read_tree(repository.git, commit).items() if mode.startswith("100")}
    names = [name.partition(":")[2] for name in output.decode("utf-8", "surrogateescape").split("\0")[:-1]]
    marked = [path for path in names if path in tree]
    waiting = []
    for path, data in zip(marked, repository.blobs([tree[path] for path in marked]), strict=True):
        places = Document.parse(data).get(REVIEW)
        if isinstance(places, list) and places:
            waiting.append(ToReview(path, tuple(map(str, places))))
    waiting += [ToReview(path, ()) for path in tree if is_beside(path)]
    return sorted(waiting, key=lambda item: item.path)
