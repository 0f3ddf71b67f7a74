"""The list of facts, and one fact with its life."""

from __future__ import annotations

import hashlib
from typing import Any

from gitmem.document.entry import find_entries
from gitmem.document.ids import tail_of
from gitmem.errors import NotFoundError
from gitmem.facts.edit import find_fact, read_fact
from gitmem.facts.fact import Fact, FactKind
from gitmem.facts.validity import Status
from gitmem.history.origin import session_files
from gitmem.history.records import records
from gitmem.text.terminal import fields
from gitmem.web.pages.view import View, commit_value
from gitmem.web.visible import STEPS, life

KINDS = [kind.value for kind in FactKind]
_MAX_CODE = 12_000  # characters of a difference of code
_SOURCES = 3  # exchanges that are shown
_CHOICES = 200  # facts that one can be superseded by


def show_facts(view: View) -> dict[str, Any]:
    """Return a page of the facts that match the query, the newest first, starting behind the fact `after`."""
    every, statuses = view.facts, view.statuses
    kind, words, which = view.word("kind"), view.word("q").casefold(), view.word("show") or "holds"
    facts = [
        fact
        for fact in sorted(every, key=lambda fact: (fact.when, fact.id), reverse=True)
        if _is_wanted(statuses[fact.id], which) and kind in ("", fact.kind) and words in fact.description.casefold()
    ]
    page, around = view.page_of(facts)
    return {
        **around,
        "facts": [ticked(view, fact, statuses[fact.id]) for fact in page],
        "show": which,
        "kind": kind,
        "q": view.word("q"),
    }


def show_fact(view: View, identifier: str) -> dict[str, Any]:
    """Return one fact with its text, status, life, source exchanges, and the code of its files."""
    store = view.store
    known = next((one for one in view.facts if one.id == identifier), None) or find_fact(store, identifier)
    fact = read_fact(store, known)
    facts = {one.id: one for one in view.facts}
    status = view.statuses[known.id]
    code = store.code() if status.stale else None
    try:
        found = records(store, path=known.path, limit=STEPS) if store.tip else []
    except NotFoundError:  # made in an editor, and not committed yet
        found = []
    steps = [
        {"act": step["act"], "changes": step["changes"], **commit_value(view.store, step["record"])}
        for step in life(store, known, found)
    ]
    links = (("contradicts", status.disputes), ("superseded by", (status.successor,)), ("supersedes", fact.supersedes))
    return {
        **fact_value(view, known, status),
        "text": fact.text,
        "blob": blob_id(fact.source, len(store.tip or "")),
        "links": [
            {"how": how, "id": one, "text": facts[one].description} for how, ids in links for one in ids if one in facts
        ],
        "life": steps,
        "origin": dict(fact.origin),
        "keywords": list(fact.keywords),
        "sources": _sources(view, fact),
        "code": code.difference(fact)[:_MAX_CODE] if code else "",
        "choices": [
            {"id": one.id, "text": one.description}
            for one in sorted(facts.values(), key=lambda one: one.when, reverse=True)
            if one.kind == fact.kind and one.binds and one.id != fact.id
        ][:_CHOICES],
        "path": known.path,
        "edit": bool(view.word("edit")),
    }


def ticked(view: View, fact: Fact, status: Status) -> dict[str, Any]:
    """Return a fact for a list in which it can be ticked."""
    return {**fact_value(view, fact, status), "blob": blob_of(view, fact)}


def fact_value(view: View, fact: Fact, status: Status) -> dict[str, Any]:
    """Return a fact for a list; `author` is the name of another person who brought it, or ""."""
    return {
        **fields(fact, "id kind description pinned"),
        "mark": view.marks.mark(fact.id),
        **fields(status, "standing holds since stale"),
        **fields(fact, "created updated=when confidence session files commit branch scope"),
        "author": view.people.whose(fact.id),
        "by": fact.origin.get("by", ""),
    }


def blob_id(data: bytes, digits: int) -> str:
    """Return the id of the blob that git makes of this content; ids of SHA-256 have 64 digits."""
    blob = b"blob %d\0" % len(data) + data
    return (
        hashlib.sha256(blob).hexdigest() if digits == 64 else hashlib.sha1(blob, usedforsecurity=False).hexdigest()  # noqa: PLR2004
    )


def blob_of(view: View, fact: Fact) -> str:
    """Return the id of the content that a fact's file has now, for a form."""
    return blob_id(view.store.read(fact.path) or b"", len(view.store.tip or ""))


def _is_wanted(status: Status, which: str) -> bool:
    if which == "stale":
        return bool(status.stale)
    if which == "disputed":
        return bool(status.disputes)
    return which == "all" or status.holds == (which != "ended")


def _sources(view: View, fact: Fact) -> list[dict[str, Any]]:
    """Return the first source exchanges of a fact, with their texts from its session's file."""
    store, session = view.store, fact.session
    tails = {tail_of(name) for name in (fact.origin.get("exchange", ""), *fact.sources) if name}
    if not (session and tails and store.tip):
        return []
    path = session_files(store).get(session, "")
    text = (store.read(path) or b"").decode("utf-8", "replace") if path else ""
    entries = [entry.entry for entry in find_entries(text) if tail_of(entry.entry.id) in tails]
    return [{"id": entry.id, "text": entry.text, "session": session, "path": path} for entry in entries[:_SOURCES]]
