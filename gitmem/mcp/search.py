"""`memory_search`: hits as lines of JSON (docs/spec.md J4), and how to read the entries they belong to.

Gemini CLI takes a text that is JSON for a structured result, and rejects one that is no object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.mcp.calls import client_text
from gitmem.memory.guide.asked import handles, note_asked
from gitmem.memory.guide.given import SEARCH, Given
from gitmem.search.engine import answer
from gitmem.search.own import with_own
from gitmem.store.history.records import resolve
from gitmem.text.fence import fenced
from gitmem.text.terminal import json_text

if TYPE_CHECKING:
    from gitmem.search.order.hits import Hit
    from gitmem.store.store import Store

LIMIT = 6  # docs/spec.md J4


def find(
    store: Store,
    query: str,
    limit: int = LIMIT,
    *,
    deep: bool = False,
    history: bool = False,
    at: str = "",
    session: str = "",
) -> tuple[str, str]:
    """Return the hits as JSON, one a line, fenced, and a hint for the next call; record them as given to the session.

    Raises:
        GitmemError: a date in the query is invalid, or `at` names no commit.

    """
    began = store.context.clock()
    commit = resolve(store, at) if at else None
    result = answer(store, query, limit=limit + 1, deep=deep, history=history, at=commit)
    total = result.total if len(result.hits) > limit else 0
    hits = result.hits[:limit]
    hits += with_own(store, query, result._replace(hits=hits)).hits[len(hits) :] if commit is None else []
    lines = ",\n".join(json_text(hit_value(hit), separators=(",", ":")) for hit in hits)
    hint = _next(hits, total=total, everywhere=deep and history, at=at)
    if result.left_out:
        hint += f" {result.left_out} facts that no longer hold are left out: history=true."
    if result.without_vectors:
        hint += f" Found by words alone: {result.without_vectors}"
    found = f'{{"hits":[{lines}]}}'.encode("utf-8", "replace").decode()
    found = fenced(found, "memory_search") if hits else found
    note_asked(store, Given(began, session, SEARCH, handles(hits)), found if hits else "")
    return found, client_text(hint)


def hit_value(hit: Hit) -> dict[str, object]:
    """Return a hit as JSON, without empty fields; `tokens` counts the whole entry."""
    known = {
        "date": hit.date,
        "type": hit.label or hit.field,
        "session": hit.session,
        "author": hit.author,
        "commit": hit.commit,
    }
    return {
        "path": hit.path,
        "start_line": hit.start,
        "end_line": hit.end,
        "score": round(hit.score, 3),
        "source": hit.layer,
        "tokens": hit.tokens,
        **{name: value for name, value in known.items() if value},
        **({"weak": True} if hit.weak else {}),
        **({"status": hit.standing} if hit.standing else {}),
        **({"views": list(hit.views)} if hit.views else {}),
        "snippet": hit.shown(hit.snippet),
    }


def _next(hits: list[Hit], *, total: int, everywhere: bool, at: str) -> str:
    if not hits:
        wider = "" if everywhere else " or with deep=true (raw transcripts) and history=true (what was deleted)"
        return f"Nothing is remembered about this. Try other words for it{wider}."
    hint = ["Nothing fits well: these share few of the query's words. "] if all(hit.weak for hit in hits) else []
    hint.append(f"Whole entries ({sum(hit.tokens for hit in hits)} tokens in all): memory_get(path, start_line")
    hint.append(f", at={at!r})." if at else ").")
    if any(hit.commit for hit in hits):
        hint.append(" A hit with a commit is gone from the files: memory_get(path, start_line, at=commit).")
    if total:
        hint.append(f" {len(hits)} of {total} hits: a higher limit, or narrower words.")
    return "".join(hint)
