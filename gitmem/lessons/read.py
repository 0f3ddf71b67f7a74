"""Read what was learned: counts, episodes, bug patterns, project knowledge. Light, as hooks wait for it."""

from __future__ import annotations

from gitmem.document.ids import BUGS, id_in
from gitmem.document.scope import do_meet
from gitmem.errors import GitmemError
from gitmem.history.experience import experience, own_counts
from gitmem.lessons.counts import FOLDER as COUNTS
from gitmem.lessons.counts import total
from gitmem.lessons.episode import FOLDER as EPISODES
from gitmem.lessons.episode import episode_id, parse_episode
from gitmem.lessons.error import MATCH, ErrorSignature, likeness, names_in, read_errors
from gitmem.lessons.pattern import FOLDER as PATTERNS
from gitmem.lessons.pattern import BugPattern, Solution, parse_pattern
from gitmem.store.headers import Header, read_headers
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from gitmem.lessons.counts import Count
    from gitmem.lessons.episode import Episode
    from gitmem.store.headers import Bounds
    from gitmem.store.store import Store


_SESSIONS = "sessions"
_MONTHS = 12  # in which a session that is resumed is looked for


def counts(store: Store) -> dict[str, Count]:
    """Return the counts of the person's machines, by id of the memory."""
    return total(count_files(store))


def count_files(store: Store) -> Iterator[bytes]:
    """Yield the counts' files of the person's machines: what others say helped rates nothing here."""
    names = {f"{COUNTS}/{name}" for name in store.files.names(COUNTS) if name.endswith(".json")}
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
        found += [(episode, path) for path in _episodes_in(store, month) if (episode := read_episode(store, path))]
        if 0 < limit <= len(found):
            more = len(found) > limit or any(_episodes_in(store, older) for older in months[place + 1 :])
            return sorted(found, key=_by_time)[-limit:], more
    return sorted(found, key=_by_time), False


def _by_time(pair: tuple[Episode, str]) -> tuple[datetime, str]:
    return pair[0].created, pair[0].id


def _episodes_in(store: Store, month: str) -> list[str]:
    return [f"{EPISODES}/{month}/{name}" for name in store.files.names(f"{EPISODES}/{month}") if name.endswith(".md")]


def read_episode(store: Store, path: str) -> Episode | None:
    """Return the episode of a file, None if the file is gone or holds none."""
    data = store.read(path)
    return None if data is None else parse_episode(data)


def last_episode(store: Store, session: str) -> Episode | None:
    """Return the last episode of a finished session; None if it has none, or ended more than a year ago."""
    from gitmem.sessions.exchange import exchanges_in
    from gitmem.store.transcripts import file_name

    end = f"-{file_name(session)}.md"
    for month in _months(store, _SESSIONS)[:_MONTHS]:
        name = next((name for name in store.files.names(f"{_SESSIONS}/{month}") if name.endswith(end)), "")
        if name:
            exchanges = exchanges_in(store.read(f"{_SESSIONS}/{month}/{name}") or b"")
            ids = [episode_id(session, exchange.id) for exchange in reversed(exchanges)]
            later = [other for other in _months(store, EPISODES) if other >= month]
            known = {id_in(path): path for other in later for path in _episodes_in(store, other)}
            return next((read_episode(store, known[one]) for one in ids if one in known), None)
    return None


def _months(store: Store, folder: str) -> list[str]:
    """Return the months ("2026/11") of a folder, the newest first."""
    years = store.files.names(folder)
    return sorted(
        (f"{year}/{month}" for year in years for month in store.files.names(f"{folder}/{year}")), reverse=True
    )


class Matched(Value):
    """A known pattern, the error that matches it, their likeness (over `MATCH`), and the best solution, if any.

    The pattern is what one author's commits hold of it; `author` is "" for the person.
    """

    pattern: BugPattern
    error: ErrorSignature
    score: float
    solution: Solution | None
    author: str = ""


def match(store: Store, output: str, bounds: Bounds | None = None, *, command: str = "") -> list[Matched]:
    """Return the bug patterns that match the errors in a command's output: error by error, the likeliest first."""
    errors = read_errors(output)
    headers = pattern_headers(store, bounds) if errors else []
    found: dict[tuple[str, str], Matched] = {}
    for error in errors:
        for one in match_error(store, error, headers, command):
            found.setdefault((one.pattern.id, one.author), one)
    return list(found.values())


def match_error(store: Store, error: ErrorSignature, headers: Sequence[Header], command: str = "") -> list[Matched]:
    """Return the bug patterns of these headers that match an error of a command: the person's, then the likeliest.

    Those of another part of the project are left out.
    """
    found = []
    for header in headers:
        if header.key[0] != error.type:
            continue
        score = likeness(signature_of(header), error)
        pattern = read_pattern(store, header.path) if score > MATCH else None
        told = pattern is not None and do_meet(pattern.scope, (store.here,))
        parts = experience(store, pattern) if pattern is not None and told else ()
        found += [Matched(one.part, error, score, one.part.best(command), one.author) for one in parts]
    return sorted(found, key=lambda one: (bool(one.author), -one.score, -len(one.pattern.seen), one.pattern.id))


def known_patterns(store: Store) -> list[BugPattern]:
    """Return all bug patterns of the work tree, the last changed first."""
    found = [read_pattern(store, header.path) for header in pattern_headers(store)]
    return sorted(filter(None, found), key=lambda pattern: (pattern.updated, pattern.id), reverse=True)


def own_part(store: Store, pattern: BugPattern) -> BugPattern | None:
    """Return what the person's own commits hold of a pattern, None if that is nothing."""
    return next((one.part for one in experience(store, pattern) if not one.author and one.part.seen), None)


def has_others(store: Store, path: str) -> bool:
    """Return whether others committed a part of a file's bug pattern."""
    pattern = read_pattern(store, path)
    return pattern is not None and any(one.author for one in experience(store, pattern))


def pattern_headers(store: Store, bounds: Bounds | None = None) -> list[Header]:
    """Return the headers of the bug patterns; the key is the error's type and when it came first.

    See `gitmem.store.headers.read_headers`.
    """
    return read_headers(store, PATTERNS, _header, bounds)


def read_pattern(store: Store, path: str) -> BugPattern | None:
    """Return the bug pattern of a file, None if the file is gone or holds none."""
    try:
        data = store.read(path)
    except GitmemError:
        return None
    return None if data is None else parse_pattern(data, path)


def signature_of(header: Header) -> ErrorSignature:
    """Return the signature in the header of a pattern."""
    kind, message, frames = header.load()
    return ErrorSignature(kind, message, names_in(message), frames)


def _header(data: bytes, path: str) -> tuple[tuple[str, ...], Sequence[object]] | None:
    pattern = parse_pattern(data, path) if path.startswith(f"{BUGS}/") else None
    if pattern is None:
        return None
    error = pattern.error
    return (error.type, pattern.created.isoformat()), [error.type, error.message, list(error.frames)]
