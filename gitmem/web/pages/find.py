"""The search page."""

from __future__ import annotations

import contextlib
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from gitmem.document.entry import without_ids
from gitmem.document.ids import id_in
from gitmem.errors import GitmemError
from gitmem.facts.validity import Standing
from gitmem.history.records import resolve
from gitmem.search.engine import answer
from gitmem.search.hits import Hit, is_fact
from gitmem.search.stores import StoreHit, search_stores
from gitmem.text.terminal import fields
from gitmem.web.pages.view import View

_LIMIT, _MOST = 20, 200
_WITH_TIME = len("2026-11-21 12:00:00")
_TEXT = 1_200  # characters of a hit
_OVER = {Standing.SUPERSEDED.value, Standing.RETIRED.value, Standing.RESOLVED.value}


def show_search(view: View) -> dict[str, Any]:
    """Return the hits of a search, as `gitmem search` finds them, and the facts left out since they ended."""
    store, query = view.store, view.word("q")
    back = int(view.word("back")) if view.word("back").isdecimal() else 0
    deep, history = bool(view.word("deep")), bool(view.word("history"))
    many = _MOST if view.word("more") else _LIMIT
    value: dict[str, Any] = {"q": query, "back": back, "oldest": _oldest(view), "hits": [], "left_out": [], "total": 0}
    value |= {"deep": deep, "history": history, "trouble": "", "at": None, "more": many == _MOST}
    value |= {"everywhere": bool(view.word("everywhere")), "others": []}
    if not query:
        return value
    if view.word("everywhere"):
        value["others"] = _elsewhere(view, query)
    try:
        day = (store.context.clock() - timedelta(days=back)).date().isoformat() if back else ""
        at = resolve(store, day) if day else None
        found = answer(store, query, limit=many, at=at, deep=deep, history=history)
        ended = answer(store, query, limit=many, ended=True, deep=deep, history=history).hits if found.left_out else []
    except (GitmemError, OverflowError) as error:
        return {**value, "trouble": getattr(error, "message", "There was nothing yet.")}
    value |= {"hits": [_hit(hit) for hit in found.hits], "total": found.total, "at": day or None}
    value["left_out"] = [_hit(hit) for hit in ended if hit.status in _OVER]
    return value


def _elsewhere(view: View, query: str) -> list[dict[str, Any]]:
    """Return the best hits of all other projects together, ranked as `gitmem search --stores` ranks them."""
    others = {project.root: project for project in view.projects if project != view.here}
    hits: list[StoreHit] = []
    with contextlib.suppress(GitmemError, OSError):  # as a filter that is of one store
        hits = search_stores([*others], view.store.context, query, limit=_LIMIT).hits
    named = ((others[hit.store], hit.hit) for hit in hits)
    return [{"name": project.name, "base": project.base, **_hit(hit)} for project, hit in named]


def _oldest(view: View) -> int:
    """Return how many days ago the oldest memory was made."""
    store = view.store
    if not store.tip:
        return 0
    now = store.context.clock()

    def make() -> datetime:  # the first commit of every store is dated 1970
        return min((record.date for record in view.records() if record.parents), default=now)

    first: datetime = view.kept.get_or_make("first", store.tip, make)
    return max((now.date() - first.astimezone(now.tzinfo).date()).days, 0)


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        **fields(
            hit,
            "path line=start layer type=label tags date session author entry tokens status? part? others weak commit?",
        ),
        "heading": hit.heading or hit.field,
        "at": datetime.fromisoformat(hit.date).astimezone().isoformat() if len(hit.date) == _WITH_TIME else hit.date,
        "fact": hit.entry if is_fact(hit.entry) else None,
        "score": round(hit.score, 2),
        "href": _page_of(hit),
        "snippet": hit.shown(hit.snippet),
        "text": hit.shown(without_ids(hit.passage or hit.text)[:_TEXT]),
    }


def _page_of(hit: Hit) -> str:
    """Return the address of the page on which a hit stands, "" if none shows it."""
    if is_fact(hit.entry):
        return f"/fact/{hit.entry}"
    if hit.commit:
        return f"/commit/{hit.commit}"
    if hit.path.startswith("concepts/"):
        return f"/concept/{id_in(hit.path)}"
    if hit.session:
        at = f"?at={hit.entry}#{hit.entry}" if hit.entry else ""
        return f"/session/{quote(hit.session, safe='')}{at}"
    return "/knowledge" if hit.path.startswith("patterns/") else ""
