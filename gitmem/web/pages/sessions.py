"""The list of sessions, and one session: its requests, outcomes, errors and files."""

from __future__ import annotations

from typing import Any

from gitmem.document.document import Document
from gitmem.document.entry import find_entries, find_section
from gitmem.history.origin import Session, find_session, sessions
from gitmem.lessons.usage_log import GET, GUIDE, RECALL, SEARCH, read_notes
from gitmem.sessions.exchange import parse
from gitmem.store.headers import marked
from gitmem.text.terminal import fields
from gitmem.web.pages.facts import fact_value
from gitmem.web.pages.view import LENGTH, View, commit_value

_EXCHANGES = 20  # on one page
_MOST = 30  # commits, and texts that it was told: the newest
WHOLE = "whole"  # the parameter for all exchanges on one page, as in an export
_ASKED_FOR = {GUIDE, SEARCH, RECALL, GET}


def show_sessions(view: View) -> dict[str, Any]:
    """Return a page of the sessions, the newest first, starting behind the session `after`."""
    every = _known(view)
    first = next((place + 1 for place, one in enumerate(every) if one.id == view.word("after")), 0)
    page = every[first : first + LENGTH]
    return {
        "total": len(every),
        "sessions": [_value(view, one) for one in page],
        "next": page[-1].id if first + LENGTH < len(every) else None,
    }


def show_session(view: View, identifier: str) -> dict[str, Any]:
    """Return a session with its exchanges, its commits and the facts learned in it."""
    store = view.store
    found = next((one for one in _known(view) if one.id == identifier), None) or find_session(store, identifier)
    text = (store.read(found.file) or b"").decode("utf-8", "replace") if found.file else ""
    document = Document.parse(marked(store, text).encode("utf-8", "replace"))
    sections = filter(None, (find_section(document.body, title) for title in ("Summary", "Open")))
    entries = list(find_entries(document.body))
    first = next((place + 1 for place, one in enumerate(entries) if one.entry.id == view.word("after")), 0)
    last = len(entries) if view.word(WHOLE) else first + _EXCHANGES
    exchanges: list[dict[str, Any]] = []
    for one in entries[first:last]:
        exchange = parse(one.entry)
        if exchange is None:
            exchanges.append({"id": one.entry.id, "time": one.entry.time, "text": one.entry.text})
            continue
        exchanges.append(
            {
                **fields(exchange, "id time asked summary details files"),
                "failed": [line.partition(": ")[2] or line for line in exchange.failed],
                "outcome": exchange.outcome.value,
            }
        )
    statuses = view.statuses
    return {
        **_value(view, found),
        "exchanges": exchanges,
        "by": str(document.get("by") or ""),
        "said": "\n".join(document.body[one.start : one.end] for one in sections),
        "next": entries[last - 1].entry.id if last < len(entries) else None,
        **_told(view, found.id),
        "facts": [fact_value(view, fact, statuses[fact.id]) for fact in view.facts if fact.session == found.id],
        "commits": [commit_value(one) for one in view.records() if one.session == found.id][:_MOST],
        "count": found.commits,
    }


def _told(view: View, session: str) -> dict[str, Any]:
    """Return the texts a session was given, unasked or for a question, with their tokens."""
    facts = {fact.id: fact.description for fact in view.facts}
    given = [one for one in read_notes(view.store.private).given if one.session == session]
    told = [
        {**fields(one, "at how tokens"), "memories": [{"id": name, "fact": facts.get(name)} for name in one.ids]}
        for one in given[-_MOST:]
    ]
    recalled = sum(one.tokens for one in given if one.how in _ASKED_FOR)
    injected = sum(one.tokens for one in given) - recalled
    return {"told": told, "tokens": {"injected": injected, "recalled": recalled}}


def _known(view: View) -> list[Session]:
    if not view.store.tip:
        return []
    found: list[Session] = view.kept.get_or_make(
        "sessions", view.store.tip, lambda: sessions(view.store, view.records())
    )
    return found


def _value(view: View, session: Session) -> dict[str, Any]:
    return {
        **fields(session, "id host machine"),
        "author": "" if view.store.is_person(session.author, session.email) else session.author,
        **fields(session, "first last requests about commits"),
        "file": session.file or None,
    }
