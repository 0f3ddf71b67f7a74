"""What the private folder remembers of purges: what was scanned already, and one that is under way."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gitmem.store.store import PURGING

_STATE = "purged.json"
_MOST_CLEAN = 40
_MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class State:
    """The records that were applied here, and commits whose whole history is known to hold nothing they name."""

    records: tuple[str, ...] = ()
    clean: tuple[str, ...] = ()

    def with_clean(self, commits: Iterable[str]) -> State:
        """Return it with more commits that are clean; the oldest are forgotten."""
        return replace(self, clean=tuple(dict.fromkeys((*commits, *self.clean)))[:_MOST_CLEAN])


def read_state(private: str) -> State:
    """Return what is remembered; nothing where that cannot be read, and all is scanned again."""
    try:
        said = _read(private, _STATE)
        return State(tuple(map(str, said["records"])), tuple(map(str, said["clean"])))
    except (OSError, ValueError, TypeError, KeyError):
        return State()


def write_state(private: str, state: State) -> None:
    """Remember it; where that is not possible, all is scanned again."""
    with contextlib.suppress(OSError):
        _write(private, _STATE, {"v": 1, "records": list(state.records), "clean": list(state.clean)}, sync=False)


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
