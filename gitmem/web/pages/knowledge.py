"""What was learned of the project itself: errors with their mends, patterns, commands."""

from __future__ import annotations

from typing import Any

from gitmem.model.fact.fact import FactKind
from gitmem.web.pages.facts import fact_value
from gitmem.web.pages.view import LENGTH, View

_KINDS = (FactKind.PATTERN, FactKind.CORE_LOGIC, FactKind.SOLUTION, FactKind.ISSUE)


def show_knowledge(view: View) -> dict[str, Any]:
    """Return the facts that tell of the project, by kind."""
    statuses = view.statuses()
    holding = [fact for fact in view.facts() if statuses[fact.id].holds]
    groups = []
    for kind in _KINDS:
        found = sorted((fact for fact in holding if fact.kind is kind), key=lambda fact: fact.when, reverse=True)
        shown = [fact_value(fact, statuses[fact.id]) for fact in found[:LENGTH]]
        groups.append({"kind": kind.value, "total": len(found), "facts": shown})
    return {"groups": groups}
