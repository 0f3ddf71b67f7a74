"""`memory_load` and `memory_get`: documents within a token budget, and how to get the rest (docs/spec.md J2, J5)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gitmem.errors import NotFoundError
from gitmem.mcp.calls import client_text
from gitmem.model.document.document import Document
from gitmem.model.paths import MEMORY, daily_path
from gitmem.model.tiers.limits import MARGIN_PERCENT, Limits
from gitmem.model.tiers.rotation import plan_rotation, tail_of_lines
from gitmem.search.units.passage import read_passage
from gitmem.search.whole import is_handle, read_memory
from gitmem.store.headers.facts import marked
from gitmem.store.history.records import resolve
from gitmem.text.fence import FENCE_TOKENS
from gitmem.text.tokens import BYTES_PER_TOKEN, estimate_tokens

if TYPE_CHECKING:
    from gitmem.search.units.passage import Passage
    from gitmem.store.store import Store

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
    parts = [_memory(store, max_tokens - log_tokens)]
    if log:
        path, body = log
        kept = tail_of_lines(body, max_tokens // 2 - _TITLE) if log_tokens == max_tokens // 2 else body
        parts.append(_titled(path, body, kept, "the newest of it"))
    return client_text("\n\n".join(parts), "memory_load")


def _memory(store: Store, tokens: int) -> str:
    path, body = _read(store, MEMORY) or (MEMORY, "")
    if not body.strip():
        return f"{path} is empty: nothing is remembered yet. memory_save adds to it."
    room = (tokens - _TITLE) * 100 // MARGIN_PERCENT
    plan = plan_rotation(body, header="", stamp="", taken=(), limits=Limits(room, room))
    return _titled(path, body, plan.remaining if plan else body, "decisions, open issues and the newest of the rest")


def _titled(path: str, whole: str, kept: str, selection: str) -> str:
    tokens = estimate_tokens(whole)
    if kept == whole:
        return f"[{path}, {tokens} tokens]\n{whole.strip()}"
    head = f"[{path}: {selection}, {estimate_tokens(kept)} of {tokens} tokens; all: memory_get({path!r})]"
    return f"{head}\n{kept.strip()}"


def _read(store: Store, path: str) -> tuple[str, str] | None:
    data = store.read(path)
    return None if data is None else (path, marked(store, Document.parse(data).body))


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
    commit = resolve(store, at) if at else None
    if path.startswith("gitmem://"):
        raise NotFoundError(f"{path} is a resource.", "Give its path in the store.")
    if not at and is_handle(path):
        found = read_memory(store, path)
        return _shown(found, column, found.commit, max_tokens)
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
    text = "\n".join(lines[:kept]) if kept else _cut(lines[0], max_tokens)
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


def _cut(line: str, tokens: int) -> str:
    return line.encode("utf-8", "replace")[: tokens * BYTES_PER_TOKEN].decode("utf-8", "ignore")
