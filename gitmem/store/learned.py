"""Read what sessions taught a store: concepts and bug patterns, through a cache of their headers, and episodes."""

from __future__ import annotations

from collections.abc import Sequence

from gitmem.document.ids import BUGS, id_in
from gitmem.errors import GitmemError
from gitmem.model.concept import FOLDER as CONCEPTS
from gitmem.model.concept import Concept, parse_concept
from gitmem.model.episode import FOLDER, Episode, episode_id, parse_episode
from gitmem.model.error import ErrorSignature, signature
from gitmem.model.exchange import exchanges_in, file_name
from gitmem.model.pattern import FOLDER as PATTERNS
from gitmem.model.pattern import BugPattern, parse_pattern
from gitmem.store.known_facts import Header, read_headers
from gitmem.store.store import Store

_SESSIONS = "sessions"
_MONTHS = 12  # months with sessions in which a resumed session is searched


def episode_paths(store: Store) -> list[str]:
    """Return the files of all episodes of the work tree, sorted."""
    return sorted(path for month in _months(store, FOLDER) for path in _episodes_in(store, month))


def newest_episodes(store: Store, limit: int) -> tuple[list[tuple[Episode, str]], bool]:
    """Return the newest `limit` episodes (0: all) with their files, oldest first, and whether there are older ones.

    Only the months they are in are read: reading all to print 20 of 20,000 took 10 seconds.
    """
    episodes: list[tuple[Episode, str]] = []
    for month in _months(store, FOLDER):
        if 0 < limit < len(episodes):
            break
        episodes += [(episode, path) for path in _episodes_in(store, month) if (episode := read_episode(store, path))]
    episodes.sort(key=lambda pair: (pair[0].created, pair[0].id))
    return episodes[-limit:], 0 < limit < len(episodes)


def _episodes_in(store: Store, month: str) -> list[str]:
    return [f"{FOLDER}/{month}/{name}" for name in store.names(f"{FOLDER}/{month}") if name.endswith(".md")]


def read_episode(store: Store, path: str) -> Episode | None:
    """Return the episode of a file, None if the file is gone or holds none."""
    data = store.read(path)
    return None if data is None else parse_episode(data, path)


def last_episode(store: Store, session: str) -> Episode | None:
    """Return a finished session's last episode; None if it has none, or is in none of the last `_MONTHS` months."""
    end = f"-{file_name(session)}.md"
    for month in _months(store, _SESSIONS)[:_MONTHS]:
        name = next((name for name in store.names(f"{_SESSIONS}/{month}") if name.endswith(end)), "")
        if name:
            exchanges = exchanges_in(store.read(f"{_SESSIONS}/{month}/{name}") or b"")
            ids = [episode_id(session, exchange.id) for exchange in reversed(exchanges)]
            later = [name for name in _months(store, FOLDER) if name >= month]
            known = {id_in(path): path for name in later for path in _episodes_in(store, name)}
            return next((read_episode(store, known[identifier]) for identifier in ids if identifier in known), None)
    return None


def _months(store: Store, folder: str) -> list[str]:
    """Return the months ("2026/11") of a folder, the newest first."""
    years = store.names(folder)
    return sorted((f"{year}/{month}" for year in years for month in store.names(f"{folder}/{year}")), reverse=True)


def known_concepts(store: Store) -> list[Concept]:
    """Return the concepts of the work tree, sorted by path."""

    def read(data: bytes, path: str) -> tuple[tuple[str, ...], Sequence[object]] | None:
        concept = parse_concept(data, path)
        return None if concept is None else (((concept.exchanges or ("",))[-1],), [*concept._asdict().values()])

    return [Concept(*header.load()) for header in read_headers(store, CONCEPTS, Concept._fields, read)]


def known_patterns(store: Store) -> list[BugPattern]:
    """Return all bug patterns of the work tree, the last changed first."""
    patterns = [read_pattern(store, header.path) for header in pattern_headers(store)]
    return sorted(filter(None, patterns), key=lambda pattern: (pattern.updated, pattern.id), reverse=True)


def pattern_headers(store: Store) -> list[Header]:
    """Return the headers of the bug patterns; the key is the error's type and when it first occurred."""
    return read_headers(store, PATTERNS, ("type", "message"), _header)


def read_pattern(store: Store, path: str) -> BugPattern | None:
    """Return the bug pattern of a file, None if the file is gone or holds none."""
    try:
        data = store.read(path)
    except GitmemError:
        return None
    return None if data is None else parse_pattern(data, path)


def signature_of(header: Header) -> ErrorSignature:
    """Return the signature in the header of a pattern."""
    return signature(*header.load())


def _header(data: bytes, path: str) -> tuple[tuple[str, ...], Sequence[object]] | None:
    pattern = parse_pattern(data, path) if path.startswith(f"{BUGS}/") else None
    if pattern is None:
        return None
    error = pattern.error
    return (error.type, pattern.created.isoformat()), [error.type, error.message]
