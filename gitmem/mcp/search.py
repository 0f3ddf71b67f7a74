"""`memory_search`: hits as thin lines of JSON (spec J4), and how to get more of what they stand for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gitmem.mcp.words import clean
from gitmem.search.engine import answer
from gitmem.store.history.records import resolve
from gitmem.text.terminal import harmless

if TYPE_CHECKING:
    from gitmem.search.hits import Hit
    from gitmem.store.store import Store

LIMIT = 6  # spec J4


def find(
    store: Store, query: str, limit: int = LIMIT, *, deep: bool = False, history: bool = False, at: str = ""
) -> tuple[str, str]:
    """Return the hits as a JSON array, one a line, `[]` where there are none; and what to do next, in words.

    Raises:
        GitmemError: a date in the query, or `at`, is none.

    """
    commit = resolve(store, at) if at else None
    found = answer(store, query, limit=limit + 1, deep=deep, history=history, at=commit)
    more = len(found.hits) > limit
    hits = found.hits[:limit]
    lines = ",\n".join(json.dumps(hit_value(hit), ensure_ascii=False, separators=(",", ":")) for hit in hits)
    said = _next(hits, more=more, everywhere=deep and history, at=at)
    if found.without_vectors:
        said += f" Found by words alone: {found.without_vectors}"
    return clean(harmless(f"[{lines}]")), clean(said)


def hit_value(hit: Hit) -> dict[str, object]:
    """Return a hit with the fields of spec J4 and those that are known of it; `tokens` are those of the whole entry."""
    known = {
        "date": hit.date,
        "type": hit.label or hit.field,
        "session": hit.session,
        "commit": hit.commit,
    }
    return {
        "path": hit.path,
        "start_line": hit.start,
        "end_line": hit.end,
        "score": round(hit.score, 2),
        "source": hit.layer,
        "tokens": hit.tokens,
        **{name: value for name, value in known.items() if value},
        "snippet": hit.snippet,
    }


def _next(hits: list[Hit], *, more: bool, everywhere: bool, at: str) -> str:
    if not hits:
        wider = "" if everywhere else " or with deep=true (raw transcripts) and history=true (what was deleted)"
        return f"Nothing of this is remembered. Try other words for it{wider}."
    said = [f"Whole entries ({sum(hit.tokens for hit in hits)} tokens in all): memory_get(path, start_line"]
    said.append(f", at={at!r})." if at else ").")
    if any(hit.commit for hit in hits):
        said.append(" A hit with a commit is gone from the files: memory_get(path, start_line, at=commit).")
    if more:
        said.append(" There are more hits: a higher limit, or narrower words.")
    return "".join(said)
