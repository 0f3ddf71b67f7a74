"""List the commits that changed lines of a file, with the lines before and after each (spec G3)."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from gitmem.git.history.commits import line_changes
from gitmem.store.history.records import HEAD, CommitRecord, read_at, record

if TYPE_CHECKING:
    from gitmem.store.store import Store


@dataclass(frozen=True, slots=True)
class Version:
    """A commit that changed the lines, with their text before and after it; () if there were none."""

    origin: CommitRecord
    before: tuple[str, ...]
    after: tuple[str, ...]


def versions(store: Store, path: str, lines: tuple[int, int], limit: int) -> list[Version]:
    """Return the versions of a range of lines (both inclusive) of a file in the work tree, newest first.

    Uncommitted lines have none. Rotations, which only move lines, are left out.
    """
    tip = store.repository.resolve(HEAD)
    now, then = store.read(path) or b"", read_at(store, tip, path)
    committed = _before(then, now, lines) if then is not None else None
    if committed is None:
        return []
    changes = line_changes(store.repository.git, tip, path, committed, limit)
    return [Version(record(change.commit), change.before, change.after) for change in changes]


def _before(then: bytes, now: bytes, lines: tuple[int, int]) -> tuple[int, int] | None:
    """Return the range of lines of `then` that became `lines` of `now`, None if they are all new."""
    if then == now:
        return lines
    first, last = lines[0] - 1, lines[1]
    matcher = SequenceMatcher(None, then.split(b"\n"), now.split(b"\n"), autojunk=False)
    starts, ends = [], []
    for old, old_end, new, new_end, same in (
        (o1, o2, n1, n2, tag == "equal") for tag, o1, o2, n1, n2 in matcher.get_opcodes()
    ):
        if new < last and first < new_end and old < old_end:
            starts.append(old + max(first - new, 0) if same else old)
            ends.append(old_end - max(new_end - last, 0) if same else old_end)
    return (min(starts) + 1, max(ends)) if starts else None
