"""Count the bytes of a folder by one walk, without git.

Tested through `tests/cli/commands/test_status.py`.
"""

from __future__ import annotations

import contextlib
import os


def bytes_below(folder: str) -> int:
    """Return how many bytes the files below a folder take; no link is followed."""
    total, folders = 0, [folder]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    with contextlib.suppress(OSError):  # it was removed meanwhile
                        total += entry.stat(follow_symlinks=False).st_size
    return total
