"""Mends that say no more than which file was changed. Pure, and light: a hook that tells a mend waits for it."""

from __future__ import annotations

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.model.learned.error import ErrorSignature

PLACE = "change `"  # begins such a mend


def is_place(mend: str) -> bool:
    """Say whether a mend says no more than which file was changed."""
    return mend.startswith(PLACE)


def is_for(mend: str, error: ErrorSignature) -> bool:
    """Say whether a mend may be told of an error: that a file was changed helps only where it is in that file."""
    name = mend.removeprefix(PLACE).rstrip("`").rpartition("/")[2]
    return not is_place(mend) or any(frame.partition(":")[0] == name for frame in error.frames)
