"""What a commit costs, side by side in one run, index kept in step: gitmem, git, GitPython, bare fast-import.

The work is the same for each: append 500 bytes to a file of 50 KB in a repository of N files and commit it. Each round
begins with a file of 50 KB again, which fifty commits of a drain let grow by half: as large as memory.md gets. The
engines take turns, commit by commit, so that a noisy machine is noisy for all; medians are compared. gitmem's commits
are synced to disk, git's default ones are not; `git (synced)` is git with the same promise.

    python bench/commit.py [--files 100 10000 100000] [--rounds 15]
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from gitmem.document.message import Message, Op, Trailer
from gitmem.platform.machine import Context
from gitmem.store.init import Place, init_store
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction

APPENDED = b"x" * 499 + b"\n"
DRAIN = 50
TARGETS = {100: 1.6, 10_000: 0.7, 100_000: 0.7}
Step = Callable[[], None]


def git_environment(home: Path) -> dict[str, str]:
    """Return a plain user's environment: an identity, nothing else configured."""
    (home / ".gitconfig").write_text("[user]\n\tname = Bench\n\temail = bench@example.org\n[gc]\n\tauto = 0\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "HOME": str(home)}


def context(environ: Mapping[str, str]) -> Context:
    return Context(environ, environ["HOME"], "bench", lambda: datetime.now(UTC).astimezone())


def make_store(root: Path, environ: Mapping[str, str], files: int) -> Store:
    """Make a store with `files` files beside memory.md."""
    root.mkdir()
    store = init_store(str(root), context(environ), Place.PROJECT).store
    work = Path(store.root)
    for number in range(files):
        path = work / "facts" / f"{number // 200:04d}" / f"{number:06d}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"a line of a fact\n" * 20)
    (work / "note.md").write_bytes(b"fifty bytes of text, give or take a few, and an end\n" * 960)
    run: dict[str, Any] = {"cwd": work, "env": environ, "check": True}
    subprocess.run(["git", "add", "-A"], **run)
    subprocess.run(["git", "commit", "-qm", "files"], **run)
    subprocess.run(["git", "repack", "-adq"], **run)
    transact(store, lambda _: None, purpose="bench")
    return store


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(APPENDED)


def save(store: Store, commits: int) -> None:
    """Have gitmem append to the file in so many commits of one transaction."""

    def plan(transaction: Transaction) -> None:
        for _ in range(commits):
            data = (transaction.read("note.md") or b"") + APPENDED
            transaction.commit(Message("bench", ((Trailer.OP.value, Op.SAVE.value),)), {"note.md": data})

    transact(store, plan, purpose="bench")


def engines(store: Store, environ: Mapping[str, str], tip: Callable[[], str]) -> dict[str, Step]:
    """Return one step, a commit, for each engine; all work on the same repository."""
    work, note = Path(store.root), Path(store.root) / "note.md"

    def run(*args: str, stdin: bytes | None = None) -> None:
        subprocess.run(["git", *args], cwd=work, env=environ, check=True, input=stdin, stdout=subprocess.DEVNULL)

    def git(*config: str) -> None:
        append(note)
        run(*config, "add", "note.md")
        run(*config, "commit", "-qm", "bench")

    def git_synced() -> None:
        git("-c", "core.fsync=committed,reference")

    def fast_import() -> None:
        append(note)
        data = note.read_bytes()
        head = f"commit refs/heads/gitmem\ncommitter a <a@b> {int(time.time())} +0000\ndata 5\nbench\nfrom {tip()}\n"
        run(
            "fast-import", "--quiet", stdin=f"{head}M 100644 inline note.md\ndata {len(data)}\n".encode() + data + b"\n"
        )
        run("update-index", "note.md")

    def gitpython() -> None:
        from git import Repo

        append(note)
        with Repo(work) as repository:
            repository.index.add(["note.md"])
            repository.index.commit("bench")

    return {
        "git": git,
        "git (synced)": git_synced,
        "gitmem": partial(save, store, 1),
        f"gitmem, {DRAIN} in one drain, each": partial(save, store, DRAIN),
        "bare fast-import + update-index": fast_import,
        "GitPython index.commit": gitpython,
    }


def measure(files: int, rounds: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="gitmem-bench-"))
    try:
        environ = git_environment(folder)
        os.environ.update(HOME=str(folder))
        store = make_store(folder / "project", environ, files)
        steps = engines(store, environ, lambda: store.tip or "")
        times: dict[str, list[float]] = {name: [] for name in steps}
        note = Path(store.root) / "note.md"
        fresh = note.read_bytes()
        for turn in range(rounds + 1):
            note.write_bytes(fresh)
            subprocess.run(
                ["git", "commit", "-qam", "begin again"], cwd=store.root, env=environ, stdout=subprocess.DEVNULL
            )
            store.record_checkout(store.tip or "")
            gc.collect()  # what one engine leaves is not cleared away on another's time
            for name, step in steps.items():
                if files > 1000 and name.startswith("GitPython") and turn > 3:
                    continue
                start = time.perf_counter()
                step()
                store.record_checkout(store.tip or "")  # what others committed is in the work tree already
                if turn:  # the first round warms caches and imports
                    times[name].append((time.perf_counter() - start) * 1000)
        report(
            files,
            {name: statistics.median(values) / (DRAIN if "drain" in name else 1) for name, values in times.items()},
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def report(files: int, medians: Mapping[str, float]) -> None:
    base = medians["git"]
    print(f"\n{files:,} files: one commit, median ms (times git add + git commit)")
    for name, value in medians.items():
        target = {"gitmem": TARGETS.get(files)}.get(name, 0.1 if "drain" in name else None)
        verdict = "" if target is None else f"   target {target:g}: {'ok' if value / base <= target else 'MISSED'}"
        print(f"  {name:38} {value:9.2f}  {value / base:6.2f}x{verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, nargs="+", default=[100, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    for files in args.files:
        measure(files, args.rounds)


if __name__ == "__main__":
    main()
