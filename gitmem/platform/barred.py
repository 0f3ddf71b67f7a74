"""Explain why a user may not read a path, with the command that gives access."""

from __future__ import annotations

import contextlib
import os
import shlex
import stat

from gitmem.errors import UnreadableError


def barred(path: str) -> UnreadableError | None:
    """Return the error for an existing path without read permission, or for the folder above that denies access."""
    parts = os.path.abspath(path).split(os.sep)
    for end in range(2, len(parts) + 1):
        place = os.sep.join(parts[:end])
        try:
            status = os.stat(place)
        except OSError:  # it is gone; a folder that denies access was found before
            return None
        if end < len(parts) and not stat.S_ISDIR(status.st_mode):  # nothing is below a file
            return None
        needed = os.X_OK if end < len(parts) else os.R_OK | os.X_OK * stat.S_ISDIR(status.st_mode)
        if not os.access(place, needed):
            return _error(place, status)
    return None


def first_barred(root: str) -> UnreadableError | None:
    """Return the error for the first file or folder at the top of a store that may not be read."""
    with contextlib.suppress(OSError), os.scandir(root) as entries:
        names = sorted(entry.name for entry in entries if not os.access(entry.path, os.R_OK) and not entry.is_symlink())
        return barred(os.path.join(root, names[0])) if names else None
    return None


def _error(place: str, status: os.stat_result) -> UnreadableError:
    quoted = shlex.quote(place)
    if os.name != "posix" or status.st_uid == os.geteuid():
        mode = stat.S_IMODE(status.st_mode)
        return UnreadableError(f"{place} may not be read: its mode is {mode:03o}.", f"Try: chmod u+rwX {quoted}")
    import pwd

    names = [str(user) for user in (status.st_uid, os.geteuid())]
    for at, user in enumerate(names):
        with contextlib.suppress(KeyError):
            names[at] = pwd.getpwuid(int(user)).pw_name
    message = f"{place} may not be read: it belongs to {names[0]}."
    return UnreadableError(message, f"If it is yours: sudo chown -R {names[1]} {quoted}")
