"""Note what memory was asked and what it gave, at which cost in tokens and time (spec M7)."""

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
    """Note what was asked when, and the text that was given for it just now; "" if nothing was found."""
    given = asked._replace(tokens=estimate_tokens(text), names=names_of(text))
    record(store.private, given.took(store.context.clock()))


def handles(hits: Iterable[Hit]) -> tuple[str, ...]:
    """Return the ids of the memories of hits; of one without an id, where it stands."""
    return tuple(hit.entry or f"{hit.path}:{hit.start}" for hit in hits)
