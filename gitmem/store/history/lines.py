"""What lines of a file were before (spec G3): each commit that changed them, and the text on both sides."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from gitmem.git.history.commits import line_changes
from gitmem.store.history.records import HEAD, Record, read_at, record

if TYPE_CHECKING:
    from gitmem.store.store import Store


@dataclass(frozen=True, slots=True)
class Version:
    """A commit that changed the lines asked about, and what they were before and after it; () where there were none."""

    origin: Record
    before: tuple[str, ...]
    after: tuple[str, ...]


def versions(store: Store, path: str, lines: tuple[int, int], limit: int) -> list[Version]:
    """Return what changed these lines of a file of the work tree (both inclusive), the newest first, `limit` at most.

    What is in no commit yet has no versions; a rotation, which moved lines and changed none, is left out.
    """
    tip = store.repository.resolve(HEAD)
    now, then = store.read(path) or b"", read_at(store, tip, path)
    committed = _before(then, now, lines) if then is not None else None
    if committed is None:
        return []
    found = line_changes(store.repository.git, tip, path, committed, limit)
    return [Version(record(change.commit), change.before, change.after) for change in found]


def _before(then: bytes, now: bytes, lines: tuple[int, int]) -> tuple[int, int] | None:
    """Return the lines of an older text that became these lines of the present one, None where they are all new."""
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
