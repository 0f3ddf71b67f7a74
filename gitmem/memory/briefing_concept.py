"""The concept at hand (spec V3, R8): what was done before about what is being worked on, from older sessions."""

from __future__ import annotations

import re

from gitmem.memory.knownconcepts import concept_headers, whole
from gitmem.model.briefing import Part
from gitmem.model.concept import lines_of
from gitmem.model.document import Document

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.store.store import Store

MOST_READ = 100  # concepts not known yet that a session's start reads
_MOST = 8  # exchanges that are told, the newest
_LINK = re.compile(r"\[([^\]\n]*)\]\([^)\n]*\) [0-9a-z]{20}$")


def concept_at_hand(store: Store, memory: str) -> list[Part]:
    """Return the part of the start text that tells the concept of the last exchange; none where it adds nothing.

    `memory` is the text of `memory.md`: what stands there is not told again.
    """
    share = store.config.session.concept_percent
    headers = concept_headers(store, MOST_READ) if share else []
    if not headers:
        return []
    concept = whole(max(headers, key=lambda one: (one.key, one.path)))
    if all(f" ^{one}" in memory for one in concept.exchanges):
        return []
    body = Document.parse(store.read(concept.path) or b"").body
    told = [_LINK.sub(r"\1", line) for identifier, line in lines_of(body) if f" ^{identifier}" not in memory]
    return [Part(f"Done before about {concept.name}", tuple(told[-_MOST:]), share=share, keep_last=True)]
