"""Make facts of the lines of version 1 in `memory.md` (docs/format.md, "Versions"). Pure, the same on every machine.

Version 1 held a decision as an entry that knew nothing of the fact that a session's end made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from gitmem.document.entry import find_entries, replace_entry
from gitmem.document.ids import is_timed, milliseconds_of, tail_of
from gitmem.facts.extract import fact_keywords
from gitmem.facts.fact import Fact, FactKind, make_fact
from gitmem.facts.lines import SECTIONS, follow
from gitmem.values import Value

_KINDS = {kind.value.title(): kind for kind in SECTIONS}  # by label
_LONGEST = 8_000  # characters
_SAVED = 0.9


class Brought(Value):
    """The body of `memory.md` with ids of facts, the new facts, and the ids of facts by the digest of old entries."""

    body: str
    new: tuple[Fact, ...]
    ids: dict[str, str]


def lines_to_facts(body: str, known: Mapping[str, Fact], newline: str = "\n") -> Brought:
    """Return the new body for a `memory.md` of version 1; `known` are the existing facts, by id.

    The line of a fact that does not hold is left out.
    """
    by_source = {tail_of(source): fact for fact in known.values() for source in fact.sources}
    facts = dict(known)
    ids: dict[str, str] = {}
    for entry in (found.entry for found in find_entries(body)):
        kind = _KINDS.get(entry.label)
        if kind is None or not is_timed(entry.id) or not entry.text or len(entry.text) > _LONGEST:
            continue
        fact = by_source.get(tail_of(entry.id)) or _made(kind, entry.id, entry.text)
        facts.setdefault(fact.id, fact)
        ids[tail_of(entry.id)] = fact.id
    new = tuple(fact for identifier, fact in facts.items() if identifier not in known)
    return Brought(follow(renamed(body, ids, newline), facts, newline), new, ids)


def renamed(body: str, ids: Mapping[str, str], newline: str = "\n") -> str:
    """Return a log in which entries have the ids of their facts, each once."""
    seen: set[str] = set()
    ends: list[tuple[int, int]] = []
    entries = [found for found in find_entries(body) if is_timed(found.entry.id) and tail_of(found.entry.id) in ids]
    for found in entries:
        identifier = ids[tail_of(found.entry.id)]
        if identifier in seen:
            ends.append((found.start, found.end))
        seen.add(identifier)
    for found in reversed(entries):
        if (found.start, found.end) in ends:
            body = body[: found.start] + body[found.end :]
        else:
            body = replace_entry(body, found, found.entry._replace(id=ids[tail_of(found.entry.id)]), newline)
    return body


def _made(kind: FactKind, identifier: str, text: str) -> Fact:
    at = datetime.fromtimestamp(milliseconds_of(identifier) / 1000, UTC).replace(microsecond=0)
    return make_fact(kind, text, at, confidence=_SAVED, sources=(identifier,), keywords=fact_keywords(text))
