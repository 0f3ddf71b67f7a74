"""What guidance costs beside a search of the same store: 10,000 episodes, 2,000 bug patterns, 200 days of exchanges.

All are timed in turns, in one process, by the median. The target is 1.5 times the search for the same words.

    python bench/guidance.py [--episodes N] [--patterns N] [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from gitmem.lessons.episode import Episode, episode_id, episode_path, render_episode
from gitmem.lessons.error import read_error
from gitmem.lessons.error_occurrence import ErrorOccurrence
from gitmem.lessons.guide import guide
from gitmem.lessons.known_errors import pattern_headers, tell_error
from gitmem.lessons.pattern import begun, render_pattern
from gitmem.lessons.prompt import plain_query, remembered
from gitmem.platform.machine import Context
from gitmem.search.engine import answer
from gitmem.sessions.outcome import Outcome
from gitmem.sessions.turns import TaskType
from gitmem.store.init import Place, init_store
from gitmem.store.store import Store

TARGET = 1.5
DAYS, PER_DAY = 200, 10
BEGAN = datetime(2024, 1, 1, 9, 0, tzinfo=UTC)
ACTS = ("add", "fix", "rename", "split", "cache", "log", "test", "document", "retry", "validate", "import", "export")
THINGS = (
    "importer",
    "parser",
    "cache",
    "queue",
    "scheduler",
    "mailer",
    "router",
    "schema",
    "index",
    "upload",
    "invoice",
)
PLACES = (
    "prices",
    "orders",
    "users",
    "archive",
    "backend",
    "frontend",
    "worker",
    "mobile",
    "admin",
    "billing",
    "metrics",
)
WORDS = [one + two for one in ("re", "un", "pre", "over", "sub") for two in ("load", "bind", "map", "scan", "trace")]


def sentence(chance: random.Random) -> str:
    """Return a task of the kind that people set."""
    act, thing, place = chance.choice(ACTS), chance.choice(THINGS), chance.choice(PLACES)
    return f"{act.capitalize()} the {thing} of {place} with {chance.choice(WORDS)} {chance.randrange(900)}"


def episodes(number: int, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield the files of episodes."""
    for count in range(number):
        at = BEGAN + timedelta(hours=count)
        exchange = f"x{count:010d}"
        made = Episode(
            episode_id(f"s-{count}", exchange),
            f"s-{count}",
            "bench",
            at,
            at,
            TaskType.FEATURE,
            sentence(chance),
            chance.choice(list(Outcome)),
            (exchange,),
            files=(f"src/{chance.choice(THINGS)}_{count % 97}.py",),
            solution=sentence(chance),
            tips=(sentence(chance), sentence(chance)),
            gotchas=(f"{sentence(chance)} did not help",),
        )
        yield episode_path(made), render_episode(made)


def patterns(number: int, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield the files of bug patterns."""
    for count in range(number):
        error = read_error(f"ModuleNotFoundError: No module named 'module_{count}'" if count % 2 else failure(count))
        assert error is not None
        sight = ErrorOccurrence(
            f"x{count:010d}", BEGAN + timedelta(hours=count), error, "pytest", f"`{sentence(chance)}`"
        )
        pattern = begun(sight)
        yield pattern.path, render_pattern(pattern)


def failure(count: int) -> str:
    """Return the output of a failed command."""
    return f"Exit code 1\nValueError: the {WORDS[count % 25]} of table_{count} has no column 'c_{count}'"


def days(chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield the daily logs."""
    for day in range(DAYS):
        at = BEGAN + timedelta(days=day)
        lines = [
            f"- [{9 + n // 6:02d}:{n % 6}0:00] **Exchange** #aaaaaaaa: {sentence(chance)} ^y{day * PER_DAY + n:010d}\n"
            f"\n  **Answer:** {'. '.join(sentence(chance) for _ in range(6))}.\n"
            for n in range(PER_DAY)
        ]
        yield f"daily/{at:%Y/%m/%Y-%m-%d}.md", "\n".join(lines).encode()


def timed(call: Callable[[], object]) -> float:
    """Return how many milliseconds a call takes."""
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def filled(home: str, args: argparse.Namespace, chance: random.Random) -> Store:
    """Return a store with episodes, patterns and days."""
    context = Context(dict(os.environ), home, "bench", lambda: datetime.now(UTC))
    project = Path(home, "project")
    project.mkdir()
    init_store(str(project), context, Place.PROJECT)
    store = Store(str(project / ".gitmem"), context)
    for made in (episodes(args.episodes, chance), patterns(args.patterns, chance), days(chance)):
        for name, data in made:
            path = Path(store.root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    pattern_headers(store)
    return store


def main() -> None:
    """Build the store, time, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--patterns", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    chance = random.Random(15)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:  # git may still pack there
        store = filled(home, args, chance)
        times: dict[str, list[float]] = {}
        for count in range(args.rounds + 1):
            task, output = sentence(chance), failure(2 * chance.randrange(args.patterns // 2))
            calls: list[tuple[str, Callable[[], object]]] = [
                ("search", partial(answer, store, plain_query(task), limit=12)),
                ("guide, a task", partial(guide, store, task)),
                ("prompt", partial(remembered, store, task)),
                ("search, an error", partial(answer, store, plain_query(output), limit=12)),
                ("guide, an error", partial(guide, store, "", error=output)),
                ("error", partial(tell_error, store, f"s-{count}", output)),
                ("error, unknown", partial(tell_error, store, f"s-{count}", output.replace("ValueError", "KeyError"))),
            ]
            # What comes second finds the files in the cache of the process, so each comes first in its turn.
            for name, call in calls if count % 2 else reversed(calls):
                took = timed(call)
                if count > 0:  # the first round fills the caches of the disk
                    times.setdefault(name, []).append(took)
    for name, taken in sorted(times.items()):
        beside = statistics.median(times["search, an error" if "error" in name else "search"])
        median = statistics.median(taken)
        judged = "" if name.startswith("search") else f", {median / beside:.2f} x search (target {TARGET})"
        print(f"{name:18} {median:7.1f} ms{judged}")


if __name__ == "__main__":
    main()
