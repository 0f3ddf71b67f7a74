"""Files of the private folder that a purge looks into."""

from __future__ import annotations

import os
from collections.abc import Iterator

_MAX_BYTES = 256 << 20


def plain_files(folder: str) -> Iterator[str]:
    """Yield the paths of regular files below a folder, except in `.git`."""
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        paths = (os.path.join(base, name) for name in names)
        yield from (path for path in paths if os.path.isfile(path) and not os.path.islink(path))


def read_file(path: str) -> bytes:
    """Return the content of a file, cut after 256 MB; b"" if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        return b""
