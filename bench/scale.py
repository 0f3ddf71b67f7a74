"""How what a user waits for grows with the memory: CPU seconds, memory and exponents, at 1,000 to 100,000 exchanges.

    python bench/scale.py [--sizes 1000 10000 100000] [--rounds 2] [--keep FOLDER]

For each size a store is written by one `git fast-import`: sessions of ten exchanges over three years, by ten people; a
fact for ten exchanges, of which one in 50 is retired, an episode for five, a concept and a bug pattern for twenty, in
words drawn by Zipf's law. The rendering is gitmem's own. Then a clone of it runs each command, beside `git clone`: its
first look, the first save after a plain `git pull` that brings all facts, and the rest. CPU seconds are those of the
process and of all that it waited for, the least of the rounds (the first of its kind has one); memory is that of the
largest process, 22 MB at least. The exponent compares with the size before: 1 is linear. 100,000 exchanges take some 5
minutes of CPU and 3 GB.
"""

from __future__ import annotations

import argparse
import compileall
import itertools
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import gitmem
from gitmem.document.entry import render_entry
from gitmem.document.ids import exchange_id, session_path
from gitmem.model.concept import Concept, concept_id, render_new
from gitmem.model.episode import Episode, episode_id, episode_path, render_episode
from gitmem.model.error import ErrorSignature
from gitmem.model.exchange import Exchange, render
from gitmem.model.fact import FactKind, FactStatus, make_fact, render_fact
from gitmem.model.outcome import Outcome
from gitmem.model.pattern import Case, ErrorOccurrence, begun, render_pattern
from gitmem.model.request import TaskType

RANDOM = random.Random(11)
SYLLABLES = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
WORDS = ["".join(RANDOM.choices(SYLLABLES, k=RANDOM.randint(2, 4))) for _ in range(15_000)]
SHARES = list(itertools.accumulate(1 / (rank + 2) for rank in range(len(WORDS))))
TOPICS = ["timeout", "retry", "cursor", "index", "schema", "lock", "cache", "pool", "token", "batch", "encoding"]
END = datetime(2026, 11, 1, 12, tzinfo=UTC)
DAYS = 3 * 365
RETIRED = 50  # one of so many facts is not in force any more
ASKED: list[str] = []  # what was asked in the store that was made last
BARS = {"clone": "2 x git", "first save after a pull": "5 s", "status, the first": "0.3 s", "a prompt": "0.15 s"}


class Cost(NamedTuple):
    """CPU seconds and the kilobytes of the largest process."""

    seconds: float
    kilobytes: int
    output: str


def words(count: int) -> str:
    return " ".join(RANDOM.choices(WORDS, cum_weights=SHARES, k=count))


def session_files(number: int, start: datetime) -> Iterator[tuple[str, bytes]]:
    """Yield what a session of ten exchanges leaves, but for its fact."""
    session = f"{number:08x}-0000-4000-8000-000000000000"
    lines = []
    for place in range(10):
        topic, part, at = RANDOM.choice(TOPICS), f"part{RANDOM.randrange(400)}", start + timedelta(minutes=5 * place)
        file, entry = f"src/{part}/{topic}.py", exchange_id(session, str(place))
        error = ErrorSignature("KeyError", f"'{topic}_{words(1)}'")
        asked, result = f"The {topic} of {part} fails when {words(8)}", f"Fixed: the {topic} of {part} {words(10)}."
        exchange = Exchange(
            *(entry, f"{at:%Y-%m-%d %H:%M:%S}", (session[:8],), result, asked, words(35), (file,)),
            *((f"Failed: `pytest {part}`: KeyError: {error.message}",), (part, topic, words(1))),
        )
        lines.append(render_entry(render(exchange)))
        episode = Episode(
            *(episode_id(session, entry), session, "claude-code", at, at, TaskType.BUG_FIX, asked, Outcome.SUCCESS),
            *((entry,), (), (file,), (error,), 3),
        )
        if place % 5 == 0:
            ASKED.append(asked)
            yield episode_path(episode), render_episode(episode)
        if place == 3 and number % 2:
            pattern = begun(ErrorOccurrence(error, (Case(entry, at, "pytest"),), (file,)))
            yield pattern.path, render_pattern(pattern)
        if place == 7 and number % 2:
            one, when = concept_id(entry), f"{at:%Y-%m-%dT%H:%M:%SZ}"
            concept = Concept("", one, f"{topic}.py: {part}", when, when, (part, topic), (file,), (entry,), ())
            yield f"concepts/{one}-{topic}-{part}.md", render_new(concept, [f"- {at:%Y-%m-%d} {result} {entry}"])
    path = session_path(f"{start:%Y%m%d_%H%M%S}", session)
    head = f"---\nid: {Path(path).stem}\nkind: session\ncreated: {start:%Y-%m-%dT%H:%M:%S}Z\nsession: {session}\n"
    yield path, f"{head}method: offline\n---\n# Session {session}\n\n## Exchanges\n\n{''.join(lines)}".encode()


