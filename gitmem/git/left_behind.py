"""Lock files that a killed git left behind."""

from __future__ import annotations

import contextlib
import os
import time

_MOMENT = 0.1
LEFT_BEHIND_SECONDS = 10.0
_SHORT_SECONDS = 2.0
# Git holds these for long where it has much to write: thousands of refs, files of a work tree.
_LONG_LOCKS = ("packed-refs.lock", "index.lock", "shallow.lock")
# Git's errors about an existing lock: words before and after the path, and the suffix that git leaves out.
_LOCKED = (("Unable to create '", "': File exists", ""), ("could not lock config file ", ": File exists", ".lock"))


def lock_in_the_way(stderr: str) -> str:
    """Return the local lock file that made git fail, "" for another error."""
    local_errors = "\n".join(line for line in stderr.splitlines() if not line.startswith("remote:"))
    for before, after, suffix in _LOCKED:
        lock, quote, _ = local_errors.partition(before)[2].partition(after)
        if quote:
            return lock + suffix
    return ""


def left_behind_after(lock: str) -> float:
    """Return the age in seconds from which a lock file counts as left behind; git holds most for milliseconds."""
    return LEFT_BEHIND_SECONDS if os.path.basename(lock) in _LONG_LOCKS else _SHORT_SECONDS


def clear_left_behind(lock: str) -> None:
    """Remove a lock file that a killed git left, if it is old and does not change for a moment."""
    with contextlib.suppress(OSError):
        seen = os.lstat(lock)
        time.sleep(_MOMENT)
        now = os.lstat(lock)
        same = (seen.st_ino, seen.st_mtime_ns) == (now.st_ino, now.st_mtime_ns)
        if same and time.time() - seen.st_mtime >= left_behind_after(lock):
            os.unlink(lock)
