"""Read the bug patterns of the work tree and match errors against them (spec M3). Light, as hooks wait for it.

Tested through `tests/lessons/test_learn_errors.py`.
"""

from __future__ import annotations

from gitmem.errors import GitmemError
from gitmem.history.experience import experience
from gitmem.lessons.error import MATCH, ErrorSignature, likeness, names_in, read_errors
from gitmem.lessons.pattern import BUGS, FOLDER, BugPattern, Solution, parse_pattern
from gitmem.store.headers import Header, read_headers
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.store.headers import Bounds
    from gitmem.store.store import Store


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
    """Return the bug patterns of these headers that match an error of a command: the person's, then the likeliest."""
    found = []
    for header in headers:
        if header.key[0] != error.type:
            continue
        score = likeness(signature_of(header), error)
        pattern = read_pattern(store, header.path) if score > MATCH else None
        parts = experience(store, pattern) if pattern is not None else ()
        found += [Matched(one.part, error, score, one.part.best(command), one.author) for one in parts]
    return sorted(found, key=lambda one: (bool(one.author), -one.score, -len(one.pattern.seen), one.pattern.id))


def known_patterns(store: Store) -> list[BugPattern]:
    """Return all bug patterns of the work tree, the last changed first."""
    found = [read_pattern(store, header.path) for header in pattern_headers(store)]
    return sorted(filter(None, found), key=lambda one: (one.updated, one.id), reverse=True)


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
    return read_headers(store, FOLDER, _header, bounds)


def read_pattern(store: Store, path: str) -> BugPattern | None:
    """Return the bug pattern of a file, None if the file is gone or holds none."""
    try:
        data = store.read(path)
    except GitmemError:
        return None
    return None if data is None else parse_pattern(data)


def signature_of(header: Header) -> ErrorSignature:
    """Return the signature in the header of a pattern."""
    kind, message, frames = header.load()
    return ErrorSignature(kind, message, names_in(message), frames)


def _header(data: bytes, path: str) -> tuple[tuple[str, ...], Sequence[object]] | None:
    pattern = parse_pattern(data) if path.startswith(f"{BUGS}/") else None
    if pattern is None:
        return None
    error = pattern.error
    return (error.type, pattern.created.isoformat()), [error.type, error.message, list(error.frames)]
