"""List documents that hold two versions, or are a second version, for review (docs/format.md, "Merging").

Tested through `tests/store/review/test_take.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import NotFoundError
from gitmem.model.document.document import Document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitmem.git.objects.treediff import PathChange
    from gitmem.store.store import Store

REVIEW = "review"  # the field of the front matter, as in gitmem.model.merge.documents
_FIELD = b"\nreview:"
_BESIDE = ".other-"
_FACT = re.compile(r"[a-z][0-9a-z]{10}")
_FACTS = re.compile(rb"\nreview: \[([a-z][0-9a-z]{10}(?:, [a-z][0-9a-z]{10})*)\]\r?\n")


@dataclass(frozen=True, slots=True)
class ToReview:
    """A document to review; `places` are its sections with two versions, () for a file that is a second version."""

    path: str
    places: tuple[str, ...]


def documents_to_review(store: Store) -> list[ToReview]:
    """Return the documents of the tip that hold two versions; contradicting facts are no such documents."""
    return without_facts(to_review(store))


def review_since(store: Store, before: Sequence[ToReview], changes: Sequence[PathChange]) -> list[ToReview]:
    """Return the documents to review after these changes of a commit, of which `before` were those to review."""
    changed = {change.path for change in changes}
    new = {change.path: change.new for change in changes if change.new is not None and change.mode.startswith("100")}
    found = [item for item in before if item.path not in changed]
    documents = [path for path in new if path.endswith(".md")]
    for path, data in zip(documents, store.repository.blobs([new[path] for path in documents]), strict=True):
        if _FIELD in data:
            found += _marked(path, data)
    found += [ToReview(path, ()) for path in new if _BESIDE in path and is_second_version(path)]
    return sorted(without_facts(found), key=lambda item: item.path)


def without_facts(items: Iterable[ToReview]) -> list[ToReview]:
    """Return these documents without contradictions of facts, which are no two versions of a document."""
    found = []
    for item in items:
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
    from gitmem.git.objects.treediff import read_tree

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
    waiting: list[ToReview] = []
    for path, data in zip(marked, repository.blobs([tree[path] for path in marked]), strict=True):
        waiting += _marked(path, data)
    waiting += [ToReview(path, ()) for path in tree if _BESIDE in path and is_second_version(path)]
    return sorted(waiting, key=lambda item: item.path)


def is_second_version(path: str) -> bool:
    """Return whether a file is the second version of another one."""
    from gitmem.model.merge.documents import is_beside  # late: few stores have one

    return is_beside(path)


def _marked(path: str, data: bytes) -> Iterator[ToReview]:
    header = data[: data.find(b"\n---", 3) + 1]
    facts = _FACTS.search(header) if path.startswith("facts/") else None
    if facts:  # as gitmem writes it; to read the whole header takes YAML
        yield ToReview(path, tuple(facts[1].decode().split(", ")))
        return
    places = Document.parse(data).get(REVIEW)
    if isinstance(places, list) and places:
        yield ToReview(path, tuple(map(str, places)))
