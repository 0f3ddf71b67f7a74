"""Recognize disk errors in messages of git. Tested through `tests/git/commit/test_fast_import.py`."""

from __future__ import annotations

# What git says of disk errors; most words are the C library's in the C locale.
_TROUBLES = {
    "No space left on device": "no space left on device",
    "Out of diskspace": "no space left on device",
    "Disk quota exceeded": "disk quota exceeded",
    "Read-only file system": "read-only file system",
    "Permission denied": "permission denied",
    "insufficient permission": "permission denied",
    "Input/output error": "input/output error",
    "File too large": "file too large",
    "couldn't write '": "the branch's file could not be written",  # update-ref does not say why
}


def disk_trouble(stderr: str) -> str | None:
    """Return the disk error in a message of git's, or None."""
    return next((reason for words, reason in _TROUBLES.items() if words in stderr), None)
