"""The state of purges in the private folder: records applied, commits scanned, and the journal of a running purge.

Tested through `tests/store/rewrite/test_judge.py`.
"""

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
    waiting: Mapping[str, str] = field(default_factory=dict)
    aside: tuple[str, ...] = ()
    removed: int = 0
    told: tuple[str, ...] = ()

    def with_clean(self, commits: Iterable[str]) -> State:
        """Return the state with more clean commits, without the oldest beyond the limit."""
        return replace(self, clean=tuple(dict.fromkeys((*commits, *self.clean)))[:_MOST_CLEAN])

    def with_waiting(self, waiting: Mapping[str, str]) -> State:
        """Return the state with more waiting records, which no longer count as applied."""
        left = tuple(key for key in self.records if key not in waiting)
        return replace(self, records=left, waiting={**self.waiting, **waiting})

    def with_answer(self, keys: Collection[str], *, yes: bool) -> State:
        """Return the state with the person's answer on some records, which replaces earlier ones."""
        waiting = {key: why for key, why in self.waiting.items() if key not in keys}
        agreed, refused = ([key for key in held if key not in keys] for held in (self.agreed, self.refused))
        (agreed if yes else refused).extend(sorted(keys))
        records = self.records if yes else tuple(key for key in self.records if key not in keys)
        return replace(self, records=records, agreed=tuple(agreed), refused=tuple(refused), waiting=waiting, removed=0)


def read_state(private: str) -> State:
    """Read the state; an empty one if it cannot be read, so that everything is scanned and judged again."""
    try:
        fields = _read(private, _STATE)
        if fields["v"] != _VERSION:
            return State()
        lists = {name: tuple(map(str, fields[name])) for name in ("records", "clean", "agreed", "refused", "aside")}
        waiting = {str(key): str(why) for key, why in fields["waiting"].items()}
        told = tuple(map(str, fields.get("told", ())))
        return State(**lists, waiting=waiting, removed=int(fields["removed"]), told=told)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return State()


def write_state(private: str, state: State) -> None:
    """Write the state; ignore failures, after which everything is scanned and judged again."""
    with contextlib.suppress(OSError):
        fields = {"v": _VERSION, **{name: getattr(state, name) for name in state.__slots__}}
        _write(private, _STATE, fields, sync=False)


@dataclass(frozen=True, slots=True)
class Journal:
    """The steps left after the new commits are written; each is idempotent.

    `moves` maps refs to their old and new values (None: deleted), `files` paths of the work tree to both blob ids and
    the mode; `stash` are the entries of the rewritten stash, newest first.
    """

    records: tuple[str, ...] = ()
    moves: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    files: Mapping[str, tuple[str | None, str | None, str]] = field(default_factory=dict)
    stash: tuple[tuple[str, str], ...] = ()

    def write(self, private: str) -> None:
        """Write the journal and sync it to disk."""
        _write(private, PURGING, {"v": 1, **{name: getattr(self, name) for name in self.__slots__}}, sync=True)

    @staticmethod
    def read(private: str) -> Journal:
        """Read the journal; an empty one if the purge had only begun."""
        try:
            fields = _read(private, PURGING)
            return Journal(
                tuple(fields["records"]),
                {ref: (old, new) for ref, (old, new) in fields["moves"].items()},
                {path: (old, new, mode) for path, (old, new, mode) in fields["files"].items()},
                tuple((oid, words) for oid, words in fields["stash"]),
            )
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return Journal()

    @staticmethod
    def remove(private: str) -> None:
        """Delete the journal."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(private, PURGING))


def _read(private: str, name: str) -> Any:
    with open(os.path.join(private, name), "rb") as file:
        return json.loads(file.read(_MAX_BYTES))


def _write(private: str, name: str, fields: Mapping[str, object], *, sync: bool) -> None:
    path = os.path.join(private, name)
    with open(f"{path}.new", "w", encoding="ascii") as file:
        file.write(json.dumps(fields))
        file.flush()
        if sync:
            os.fsync(file.fileno())
    os.replace(f"{path}.new", path)
