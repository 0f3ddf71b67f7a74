"""The list of concepts, and one concept: its exchanges over time and its neighbours."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from datetime import date
from typing import Any

from gitmem.document.document import Document
from gitmem.history.named import named
from gitmem.lessons.concept import SECTION, Concept, affinity
from gitmem.lessons.concepts import find_concept, known_concepts
from gitmem.text.terminal import fields
from gitmem.web.pages.view import View, circle, over_time

_LINE = re.compile(
    r"^- (?P<day>[0-9-]{10}) \[(?P<text>.*)\]\(\S*/[0-9]{8}_[0-9]{6}-(?P<session>[^/\s]+)\.md\) (?P<id>\w+)$",
    re.MULTILINE,
)
_NEIGHBOURS = 8
_LEAST = 0.05  # affinity of a neighbour
WIDTH, HEIGHT = 640, 280


def show_concepts(view: View) -> dict[str, Any]:
    """Return a page of the concepts, the one worked on last first, starting behind the concept `after`."""
    every = sorted(known_concepts(view.store), key=lambda concept: (concept.updated, concept.id), reverse=True)
    page, around = view.page_of(every)
    return {**around, "concepts": [_value(concept) for concept in page]}


def show_concept(view: View, identifier: str) -> dict[str, Any]:
    """Return a concept with its exchanges, and the concepts it has most in common with."""
    concept = find_concept(view.store, identifier)
    others = [(affinity(concept, one), one) for one in known_concepts(view.store) if one.id != concept.id]
    near = sorted(((score, one) for score, one in others if score >= _LEAST), key=lambda pair: (-pair[0], pair[1].id))
    body = named(view.store, Document.parse(view.store.read(concept.path) or b"").body)
    days = Counter(day for line in _LINE.finditer(body) if (day := _day(line["day"])))
    places = circle([one.name for _, one in near[:_NEIGHBOURS]], WIDTH, HEIGHT)
    return {
        **_value(concept),
        "author": view.people.whose("", concept.path),
        "text": _LINE.sub("", body.partition(f"## {SECTION}")[2] or body).strip(),
        "times": [
            {"day": line["day"], "text": line["text"].replace("\\", ""), "session": line["session"], "id": line["id"]}
            for line in _LINE.finditer(body)
        ],
        "chart": over_time("Exchanges over time", "exchanges", days, min(days), max(days)) if days else None,
        "neighbours": [
            {**_value(one), "affinity": round(score, 2), **place}
            for (score, one), place in zip(near, places, strict=False)
        ],
        "width": WIDTH,
        "height": HEIGHT,
    }


def _value(concept: Concept) -> dict[str, Any]:
    return {**fields(concept, "id name keywords files created updated"), "exchanges": len(concept.exchanges)}


def _day(text: str) -> date | None:
    with contextlib.suppress(ValueError):
        return date.fromisoformat(text)
    return None
