"""Find a person's own rules and preferences beside what a project remembers (docs/spec.md P7).

Tested through `tests/cli/commands/test_search.py`.
"""

from __future__ import annotations

from gitmem.search.engine import Answer, answer
from gitmem.store.store import own_store

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.store.store import Store

FOLDER = "~/.gitmem/"  # before the paths of these hits
_MOST = 3  # hits
_LABELS = ("Rule", "Preference")


def with_own(store: Store, query: str, found: Answer) -> Answer:
    """Return an answer with the best of the person's own rules and preferences after the project's hits."""
    own = own_store(store)
    if own is None:
        return found
    known = {hit.entry for hit in found.hits if hit.entry}
    hits = [hit for hit in answer(own, query).hits if hit.label in _LABELS and hit.entry not in known and not hit.weak]
    mine = [hit._replace(path=f"{FOLDER}{hit.path}", own=True) for hit in hits[:_MOST]]
    return found._replace(hits=[*found.hits, *mine], total=found.total + len(mine))
