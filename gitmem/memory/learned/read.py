"""Read counts, episodes and project knowledge. Light, as a prompt waits for it.

Tested through `tests/memory/learned/test_counts.py` and `tests/memory/learned/test_knowledge.py`.
"""

from __future__ import annotations

from gitmem.errors import GitmemError
from gitmem.model.knowledge.document import KnowledgeKind, parse_knowledge
from gitmem.model.learned.counts import FOLDER, total
from gitmem.model.learned.episode_file import parse_episode

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.model.knowledge.document import Knowledge
    from gitmem.model.learned.counts import Count
    from gitmem.model.learned.episode import Episode
    from gitmem.store.store import Store


def counts(store: Store) -> dict[str, Count]:
    """Return the counts of all machines, by id of the memory."""
    names = store.files.names(FOLDER)
    return total(data for name in names if name.endswith(".json") and (data := store.read(f"{FOLDER}/{name}")))


def read_episode(store: Store, path: str) -> Episode | None:
    """Return the episode of a file, None if the file is gone or holds none."""
    data = store.read(path)
    return None if data is None else parse_episode(data)


def known_knowledge(store: Store) -> list[tuple[Knowledge, bytes]]:
    """Return the existing documents, each with its bytes."""
    found = []
    for kind in KnowledgeKind:
        try:
            data = store.read(kind.path)
        except GitmemError:
            continue
        known = parse_knowledge(data) if data is not None else None
        if known is not None and data is not None:
            found.append((known, data))
    return found
