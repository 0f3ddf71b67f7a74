"""Record questions to memory, with the answers' tokens and time (spec M7).

Tested through `tests/memory/guide/test_measure.py`.
"""

from __future__ import annotations

from gitmem.memory.guide.given import record
from gitmem.memory.guide.names import names_of
from gitmem.text.tokens import estimate_tokens

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitmem.memory.guide.given import Given
    from gitmem.search.order.hits import Hit
    from gitmem.store.store import Store


def note_asked(store: Store, asked: Given, text: str) -> None:
    """Record a question and the text given for it just now; "" if nothing was found."""
    given = asked._replace(tokens=estimate_tokens(text), names=names_of(text))
    record(store.private, given.took(store.context.clock()))


def handles(hits: Iterable[Hit]) -> tuple[str, ...]:
    """Return the ids of hits; the path and line of a hit without one."""
    return tuple(hit.entry or f"{hit.path}:{hit.start}" for hit in hits)
