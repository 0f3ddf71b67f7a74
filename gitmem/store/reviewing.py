"""Which documents wait for a person: they hold two versions of something, or stand beside another (docs/format.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import NotFoundError
from gitmem.model.document import Document
from gitmem.model.merge import REVIEW, is_beside

if TYPE_CHECKING:
    from gitmem.store.store import Store


@dataclass(frozen=True, slots=True)
class ToReview:
    """A document to be reviewed: `places` are the sections with two versions, none for a file beside another."""

    path: str
    places: tuple[str, ...]


def to_review(store: Store, revision: str = "HEAD") -> list[ToReview]:
    """Return what waits for a person at a revision, by path. Two processes, and one more for each document found."""
    repository = store.repository
    try:
        commit = repository.resolve(revision)
    except NotFoundError:
        return []
    options = ("--files-with-matches", "-z", "--full-name", "--text", "-e", f"^{REVIEW}:")
    said = repository.git.run("grep", *options, commit, "--", "*.md", ok=(0, 1))
    found = []
    for name in said.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        path = name.partition(":")[2]
        places = Document.parse(repository.read(commit, path) or b"").get(REVIEW)
        if isinstance(places, list) and places:
            found.append(ToReview(path, tuple(map(str, places))))
    listed = repository.git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
    names = listed.decode("utf-8", "surrogateescape").split("\0")[:-1]
    found += [ToReview(path, ()) for path in names if is_beside(path)]
    return sorted(found, key=lambda item: item.path)
