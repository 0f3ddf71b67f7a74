"""The days that consolidation took out of the tree, as a search finds them (docs/format.md, "Tiers").

They are copies of what history holds, in the private folder, and can be deleted at any time: the background of a hook
makes them again (`gitmem.store.history.days`). A search reads those that are there and waits for none.

Tested through `tests/memory/tiers/test_days.py`.
"""

from __future__ import annotations

import os
import re

from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Collection

FOLDER = "days"
NAME = r"([0-9]{4}-[0-9]{2}-[0-9]{2})\.([0-9a-f]{40,64})\.md"


class KeptDay(Value):
    """A day's log as it last was: the day, and the commit that has it."""

    day: str
    commit: str

    @property
    def name(self) -> str:
        """Return the name of the copy, in `FOLDER`."""
        return f"{self.day}.{self.commit}.md"

    @property
    def path(self) -> str:
        """Return the path of the log in the commit."""
        return f"daily/{self.day[:4]}/{self.day[5:7]}/{self.day}.md"


def kept_days(private: str, there: Collection[str] | None) -> list[KeptDay]:
    """Return the kept days whose week or month has a file in `there`; all with None.

    Days that a person cleared or deleted with their week are left out.
    """
    try:
        names = sorted(os.listdir(os.path.join(private, FOLDER)))
    except OSError:
        return []
    found = [KeptDay(match[1], match[2]) for name in names if (match := re.fullmatch(NAME, name))]
    return [one for one in found if there is None or is_told(one.day, there)]


def is_told(day: str, there: Collection[str]) -> bool:
    """Return whether the document of a day's week or month is there."""
    from gitmem.machine.moment import date
    from gitmem.model.tiers.periods import holders_of

    try:
        return any(path in there for path in holders_of(date.fromisoformat(day)))
    except ValueError:
        return False


def drop_days(private: str) -> None:
    """Delete the copies, as after an undo: they may hold undone text. The background makes them again."""
    import shutil

    shutil.rmtree(os.path.join(private, FOLDER), ignore_errors=True)


def week_name(day: str) -> str:
    """Return the ISO week of a day, `YYYY-Www`."""
    from gitmem.machine.moment import date
    from gitmem.model.tiers.periods import week_of

    return week_of(date.fromisoformat(day))
