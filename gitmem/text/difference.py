"""The range in which two versions of a content differ. Pure."""

from __future__ import annotations


def changed_range(before: bytes, after: bytes) -> tuple[int, int]:
    """Return the range of `after` that differs from `before`: all but their common prefix and suffix."""
    if after.startswith(before):  # the common case: appended
        return len(before), len(after)
    limit = min(len(before), len(after))
    start = _common(before, after, limit)
    return start, len(after) - _common(before[::-1], after[::-1], limit - start)


def _common(one: bytes, other: bytes, limit: int) -> int:
    """Return the length of the common prefix, at most `limit`, by binary search."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
