"""Project knowledge on one page: stack, commands, hotspots, and errors with their solutions."""

from __future__ import annotations

from typing import Any

from gitmem.facts.fact import FactKind
from gitmem.lessons.learn_project import known_knowledge
from gitmem.lessons.pattern import BugPattern
from gitmem.lessons.read import known_patterns
from gitmem.store.known_facts import marked
from gitmem.text.terminal import fields
from gitmem.web.pages.facts import fact_value
from gitmem.web.pages.view import View

_KINDS = (FactKind.PATTERN, FactKind.CORE_LOGIC, FactKind.SOLUTION, FactKind.ISSUE)
_MAX_LINES = 15
_MAX_GROUP, _MAX_ERRORS = 10, 30


def show_knowledge(view: View) -> dict[str, Any]:
    """Return project knowledge by kind, errors with their solutions, and facts about the project."""
    statuses = view.statuses
    holding = [fact for fact in view.facts if statuses[fact.id].holds]
    groups = []
    for kind in _KINDS:
        facts = sorted((fact for fact in holding if fact.kind is kind), key=lambda fact: fact.when, reverse=True)
        shown = [fact_value(view, fact, statuses[fact.id]) for fact in facts[:_MAX_GROUP]]
        groups.append({"kind": kind.value, "total": len(facts), "facts": shown})
    documents = [
        {
            **fields(known, "kind confidence updated"),
            "author": view.people.whose("", known.kind.path),
            "lines": list(known.lines[:_MAX_LINES]),
            "more": max(len(known.lines) - _MAX_LINES, 0),
        }
        for known, _ in known_knowledge(view.store)
        if known.lines
    ]
    patterns = known_patterns(view.store)
    return {
        "documents": documents,
        "bugs": [_bug(pattern, view) for pattern in patterns[:_MAX_ERRORS]],
        "errors": len(patterns),
        "groups": groups,
    }


def _bug(pattern: BugPattern, view: View) -> dict[str, Any]:
    solutions = sorted(pattern.solutions, key=lambda solution: solution.confidence, reverse=True)
    told = [
        (marked(view.store, solution.text), len(solution.worked), len(solution.worked) + len(solution.failed))
        for solution in solutions
    ]
    return {
        **fields(pattern, "id title updated files commands"),
        "author": view.people.whose("", pattern.path),
        "seen": len(pattern.seen),
        "solutions": [{"text": text, "worked": worked, "tried": tried} for text, worked, tried in told],
    }
