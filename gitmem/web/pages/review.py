"""Decisions for a person: disputes, others' changes, documents with two versions, stale facts, purges, summaries."""

from __future__ import annotations

from typing import Any

from gitmem.archives.archives import pending_archives
from gitmem.errors import GitmemError
from gitmem.facts.edit import read_fact
from gitmem.facts.file import parse_fact
from gitmem.history.changes_by_others import others_changes
from gitmem.history.review import ToReview, sides_of, waiting_pairs
from gitmem.purge.purge import preview_purge, waiting_purges
from gitmem.store.known_facts import OthersChange
from gitmem.text.terminal import fields
from gitmem.web.pages.facts import blob_id, fact_value, ticked
from gitmem.web.pages.view import View
from gitmem.web.visible import lines_between

_MOST = 20  # of each kind on the page; the others follow when these are answered
_MAX_DOCUMENT = 20_000  # characters of a document side by side


def show_review(view: View) -> dict[str, Any]:
    """Return the decisions that wait for a person."""
    store = view.store
    if not store.tip:
        kinds = ("pairs", "changes", "documents", "stale", "gone", "purges", "summaries")
        return {**dict.fromkeys(kinds, ()), "more": {}}
    statuses = view.statuses
    disputed = any(status.disputes for status in statuses.values())
    pairs, documents = waiting_pairs(store) if disputed else [], view.documents_to_review()
    stale = [fact for fact in view.facts if statuses[fact.id].stale]
    gone = [fact for fact in view.facts if statuses[fact.id].waits]

    def side(known: Any) -> dict[str, Any]:
        fact = read_fact(store, known)
        origin = view.people.origin(known.id) if store.tip else None
        return {
            **fact_value(view, known, statuses[known.id]),
            "text": fact.text,
            "blob": blob_id(fact.source, len(store.tip or "")),
            "author": origin.author if origin else "",
            "machine": origin.machine if origin else "",
        }

    changes = [*others_changes(store).values()]
    long = (("pairs", pairs), ("changes", changes), ("documents", documents), ("stale", stale), ("gone", gone))
    return {
        "pairs": [{"older": side(pair.older), "newer": side(pair.newer)} for pair in pairs[:_MOST]],
        "changes": [_change(view, change) for change in changes[:_MOST]],
        "documents": [_document(view, item) for item in documents[:_MOST]],
        "stale": [ticked(view, fact, statuses[fact.id]) for fact in stale[:_MOST]],
        "gone": [ticked(view, fact, statuses[fact.id]) for fact in gone[:_MOST]],
        "purges": [_purge(view, one.path, one.why) for one in waiting_purges(store)[:_MOST]],
        "summaries": pending_archives(store, _MOST),
        "more": {name: len(found) - _MOST for name, found in long if len(found) > _MOST},
    }


def _change(view: View, change: OthersChange) -> dict[str, Any]:
    """Return a change with the fact's words as they are now, "" if its file is gone."""
    store = view.store
    data = store.read(change.path)
    fact = parse_fact(data, change.path) if data else None
    return {
        **fields(change, "id act author date before"),
        "now": fact.text if fact else "",
        "commit": change.commit,
        "blob": blob_id(data or b"", len(store.tip or "")),
    }


def _document(view: View, item: ToReview) -> dict[str, Any]:
    store = view.store
    value: dict[str, Any] = {"path": item.path, "places": list(item.places), "lines": [], "ours": "", "theirs": ""}
    data = store.read(item.path) or b""
    value["blob"] = blob_id(data, len(store.tip or ""))
    try:
        sides = sides_of(store, item.path)
    except GitmemError as error:
        return {**value, "trouble": error.message}
    ours, theirs = (
        (store.repository.read(commit, item.path) or b"").decode("utf-8", "replace")[:_MAX_DOCUMENT]
        for commit in (sides.ours, sides.theirs)
    )
    value |= {"ours": ", ".join(sides.our_machines), "theirs": ", ".join(sides.their_machines)}
    return {**value, "lines": [line for line in lines_between(theirs, ours) if line["sign"] != " "]}


def _purge(view: View, path: str, why: str) -> dict[str, Any]:
    try:
        preview = preview_purge(view.store, path)
    except GitmemError as error:
        return {"path": path, "why": why, "texts": 0, "files": [], "trouble": error.message}
    return {"path": path, "why": why, "texts": preview.texts, "files": list(preview.files)}
