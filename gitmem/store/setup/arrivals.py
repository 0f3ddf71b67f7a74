"""What each file of a remote's tree may be and can do at most: the table of docs/format.md, "Trust".

A remote brings text. `incoming` refuses what is larger than stands here; a file that no row but the last one names is
kept and merged, and read by nobody but a person and a search.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

from gitmem.machine.beneath import MAX_FILE_BYTES
from gitmem.model.paths import CONFIG, FORMAT, MEMORY, PURGED
from gitmem.store.config.files import MAX_BYTES


class Arrival(NamedTuple):
    """A kind of file: the pattern of its path, the most bytes it may have, and what it can do at most."""

    pattern: str
    most: int
    can: str


# The first row that fits counts; `*` stands for `/` as well.
ARRIVALS = (
    Arrival(FORMAT, MAX_BYTES, "stop the sync: by a higher version"),
    Arrival(
        CONFIG, MAX_BYTES, "set what has a `tracked` range in `gitmem.config`, within it; all else waits for a yes"
    ),
    Arrival("*.gitattributes", MAX_BYTES, "nothing, in any folder: gitmem reads and writes bytes as they are"),
    Arrival("*.gitignore", MAX_BYTES, "keep files a person makes from being committed; none of gitmem's"),
    Arrival(f"{PURGED}/*.json", MAX_FILE_BYTES, "take texts out of bodies, within bounds; all else waits for a yes"),
    Arrival(MEMORY, MAX_FILE_BYTES, "be told to a session, as data, within its budget; become an archive"),
    Arrival("*.md", MAX_FILE_BYTES, "be found, merged, summed up, and told to a session as data"),
    Arrival("*", MAX_FILE_BYTES, "be kept, merged and found; it is never run, imported, or read as settings"),
)


def arrival(path: str) -> Arrival:
    """Return the row of the table that a path of a remote's tree belongs to."""
    return next(row for row in ARRIVALS if fnmatchcase(path, row.pattern))
