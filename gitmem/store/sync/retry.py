"""Trying again where another machine was quicker: in rounds, with random pauses between them (docs/sync.md).

Every machine pushes to one branch by compare-and-swap, so of those that overlap one wins, and the others begin anew.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from gitmem.errors import BusyError

if TYPE_CHECKING:
    from gitmem.store.sync.guard import Accept

T = TypeVar("T")

ATTEMPTS = 40
_SHORTEST_PAUSE = 0.05  # seconds: the least a round counts for
_MOST_ROUNDS = 16.0  # that a pause takes: what sixteen machines need that all have something to push
_LONGEST_PAUSE = 10.0  # seconds


class Step(StrEnum):
    """What a sync is doing, for those who wait."""

    FETCH = "fetching"
    MERGE = "merging"
    PUSH = "pushing"
    WAIT = "waiting, since another machine was quicker"
    FILES = "bringing the files up to date"


@dataclass(frozen=True, slots=True)
class Chance:
    """Time and randomness: `random` returns a number from 0 to 1, `sleep` waits for seconds, `clock` counts them."""

    random: Callable[[], float] = field(default=lambda: int.from_bytes(os.urandom(4), "big") / 2**32)
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class Options:
    """How to sync: what unusual things to `accept`, and whom to tell of each step."""

    accept: Collection[Accept] = ()
    progress: Callable[[str], None] = lambda _: None
    attempts: int = ATTEMPTS
    chance: Chance = Chance()


def in_rounds(attempt: Callable[[int], T | None], options: Options, remote: str) -> T:
    """Return what the first round returns that is not None; `attempt` gets the number of its round.

    Raises:
        BusyError: others were quicker each time.

    """
    chance = options.chance
    for number in range(1, options.attempts + 1):
        began = chance.clock()
        done = attempt(number)
        if done is not None:
            return done
        if number < options.attempts:
            options.progress(Step.WAIT)
            chance.sleep(pause(number, chance.random(), chance.clock() - began))
    raise BusyError(
        f"Others were quicker {options.attempts} times to push to {remote}.",
        "What is here is safe and goes with the next sync.",
    )


def pause(number: int, random: float, took: float) -> float:
    """Return how many seconds to wait after so many rounds in vain, the last of which `took` some.

    `random` is a number from 0 to 1. Anything up to a limit that doubles ("full jitter"): of many that failed together
    few come back together. A round is the measure, since who comes back sooner meets the same ones again, be they slow
    for their network or for their machine.
    """
    return random * min(min(2.0 ** min(number - 1, 30), _MOST_ROUNDS) * max(took, _SHORTEST_PAUSE), _LONGEST_PAUSE)
