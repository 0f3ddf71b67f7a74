"""Learn bug patterns at a session's end, and find those that an output matches (spec M3)."""

from __future__ import annotations

import os

from gitmem.errors import GitmemError, RefusedError
from gitmem.memory.capture.turns import redacted
from gitmem.model.learned.error import MATCH, ErrorSignature, likeness, names_in, read_error
from gitmem.model.learned.pattern import (
    BUGS,
    FOLDER,
    BugPattern,
    Solution,
    begun,
    parse_pattern,
    pattern_id,
    render_pattern,
    seen_again,
)
from gitmem.model.learned.sight import find_sights
from gitmem.model.message import Message, Op, Trailer, one_line
from gitmem.redact.redact import redact
from gitmem.store.headers.cache import Header, read_headers
from gitmem.store.transaction.transact import transact
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitmem.model.session.turns import Turn
    from gitmem.store.headers.cache import Bounds
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction


class Matched(Value):
    """A known pattern, how likely the error is of it (over `MATCH`), and its best solution, if one ever worked."""

    pattern: BugPattern
    score: float
    solution: Solution | None


def match(store: Store, output: str, bounds: Bounds | None = None) -> list[Matched]:
    """Return the bug patterns that the error in a command's output is of, the likeliest first."""
    error = read_error(output)
    return [] if error is None else match_error(store, error, bounds)


def match_error(store: Store, error: ErrorSignature, bounds: Bounds | None = None) -> list[Matched]:
    """Return the bug patterns that an error is of, the likeliest first."""
    found = []
    for header in pattern_headers(store, bounds):
        if header.key[0] != error.type:
            continue
        score = likeness(_signature(header), error)
        pattern = read_pattern(store, header.path) if score > MATCH else None
        if pattern is not None:
            found.append(Matched(pattern, score, pattern.best(error)))
    return sorted(found, key=lambda one: (-one.score, -len(one.pattern.seen), one.pattern.id))


def known_patterns(store: Store) -> list[BugPattern]:
    """Return all bug patterns of the work tree, that which came last first."""
    found = [read_pattern(store, header.path) for header in pattern_headers(store)]
    return sorted(filter(None, found), key=lambda one: (one.updated, one.id), reverse=True)


def pattern_headers(store: Store, bounds: Bounds | None = None) -> list[Header]:
    """Return the headers of the bug patterns; the key is the error's type.

    See `gitmem.store.headers.cache.read_headers`.
    """
    return read_headers(store, FOLDER, _header, bounds)


def read_pattern(store: Store, path: str) -> BugPattern | None:
    """Return the bug pattern of a file, None if it is gone or none."""
    try:
        data = store.read(path)
    except GitmemError:
        return None
    return None if data is None else parse_pattern(data)


def learn_bugs(store: Store, session: str, host: str, turns: Sequence[Turn]) -> str | None:
    """Save the errors of a finished session and what mended them; returns the commit. A second call adds nothing.

    Raises:
        GitmemError: they could not be committed.

    """
    allow, project = store.config.redaction.allow, os.path.dirname(store.root)
    sights = find_sights([_clean(turn, allow) for turn in turns if turn.failures], project)
    if not sights:
        return None

    def plan(transaction: Transaction) -> bool:
        known = {header.path: _signature(header) for header in pattern_headers(store)}
        changed: dict[str, BugPattern] = {}
        new = 0
        for sight in sights:
            pattern = _known(transaction, known, changed, sight.error)
            after = begun(sight) if pattern is None else seen_again(pattern, sight)
            if pattern is None and transaction.read(after.path) is not None:
                continue  # a person made something else of its file
            new += pattern is None
            known[after.path] = after.error
            changed[after.path] = after
        changes = dict(_rendered(changed))
        return transaction.commit(_message(changed, new, session, host), changes, when=turns[-1].ended)

    outcome = transact(store, plan, purpose="learn")
    pattern_headers(store)  # so that the next error finds them in the cache
    return outcome.commits[-1] if outcome.value else None


def _clean(turn: Turn, allow: Sequence[str]) -> Turn:
    runs = tuple(run._replace(command=redact(run.command, allow=allow).text) for run in turn.runs)
    return redacted(turn._replace(runs=runs), allow)


def _known(
    transaction: Transaction, known: dict[str, ErrorSignature], changed: dict[str, BugPattern], error: ErrorSignature
) -> BugPattern | None:
    """Return the pattern that an error is most likely of; None if it is of none, or its file cannot be used."""
    own = f"{BUGS}/{pattern_id(error)}.md"
    likely = sorted(((likeness(one, error), path == own, path) for path, one in known.items()), reverse=True)
    for score, _, path in likely:
        if score <= MATCH:
            break
        if path in changed:
            return changed[path]
        try:
            data = transaction.read(path)
        except (RefusedError, OSError):
            continue
        pattern = parse_pattern(data) if data is not None else None
        if pattern is not None and pattern.path == path:
            return pattern
    return None


def _rendered(changed: dict[str, BugPattern]) -> Iterator[tuple[str, bytes]]:
    for path, pattern in changed.items():
        try:
            yield path, render_pattern(pattern)
        except ValueError:  # a header that a person wrote in a way that cannot be changed in place
            continue


def _message(changed: dict[str, BugPattern], new: int, session: str, host: str) -> Message:
    titles = [pattern.title for pattern in changed.values()]
    what = "1 error" if len(titles) == 1 else f"{len(titles)} errors"
    subject = f"Learn {what}{f', {new} new' if new else ''}: {one_line('; '.join(titles), 60)}"
    trailers = (
        (Trailer.OP.value, Op.PATTERN.value),
        *((Trailer.PATTERN.value, pattern.id) for pattern in changed.values()),
        (Trailer.SESSION.value, session),
        (Trailer.HOST.value, host),
    )
    return Message(subject, trailers)


def _signature(header: Header) -> ErrorSignature:
    kind, message, frames = header.load()
    return ErrorSignature(kind, message, names_in(message), frames)


def _header(data: bytes, path: str) -> tuple[tuple[str, ...], Sequence[object]] | None:
    pattern = parse_pattern(data) if path.startswith(f"{BUGS}/") else None
    if pattern is None:
        return None
    error = pattern.error
    return (error.type,), [error.type, error.message, list(error.frames)]
