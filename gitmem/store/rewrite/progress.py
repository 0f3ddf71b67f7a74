"""What the private folder remembers of purges: what was scanned already, and one that is under way."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gitmem.store.store import PURGING

_STATE = "purged.json"
_VERSION = 2
_MOST_CLEAN = 40
_MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class State:
    """What this machine holds of the records of purges, each by its key, and of the files that should be records.

    `records` were applied, and `clean` are commits whose whole history is known to hold nothing they name. The person
    here made or accepted those `agreed`, and `refused` others; `waiting` for an answer are those with a reason.
    `aside` are files that are no records. `removed` counts the bytes that were taken out since anything was agreed.
    """

    records: tuple[str, ...] = ()
    clean: tuple[str, ...] = ()
    agreed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    waiting: Mapping[str, str] = field(default_factory=dict)
    aside: tuple[str, ...] = ()
    removed: int = 0

    def with_clean(self, commits: Iterable[str]) -> State:
        """Return it with more commits that are clean; the oldest are forgotten."""
        return replace(self, clean=tuple(dict.fromkeys((*commits, *self.clean)))[:_MOST_CLEAN])

    def with_waiting(self, waiting: Mapping[str, str]) -> State:
        """Return it with more records that wait; they are not followed any more."""
        left = tuple(key for key in self.records if key not in waiting)
        return replace(self, records=left, waiting={**self.waiting, **waiting})

    def with_answer(self, keys: Collection[str], *, yes: bool) -> State:
        """Return it with what the person says of some records, in place of what was said before."""
        waiting = {key: why for key, why in self.waiting.items() if key not in keys}
        agreed, refused = ([key for key in held if key not in keys] for held in (self.agreed, self.refused))
        (agreed if yes else refused).extend(sorted(keys))
        records = self.records if yes else tuple(key for key in self.records if key not in keys)
        return replace(self, records=records, agreed=tuple(agreed), refused=tuple(refused), waiting=waiting, removed=0)


def read_state(private: str) -> State:
    """Return what is remembered; nothing where that cannot be read, and all is scanned and judged again."""
    try:
        said = _read(private, _STATE)
        if said["v"] != _VERSION:
            return State()
        lists = {name: tuple(map(str, said[name])) for name in ("records", "clean", "agreed", "refused", "aside")}
        waiting = {str(key): str(why) for key, why in said["waiting"].items()}
        return State(**lists, waiting=waiting, removed=int(said["removed"]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return State()


def write_state(private: str, state: State) -> None:
    """Remember it; where that is not possible, all is scanned and judged again."""
    with contextlib.suppress(OSError):
        said = {"v": _VERSION, **{name: getattr(state, name) for name in state.__slots__}}
        _write(private, _STATE, said, sync=False)


@dataclass(frozen=True, slots=True)
class Journal:
    """What is to be done once the new commits are written; each step of it may be done twice.

    `moves` are refs with where they were and where they go (None: nowhere), `files` the paths of the work tree that
    change, with the ids of both contents and the mode, `stash` what is stashed by then, the newest first.
    """

    records: tuple[str, ...] = ()
    moves: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    files: Mapping[str, tuple[str | None, str | None, str]] = field(default_factory=dict)
    stash: tuple[tuple[str, str], ...] = ()

    def write(self, private: str) -> None:
        """Write it down, synced."""
        _write(private, PURGING, {"v": 1, **{name: getattr(self, name) for name in self.__slots__}}, sync=True)

    @staticmethod
    def read(private: str) -> Journal:
        """Return what is written down; nothing where the purge had only begun."""
        try:
            said = _read(private, PURGING)
            return Journal(
                tuple(said["records"]),
                {ref: (old, new) for ref, (old, new) in said["moves"].items()},
                {path: (old, new, mode) for path, (old, new, mode) in said["files"].items()},
                tuple((oid, words) for oid, words in said["stash"]),
            )
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return Journal()

    @staticmethod
    def remove(private: str) -> None:
        """Say that nothing is to be done any more."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(private, PURGING))


def _read(private: str, name: str) -> Any:
    with open(os.path.join(private, name), "rb") as file:
        return json.loads(file.read(_MAX_BYTES))


def _write(private: str, name: str, said: Mapping[str, object], *, sync: bool) -> None:
    path = os.path.join(private, name)
    with open(f"{path}.new", "w", encoding="ascii") as file:
        file.write(json.dumps(said))
        file.flush()
        if sync:
            os.fsync(file.fileno())
    os.replace(f"{path}.new", path)
