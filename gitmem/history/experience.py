"""Whose experience a bug pattern holds: who committed each sight of the error, mend and failure in it (spec U8).

A pattern's file may name any exchanges, also the person's own, so what counts is whose commit first held the claim. Of
files that count what helped, those count that only the person committed. The index of authors knows both.
"""

from __future__ import annotations

from gitmem.history.authors import Origin, People, claim_id, counts_id
from gitmem.lessons.pattern import BugPattern, claims, only
from gitmem.lessons.usage_log import COUNTS
from gitmem.store.store import Store
from gitmem.values import Value

UNKNOWN = "somebody"  # no commit that the index knows brought it


class Experience(Value):
    """What one author's commits hold of a bug pattern; `author` is "" for the person."""

    author: str
    part: BugPattern


def experience(store: Store, pattern: BugPattern) -> list[Experience]:
    """Return a pattern's parts by author, the person's first.

    Of the person's own part, claims about exchanges that another author brought are left out.
    """
    people = People(store)
    by_author: dict[str, set[tuple[str, str, str]]] = {}
    for claim in claims(pattern):
        author = _others(people, people.makers(claim_id(pattern.id, *claim))) or people.other(claim[-1])
        by_author.setdefault(author, set()).add(claim)
    return [Experience(one, only(pattern, kept)) for one, kept in sorted(by_author.items())]


def own_counts(store: Store) -> list[str]:
    """Return the paths of the counts' files that only the person committed, and no merge of others changed."""
    people, paths = People(store), (f"{COUNTS}/{name}" for name in sorted(store.files.names(COUNTS)))
    return [path for path in paths if not _others(people, people.makers(counts_id(path)))]


def _others(people: People, makers: list[Origin]) -> str:
    """Return the name of the first of these who is not the person, "" if all are; `UNKNOWN` for nobody."""
    others = [one.author or UNKNOWN for one in makers if not people.is_own(one, gitmem=False)]
    return next(iter(others), "" if makers else UNKNOWN)
