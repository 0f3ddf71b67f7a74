"""Problems of search by meaning, each reported once an hour."""

from __future__ import annotations

import contextlib
import os
import time

FOLDER = "vectors"
_QUIET_SECONDS = 3600.0


def is_unreported(private: str, place: str, problem: str) -> bool:
    """Return whether a problem was not reported in this place for an hour, and record it; "" records its end."""
    path = os.path.join(private, FOLDER, f"{place}.trouble")
    try:
        with open(path, encoding="utf-8") as file:
            last = file.read()
        age = time.time() - os.stat(path).st_mtime
    except (OSError, UnicodeDecodeError):
        last, age = "", 0.0
    if problem == last and age < _QUIET_SECONDS:
        return False
    with contextlib.suppress(OSError):
        if problem:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(problem)
        else:
            os.unlink(path)
    return bool(problem)
