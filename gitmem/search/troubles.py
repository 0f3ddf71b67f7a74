"""Problems of search by meaning, each reported once an hour."""

from __future__ import annotations

import contextlib
import os
import time

from gitmem.platform.safe_open import read_text, replace_file

FOLDER = "vectors"
_QUIET_SECONDS = 3600.0


def is_unreported(private: str, place: str, problem: str) -> bool:
    """Return whether a problem was not reported in this place for an hour, and record it; "" records its end."""
    path = os.path.join(private, FOLDER, f"{place}.trouble")
    with contextlib.suppress(OSError):
        if problem == read_text(path) and time.time() - os.stat(path).st_mtime < _QUIET_SECONDS:
            return False
        if problem:
            replace_file(path, problem.encode())
        else:
            os.unlink(path)
    return bool(problem)
