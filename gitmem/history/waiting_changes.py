"""Changes of the facts by other authors that wait for the user: their record in the private folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

from gitmem.platform.safe_open import read_json, write_json
from gitmem.store.store import Store
from gitmem.values import Value

_CHANGED = "changed.json"  # what others changed


class OthersChange(Value):
    """A change of a fact by another author: who did what and when (ISO), and the fact's text and blob before."""

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
    """Return the commit up to which changes were looked for, or "", and by fact the changes that wait."""
    try:
        fields = read_json(os.path.join(store.private, _CHANGED))
        waiting = {
            str(field["id"]): OthersChange(**{name: str(field[name]) for name in OthersChange._fields})
            for field in fields["waiting"]
        }
        return str(fields["seen"]), waiting
    except (ValueError, TypeError, KeyError):
        return "", {}


def write_changes(store: Store, tip: str, waiting: Mapping[str, OthersChange]) -> None:
    """Write the record; a store may be read-only."""
    fields = {"v": 1, "seen": tip, "waiting": [change._asdict() for change in waiting.values()]}
    with contextlib.suppress(OSError):
        write_json(os.path.join(store.private, _CHANGED), fields)
