"""The concept at hand (spec V3, R8): what was done before about what is being worked on, from older sessions."""

from __future__ import annotations

import re

from gitmem.memory.concepts.index import concept_headers, whole
from gitmem.memory.headers import Haste, never
from gitmem.model.concept import lines_of
from gitmem.model.document.document import Document
from gitmem.model.session.briefing import Part

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.memory.headers import Header, Late
    from gitmem.store.store import Store

MOST_READ = 100  # concepts not known yet that a session's start reads
_MOST_BYTES = 65_536  # of the concept's document
_MOST = 8  # exchanges that are told, the newest
_ID = re.compile(r" \^([0-9a-z]{20})")
_LINK = re.compile(r"\[([^\]\n]*)\]\([^)\n]*\) [0-9a-z]{20}$")


def concept_at_hand(store: Store, memory: str, late: Late = never) -> list[Part]:
    """Return the part of the start text that tells the concept of the last exchange; none where it adds nothing.

    `memory` is the text of `memory.md`: what stands there is not told again. Once it is `late`, no more is read.
    """
    share = store.config.session.concept_percent
    haste = Haste(MOST_READ, late)
    newest = _newest(concept_headers(store, haste, trusting=True)) if share else None
    if newest and not newest.is_current(store.root):
        newest = _newest(concept_headers(store, haste))
    if not newest:
        return []
    concept = whole(newest)
    there = {*_ID.findall(memory)}
    if there.issuperset(concept.exchanges):
        return []
    body = Document.parse(store.glance(concept.path, _MOST_BYTES) or b"").body
    told = [_LINK.sub(r"\1", line) for identifier, line in lines_of(body) if identifier not in there]
    return [Part(f"Done before about {concept.name}", tuple(told[-_MOST:]), share=share, keep_last=True)]


def _newest(headers: Sequence[Header]) -> Header | None:
    return max(headers, key=lambda one: (one.key, one.path), default=None)
