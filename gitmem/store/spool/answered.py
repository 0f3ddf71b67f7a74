"""Choose one of two hooks to answer an event that a host delivers to both.

A host may call gitmem twice for one event: by the plugin and by the hooks in its settings. What is saved is the same,
but a session that begins would be told the memory twice. Both calls have the same bytes and the same host's process.
"""

from __future__ import annotations

import contextlib
import os
import time
import zlib

FOLDER = "answered"
_SECONDS = 10.0  # a host calls its hooks at once, and ends them after as long


def may_answer(private: str, owner: int, data: bytes) -> bool:
    """Return whether this hook has to answer an event, since no other one does; True in doubt.

    The same bytes later than ten seconds are another event, such as the next compaction of a session.
    """
    if not owner:
        return True
    folder = os.path.join(private, FOLDER)
    mark = os.path.join(folder, f"{owner}-{zlib.crc32(data):08x}")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _remove_old(folder)
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        return not os.path.isfile(mark)
    return True


def _remove_old(folder: str) -> None:
    end = time.time() - _SECONDS
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            if not end <= os.stat(path).st_mtime <= end + 2 * _SECONDS:  # a clock that was set back counts, too
                os.unlink(path)
