"""What the tools that only read answer: `memory_search` gives hits as lines of JSON (docs/spec.md J4).

Gemini CLI takes a text that is JSON for a structured result, and rejects one that is no object.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Literal

from gitmem.archives.plans import MARGIN_PERCENT, Limits, plan_rotation, tail_of_lines
from gitmem.document.document import Document
from gitmem.document.ids import MEMORY, daily_path
from gitmem.errors import NotFoundError, RefusedError
from gitmem.history.named import named
from gitmem.history.origin import blame, versions
from gitmem.history.records import CommitRecord, resolve
from gitmem.lessons.guide import as_text, guide
from gitmem.lessons.usage_log import SEARCH, GivenText, handles, note_asked
from gitmem.mcp.calls import client_text
from gitmem.search.engine import answer
from gitmem.search.hits import Hit, Passage, read_passage
from gitmem.search.recall import is_handle, layer_of, read_memory, with_own
from gitmem.search.stores import find_stores, search_stores
from gitmem.sessions.memory import apply_events, brief, change_working, find_working
from gitmem.sessions.read import glance
from gitmem.sessions.working import change_of
from gitmem.store.store import Store
from gitmem.text.stems import BYTES_PER_TOKEN, estimate_tokens
from gitmem.text.terminal import FENCE_TOKENS, fenced, fields, json_text

SEARCH_LIMIT = 6  # docs/spec.md J4


def find(
    store: Store,
    query: str,
    limit: int = SEARCH_LIMIT,
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
    note_asked(store, GivenText(began, session, SEARCH, handles(hits)), found if hits else "")
    return found, client_text(hint)


def find_in_stores(store: Store, query: str, limit: int, where: str) -> tuple[str, str]:
    """Return the hits of the stores below a folder, or of "all", as JSON, fenced, each with its store.

    Raises:
        GitmemError: as `gitmem.search.stores.search_stores`.

    """
    answer = search_stores(find_stores(where, store.context.home), store.context, query, limit=limit)
    values = ({"store": hit.store, **hit_value(hit.hit)} for hit in answer.hits)
    lines = ",\n".join(json_text(value, separators=(",", ":")) for value in values)
    text = f'{{"hits":[{lines}]}}'.encode("utf-8", "replace").decode()
    hint = f"Searched {answer.stores:,} stores; memory_get reads this project's only."
    return fenced(text, "memory_search") if answer.hits else text, client_text(hint)


def hit_value(hit: Hit) -> dict[str, object]:
    """Return a hit as JSON, without empty fields; `tokens` counts the whole entry."""
    known = {"date": hit.date, "type": hit.label or hit.field, **fields(hit, "session author commit part")}
    return {
        **fields(hit, "path start_line=start end_line=end"),
        "score": round(hit.score, 3),
        **fields(hit, "source=layer tokens"),
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


LOAD_TOKENS = 8_000
GET_TOKENS = 4_000
_TITLE = 30  # tokens of the line above a document


def load(store: Store, *, full: bool, max_tokens: int = LOAD_TOKENS) -> str:
    """Return the memory document, with `full` today's log too, in at most `max_tokens` tokens.

    The memory document is cut as a rotation cuts it: decisions, open issues and the newest of the rest stay.
    """
    max_tokens -= FENCE_TOKENS
    log = _read(store, daily_path(f"{store.context.clock():%Y-%m-%d}")) if full else None
    log_tokens = min(estimate_tokens(log[1]), max_tokens // 2) if log else 0
    path, body = _read(store, MEMORY) or (MEMORY, "")
    room = (max_tokens - log_tokens - _TITLE) * 100 // MARGIN_PERCENT
    plan = plan_rotation(body, header="", stamp="", taken=(), limits=Limits(room, room))
    selection = "decisions, open issues and the newest of the rest"
    parts = [_titled(path, body, plan.remaining if plan else body, selection)]
    if not body.strip():
        parts = [f"{path} is empty: nothing is remembered yet. memory_save adds to it."]
    if log:
        path, body = log
        kept = tail_of_lines(body, max_tokens // 2 - _TITLE) if log_tokens == max_tokens // 2 else body
        parts.append(_titled(path, body, kept, "the newest of it"))
    return client_text("\n\n".join(parts), "memory_load")


def _titled(path: str, whole: str, kept: str, selection: str) -> str:
    tokens = estimate_tokens(whole)
    if kept == whole:
        return f"[{path}, {tokens} tokens]\n{whole.strip()}"
    head = f"[{path}: {selection}, {estimate_tokens(kept)} of {tokens} tokens; all: memory_get({path!r})]"
    return f"{head}\n{kept.strip()}"


def _read(store: Store, path: str) -> tuple[str, str] | None:
    data = store.read(path)
    return None if data is None else (path, named(store, Document.parse(data).body, path))


def get(
    store: Store,
    path: str,
    start_line: int = 0,
    end_line: int = 0,
    *,
    column: int = 0,
    at: str = "",
    max_tokens: int = GET_TOKENS,
) -> str:
    """Return lines of a document: with `start_line` alone its entry or section, with neither the whole document.

    The first line of the answer gives the lines, their tokens, and the call that returns those that did not fit;
    `column` is where to go on in a first line that is longer than the budget.

    Raises:
        GitmemError: there is no such document or line, or `at` names no commit.

    """
    store, path = layer_of(store, path)
    commit = resolve(store, at) if at else None
    if path.startswith("gitmem://"):
        raise NotFoundError(f"{path} is a resource.", "Give its path in the store.")
    if not at and is_handle(path):
        passage = read_memory(store, path)
        return _shown(passage, column, passage.commit, max_tokens)
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", path):
        path = daily_path(path)
    first = start_line or (1 if end_line else None)
    return _shown(read_passage(store, path, first, end_line or None, commit=commit), column, at, max_tokens)


def _shown(passage: Passage, column: int, at: str, max_tokens: int) -> str:
    """Return the lines that fit, below a line with their numbers."""
    max_tokens -= FENCE_TOKENS
    lines = passage.text.split("\n")
    lines[0] = lines[0][column:]
    kept = _first_that_fit(lines, max_tokens)
    text = "\n".join(lines[:kept])
    if not kept:  # a part of the first line
        text = lines[0].encode("utf-8", "replace")[: max_tokens * BYTES_PER_TOKEN].decode("utf-8", "ignore")
    last = passage.start + max(kept, 1) - 1
    place = f"{passage.path}:{passage.start}" + (f"-{last}" if last > passage.start else "")
    if text == passage.text:
        head = f"{place}, {passage.tokens} tokens"
    else:
        cut = f"{estimate_tokens(text)} of the {passage.tokens} tokens of lines {passage.start}-{passage.end}"
        following = _following(passage, kept, column + len(text), at)
        head = f"{place}: {cut}" + (f"; next: {following}" if following else "")
    return client_text(f"[{head}]\n{text}", f"memory_get {passage.path}")


def _following(passage: Passage, kept: int, column: int, at: str) -> str:
    """Return the call that reads on, "" at the end; `column` is where a truncated line goes on."""
    line = passage.start + kept
    if line > passage.end:
        return ""
    where = f", column={column}" if not kept else ""
    when = f", at={at!r}" if at else ""
    return f"memory_get({passage.path!r}, {line}, {passage.end}{where}{when})"


def _first_that_fit(lines: list[str], tokens: int) -> int:
    """Return how many of the first lines fit into a budget."""
    left = tokens * BYTES_PER_TOKEN
    for number, line in enumerate(lines):
        left -= len(line.encode("utf-8", "replace")) + 1
        if left < 0:
            return number
    return len(lines)


TRACE_LIMIT = 5
MAX_LINES = 60  # of one answer
_MAX_BEFORE = 20  # lines of one earlier version
_SHORT = 10  # characters of an object id
_SHOWN = 300  # characters of a line


def trace(store: Store, path: str, start_line: int, end_line: int = 0, limit: int = TRACE_LIMIT) -> str:
    """Return the author of these lines, and their earlier versions; without `end_line` the entry or section of a line.

    Raises:
        GitmemError: there is no such document or line.

    """
    passage = read_passage(store, path, start_line, end_line or None)
    last = min(passage.end, passage.start + MAX_LINES - 1)
    lines = blame(store, passage.path, (passage.start, last))
    answer = [f"[{passage.path}:{passage.start}" + (f"-{last}]" if last > passage.start else "]")]
    for origin, group in groupby(lines, key=lambda line: line.origin):
        answer.append(f"Learned {_who(store, origin)}:" if origin else "Edited by hand just now, not committed yet:")
        answer += [f"{line.number}  {line.text[:_SHOWN]}" for line in group]
    before = versions(store, passage.path, (passage.start, last), limit + 1)
    changed = [version for version in before if version.before]
    for version in changed[:limit]:
        answer += ["", f"Changed {_who(store, version.origin)}. Before that:"]
        answer += [f"- {line[:_SHOWN]}" for line in version.before[:_MAX_BEFORE]]
        if len(version.before) > _MAX_BEFORE:
            more = len(version.before) - _MAX_BEFORE
            answer.append(f"- … {more} more lines: memory_get(..., at='{version.origin.commit[:_SHORT]}^')")
    if not changed:
        answer += ["", "There are no earlier versions."]
    elif len(before) > limit:
        answer += ["", "There are older versions; a higher limit shows them."]
    if last < passage.end:
        answer += ["", f"Next: memory_history({passage.path!r}, {last + 1}, {passage.end})"]
    return client_text("\n".join(answer), f"memory_history {passage.path}")


def _who(store: Store, origin: CommitRecord) -> str:
    """Return date, host or author, session and commit; an author who is not the person is named."""
    through = origin.host or origin.author
    if origin.host and not store.is_person(origin.author, origin.email):
        through = f"{origin.author} with {origin.host}"
    session = f", session {origin.session}" if origin.session else ""
    return f"{origin.date:%Y-%m-%d %H:%M} by {through}{session}, commit {origin.commit[:_SHORT]} ({origin.subject})"


TaskAct = Literal["show", "start", "plan", "note", "hypothesis", "confirm", "reject", "decide", "complete"]
_NEEDS_TEXT = ("start", "note", "hypothesis", "confirm", "reject", "decide")
_SERVER = "mcp"  # the session of a server that was started for none


def advise(store: Store, task: str, error: str, session: str) -> str:
    """Return advice from memory for a task or the error in an output.

    Raises:
        RefusedError: there is neither.

    """
    if not (task.strip() or error.strip()):
        raise RefusedError("task and error are empty.", "Give a task, a question, or the output of a failed command.")
    advice = as_text(guide(store, task, error=error, session=session))
    return client_text(advice, "memory_guide") or "No memory clearly matches."


def work(
    store: Store, act: TaskAct, text: str, *, steps: Sequence[str], confidence: float, why: str, session: str
) -> str:
    """Change or show the working memory of the running session, and return it in a few lines.

    Raises:
        GitmemError: the text is missing, or there is no such hypothesis or task.

    """
    if act in _NEEDS_TEXT and not text.strip():
        raise RefusedError("text is empty.", "It is the task, note, hypothesis or decision, or a hypothesis's id.")
    if act == "plan" and not steps:
        raise RefusedError("steps is empty.", "Give the steps of the plan, in order.")
    if waiting := glance(store):  # what hooks delivered comes before what the agent says now
        apply_events(store, waiting.events)
    own = session
    try:
        own = own or find_working(store, "").session  # the one that was active last
    except NotFoundError:
        if act != "start":  # which alone does without one
            raise
        own = _SERVER
    at = store.context.clock().isoformat()
    if act == "show":
        memory = find_working(store, own)
    else:
        name = "suppose" if act == "hypothesis" else act
        change = change_of(
            name, text, at, steps=steps, sure=confidence or None, why=why, lists="act=show lists them with their ids."
        )
        memory = change_working(store, own, change)
    return client_text(brief(memory), "memory_task") or "Nothing yet."
