"""The life of a fact: the change of its file in each commit.

Tested through `tests/web/test_app.py`.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from gitmem.model.fact.fact import FactStatus
from gitmem.model.fact.file import parse_fact

if TYPE_CHECKING:
    from gitmem.model.fact.fact import Fact
    from gitmem.store.history.records import CommitRecord
    from gitmem.store.store import Store

_ENDED = (FactStatus.SUPERSEDED, FactStatus.RETIRED, FactStatus.RESOLVED)
STEPS = 40  # of a life, the newest


def life(store: Store, known: Fact, found: list[CommitRecord]) -> list[dict[str, Any]]:
    """Return the steps of a fact's life, the oldest first, given the commits of its file, the newest first."""
    with store.repository.reading() as objects:
        data = list(objects.contents([f"{one.commit}:{known.path}" for one in found[:STEPS]]))
    steps: list[dict[str, Any]] = []
    before: Fact | None = None
    for record, content in zip(found[:STEPS][::-1], data[::-1], strict=True):
        now = parse_fact(content, known.path) if content else None
        if now is None and before is None:
            continue
        steps.append({"act": _act(before, now), "record": record, "changes": _changes(before, now)})
        before = now
    return steps


def lines_between(before: str, now: str) -> list[dict[str, str]]:
    """Return the lines of two texts, each with its sign: "-", "+" or " "."""
    old, new = before.splitlines(), now.splitlines()
    lines: list[dict[str, str]] = []
    for tag, start, end, first, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += ({"sign": " ", "text": line} for line in old[start:end])
            continue
        lines += ({"sign": "-", "text": line} for line in old[start:end])
        lines += ({"sign": "+", "text": line} for line in new[first:last])
    return lines


def _act(before: Fact | None, now: Fact | None) -> str:
    if now is None or before is None:
        return "learned" if before is None else "removed"
    if now.status != before.status:
        return now.status.value if now.status in _ENDED else "restored"
    if now.text != before.text:
        return "edited"
    if len(now.review) > len(before.review):
        return "disputed"
    if now.commit != before.commit or (now.confidence or 0) > (before.confidence or 0) or before.review != now.review:
        return "confirmed"
    return "heard again" if now.sources != before.sources else "changed"


def _changes(before: Fact | None, now: Fact | None) -> dict[str, Any]:
    """Return the changed lines of the text, and the changed fields with their values before and after."""
    if before is None or now is None:
        return {"text": [], "fields": []}
    fields = ("kind", "status", "confidence", "superseded_by", "review", "supersedes", "files", "commit", "sources")
    changed = [(name, _words(getattr(before, name)), _words(getattr(now, name))) for name in fields]
    return {
        "text": lines_between(before.text, now.text) if before.text != now.text else [],
        "fields": [{"name": name, "before": old, "now": new} for name, old, new in changed if old != new],
    }


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value if value is not None else "")
