"""The kinds of files of a remote's tree, with size limit and effect: the table of docs/format.md, "Trust".

`incoming` refuses files larger than their limit. A file of the last row is kept and merged; only people and searches
read it.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

from gitmem.machine.beneath import MAX_FILE_BYTES
from gitmem.model.paths import CONFIG, FORMAT, MEMORY, PURGED
from gitmem.store.config.files import MAX_BYTES


class Arrival(NamedTuple):
    """A kind of file: the pattern of its path, its size limit in bytes, and the most that it can do."""

    pattern: str
    most: int
    can: str


# The first matching row applies; `*` matches `/` as well.
ARRIVALS = (
    Arrival(FORMAT, MAX_BYTES, "stop the sync: by a higher version"),
    Arrival(
        CONFIG, MAX_BYTES, "set what has a `tracked` range in `gitmem.config`, within it; all else waits for a yes"
    ),
    Arrival("*.gitattributes", MAX_BYTES, "nothing, in any folder: gitmem reads and writes bytes as they are"),
    Arrival("*.gitignore", MAX_BYTES, "keep files a person makes from being committed; none of gitmem's"),
    Arrival(
        f"{PURGED}/*.json",
        MAX_FILE_BYTES,
        "from a machine that the person listed, take texts out of bodies, within bounds; all else waits for a yes",
    ),
    Arrival(MEMORY, MAX_FILE_BYTES, "be told to a session, as data, within its budget; become an archive"),
    Arrival("*.md", MAX_FILE_BYTES, "be found, merged, summed up, and told to a session as data"),
    Arrival("*", MAX_FILE_BYTES, "be kept, merged and found; it is never run, imported, or read as settings"),
)


def arrival(path: str) -> Arrival:
    """Return the row of the table for a path of a remote's tree."""
    return next(row for row in ARRIVALS if fnmatchcase(path, row.pattern))
