"""How a store grows: its size and the cost of keeping it small, against what git makes of the same history.

Saves go the way of all saves, through the spool, a few to a drain so that it is quick; maintenance runs whenever
`gitmem.store.maintenance.is_due` says so. The yardsticks: a bare clone that is packed afresh from nothing, as
git does it by itself and with a wide window (ten minutes of CPU at 10,000 commits); and `git log -- PATH` without the
commit graph.

    python bench/growth.py [--commits 10000]
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from gitmem.document.event import Save
from gitmem.document.ids import make_id
from gitmem.platform.machine import Context
from gitmem.record.save import drain
from gitmem.store.init import Place, init_store
from gitmem.store.maintenance import is_due, maintain
from gitmem.store.store import Store

DRAIN = 5
REPORT = 1000
TARGET = 1.3
ROUNDS = 5
FIRST = datetime(2026, 1, 1, 8, tzinfo=UTC)


def cpu() -> float:
    """Return the CPU seconds of this process and of all that it started."""
    spent = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        spent += usage.ru_utime + usage.ru_stime
    return spent


def costing(action: Callable[[], object]) -> float:
    begin = cpu()
    action()
    return cpu() - begin


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class Clock:
    """Forty minutes between two saves: 36 a day."""

    def __init__(self) -> None:
        self.saves = 0

    def __call__(self) -> datetime:
        return FIRST + timedelta(minutes=40) * self.saves


def grow(store: Store, clock: Clock, commits: int) -> float:
    """Save until there are so many commits; returns the CPU seconds that maintenance took."""
    rng = random.Random(4)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 9))) for _ in range(3000)]
    spent = reported = 0.0
    print(f"{'commits':>8} {'objects':>9} {'packs':>6}  {'maintenance, CPU s':>18}")
    while clock.saves < commits:
        for _ in range(DRAIN):
            clock.saves += 1
            identifier = make_id(int(clock().timestamp() * 1000), rng.randbytes(7))
            text = " ".join(rng.choices(words, k=75))
            store.spool.deliver(Save(identifier, clock(), text).to_event())
        drain(store)
        if is_due(store):
            spent += costing(lambda: maintain(store))
        if clock.saves % REPORT == 0:
            objects = Path(store.root, ".git", "objects")
            packs = len(list(objects.glob("pack/*.pack")))
            print(f"{clock.saves:>8} {size(objects) / 1e6:>6.2f} MB {packs:>6}  {spent - reported:>18.2f}", flush=True)
            reported = spent
    return spent + costing(lambda: maintain(store))


def log_time(store: Store, *options: str) -> float:
    """Return the median of how long the history of the oldest daily log takes, in milliseconds."""
    path = next(iter(sorted(Path(store.root, "daily").rglob("*.md")))).relative_to(store.root)
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        command = ["git", *options, "log", "--format=%H", "--", str(path)]
        subprocess.run(command, cwd=store.root, stdout=subprocess.DEVNULL, check=True)
        times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", type=int, default=10_000)
    commits = parser.parse_args().commits
    with tempfile.TemporaryDirectory(prefix="gitmem-growth-") as folder:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environ["HOME"] = str(Path(folder, "home"))
        os.environ.clear()
        os.environ.update(environ)
        clock = Clock()
        store = init_store(folder, Context(environ, environ["HOME"], "bench", clock), Place.PROJECT).store
        spent = grow(store, clock, commits)
        ours = size(Path(store.root, ".git", "objects"))
        print(f"\nmaintenance: {spent / commits * 1000:.2f} CPU s per 1,000 commits")
        print(f"size: {ours / 1e6:.2f} MB, {ours / commits / 1000:.2f} kB a commit; packed afresh by git:")
        clone = Path(folder, "clone.git")
        subprocess.run(["git", "clone", "--quiet", "--bare", store.root, clone], check=True)
        for options in ([], ["--window=250"]):
            took = costing(partial(subprocess.run, ["git", "repack", "-adfq", *options], cwd=clone, check=True))
            full = size(clone / "objects")
            name = " ".join(["git repack -adf", *options])
            print(f"  {name:<28} {full / 1e6:>7.2f} MB  {took:>6.1f} CPU s   ratio {ours / full:.2f} (target {TARGET})")
        with_graph, without = log_time(store), log_time(store, "-c", "core.commitGraph=false")
        ratio = with_graph / without
        print(f"git log -- PATH: {with_graph:.1f} ms, without the commit graph {without:.1f} ms, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
