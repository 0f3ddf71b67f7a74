"""What a lock saves: writers of one repository that wait for each other, by file lock, by git ref, or not at all.

Every writer is a process that appends lines to one file, a commit each: read the tip, build on it, let
`git fast-import` move the branch from exactly that tip, start again if it has moved. The three ways take turns, round
by round, so that a noisy machine is noisy for all. A save's time is from wanting to commit until it is done, with all
waiting and all starting again. At the end every line must be there, once.

    python bench/locks.py [--writers 8] [--commits 20] [--rounds 3]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gitmem.errors import GitFailedError
from gitmem.git.lock import LockKind, open_lock
from gitmem.git.process import Git, git_without_repository

WAYS = ("file", "ref", "none")
BRANCH = "refs/heads/memory"
LINES = 100  # of the file at the start
WAIT = 300.0  # seconds


def commit(git: Git, line: str) -> int:
    """Append a line to the file in one commit; returns how often it had to start again."""
    for attempt in range(10_000):
        tip = git.run("rev-parse", BRANCH).decode().strip()
        text = git.run("cat-file", "blob", f"{tip}:log.md") + line.encode() + b"\n"
        if move(git, tip, text):
            return attempt
    raise AssertionError("the branch never stood still")


def move(git: Git, tip: str, text: bytes) -> bool:
    """Commit the file on top of `tip`, unless the branch is no longer there."""
    start = f"commit {BRANCH}\ncommitter Bench <bench@example.org> {int(time.time())} +0000\ndata 4\nsave"
    parent = f"\nfrom {tip}" if tip else ""
    stream = f"{start}{parent}\nM 100644 inline log.md\ndata {len(text)}\n".encode() + text + b"\ndone\n"
    try:
        git.run("fast-import", "--quiet", "--done", stdin=stream)
    except GitFailedError as error:
        if "not updating" in error.stderr.lower() or "cannot lock ref" in error.stderr:
            return False
        raise
    return True


def write(repository: Path, way: str, writer: str, commits: int) -> None:
    """Be one writer: print the times of its saves and how often it had to start again."""
    git = Git(repository, None, os.environ)
    kind = LockKind.REF if way == "ref" else LockKind.FILE
    lock = open_lock(git, repository / "gitmem", kind=kind, purpose="bench", machine="bench")
    times, retries = [], 0
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(commits):
        start = time.perf_counter()
        with contextlib.nullcontext() if way == "none" else lock.acquire(WAIT):
            retries += commit(git, f"{writer} {number}")
        times.append(time.perf_counter() - start)
    print(json.dumps([times, retries]))


def race(repository: Path, way: str, writers: int, commits: int, name: str) -> tuple[list[float], int, float]:
    """Let the writers start together; returns their times, their retries, and how long it took in all."""
    processes = []
    for writer in range(writers):
        arguments = [str(repository), way, f"{name}.{writer}", str(commits)]
        command = [sys.executable, __file__, "--write", *arguments]
        processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    for process in processes:
        assert process.stdout
        process.stdout.readline()
    start = time.perf_counter()
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    outputs = [process.communicate()[0] for process in processes]
    took = time.perf_counter() - start
    results = [json.loads(output) for output in outputs]
    return [one for times, _ in results for one in times], sum(retries for _, retries in results), took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--commits", type=int, default=20, help="by each writer in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", nargs=4, metavar="WORD", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        repository, way, writer, commits = options.write
        write(Path(repository), way, writer, int(commits))
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), options.writers, options.commits, options.rounds)


def measure(folder: Path, writers: int, commits: int, rounds: int) -> None:
    for way in WAYS:
        git_without_repository(os.environ).run("init", "-q", "--bare", str(folder / way))
        (folder / way / "gitmem").mkdir()
        move(Git(folder / way, None, os.environ), "", b"a line\n" * LINES)
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    retries, took = dict.fromkeys(WAYS, 0), dict.fromkeys(WAYS, 0.0)
    for number in range(rounds):
        for way in WAYS:
            more, again, seconds = race(folder / way, way, writers, commits, str(number))
            times[way] += more
            retries[way] += again
            took[way] += seconds
    names = {"file": "file lock + compare-and-swap", "ref": "ref lock + compare-and-swap", "none": "compare-and-swap"}
    print(f"{writers} writers, {writers * commits * rounds} commits each way")
    print(f"{'':30} {'commits/s':>9} {'retries each':>12} {'p50 ms':>8} {'p99 ms':>8}  lost  times without a lock")
    for way in WAYS:
        total = len(times[way])
        cuts = statistics.quantiles(times[way], n=100)
        lost = total - kept(Git(folder / way, None, os.environ))
        rate, tries = total / took[way], retries[way] / total
        line = f"{names[way]:30} {rate:9.1f} {tries:12.2f} {cuts[49] * 1000:8.1f} {cuts[98] * 1000:8.1f}"
        print(f"{line}  {lost:4}  {rate / (len(times['none']) / took['none']):.2f}")


def kept(git: Git) -> int:
    """Count the lines the writers added, each once; a commit must stand behind each."""
    lines = git.run("cat-file", "blob", f"{BRANCH}:log.md").decode().splitlines()[LINES:]
    assert int(git.run("rev-list", "--count", BRANCH)) == len(lines) + 1
    return len(set(lines))


if __name__ == "__main__":
    main()
