"""A fact as JSON with stable keys, and as text for people.

Tested through `tests/cli/commands/test_facts.py`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.cli.output import place_lines
from gitmem.errors import NotFoundError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from gitmem.cli.door import Door
    from gitmem.model.fact.fact import Fact
    from gitmem.model.fact.holds import Status
    from gitmem.store.store import Store


def project_folder(store: Store, args: argparse.Namespace, door: Door) -> str:
    """Return the folder of the project whose code facts speak of: the store's, else the one the command is in."""
    from gitmem.project.work_tree import work_tree_of

    folder = os.path.dirname(store.root)
    return folder if work_tree_of(folder)[0] else door.folder(args)


def show_fact(store: Store, known: Fact, args: argparse.Namespace, door: Door) -> None:
    """Print a fact with its origin, the facts it supersedes, and the places of its line."""
    from gitmem.memory.facts.edit import read_fact
    from gitmem.model.fact.holds import what_holds
    from gitmem.project.code import project_code
    from gitmem.store.headers.facts import known_facts, marked
    from gitmem.store.history.authors import People
    from gitmem.store.history.origin import find_entry
    from gitmem.text.terminal import plain

    fact = read_fact(store, known)
    text = marked(store, fact.text, fact.id)
    facts = {other.id: other for other in known_facts(store)}
    statuses = what_holds(facts.values())
    known, status = as_it_stands(known, statuses), statuses[known.id]
    code = project_code(project_folder(store, args, door), store.context.environ)
    stale = code.changed_since([known]).get(known.id, ()) if code else ()
    value = {**fact_value(known, stale), "text": text, "origin": dict(fact.origin)}
    value |= {"supersedes": list(fact.supersedes), "keywords": list(fact.keywords)}
    try:
        found = find_entry(store, known.id)
    except NotFoundError:  # it has no line
        found = None
    origin = People(store).origin(known.id)
    value |= {
        "author": origin.author if origin else None,
        "standing": status.standing,
        "successor": status.successor or None,
    }
    value["places"] = [{"path": place.path, "line": place.line} for place in found.places] if found else []
    about = (
        ("kind", known.kind),
        ("status", fact_state(known, stale)),
        ("holds", _standing(status, facts)),
        ("since", f"{known.created:%Y-%m-%d}"),
        ("came", str(origin or "")),
        ("confidence", "" if known.confidence is None else f"{known.confidence:g}"),
        ("origin", ", ".join(f"{key} {value}" for key, value in fact.origin.items())),
        ("said in", ", ".join(known.sources)),
        ("files", ", ".join(known.files) + (f" as of {known.commit}" if known.commit else "")),
        ("supersedes", ", ".join(fact.supersedes)),
        ("file", known.path),
    )
    lines = [text, "", *(f"{name + ':':<12}{value}" for name, value in about if value)]
    lines += ["", *place_lines(found)] if found else []
    door.answer(args, value, plain("\n".join(lines)), "fact")


def _standing(status: Status, facts: Mapping[str, Fact]) -> str:
    """Return whether a fact holds now, with its successor or the facts that contradict it."""
    others = (status.successor,) if status.successor else status.disputes
    named = "; ".join(f"{other} {facts[other].description}" for other in others)
    if status.holds:
        return f"yes, but it contradicts {named}" if named else "yes"
    since = f" since {status.since:%Y-%m-%d}" if status.since else ""
    return f"no, {status.standing}{since}{f', by {named}' if named else ''}"


def fact_value(fact: Fact, stale: Sequence[str]) -> dict[str, object]:
    """Return a fact for JSON; `stale` are its files whose code has changed since."""
    return {
        "id": fact.id,
        "kind": fact.kind,
        "status": fact.status,
        "description": fact.description,
        "created": fact.created.isoformat(),
        "updated": fact.updated.isoformat() if fact.updated else None,
        "confidence": fact.confidence,
        "sources": list(fact.sources),
        "files": list(fact.files),
        "commit": fact.commit or None,
        "stale": list(stale),
        "review": list(fact.review),
        "superseded_by": fact.superseded_by or None,
        "path": fact.path,
    }


def as_it_stands(fact: Fact, statuses: Mapping[str, Status]) -> Fact:
    """Return a fact without the settled contradictions that its file may still name."""
    return fact._replace(review=statuses[fact.id].disputes) if fact.id in statuses else fact


def fact_state(fact: Fact, stale: Sequence[str]) -> str:
    """Return how a fact stands, in words."""
    words = fact.status + (f" by {fact.superseded_by}" if fact.superseded_by else "")
    words += f", contradicts {', '.join(fact.review)}" if fact.review else ""
    return ", ".join(filter(None, (words, stale_words(fact, stale))))


def stale_words(fact: Fact, stale: Sequence[str]) -> str:
    """Return which of a fact's files have changed since it was learned, in words."""
    return f"stale: {', '.join(stale)} changed since {fact.commit[:7]}" if stale else ""
