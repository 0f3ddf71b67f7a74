"""The tools that only read: search, load, get, history, why code is so. Hits are lines of JSON.

Gemini CLI takes a text that is JSON for a structured result, and rejects one that is no object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Annotated, Literal

from mcp.types import TextContent
from pydantic import Field

from gitmem.config.values import MARGIN_PERCENT, RotationConfig
from gitmem.document.document import Document
from gitmem.document.ids import MEMORY, daily_path
from gitmem.errors import NotFoundError
from gitmem.history.origin import blame, versions
from gitmem.history.records import CommitRecord, resolve
from gitmem.mcp.tools import READS, Call, Tool, client_text
from gitmem.model.rotation import plan_rotation, tail_of_lines
from gitmem.platform.barred import first_barred
from gitmem.search.engine import answer
from gitmem.search.filters import check_types
from gitmem.search.hits import Hit, named
from gitmem.search.many_stores import find_stores, search_stores
from gitmem.search.passages import Passage, read_passage
from gitmem.search.query import check_query
from gitmem.search.recall import is_handle, layer_of, read_memory, with_other_layers
from gitmem.store.store import Store
from gitmem.tell.blamed_code import Blaming, project_path
from gitmem.tell.reasons import as_text, reasons
from gitmem.tell.usage_log import GET, SEARCH, ShownText, handles, record_shown
from gitmem.tell.why import why_lines
from gitmem.text.terminal import FENCE_TOKENS, fenced, fields, json_text
from gitmem.text.words import BYTES_PER_TOKEN, estimate_tokens

At = Annotated[str, Field(description="a commit, or a date like 2026-11-21 or '3 days ago': as of then")]
Path = Annotated[str, Field(description="as memory_search names it, in the store: memory.md, daily/...")]
Handle = Annotated[str, Field(description="a path as memory_search names it: memory.md, daily/...; or ^ID, one memory")]
Tokens = Annotated[int, Field(ge=500, le=25_000, description="at most; the answer says how to get the rest")]


def memory_search(
    call: Call,
    *,
    query: Annotated[str, Field(description="words, in any language and form")],
    limit: Annotated[int, Field(ge=1, le=50)] = 6,  # docs/spec.md J4
    deep: Annotated[bool, Field(description="look into raw transcripts, too")] = False,
    history: Annotated[bool, Field(description="find what was deleted or is no longer in force, too")] = False,
    at: At = "",
    stores: Annotated[str, Field(description='"all": the stores of all projects here; or a folder of stores')] = "",
) -> list[TextContent]:
    """Find memories of earlier sessions, the best hit first.

    It compares words: if no hit fits, ask again in other words, and in English as well as in the user's language.

    Returns JSON, {hits: [{path, start_line, end_line, score, source, tokens, snippet, ...}]}; tokens are those
    of the whole entry, which memory_get gives. A query may hold "an exact phrase", -without,
    path:daily, type:decision, tag:build, since:2026-11-01, until:yesterday, session:ID, author:NAME.
    """
    check_query(query)
    store = call.store
    if stores:
        found = search_stores(find_stores(stores, store.context.home), store.context, query, limit=limit)
        text = _hits({"store": hit.store, **hit_value(hit.hit)} for hit in found.hits)
        hint = f"Searched {found.stores:,} stores; memory_get reads this project's only."
    else:
        commit = resolve(store, at) if at else None
        result = answer(store, query, limit=limit, deep=deep, history=history, at=commit)
        result = with_other_layers(store, query, result, limit) if commit is None else result
        hits, total = result.hits, result.total if result.total > len(result.hits) else 0
        if not hits:
            check_types(query)
        text = _hits(map(hit_value, hits))
        hint = _next(hits, total=total, everywhere=deep and history, at=at)
        if result.left_out:
            hint += f" Facts left out, as no longer in force: {result.left_out}. They come with history=true."
        if error := first_barred(store.root):
            hint += f" Not searched: {error.sentences}"
        if result.without_vectors:
            hint += f" Found by words alone: {result.without_vectors}"
        record_shown(store, ShownText(call.began, call.session, SEARCH, handles(hits)), text if hits else "")
    return [TextContent(type="text", text=part) for part in (text, client_text(hint))]


def _hits(values: Iterable[dict[str, object]]) -> str:
    """Return hits as JSON, one a line, fenced."""
    lines = [json_text(value, separators=(",", ":")) for value in values]
    text = '{{"hits":[{}]}}'.format(",\n".join(lines)).encode("utf-8", "replace").decode()
    return fenced(text, "memory_search") if lines else text


def hit_value(hit: Hit) -> dict[str, object]:
    """Return a hit as JSON, without empty fields; `tokens` counts the whole entry."""
    known = {"date": hit.date, "type": hit.label or hit.field, **fields(hit, "session author commit part found")}
    return {
        **fields(hit, "path start_line=start end_line=end"),
        "score": round(hit.score, 3),
        **fields(hit, "source=layer tokens"),
        **{name: value for name, value in known.items() if value},
        **({"weak": True} if hit.weak else {}),
        **({"status": hit.standing} if hit.standing else {}),
        **({"views": list(hit.views)} if hit.views else {}),
        "snippet": hit.shown_snippet,
    }


def _next(hits: list[Hit], *, total: int, everywhere: bool, at: str) -> str:
    if not hits:
        wider = "" if everywhere else " or with deep=true (raw transcripts) and history=true (what was deleted)"
        return f"Nothing is remembered about this. Try other words, in English and the user's language{wider}."
    hint = ["Nothing fits well: these share few of the query's words. "] if all(hit.weak for hit in hits) else []
    hint.append(f"Whole entries ({sum(hit.tokens for hit in hits)} tokens in all): memory_get(path, start_line")
    hint.append(f", at={at!r})." if at else ").")
    if any(hit.commit for hit in hits):
        hint.append(" A hit with a commit is gone from the files: memory_get(path, start_line, at=commit).")
    if total:
        hint.append(f" {len(hits)} of {total} hits: a higher limit, or narrower words.")
    return "".join(hint)


_TITLE = 30  # tokens of the line above a document


def memory_load(
    call: Call,
    *,
    source: Annotated[
        Literal["startup", "full"], Field(description="startup: the memory document; full: today's log, too")
    ] = "startup",
    max_tokens: Tokens = 8_000,
) -> str:
    """Load the memory of this project: decisions, current state, recent work, known issues."""
    # Shortened as by a rotation: decisions, open issues and the newest of the rest are kept.
    store, max_tokens = call.store, max_tokens - FENCE_TOKENS
    log = _read(store, daily_path(f"{call.began:%Y-%m-%d}")) if source == "full" else None
    log_tokens = min(estimate_tokens(log[1]), max_tokens // 2) if log else 0
    path, body = _read(store, MEMORY) or (MEMORY, "")
    room = (max_tokens - log_tokens - _TITLE) * 100 // MARGIN_PERCENT
    plan = plan_rotation(body, header="", stamp="", taken=(), limits=RotationConfig(room, room))
    selection = "decisions, open issues and the newest of the rest"
    parts = [_titled(path, body, plan.remaining if plan else body, selection)]
    if not body.strip():
        parts = [f"{path} is empty: nothing is remembered yet. memory_save adds to it."]
    if log:
        path, body = log
        shown = tail_of_lines(body, max_tokens // 2 - _TITLE) if log_tokens == max_tokens // 2 else body
        parts.append(_titled(path, body, shown, "the newest of it"))
    return _noted(call, "\n\n".join(parts), "memory_load")


def _titled(path: str, whole: str, shown: str, selection: str) -> str:
    tokens = estimate_tokens(whole)
    if shown == whole:
        return f"[{path}, {tokens} tokens]\n{whole.strip()}"
    head = f"[{path}: {selection}, {estimate_tokens(shown)} of {tokens} tokens; all: memory_get({path!r})]"
    return f"{head}\n{shown.strip()}"


def _read(store: Store, path: str) -> tuple[str, str] | None:
    data = store.read(path)
    return None if data is None else (path, named(store, Document.parse(data).body, path))


_PLACE = re.compile(r"(.+\.md):([0-9]{1,9})(?:-([0-9]{1,9}))?")


def memory_get(
    call: Call,
    *,
    path: Handle,
    start_line: Annotated[
        int, Field(ge=0, description="or `from`; alone: the entry or section it stands in; 0: the whole")
    ] = 0,
    end_line: Annotated[int, Field(ge=0)] = 0,
    lines: Annotated[int, Field(ge=0, description="how many, in place of end_line")] = 0,
    column: Annotated[int, Field(ge=0, description="where to go on in a line that is longer than max_tokens")] = 0,
    at: At = "",
    max_tokens: Tokens = 4_000,
) -> str:
    """Read lines of one document of the memory: the lines around a hit of memory_search, or all."""
    if (place := _PLACE.fullmatch(path)) and not start_line:  # the form of a hit's views
        path, start_line, end_line = place[1], int(place[2]), end_line or int(place[3] or 0)
    start = start_line or (1 if lines else 0)
    end = end_line or (start + lines - 1 if lines else 0)
    store, name = layer_of(call.store, path)
    commit = resolve(store, at) if at else None
    if name.startswith("gitmem://"):
        raise NotFoundError(f"{name} is a resource.", "Give its path in the store.")
    if not at and is_handle(name):
        passage = read_memory(store, name)
        at = passage.commit
    else:
        name = daily_path(name) if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", name) else name
        passage = read_passage(store, name, start or (1 if end else None), end or None, commit=commit)
        at = at or passage.commit
    text = _shown(passage, column, at, max_tokens)
    return _noted(call, text, f"memory_get {passage.path}", (path[1:],) if path.startswith("^") else ())


def _shown(passage: Passage, column: int, at: str, max_tokens: int) -> str:
    """Return the lines that fit into the budget, below a line with their numbers."""
    max_tokens -= FENCE_TOKENS
    lines = passage.text.split("\n")
    lines[0] = lines[0][column:]
    shown = _first_that_fit(lines, max_tokens)
    text = "\n".join(lines[:shown])
    if not shown:  # a part of the first line
        text = lines[0].encode("utf-8", "replace")[: max_tokens * BYTES_PER_TOKEN].decode("utf-8", "ignore")
    last = passage.start + max(shown, 1) - 1
    place = f"{passage.path}:{passage.start}" + (f"-{last}" if last > passage.start else "")
    if text == passage.text:
        head = f"{place}, {passage.tokens} tokens"
    else:
        cut = f"{estimate_tokens(text)} of the {passage.tokens} tokens of lines {passage.start}-{passage.end}"
        following = _following(passage, shown, column + len(text), at)
        head = f"{place}: {cut}" + (f"; next: {following}" if following else "")
    return f"[{head}]\n{text}" if not passage.gone else f"[{head}; {passage.gone}]\n{text}"


def _following(passage: Passage, shown: int, column: int, at: str) -> str:
    """Return the call that continues, "" at the end; `column` is where a truncated line was cut."""
    line = passage.start + shown
    if line > passage.end:
        return ""
    where = f", column={column}" if not shown else ""
    when = f", at={at!r}" if at else ""
    return f"memory_get({passage.path!r}, {line}, {passage.end}{where}{when})"


def _first_that_fit(lines: list[str], tokens: int) -> int:
    """Return how many of the first lines fit into a budget."""
    remaining = tokens * BYTES_PER_TOKEN
    for number, line in enumerate(lines):
        remaining -= len(line.encode("utf-8", "replace")) + 1
        if remaining < 0:
            return number
    return len(lines)


MAX_LINES = 60  # of one answer
_MAX_BEFORE = 20  # lines of one earlier version
_SHORT = 10  # characters of an object id
_SHOWN = 300  # characters of a line


def memory_history(
    call: Call,
    *,
    path: Path,
    start_line: Annotated[int, Field(ge=1, description="alone: the entry or section it stands in")],
    end_line: Annotated[int, Field(ge=0)] = 0,
    limit: Annotated[int, Field(ge=1, le=50, description="earlier versions at most")] = 5,
) -> str:
    """Tell who wrote lines of the memory, when, in which session, and what they were before."""
    store = call.store
    passage = read_passage(store, path, start_line, end_line or None)
    last = min(passage.end, passage.start + MAX_LINES - 1)
    lines = blame(store, passage.path, (passage.start, last))
    parts = [f"[{passage.path}:{passage.start}" + (f"-{last}]" if last > passage.start else "]")]
    for origin, group in groupby(lines, key=lambda line: line.origin):
        parts.append(f"Learned {_who(store, origin)}:" if origin else "Edited by hand just now, not committed yet:")
        parts += [f"{line.number}  {line.text[:_SHOWN]}" for line in group]
    before = versions(store, passage.path, (passage.start, last), limit + 1)
    changed = [version for version in before if version.before]
    for version in changed[:limit]:
        parts += ["", f"Changed {_who(store, version.origin)}. Before that:"]
        parts += [f"- {line[:_SHOWN]}" for line in version.before[:_MAX_BEFORE]]
        if len(version.before) > _MAX_BEFORE:
            more = len(version.before) - _MAX_BEFORE
            parts.append(f"- … {more} more lines: memory_get(..., at='{version.origin.commit[:_SHORT]}^')")
    if not changed:
        parts += ["", "There are no earlier versions."]
    elif len(before) > limit:
        parts += ["", "There are older versions; a higher limit shows them."]
    if last < passage.end:
        parts += ["", f"Next: memory_history({passage.path!r}, {last + 1}, {passage.end})"]
    return _noted(call, "\n".join(parts), f"memory_history {passage.path}")


def memory_why(
    call: Call,
    *,
    path: Annotated[str, Field(description="a file of the project, such as src/app.py")],
    line: Annotated[int, Field(ge=1)],
    end_line: Annotated[int, Field(ge=0)] = 0,
) -> str:
    """Tell why lines of the project's code are so: the request, the answer and the decisions behind them.

    Use it before you change code whose reason you do not see.
    """
    code = call.store.code()
    place = project_path(code, path) if code else None
    if code is None or place is None:
        raise NotFoundError(f"{path} is no file of the project's repository.", "Name it relative to the project.")
    whys = why_lines(call.store, code, Blaming(code, place, line, max(line, min(end_line, line + MAX_LINES - 1))))
    return _noted(call, as_text(call.store, reasons(call.store, whys)), f"memory_why {place}")


def _who(store: Store, origin: CommitRecord) -> str:
    """Return date, host or author, session and commit; an author who is not the user is named."""
    through = origin.host or origin.author
    if origin.host and not store.is_user(origin.author, origin.email, origin.machine):
        through = f"{origin.author} with {origin.host}"
    session = f", session {origin.session}" if origin.session else ""
    return f"{origin.date:%Y-%m-%d %H:%M} by {through}{session}, commit {origin.commit[:_SHORT]} ({origin.subject})"


def _noted(call: Call, text: str, source: str, ids: tuple[str, ...] = ()) -> str:
    """Return a text fenced, and record that the session read it, with the ids of its memories."""
    shown = client_text(text, source)
    record_shown(call.store, ShownText(call.began, call.session, GET, ids), shown)
    return shown


_NAMES = "memory_search names the paths and lines there are."
TOOLS = (
    Tool(memory_search, "Search memory", READS, "Searching", "Correct the date or the filter."),
    Tool(memory_load, "Load memory", READS, "Loading"),
    Tool(memory_get, "Read memory", READS, "Reading", _NAMES),
    Tool(memory_history, "History of a memory", READS, "Looking through history", _NAMES),
    Tool(memory_why, "Why code is so", READS, "Looking for the reason"),
)
