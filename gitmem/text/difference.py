"""Where two versions of a content differ, seen from both ends. Pure."""

from __future__ import annotations


def changed_range(before: bytes, after: bytes) -> tuple[int, int]:
    """Return the range of `after` that is not as in `before`; what is around it is the same in both."""
    if after.startswith(before):  # most often: something was added at the end
        return len(before), len(after)
    limit = min(len(before), len(after))
    start = _common(before, after, limit)
    return start, len(after) - _common(before[::-1], after[::-1], limit - start)


def _common(one: bytes, other: bytes, limit: int) -> int:
    """Return how many bytes at the start are the same, `limit` at most, by halving."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
