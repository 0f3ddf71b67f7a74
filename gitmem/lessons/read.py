"""Read counts, episodes and project knowledge. Light, as a prompt waits for it.

Tested through `tests/lessons/test_cleanup.py` and `tests/lessons/test_learn_session.py`.
"""

from __future__ import annotations

from gitmem.errors import GitmemError
from gitmem.history.experience import own_counts
from gitmem.lessons.counts import FOLDER, total
from gitmem.lessons.episode import FOLDER as EPISODES
from gitmem.lessons.episode import episode_id, parse_episode
from gitmem.lessons.knowledge_document import KnowledgeKind, parse_knowledge

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from gitmem.lessons.counts import Count
    from gitmem.lessons.episode import Episode
    from gitmem.lessons.knowledge_document import Knowledge
    from gitmem.store.store import Store


_SESSIONS = "sessions"
_MONTHS = 12  # in which a session that is resumed is looked for


def counts(store: Store) -> dict[str, Count]:
    """Return the counts of the person's machines, by id of the memory."""
    return total(count_files(store))


def count_files(store: Store) -> Iterator[bytes]:
    """Yield the counts' files of the person's machines: what others say helped rates nothing here."""
    names = {f"{FOLDER}/{name}" for name in store.files.names(FOLDER) if name.endswith(".json")}
    return (data for path in own_counts(store) if path in names and (data := store.read(path))) if names else iter(())


def episode_paths(store: Store) -> list[str]:
    """Return the files of all episodes of the work tree, sorted."""
    return sorted(path for month in _months(store, EPISODES) for path in _episodes_in(store, month))


def newest_episodes(store: Store, limit: int) -> tuple[list[tuple[Episode, str]], bool]:
    """Return the newest episodes with their files, oldest first, and whether there are older ones; 0 for all.

    Only the months that hold them are read: to print 20 of 20,000 took 10 seconds.
    """
    months = _months(store, EPISODES)
    found: list[tuple[Episode, str]] = []
    for place, month in enumerate(months):
        found += [(one, path) for path in _episodes_in(store, month) if (one := read_episode(store, path))]
        if 0 < limit <= len(found):
            more = len(found) > limit or any(_episodes_in(store, older) for older in months[place + 1 :])
            return sorted(found, key=_by_time)[-limit:], more
    return sorted(found, key=_by_time), False


def _by_time(pair: tuple[Episode, str]) -> tuple[datetime, str]:
    return pair[0].created, pair[0].id


def _episodes_in(store: Store, month: str) -> list[str]:
    return [f"{EPISODES}/{month}/{name}" for name in _names(store, EPISODES, month) if name.endswith(".md")]


def read_episode(store: Store, path: str) -> Episode | None:
    """Return the episode of a file, None if the file is gone or holds none."""
    data = store.read(path)
    return None if data is None else parse_episode(data)


def last_episode(store: Store, session: str) -> Episode | None:
    """Return the last episode of a finished session; None if it has none, or ended more than a year ago."""
    from gitmem.sessions.cleaned import exchanges_in
    from gitmem.store.transcripts import file_name

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
