"""The bug patterns of a store, found by a cache of their headers."""

from __future__ import annotations

from collections.abc import Sequence

from gitmem.document.ids import BUGS
from gitmem.errors import GitmemError
from gitmem.model.error import ErrorSignature, signature
from gitmem.model.pattern import FOLDER, BugPattern, parse_pattern
from gitmem.store.known_facts import Header, read_headers
from gitmem.store.store import Store


def known_patterns(store: Store) -> list[BugPattern]:
    """Return all bug patterns of the work tree, the last changed first."""
    patterns = [read_pattern(store, header.path) for header in pattern_headers(store)]
    return sorted(filter(None, patterns), key=lambda pattern: (pattern.updated, pattern.id), reverse=True)


def pattern_headers(store: Store) -> list[Header]:
    """Return the headers of the bug patterns; the key is the error's type and when it came first."""
    return read_headers(store, FOLDER, ("type", "message"), _header)


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
