"""The records of purges that commits hold, and which of them this machine follows (docs/format.md, "Purging").

A record was made here, was accepted here, or came from elsewhere. Of those that came from elsewhere only so many are
followed unasked, and what they would take out is judged (gitmem.store.rewrite.judge); the others wait for an answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gitmem.git.history.commits import blobs
from gitmem.model.paths import PURGED
from gitmem.model.purge.purge import MAX_BYTES, Record, read_record
from gitmem.store.rewrite.progress import State, read_state, write_state

if TYPE_CHECKING:
    from gitmem.store.store import Store

SUFFIX = ".json"
MOST_UNASKED = 128  # texts of all records together that are followed unasked
_MOST_FILES = 1000
_MOST_ASIDE = 100  # that are remembered
_MOST_TOLD = 5


@dataclass(frozen=True, slots=True)
class Records:
    """The records that some commits hold, and the files among them that are none."""

    records: tuple[Record, ...]
    aside: tuple[str, ...]


def record_path(identifier: str) -> str:
    """Return where the record of a purge stands."""
    return f"{PURGED}/{identifier}{SUFFIX}"


def read_records(store: Store, commits: Iterable[str]) -> Records:
    """Return the records that some commits hold; mostly one process.

    Of more files than anybody makes only those that are known here already are read.
    """
    with store.repository.reading() as objects:
        folders = objects.infos([f"{commit}:{PURGED}" for commit in dict.fromkeys(commits)])
    trees = {folder.oid for folder in folders if folder is not None and folder.kind == "tree"}
    entries = {(one.path, one.oid): one for tree in sorted(trees) for one in store.repository.files(tree)}
    known = _known(read_state(store.private)) if len(entries) > _MOST_FILES else set()
    ordered = sorted(entries.values(), key=lambda one: (one.path.removesuffix(SUFFIX) not in known, one.path))
    fit = [
        one
        for one in ordered[: max(_MOST_FILES, len(known))]
        if one.path.endswith(SUFFIX) and one.mode.startswith("100") and one.size <= MAX_BYTES
    ]
    contents = blobs(store.repository.git, [one.oid for one in fit])
    read = {one: read_record(data, one.path.removesuffix(SUFFIX)) for one, data in zip(fit, contents, strict=True)}
    records = {record.key: record for record in read.values() if record is not None}
    aside = dict.fromkeys(f"{PURGED}/{one.path}" for one in ordered if read.get(one) is None)
    return Records(tuple(records[key] for key in sorted(records)), tuple(sorted(aside)[:_MOST_ASIDE]))


def _known(state: State) -> set[str]:
    return {key.partition(" ")[0] for key in (*state.agreed, *state.records, *state.refused, *state.waiting)}


def look_at_records(store: Store, commits: Iterable[str]) -> Records:
    """Read the records that commits hold, and remember which wait and which are none."""
    found = read_records(store, commits)
    before = read_state(store.private)
    here = {record.key for record in found.records}
    waiting = {key: why for key, why in before.waiting.items() if key in here}
    after = replace(before, aside=found.aside, waiting=waiting)
    after = after.with_waiting(_too_many(after, found.records))
    if after != before:
        write_state(store.private, after)
    return found


def followed(store: Store, records: Iterable[Record]) -> list[Record]:
    """Return those of some records that are neither refused nor waiting here."""
    state = read_state(store.private)
    return [record for record in records if record.key not in {*state.refused, *state.waiting}]


def followed_at(store: Store, *commits: str | None) -> list[Record]:
    """Return the records that some commits hold and that this machine follows."""
    return followed(store, look_at_records(store, filter(None, commits)).records)


def answer(store: Store, keys: Collection[str], *, yes: bool) -> None:
    """Remember whether the person here accepts some records."""
    write_state(store.private, read_state(store.private).with_answer(keys, yes=yes))


def followed_paths(store: Store) -> set[str]:
    """Return the files whose records this machine follows."""
    state = read_state(store.private)
    return {record_path(key.partition(" ")[0]) for key in (*state.agreed, *state.records)}


def unfollowed(store: Store) -> list[str]:
    """Return the records that wait for an answer or were refused, as the files they stand in."""
    state = read_state(store.private)
    return [record_path(key.partition(" ")[0]) for key in (*state.waiting, *state.refused)]


def news(before: State, after: State) -> list[str]:
    """Say which records wait, and which files are none, that were not known before."""
    said = []
    for key, why in after.waiting.items():
        if key not in before.waiting:
            path = record_path(key.partition(" ")[0])
            said.append(f"{path}: this purge from elsewhere waits for your answer, since {why}: 'gitmem review {path}'")
    said += [f"{path} is no record of a purge; it is ignored." for path in after.aside if path not in before.aside]
    return [*said[:_MOST_TOLD], *([f"… and {len(said) - _MOST_TOLD} more."] if len(said) > _MOST_TOLD else [])]


def _too_many(state: State, records: Sequence[Record]) -> dict[str, str]:
    """Return the records that are more than are followed unasked; those that were followed so far come first."""
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
