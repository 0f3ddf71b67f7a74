"""What a sync costs beside plain `git fetch` and `git push`, how it grows, and how retries grow with the machines.

    python bench/sync.py                 one pair of machines, small and large stores
    python bench/sync.py --many 8 20     eight clones that save and sync 20 times at once: converged, lost, time
    python bench/sync.py --simulate      rounds a sync takes, by the number of machines and how often they sync

Ratios are beside git doing the same: fetch and push of the same commits one after another, each process as a person
would start it. A sync also commits hand edits, checks what comes, merges, and brings the work tree up to date.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from gitmem.document.message import Message
from gitmem.git.remote import Connection
from gitmem.platform.clock import Context
from gitmem.store.init import Place, init_store
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.sync.guard import Accept
from gitmem.sync.remotes import add_remote, find_remote
from gitmem.sync.rounds import Options, pause, sync

ROUNDS = 15
WINDOW = 1.5  # seconds from a fetch to the end of the push, over ssh to a hosting site


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--many", nargs=2, type=int, metavar=("CLONES", "SAVES"))
    parser.add_argument("--simulate", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-sync-") as folder:
        os.environ.update(HOME=folder, GIT_CONFIG_NOSYSTEM="1")
        if args.simulate:
            simulate()
        elif args.many:
            many(Path(folder), *args.many)
        else:
            beside_git(Path(folder))


def git(cwd: Path | str, *args: str) -> str:
    name = {f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    run = subprocess.run(["git", *args], cwd=cwd, env={**os.environ, **name}, capture_output=True, check=True)
    return run.stdout.decode()


def context(folder: Path, name: str) -> Context:
    return Context(dict(os.environ), str(folder), name, lambda: datetime.now(UTC))


def beside_git(folder: Path) -> None:
    """Two machines take turns; what one brings the other sends on, by git alone and by gitmem."""
    print("git fetch + push, and with git merge between them, beside a sync without and with a merge; medians")
    print(f"{'files':>7}  {'git':>7}  {'sync':>7}  ratio  {'git, merge':>11}  {'sync, merge':>11}  ratio")
    for files in (100, 1_000, 10_000, 20_000):
        base = folder / str(files)
        base.mkdir()
        remote = base / "remote.git"
        git(base, "init", "-q", "--bare", str(remote))
        stores = [_store(base, name, remote, files if name == "one" else 0) for name in ("one", "two")]
        first = [_sync(store) for store in stores]
        print(f"{files:>7}  sent for the first time in {first[0]:.1f} s, and fetched in {first[1]:.1f} s", flush=True)
        plain: list[tuple[float, float]] = []
        fast: list[float] = []
        merged: list[float] = []
        for number in range(ROUNDS):  # in turns: whatever else the machine does then slows all of them
            plain += [_plain(store, remote, number) for store in stores]
            for store in (*stores, stores[0]):
                _sync(store)
            fast.append(_fast_forward(stores, number))
            merged.append(_merge(stores, number))
        alone, whole = ([times[number] for times in plain] for number in (0, 1))
        a, b, c, d = (statistics.median(times) * 1000 for times in (alone, fast, whole, merged))
        shown = f"{a:>4.0f} ms  {b:>4.0f} ms  {b / a:>5.2f}  {c:>8.0f} ms  {d:>8.0f} ms  {d / c:>5.2f}"
        print(f"{files:>7}  {shown}", flush=True)


def _store(base: Path, name: str, remote: Path, files: int) -> Store:
    project = base / name
    project.mkdir()
    store = init_store(str(project), context(base, name), Place.PROJECT).store
    add_remote(store, "origin", str(remote))
    for number in range(files):
        path = Path(store.root, "knowledge", f"{number // 100:03d}", f"{number}.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\nid: k{number}\n---\n# {number}\n\n" + "A line of knowledge.\n" * 20)
    if files:
        git(store.root, "add", "-A")
        git(store.root, "commit", "-qm", "Knowledge")
    return Store(store.root, store.context)


def _sync(store: Store) -> float:
    started = time.perf_counter()
    sync(
        store,
        find_remote(store, None),
        Connection(store.repository.layout, store.context.environ),
        Options((Accept.OTHER_PROJECT,)),
    )
    return time.perf_counter() - started


def _change(store: Store, name: str, number: int) -> None:
    """Have gitmem commit three new files and a line more in one that both machines change."""

    def plan(transaction: Transaction) -> None:
        changes: dict[str, bytes | None] = {
            f"knowledge/000/{name}-{number}-{index}.md": f"# {name} {number}\n".encode() + b"Something new.\n" * 20
            for index in range(3)
        }
        changes["log.md"] = (transaction.read("log.md") or b"# Log\n") + f"\n{name} {number}\n".encode()
        transaction.commit(Message(f"{name} {number}", ()), changes)

    transact(store, plan, purpose="bench")


def _plain(store: Store, remote: Path, number: int) -> tuple[float, float]:
    """Have git fetch what the other one sent, merge it, and push; returns the time without and with the merge."""
    _change(store, "plain", number)
    started = time.perf_counter()
    git(store.root, "fetch", "-q", str(remote), "+refs/heads/gitmem:refs/bench/theirs")
    fetched = time.perf_counter() - started
    git(store.root, "merge", "-q", "-X", "ours", "--no-edit", "refs/bench/theirs")
    merged = time.perf_counter()
    git(store.root, "push", "-q", str(remote), "gitmem")
    ended = time.perf_counter()
    return fetched + ended - merged, ended - started


def _fast_forward(stores: list[Store], number: int) -> float:
    """One sends, and the other has nothing of its own to send but what came after."""
    one, two = stores
    _change(one, "fast", number)
    sent = _sync(one)
    _sync(two)
    return sent


def _merge(stores: list[Store], number: int) -> float:
    """Both have something; the second one merges and sends the merge."""
    one, two = stores
    _change(one, "mine", number)
    _change(two, "yours", number)
    _sync(one)
    seconds = _sync(two)
    _sync(one)
    return seconds


def many(folder: Path, clones: int, saves: int) -> None:
    remote = folder / "remote.git"
    git(folder, "init", "-q", "--bare", str(remote))
    projects = [folder / f"clone-{number}" for number in range(clones)]
    for project in projects:
        project.mkdir()
        gitmem(project, "init")
        gitmem(project, "remote", "add", str(remote))
        gitmem(project, "config", "maintenance.automatic", "false")
        gitmem(project, "sync", "--accept", "other-project")

    def work(project: Path) -> tuple[int, int]:
        rounds = late = 0
        for number in range(saves):
            gitmem(project, "save", f"{project.name} says {number}")
            done = gitmem(project, "sync", "--json", ok=(0, 5))
            late += not done
            rounds += int(done.split('"rounds": ')[1].split(",")[0]) if done else 0
        return rounds, late

    started = time.perf_counter()
    with ThreadPoolExecutor(clones) as pool:
        counts = list(pool.map(work, projects))
    seconds = time.perf_counter() - started
    for _ in range(2):
        for project in projects:
            gitmem(project, "sync", "--accept", "other-project")
    tips = {git(project / ".gitmem", "rev-parse", "HEAD") for project in projects}
    text = "".join(path.read_text() for path in (projects[0] / ".gitmem" / "daily").rglob("*.md"))
    lost = sum(text.count(f": clone-{n} says {i} ^") != 1 for n in range(clones) for i in range(saves))
    syncs = clones * saves
    rounds, late = (sum(numbers) for numbers in zip(*counts, strict=True))
    print(
        f"{clones} clones x {saves} saves, each synced: {seconds:.1f} s, {seconds / syncs * 1000:.0f} ms a save + sync"
    )
    print(
        f"rounds a sync {rounds / max(syncs - late, 1):.2f}, gave up {late}; tips at the end {len(tips)}, lost {lost}"
    )
    merges = git(projects[0] / ".gitmem", "rev-list", "--merges", "--count", "HEAD").strip()
    print(f"commits in history {git(projects[0] / '.gitmem', 'rev-list', '--count', 'HEAD').strip()}, merges {merges}")


def gitmem(cwd: Path, *args: str, ok: tuple[int, ...] = (0,)) -> str:
    run = subprocess.run([sys.executable, "-m", "gitmem", *args], cwd=cwd, capture_output=True, check=False)
    assert run.returncode in ok, run.stderr.decode()
    return run.stdout.decode()


def simulate() -> None:
    """Machines that sync at random moments with one compare-and-swap between them, and pauses as gitmem has them."""
    print("rounds a sync takes: mean, and the 99th of a hundred; '-': a tenth of the syncs or more gave up\n")
    print("machines  every 15 min     every minute     every 10 s       all at once")
    for machines in (2, 4, 8, 16, 32, 64, 100, 200):
        row = [_simulated(machines, every) for every in (900.0, 60.0, 10.0, 0.0)]
        print(f"{machines:>8}  " + "  ".join(f"{cell:<15}" for cell in row), flush=True)


def _simulated(machines: int, every: float) -> str:
    chance = random.Random(machines)
    syncs = 20 if every else 1
    # Events: (time, machine, version it fetched, None before it does, round, duration)
    events = [(chance.random() * every, number, None, 1, 0.0) for number in range(machines)]
    left = dict.fromkeys(range(machines), syncs)
    version, rounds, failed = 0, [], 0
    import heapq

    heapq.heapify(events)
    while events:
        when, number, seen, tries, took = heapq.heappop(events)
        if seen is None:
            took = WINDOW * (0.5 + chance.random())
            heapq.heappush(events, (when + took, number, version, tries, took))
            continue
        done = seen == version
        if not done and tries < 40:
            heapq.heappush(events, (when + pause(tries, chance.random(), took), number, None, tries + 1, 0.0))
            continue
        version += done
        failed += not done
        rounds.append(tries)
        left[number] -= 1
        if left[number]:
            heapq.heappush(events, (when + chance.expovariate(1 / every) if every else when, number, None, 1, 0.0))
    if failed * 10 >= len(rounds):
        return "-"
    rounds.sort()
    return f"{statistics.mean(rounds):.2f} / {rounds[int(len(rounds) * 0.99)]}"


if __name__ == "__main__":
    main()
