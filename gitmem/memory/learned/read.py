"""Read counts, episodes and project knowledge. Light, as a prompt waits for it.

Tested through `tests/memory/learned/test_counts.py` and `tests/memory/learned/test_knowledge.py`.
"""

from __future__ import annotations

import os

from gitmem.errors import GitmemError
from gitmem.model.knowledge.document import KnowledgeKind, parse_knowledge
from gitmem.model.learned.counts import FOLDER, total
from gitmem.model.learned.episode import episode_id
from gitmem.model.learned.episode_file import FOLDER as EPISODES
from gitmem.model.learned.episode_file import parse_episode

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitmem.model.knowledge.document import Knowledge
    from gitmem.model.learned.counts import Count
    from gitmem.model.learned.episode import Episode
    from gitmem.store.store import Store

_SESSIONS = "sessions"
_MONTHS = 12  # in which a session that is resumed is looked for


def counts(store: Store) -> dict[str, Count]:
    """Return the counts of all machines, by id of the memory."""
    return total(count_files(store))


def count_files(store: Store) -> Iterator[bytes]:
    """Yield the counts' files of all machines."""
    names = store.files.names(FOLDER)
    return (data for name in names if name.endswith(".json") and (data := store.read(f"{FOLDER}/{name}")))


def episode_paths(store: Store) -> list[str]:
    """Return the files of all episodes of the work tree, sorted."""
    found = []
    for folder, folders, names in os.walk(os.path.join(store.root, EPISODES)):
        folders.sort()
        below = os.path.relpath(folder, store.root).replace(os.sep, "/")
        found += [f"{below}/{name}" for name in names if name.endswith(".md")]
    return sorted(found)


def read_episode(store: Store, path: str) -> Episode | None:
    """Return the episode of a file, None if the file is gone or holds none."""
    data = store.read(path)
    return None if data is None else parse_episode(data)


def last_episode(store: Store, session: str) -> Episode | None:
    """Return the last episode of a finished session; None if it has none, or ended more than a year ago."""
    from gitmem.memory.capture.session_file import exchanges_in
    from gitmem.store.transcripts.transcripts import file_name

    end = f"-{file_name(session)}.md"
    for month in _months(store, _SESSIONS)[:_MONTHS]:
        name = next((name for name in _names(store, _SESSIONS, month) if name.endswith(end)), "")
        if name:
            exchanges = exchanges_in(store.read(f"{_SESSIONS}/{month}/{name}") or b"")
            ids = [episode_id(session, exchange.id) for exchange in reversed(exchanges)]
            later = [other for other in _months(store, EPISODES) if other >= month]
            known = {name: f"{EPISODES}/{other}/{name}" for other in later for name in _names(store, EPISODES, other)}
            return next((read_episode(store, known[f"{one}.md"]) for one in ids if f"{one}.md" in known), None)
    return None


def _months(store: Store, folder: str) -> list[str]:
    """Return the months ("2026/11") of a folder, the newest first."""
    return sorted(f"{year}/{month}" for year in store.files.names(folder) for month in _names(store, folder, year))[
        ::-1
    ]


def _names(store: Store, folder: str, below: str) -> list[str]:
    return list(store.files.names(f"{folder}/{below}"))


def known_knowledge(store: Store) -> list[tuple[Knowledge, bytes]]:
    """Return the existing documents, each with its bytes; that of people only if the person wants to know of them."""
    found = []
    people = store.config.knowledge.people
    for kind in (kind for kind in KnowledgeKind if people or kind is not KnowledgeKind.PEOPLE):
        try:
            data = store.read(kind.path)
        except GitmemError:
            continue
        known = parse_knowledge(data) if data is not None else None
        if known is not None and data is not None:
            found.append((known, data))
    return found
