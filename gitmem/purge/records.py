"""Which records of purges this machine follows (docs/sync.md, "Purging").

Tested through `tests/purge/test_judge.py`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence

from gitmem.document.ids import PURGED
from gitmem.platform.safe_open import read_json, write_json
from gitmem.purge.marks import MAX_BYTES, PurgeRecord, read_record
from gitmem.store.store import Store
from gitmem.values import Value

_STATE = "purged.json"
_VERSION = 2
_MOST_CLEAN = 40


class State(Value):
    """The records of purges on this machine, each by its key.

    `records` were applied, and the history of the commits in `clean` holds none of their texts. The person made or
    accepted those in `agreed` and refused those in `refused`; `waiting` maps those without an answer to the reason.
    `aside` are invalid files in the records' folder. `removed` counts the bytes removed unasked since the last answer,
    `told` says in words what the last purges of other machines removed.
    """

    records: tuple[str, ...] = ()
    clean: tuple[str, ...] = ()
    agreed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    waiting: Mapping[str, str] = {}
    aside: tuple[str, ...] = ()
    removed: int = 0
    told: tuple[str, ...] = ()

    def with_clean(self, commits: Iterable[str]) -> State:
        """Return the state with more clean commits, without the oldest beyond the limit."""
        return self._replace(clean=tuple(dict.fromkeys((*commits, *self.clean)))[:_MOST_CLEAN])

    def with_waiting(self, waiting: Mapping[str, str]) -> State:
        """Return the state with more waiting records, which no longer count as applied."""
        left = tuple(key for key in self.records if key not in waiting)
        return self._replace(records=left, waiting={**self.waiting, **waiting})


def read_state(private: str) -> State:
    """Read the state; an empty one if it cannot be read, so that everything is scanned and judged again."""
    try:
        fields = read_json(os.path.join(private, _STATE))
        if fields.pop("v") != _VERSION:
            return State()
        waiting, removed = fields.pop("waiting"), int(fields.pop("removed"))
        lists = {name: tuple(map(str, values)) for name, values in fields.items()}
        reasons = {str(key): str(why) for key, why in waiting.items()}
        return State()._replace(**lists, waiting=reasons, removed=removed)
    except (ValueError, TypeError, KeyError, AttributeError):
        return State()


def write_state(private: str, state: State) -> None:
    """Write the state; ignore failures, after which everything is scanned and judged again."""
    with contextlib.suppress(OSError):
        fields = {"v": _VERSION, **state._asdict()}
        write_json(os.path.join(private, _STATE), fields)


SUFFIX = ".json"
MOST_UNASKED = 128  # texts, of all records that are followed unasked
_MOST_FILES = 1000
_MOST_ASIDE = 100  # that are remembered
_MOST_LISTED = 5


def record_path(key: str) -> str:
    """Return the path of the record of a purge, by its id or its key, which begins with the id."""
    return f"{PURGED}/{key.partition(' ')[0]}{SUFFIX}"


def read_records(store: Store, commits: Iterable[str]) -> tuple[tuple[PurgeRecord, ...], tuple[str, ...]]:
    """Return the records of some commits, and the invalid files in the records' folder; mostly by one process.

    If there are more than `_MOST_FILES` files, those known here are read first, and the others up to that number.
    """
    with store.repository.reading() as objects:
        folders = objects.infos([f"{commit}:{PURGED}" for commit in dict.fromkeys(commits)])
    trees = {folder.oid for folder in folders if folder is not None and folder.kind == "tree"}
    entries = {(entry.path, entry.oid): entry for tree in sorted(trees) for entry in store.repository.files(tree)}
    state = read_state(store.private) if len(entries) > _MOST_FILES else State()
    known = {key.partition(" ")[0] for key in (*state.agreed, *state.records, *state.refused, *state.waiting)}
    ordered = sorted(entries.values(), key=lambda entry: (entry.path.removesuffix(SUFFIX) not in known, entry.path))
    fit = [
        entry
        for entry in ordered[: max(_MOST_FILES, len(known))]
        if entry.path.endswith(SUFFIX) and entry.mode.startswith("100") and entry.size <= MAX_BYTES
    ]
    contents = store.repository.blobs([entry.oid for entry in fit])
    read = {
        entry: read_record(data, entry.path.removesuffix(SUFFIX)) for entry, data in zip(fit, contents, strict=True)
    }
    records = {record.key: record for record in read.values() if record is not None}
    aside = {f"{PURGED}/{entry.path}" for entry in ordered if read.get(entry) is None}
    return tuple(records[key] for key in sorted(records)), tuple(sorted(aside)[:_MOST_ASIDE])


def look_at_records(store: Store, commits: Iterable[str]) -> tuple[PurgeRecord, ...]:
    """Return the records of commits, and save the lists of waiting records and invalid files."""
    records, aside = read_records(store, commits)
    before = read_state(store.private)
    here = {record.key for record in records}
    waiting = {key: why for key, why in before.waiting.items() if key in here}
    after = before._replace(aside=aside, waiting=waiting)
    after = after.with_waiting(_too_many(after, records))
    if after != before:
        write_state(store.private, after)
    return records


def followed(store: Store, records: Iterable[PurgeRecord]) -> list[PurgeRecord]:
    """Return the records that are neither refused nor waiting here."""
    state = read_state(store.private)
    return [record for record in records if record.key not in {*state.refused, *state.waiting}]


def followed_at(store: Store, *commits: str | None) -> list[PurgeRecord]:
    """Return the records of some commits that this machine follows."""
    return followed(store, look_at_records(store, filter(None, commits)))


def answer(store: Store, keys: Collection[str], *, yes: bool) -> None:
    """Save whether the person accepts some records, which replaces earlier answers."""
    state = read_state(store.private)
    waiting = {key: why for key, why in state.waiting.items() if key not in keys}
    agreed, refused = ([key for key in held if key not in keys] for held in (state.agreed, state.refused))
    (agreed if yes else refused).extend(sorted(keys))
    records = state.records if yes else tuple(key for key in state.records if key not in keys)
    answers = {"agreed": tuple(agreed), "refused": tuple(refused)}
    write_state(store.private, state._replace(records=records, waiting=waiting, removed=0, **answers))


def followed_paths(store: Store) -> set[str]:
    """Return the paths of the records that this machine follows."""
    state = read_state(store.private)
    return {record_path(key) for key in (*state.agreed, *state.records)}


def unfollowed(store: Store) -> list[str]:
    """Return the paths of the records that wait for an answer or were refused."""
    state = read_state(store.private)
    return [record_path(key) for key in (*state.waiting, *state.refused)]


def news(before: State, after: State) -> list[str]:
    """Return notices on followed and waiting records, and on invalid files, that `before` lacks."""
    notices = []
    if after.removed > before.removed:
        names = ", ".join(record_path(key) for key in after.records if key not in before.records)
        notices.append(
            f"A purge of another machine was followed: it took {after.removed - before.removed:,} bytes out of texts"
            f"{f' ({names})' if names else ''}."
        )
    for key, why in after.waiting.items():
        if key not in before.waiting:
            path = record_path(key)
            notices.append(
                f"{path}: this purge of another machine waits for your answer: {why}. See 'gitmem review {path}'."
            )
    notices += [
        f"{path} is not a valid record of a purge; it is ignored." for path in after.aside if path not in before.aside
    ]
    more = len(notices) - _MOST_LISTED
    return [*notices[:_MOST_LISTED], *([f"… and {more} more."] if more > 0 else [])]


def _too_many(state: State, records: Sequence[PurgeRecord]) -> dict[str, str]:
    """Return the unanswered records beyond `MOST_UNASKED` texts, with a reason; applied ones count first."""
    answered = {*state.agreed, *state.refused, *state.waiting}
    texts = 0
    waiting = {}
    for record in sorted(records, key=lambda one: (one.key not in state.records, one.key)):
        if record.key in answered:
            continue
        if texts + len(record.prints) > MOST_UNASKED:
            waiting[record.key] = f"more than {MOST_UNASKED} texts would be purged unasked"
        else:
            texts += len(record.prints)
    return waiting
