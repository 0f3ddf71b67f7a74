"""The concept of the last exchange (spec V3, R8): what older sessions did on its subject.

Tested through `tests/memory/start/test_facts.py`.
"""

from __future__ import annotations

import re

from gitmem.memory.concepts.index import concept_headers, concept_of
from gitmem.model.concept import lines_of
from gitmem.model.document.document import Document
from gitmem.model.fact.views.marks import with_marks
from gitmem.model.session.briefing import Part
from gitmem.store.headers.cache import Bounds, never

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.model.fact.views.marks import Marks
    from gitmem.store.headers.cache import Header, Late
    from gitmem.store.store import Store

MAX_PARSED = 100  # concepts not cached yet that a session's start parses
_MAX_BYTES = 65_536  # of the concept's document
_MAX_EXCHANGES = 8  # that are told, the newest
_ID = re.compile(r" \^([0-9a-z]{11,20})\b")
_LINK = re.compile(r"\[([^\]\n]*)\]\([^)\n]*\) [0-9a-z]{11,20}$")


def current_concept(store: Store, memory: str, marks: Marks, late: Late = never) -> list[Part]:
    """Return the part of the start text about the concept of the last exchange; none if it adds nothing.

    Exchanges that are in `memory`, the text of `memory.md`, are left out; `marks` are for the others. Once it is
    `late`, no more is read.
    """
    share = store.config.session.concept_percent
    bounds = Bounds(MAX_PARSED, late)
    newest = _newest(concept_headers(store, bounds, trusting=True)) if share else None
    if newest and not newest.is_current(store.root):
        newest = _newest(concept_headers(store, bounds))
    if not newest:
        return []
    concept = concept_of(newest)
    in_memory = {*_ID.findall(memory)}
    if in_memory.issuperset(concept.exchanges):
        return []
    body = Document.parse(store.glance(concept.path, _MAX_BYTES) or b"").body
    others = [(identifier, line) for identifier, line in lines_of(body) if identifier not in in_memory]
    lines = [with_marks(_LINK.sub(r"\1", line), marks, identifier) for identifier, line in others]
    return [Part(f"Done before about {concept.name}", tuple(lines[-_MAX_EXCHANGES:]), share=share, keep_last=True)]


def _newest(headers: Sequence[Header]) -> Header | None:
    return max(headers, key=lambda header: (header.key, header.path), default=None)
