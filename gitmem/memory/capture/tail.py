"""The end of a transcript: how full the context is, and whether the session still knows what it was told."""

from __future__ import annotations

import contextlib
import os
import stat

from gitmem.model.session.transcript import records

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from typing import BinaryIO

_TAIL = 262_144  # bytes at the end of a transcript in which the last message's usage stands
_LOOKED_AT = 8 * 1024 * 1024  # bytes at the end of a transcript in which what a session was told is looked for
_WINDOW = 200_000  # tokens; a model with `[1m]` in its name has a million
_LARGE_WINDOW = 1_000_000


def context_used(path: str) -> float:
    """Return how much of the model's window the last message of a transcript took, from 0 to 1 (spec P1)."""
    lines = _end(path, _TAIL)[0].decode("utf-8", "replace").split("\n")
    used = [part for part in records(lines) if part.tokens and not part.sidechain]
    if not used:
        return 0.0
    large = "[1m]" in used[-1].model or max(part.tokens for part in used) > _WINDOW
    return min(1.0, used[-1].tokens / (_LARGE_WINDOW if large else _WINDOW))


def in_context(path: str, marker: str) -> bool:
    """Say whether a transcript holds `marker` after its last compaction: the session was told it and still knows it.

    Its end is looked at; where that is silent and there is more before it, the session was told when it began.
    """
    data, whole = _end(path, _LOOKED_AT)
    told, compacted = data.rfind(marker.encode()), data.rfind(b'"compact_boundary"')
    return told > compacted or (not whole and compacted < 0)


def _end(path: str, size: int) -> tuple[bytes, bool]:
    """Return the last bytes of a regular file, and whether they are all of it; nothing of one that cannot be read."""
    file = open_regular(path)
    if file is None:
        return b"", True
    with file, contextlib.suppress(OSError):
        length = os.fstat(file.fileno()).st_size
        file.seek(max(0, length - size))
        return file.read(size), length <= size
    return b"", True


def open_regular(path: str) -> BinaryIO | None:
    """Open a file that a host names, None where it is none: a pipe that is called a transcript keeps nobody waiting."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    return open(descriptor, "rb")
