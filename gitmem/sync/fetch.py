"""Fetch a remote's memory, and retry with growing pauses after another machine was faster."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from enum import StrEnum
from typing import TypeVar

from gitmem.errors import BusyError
from gitmem.git.address import Remote
from gitmem.git.layout import MEMORY_BRANCH
from gitmem.git.remote import Connection
from gitmem.store.remotes import FETCHED, no_memory
from gitmem.sync.guard import Accept
from gitmem.values import Value

T = TypeVar("T")
_SHORTEST_PAUSE = 0.05  # seconds; the minimum duration of a round for pauses
_MOST_ROUNDS = 16.0  # rounds; the longest pause, enough for sixteen machines that all push
_LONGEST_PAUSE = 10.0  # seconds


class SyncStep(StrEnum):
    """The steps of a sync, as shown to the user."""

    FETCH = "fetching"
    MERGE = "merging"
    PUSH = "pushing"
    WAIT = "waiting, since another machine pushed first"
    FILES = "updating the files"


class Chance(Value):
    """Time and randomness: `random` returns a number from 0 to 1, `sleep` waits for seconds, `clock` counts them."""

    random: Callable[[], float] = lambda: int.from_bytes(os.urandom(4), "big") / 2**32
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


class Options(Value):
    """How to sync: unusual states to accept, a callback for each step, and limits."""

    accept: Collection[Accept] = ()
    progress: Callable[[str], None] = lambda _: None
    attempts: int = 40
    chance: Chance = Chance()


def in_rounds(attempt: Callable[[int], T | None], options: Options, remote: str) -> T:
    """Run `attempt` with the number of the round until it returns something; raises BusyError after all rounds."""
    chance = options.chance
    for number in range(1, options.attempts + 1):
        began = chance.clock()
        done = attempt(number)
        if done is not None:
            return done
        if number < options.attempts:
            options.progress(SyncStep.WAIT)
            chance.sleep(pause(number, chance.random(), chance.clock() - began))
    message = f"Other machines pushed to {remote} first, {options.attempts} times."
    raise BusyError(message, "Nothing is lost; sync again later.")


def pause(number: int, random: float, took: float) -> float:
    """Return the seconds to wait after `number` failed rounds, the last of which took `took` seconds.

    `random` is from 0 to 1: exponential backoff with full jitter, so that machines that failed together spread out. The
    unit is the duration of a round, which depends on network and machine.
    """
    return random * min(min(2.0 ** min(number - 1, 30), _MOST_ROUNDS) * max(took, _SHORTEST_PAUSE), _LONGEST_PAUSE)


MEMORY_REF = f"refs/heads/{MEMORY_BRANCH}"  # the memory's branch on every remote


class Synced(Value):
    """The result of a sync: commits received and sent, without merges, documents to review, rounds, notices.

    `purged`: the remote held purged texts, which this sync took out.
    """

    remote: str
    commit: str
    came: int
    went: int
    review: tuple[str, ...]
    rounds: int
    notices: tuple[str, ...]
    purged: bool = False


def fetch_memory(
    remote: Remote, connection: Connection, options: Options, inbox: dict[str, str] | None = None
) -> str | None:
    """Fetch a remote's memory branch, purged texts included; return its commit, None if there is none."""
    options.progress(SyncStep.FETCH)
    fetched = connection.fetch(remote, MEMORY_REF, f"{FETCHED}/{remote.name}/{MEMORY_BRANCH}", inbox)
    if fetched is None and remote.backup:
        raise no_memory(remote)
    return fetched
