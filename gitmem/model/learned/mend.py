"""Recognize mends that only name a changed file. Pure, and light: a hook waits for it.

Tested through `tests/model/learned/test_sight.py`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.model.learned.error import ErrorSignature

PLACE = "change `"  # begins such a mend


def is_place(mend: str) -> bool:
    """Return whether a mend says no more than which file was changed."""
    return mend.startswith(PLACE)


def is_for(mend: str, error: ErrorSignature) -> bool:
    """Return whether a mend helps with an error: a changed file alone helps only if the error is in it."""
    name = mend.removeprefix(PLACE).rstrip("`").rpartition("/")[2]
    return not is_place(mend) or any(frame.partition(":")[0] == name for frame in error.frames)