def fact_files(count: int) -> Iterator[tuple[str, bytes]]:
    for number in range(count):
        text = f"The {RANDOM.choice(TOPICS)} of part{number} uses {words(6)}."
        fact = make_fact([*FactKind][number % 5], text, END - timedelta(days=DAYS * (1 - number / count)))
        fact = fact._replace(status=FactStatus.RETIRED) if number % RETIRED == 0 else fact
        yield fact.path, render_fact(fact)


class Machine:
    """A folder for a size: projects, a bare remote, and what commands cost in them."""

    def __init__(self, folder: Path, exchanges: int) -> None:
        self.folder, self.exchanges, self.remote = folder, exchanges, folder / "remote.git"
        self.environ = {name: value for name, value in os.environ.items() if name[:4] not in {"GIT_", "PYTH"}}
        self.environ |= {"HOME": str(folder), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        (folder / ".gitconfig").write_text("[user]\n\tname = bench\n\temail = bench@example.org\n")

    def run(self, *command: str, cwd: Path | None = None, given: bytes = b"") -> Cost:
        process = subprocess.Popen(
            command, cwd=cwd or self.folder, env=self.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdin
        assert process.stdout
        process.stdin.write(given)
        process.stdin.close()
        text = process.stdout.read().decode("utf-8", "replace")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0 or (process.returncode, command[1]) == (1, "doctor"), (
            command,
            process.returncode,
        )
        return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss, text)

    def project(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir()
        self.run("git", "init", "-q", cwd=path)
        return path

    def build(self) -> str:
        """Write the store and the remote that has all of it but the facts; return the commit that has them."""
        project = self.project("first")
        self.run("gitmem", "init", cwd=project)
        store, sessions = project / ".gitmem", self.exchanges // 10
        tip = self.run("git", "rev-parse", "HEAD", cwd=store).output.strip()
        writer = subprocess.Popen(["git", "fast-import", "--quiet", "--force"], cwd=store, stdin=subprocess.PIPE)
        assert writer.stdin
        stream = writer.stdin

        def commit(who: str, at: datetime, message: str, files: Iterator[tuple[str, bytes]], parent: str = "") -> None:
            stamp = f"{who} <{who}@example.org> {int(at.timestamp())} +0000"
            head = f"commit refs/heads/gitmem\nauthor {stamp}\ncommitter {stamp}\ndata {len(message)}\n{message}\n"
            stream.write((head + (f"from {parent}\n" if parent else "")).encode())
            for path, data in files:
                stream.write(f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n")

        for number in range(sessions):
            start = END - timedelta(days=DAYS * (1 - number / sessions))
            trailers = f"Gitmem-Op: turn\nGitmem-Session: {number:08x}-0000-4000-8000-000000000000\n"
            message = f"Session {number}: {words(5)}\n\n{trailers}"
            commit(f"person{number % 10}", start, message, session_files(number, start), "" if number else tip)
        commit("person0", END, "Facts\n", fact_files(self.exchanges // 10))
        stream.close()
        assert writer.wait() == 0
        for command in ("reset -q --hard gitmem", "repack -adq", "commit-graph write --reachable --changed-paths"):
            subprocess.run(["git", *command.split()], cwd=store, check=True, stderr=subprocess.DEVNULL)
        self.run("git", "clone", "-q", "--bare", "--single-branch", "-b", "gitmem", f"file://{store}", str(self.remote))
        full = self.run("git", "rev-parse", "gitmem", cwd=self.remote).output.strip()
        self.run("git", "update-ref", "refs/heads/gitmem", "gitmem~1", cwd=self.remote)
        return full

    def measure(self, rounds: int) -> dict[str, Cost]:
        found: dict[str, Cost] = {}
        full, url = self.build(), f"file://{self.remote}"
        found["git clone"] = self.run("git", "clone", "-q", url, "by-git")
        second = self.project("second")

        def gitmem(*argv: str, at: Path = second, given: bytes = b"") -> Cost:
            return self.run("gitmem", *argv, cwd=at, given=given)

        found["clone"] = gitmem("clone", url)
        self.run("git", "update-ref", "refs/heads/gitmem", full, cwd=self.remote)
        self.run("git", "pull", "-q", "--ff-only", "origin", "gitmem", cwd=second / ".gitmem")
        found["first save after a pull"] = gitmem("save", "A note of the second machine.")
        shutil.rmtree(second)
        self.project("second")
        gitmem("clone", url)
        found["status, the first"] = gitmem("status")
        prompt = {"hook_event_name": "UserPromptSubmit", "cwd": str(second), "prompt": ASKED[-20]}
        commands = {
            "status": ("status",),
            "doctor": ("doctor",),
            "episodes": ("episodes",),
            "sessions": ("sessions",),
            "review": ("review",),
            "facts add": ("facts", "add", "--kind", "rule"),
            "save": ("save",),
            "start": ("start",),
            "keywords": ("keywords",),
            "search": ("search", "retry part7"),
            "guide": ("guide", "retry part7"),
            "a prompt, the first": ("hook", "claude"),
            "texts for prompts": ("reindex", "--background"),
            "a prompt": ("hook", "claude"),
        }
        for name, argv in commands.items():
            for number in range(rounds):
                words_said = (words(9),) if argv[0] in {"save", "facts"} else ()
                asked = json.dumps({**prompt, "session_id": f"{name} {number}"}).encode() if argv[0] == "hook" else b""
                cost = gitmem(*argv, *words_said, given=asked)
                found[name] = min(cost, found.get(name, cost))
        first = self.folder / "first"
        gitmem("remote", "add", url, at=first)
        found["sync, the first"] = gitmem("sync", at=first)
        gitmem("save", "A note of the first machine.", at=first)
        gitmem("sync", at=first)
        found["sync with a merge"] = gitmem("sync")
        found["sync that receives"] = gitmem("sync", at=first)
        return found


def show(sizes: list[int], costs: list[dict[str, Cost]]) -> None:
    print(f"{'CPU seconds':<24}" + "".join(f"{size:>10,}" for size in sizes) + "   exponents     MB at the largest")
    for name in costs[0]:
        seconds = [cost[name].seconds for cost in costs]
        steps = zip(itertools.pairwise(seconds), itertools.pairwise(sizes), strict=True)
        grew = " ".join(f"{math.log(b / a) / math.log(m / n):5.2f}" for (a, b), (n, m) in steps)
        line = f"{name:<24}" + "".join(f"{one:>10.2f}" for one in seconds)
        print(f"{line}   {grew:<12} {costs[-1][name].kilobytes / 1000:>6.0f}   {BARS.get(name, '')}")
    told = ", ".join("told" if cost["a prompt"].output.strip() else "silent" for cost in costs)
    ratios = ", ".join(f"{cost['clone'].seconds / cost['git clone'].seconds:.2f}" for cost in costs)
    print(f"\na prompt of which something is remembered: {told}\nclone, as a multiple of git clone: {ratios}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="make the stores in this folder, and leave them there")
    options = parser.parse_args()
    compileall.compile_dir(Path(gitmem.__file__).parent, quiet=2)  # as an installer does
    with tempfile.TemporaryDirectory(prefix="gitmem-scale-") as temporary:
        costs = []
        for size in options.sizes:
            folder = (options.keep or Path(temporary)) / str(size)
            folder.mkdir(parents=True)
            costs.append(Machine(folder, size).measure(options.rounds))
            show(options.sizes[: len(costs)], costs)


if __name__ == "__main__":
    main()
