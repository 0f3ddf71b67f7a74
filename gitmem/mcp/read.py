"""`memory_load` and `memory_get`: documents of memory within a budget, and how to get the rest (spec J2, J5)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gitmem.errors import NotFoundError
from gitmem.mcp.words import clean
from gitmem.model.document.document import Document
from gitmem.model.paths import MEMORY, daily_path
from gitmem.model.tiers.limits import MARGIN_PERCENT, Limits
from gitmem.model.tiers.rotation import plan_rotation, tail_of_lines
from gitmem.search.units.passage import read_passage
from gitmem.store.history.records import resolve
from gitmem.text.tokens import BYTES_PER_TOKEN, estimate_tokens

if TYPE_CHECKING:
    from gitmem.search.units.passage import Passage
    from gitmem.store.store import Store

LOAD_TOKENS = 8_000
GET_TOKENS = 4_000
_TITLE = 30  # tokens that a line about a document takes


def load(store: Store, *, full: bool, max_tokens: int = LOAD_TOKENS) -> str:
    """Return the memory document, with `full` today's log too, in at most `max_tokens` tokens.

    What does not fit is cut as a rotation cuts it: decisions, open issues and the newest of the rest stay.
    """
    log = _read(store, daily_path(f"{store.context.clock():%Y-%m-%d}")) if full else None
    log_tokens = min(estimate_tokens(log[1]), max_tokens // 2) if log else 0
    parts = [_memory(store, max_tokens - log_tokens)]
    if log:
        path, body = log
        kept = tail_of_lines(body, max_tokens // 2 - _TITLE) if log_tokens == max_tokens // 2 else body
        parts.append(_titled(path, body, kept, "the newest of it"))
    return clean("\n\n".join(parts))


def _memory(store: Store, tokens: int) -> str:
    path, body = _read(store, MEMORY) or (MEMORY, "")
    if not body.strip():
        return f"{path} is empty: nothing is remembered yet. memory_save adds to it."
    room = (tokens - _TITLE) * 100 // MARGIN_PERCENT
    plan = plan_rotation(body, header="", stamp="", taken=(), limits=Limits(room, room))
    return _titled(path, body, plan.remaining if plan else body, "decisions, open issues and the newest of the rest")


def _titled(path: str, whole: str, kept: str, what: str) -> str:
    tokens = estimate_tokens(whole)
    if kept == whole:
        return f"[{path}, {tokens} tokens]\n{whole.strip()}"
    head = f"[{path}: {what}, {estimate_tokens(kept)} of {tokens} tokens; all: memory_get({path!r})]"
    return f"{head}\n{kept.strip()}"


def _read(store: Store, path: str) -> tuple[str, str] | None:
    data = store.read(path)
    return None if data is None else (path, Document.parse(data).body)


def get(
    store: Store, path: str, start_line: int = 0, end_line: int = 0, *, at: str = "", max_tokens: int = GET_TOKENS
) -> str:
    """Return lines of a document; with `start_line` alone what that stands in, with neither all of it.

    The first line of the answer says which lines these are, how many tokens, and how to get those that did not fit.

    Raises:
        GitmemError: there is no such document or line, or `at` names no commit.

    """
    commit = resolve(store, at) if at else None
    if path.startswith("gitmem://"):
        raise NotFoundError(f"{path} is a resource.", "Give its path in the store.")
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", path):
        path = daily_path(path)
    first = start_line or (1 if end_line else None)
    found = read_passage(store, path, first, end_line or None, commit=commit)
    lines = found.text.split("\n")
    kept = _first_that_fit(lines, max_tokens)
    text = "\n".join(lines[:kept]) if kept else _cut(lines[0], max_tokens)
    return clean(f"{_head(found, max(kept, 1), text, at)}\n{text}")


def _head(found: Passage, kept: int, text: str, at: str) -> str:
    last = found.start + kept - 1
    place = f"{found.path}:{found.start}" + (f"-{last}" if last > found.start else "")
    if text == found.text:
        return f"[{place}, {found.tokens} tokens]"
    cut = f"{estimate_tokens(text)} of the {found.tokens} tokens of lines {found.start}-{found.end}"
    if last == found.end:
        return f"[{place}: {cut}; a higher max_tokens gives more]"
    when = f", at={at!r}" if at else ""
    return f"[{place}: {cut}; next: memory_get({found.path!r}, {last + 1}, {found.end}{when})]"


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
