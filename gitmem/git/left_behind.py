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
# What git says of an existing lock: it names that of a ref, and not that of its settings.
_LOCKED = (("Unable to create '", "': File exists", ""), ("could not lock config file ", ": File exists", ".lock"))


def lock_in_the_way(stderr: str) -> str:
    """Return the lock file of this machine's repository that git found in its way, "" for another error."""
    said = "\n".join(line for line in stderr.splitlines() if not line.startswith("remote:"))
    for before, after, suffix in _LOCKED:
        lock, quote, _ = said.partition(before)[2].partition(after)
        if quote:
            return lock + suffix
    return ""


def left_behind_after(lock: str) -> float:
    """Return from which age in seconds a lock file was left behind: git holds most for milliseconds."""
    return LEFT_BEHIND_SECONDS if os.path.basename(lock) in _LONG_LOCKS else _SHORT_SECONDS


def clear_left_behind(lock: str) -> None:
    """Wait a moment, then remove a lock file that a killed git left: it is old, and does not change."""
    with contextlib.suppress(OSError):
        seen = os.lstat(lock)
        time.sleep(_MOMENT)
        now = os.lstat(lock)
        same = (seen.st_ino, seen.st_mtime_ns) == (now.st_ino, now.st_mtime_ns)
        if same and time.time() - seen.st_mtime >= left_behind_after(lock):
            os.unlink(lock)
