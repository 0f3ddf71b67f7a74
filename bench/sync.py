"""What a sync costs beside plain `git fetch` and `git push`: `python bench/sync.py`, with small and large stores.

`bench/teams.py` has what many machines at once cost.

Ratios are beside git doing the same: fetch and push of the same commits one after another, each process as a user
would start it. A sync also commits hand edits, checks what comes, merges, and brings the work tree up to date.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from gitmem.document.message import Message
from gitmem.git.remote import Connection
from gitmem.platform.machine import Context
from gitmem.store.init import Place, init_store
from gitmem.store.remotes import add_remote, find_remote
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.sync.fetch import Options
from gitmem.sync.guard import Accept
from gitmem.sync.rounds import sync

ROUNDS = 15
SIZES = (100, 1_000, 10_000, 20_000)  # files of a store


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-sync-") as folder:
        os.environ.update(HOME=folder, GIT_CONFIG_NOSYSTEM="1")
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
    for files in SIZES:
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


if __name__ == "__main__":
    main()
