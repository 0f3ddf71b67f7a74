"""The facts in a model's reply about a session's requests (spec V4). Pure.

Tested through `tests/sessions/test_exchanges.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitmem.facts.extract import Finding, as_statement, files_named
from gitmem.facts.fact import FactKind
from gitmem.facts.statements import with_reason
from gitmem.sessions.turns import Turn

_MOST = 20  # facts of one reply
_SHORTEST, _LONGEST = 12, 400  # characters of a text, and of a reason
_CONFIDENCE = 0.8
_KINDS = {
    "decision": FactKind.DECISION,
    "preference": FactKind.PREFERENCE,
    "rule": FactKind.RULE,
    "gotcha": FactKind.CORE_LOGIC,
    "issue": FactKind.ISSUE,
}
_TOLD = {
    "id": {"type": "string"},
    "kind": {"type": "string", "enum": list(_KINDS)},
    "text": {"type": "string"},
    "why": {"type": "string"},
}
SCHEMA: dict[str, object] = {
    "type": "array",
    "items": {"type": "object", "properties": _TOLD, "required": list(_TOLD), "additionalProperties": False},
}
"""JSON schema of the facts in a model's reply; `id` is the id of the request that states one."""


def told_facts(given: object, turns: Mapping[str, Turn]) -> Iterator[Finding]:
    """Yield the facts of a reply that are about one of these requests, given by id."""
    for item in given[:_MOST] if isinstance(given, list) else []:
        turn = turns.get(str(item.get("id", "")).removeprefix("^")) if isinstance(item, dict) else None
        if turn is None:
            continue
        kind, text, why = (" ".join(str(item.get(key, "")).split()) for key in ("kind", "text", "why"))
        if kind in _KINDS and _SHORTEST <= len(text) <= _LONGEST and not text.endswith("?"):
            whole = with_reason(as_statement(text), as_statement(why) if why and len(why) <= _LONGEST else "")
            files = files_named(whole, turn.files)
            yield Finding(_KINDS[kind], whole, _CONFIDENCE, turn.ended, turn.exchange_id, files)
