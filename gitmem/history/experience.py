"""Whose experience a bug pattern holds: who committed each sight of the error, mend and failure in it (spec U8).

A pattern's file may name any exchanges, also the person's own, so what counts is whose commit first held the claim. Of
files that count what helped, those count that only the person committed. An index in the private folder is made from
history, as that of `gitmem.history.authors`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from gitmem.document.ids import BUGS, digest
from gitmem.document.message import one_line
from gitmem.errors import GitmemError
from gitmem.history.authors import People
from gitmem.lessons.pattern import BugPattern, claims, only, parse_pattern
from gitmem.lessons.usage_log import COUNTS
from gitmem.platform.safe_open import read_json, write_json
from gitmem.store.store import Store
from gitmem.values import Value

UNKNOWN = "somebody"  # committed it with a merge, or not at all
_FILE = os.path.join("known", "experience.json")
_VERSION = 3
_SECONDS = 300.0  # for all of history, on a busy machine
_DIGITS = 20  # of the digest of a claim
_LENGTH = 80  # characters of a name


class Experience(Value):
    """What one author's commits hold of a bug pattern; `author` is "" for the person."""

    author: str
    part: BugPattern


def experience(store: Store, pattern: BugPattern) -> list[Experience]:
    """Return a pattern's parts by author, the person's first.

    Of the person's own part, claims about exchanges that another author brought are left out.
    """
    index, people = brought(store), People(store)

    def author(*claim: str) -> str:
        maker = index.makers.get(_digest(pattern, *claim))
        return (UNKNOWN if maker is None else _other(store, *maker)) or people.other(claim[-1])

    by_author: dict[str, set[tuple[str, str, str]]] = {}
    for claim in claims(pattern):
        by_author.setdefault(author(*claim), set()).add(claim)
    return [Experience(one, only(pattern, kept)) for one, kept in sorted(by_author.items())]


def own_counts(store: Store) -> list[str]:
    """Return the paths of the counts' files that only the person committed, and no merge of others changed."""
    counts = brought(store).counts
    return sorted(path for path, authors in counts.items() if not any(_other(store, *one) for one in authors))


def _other(store: Store, name: str, email: str) -> str:
    return "" if store.is_person(name, email, gitmem=False) else name or UNKNOWN


class _Index(Value):
    """Authors, name and address, by a claim's digest (who first made it) and by the path of a file of counts (all)."""

    tip: str
    makers: dict[str, list[str]]
    counts: dict[str, list[list[str]]]


def brought(store: Store) -> _Index:
    """Return the index, brought up to the store's tip; the old one where git fails."""
    path = os.path.join(store.private, _FILE)
    index = _Index("", {}, {})
    with contextlib.suppress(ValueError, TypeError, KeyError):
        known = read_json(path)
        if known["version"] == _VERSION:
            index = _Index(known["tip"], known["makers"], known["counts"])
    with contextlib.suppress(GitmemError):
        tip = store.repository.tip(store.repository.branch()) or ""
        if tip and tip != index.tip:
            index = _extended(store, index, tip)
            with contextlib.suppress(OSError):
                write_json(path, {"version": _VERSION, **index._asdict()})
    return index


def _extended(store: Store, index: _Index, tip: str) -> _Index:
    try:
        changes = list(_changes(store, f"{index.tip}..{tip}" if index.tip else tip))
    except GitmemError:  # the tip of then is gone, as after a purge: begin anew
        index, changes = _Index("", {}, {}), list(_changes(store, tip))
    makers, counts = index.makers, index.counts
    with store.repository.reading():
        for author, blob, path in changes:
            if path.startswith(f"{COUNTS}/"):
                counts[path] = [*(one for one in counts.get(path, ()) if one != author), author]
            elif blob and (pattern := parse_pattern(store.repository.blob(blob))):
                for claim in claims(pattern):
                    makers.setdefault(_digest(pattern, *claim), author)
    return _Index(tip, makers, counts)


def _changes(store: Store, revisions: str) -> Iterator[tuple[list[str], str, str]]:
    """Yield the changes of patterns and counts, oldest first: the commit's author, the new blob, and the path.

    Of a merge only files that it changed itself, without a blob.
    """
    options = ("--reverse", "--topo-order", "--full-history", "--raw", "--no-abbrev", "--no-renames")
    output = store.repository.git.run(
        *("log", *options, "--diff-merges=combined", "--format=@%an%x00%ae"),
        *("--end-of-options", revisions, "--", BUGS, COUNTS),
        timeout=_SECONDS,
    )
    author = ["", ""]
    for line in output.decode("utf-8", "replace").split("\n"):
        fields, _, path = line.partition("\t")
        if line.startswith("@"):
            name, _, email = line[1:].partition("\0")
            author = [one_line(name, _LENGTH), one_line(email, _LENGTH)]
        elif line.startswith("::"):
            yield author, "", path
        elif line.startswith(":") and (blob := fields.split(" ")[3]).strip("0"):
            yield author, blob, path


def _digest(pattern: BugPattern, *claim: str) -> str:
    return digest(pattern.id, *claim).hex()[:_DIGITS]
