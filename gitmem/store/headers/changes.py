"""The record of what others changed of a person's facts and the person has not answered (gitmem.store.review.changes).

Tested through `tests/store/review/test_changes.py`.
"""

from __future__ import annotations

import contextlib
import json
import os

from gitmem.machine.beneath import read_text
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.store.store import Store

_FILE = "changed.json"


class OthersChange(Value):
    """A change of a fact by another author: what it did, who, when (ISO), and the fact's file before as a blob."""

    id: str
    path: str
    act: str
    author: str
    date: str
    commit: str
    before: str
    blob: str

    def __str__(self) -> str:
        """Return who did what, for a line of text."""
        return f"{self.act} by {self.author} on {self.date[:10]}, before: {self.before}"


def read_changes(store: Store) -> tuple[str, dict[str, OthersChange]]:
    """Return the commit up to which changes were looked for, "" if none was, and the changes that wait by fact."""
    try:
        fields = json.loads(read_text(os.path.join(store.private, _FILE)))
        waiting = {
            str(one["id"]): OthersChange(**{name: str(one[name]) for name in OthersChange._fields})
            for one in fields["waiting"]
        }
        return str(fields["seen"]), waiting
    except (ValueError, TypeError, KeyError, RecursionError):
        return "", {}


def write_changes(store: Store, tip: str, waiting: Mapping[str, OthersChange]) -> None:
    """Write the record; a store may be read-only."""
    path = os.path.join(store.private, _FILE)
    with contextlib.suppress(OSError):
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump({"v": 1, "seen": tip, "waiting": [one._asdict() for one in waiting.values()]}, file)
        os.replace(f"{path}.new", path)
