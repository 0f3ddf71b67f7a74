"""What 1,000 facts and 5,000 exchanges cost a session's start and `gitmem facts list --stale`, whole processes.

Two projects with the same code, one with no facts and concepts, one with so many; each fact names two files of the code
and a commit since which one file in ten has changed. The starts take turns, so that a noisy machine is noisy for both;
medians are compared. `FLAT` is what the larger may take in times of the smaller, `STALE` seconds for the list.

    python bench/facts.py [--facts 1000] [--exchanges 5000] [--rounds 21]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gitmem.document.ids import make_id
from gitmem.model.concept import begun, joined, line_of, render_new
from gitmem.model.exchange import Exchange
from gitmem.model.fact import FactKind, make_fact, render_fact

FLAT, STALE = 1.25, 2.0
FILES = 300
A_CONCEPT = 10  # exchanges
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
LINK = "sessions/2026/01/20260101_000000-s.md"


class Project:
    """A project of so many files with a store of so many facts and exchanges."""

    def __init__(self, folder: Path, gitmem: str, environ: dict[str, str], facts: int, exchanges: int) -> None:
        self.folder, self.gitmem, self.environ = folder, gitmem, environ
        folder.mkdir()
        self.run("git", "init", "-q")
        self.run(gitmem, "init")
        for number in range(FILES):
            (folder / f"file{number}.py").write_text(f"{number}\n")
        then = self.commit("Begin")
        for number in range(0, FILES, 10):
            (folder / f"file{number}.py").write_text("changed\n")
        self.commit("Change")
        self.run("git", "gc", "-q")  # as a clone is: a tree that is loose takes git four times as long to read
        self.run(gitmem, "save", "Something to tell.")
        for number in range(facts):
            self.write_fact(number, then)
        for first in range(0, exchanges, A_CONCEPT):
            self.write_concept(first)
        self.run(gitmem, "save", "Commit what was made by hand.")
        self.run("git", "-C", ".gitmem", "add", "-A")
        self.run(gitmem, "facts", "list")
        self.start()

    def run(self, *command: str) -> str:
        return subprocess.run(
            command, cwd=self.folder, env=self.environ, check=True, stdin=subprocess.DEVNULL, capture_output=True
        ).stdout.decode()

    def commit(self, subject: str) -> str:
        self.run("git", "add", "-A")
        self.run("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", subject)
        return self.run("git", "rev-parse", "HEAD").strip()[:12]

    def write_fact(self, number: int, commit: str) -> None:
        kind = list(FactKind)[number % len(FactKind)]
        files = (f"file{number % FILES}.py", f"file{(number * 7) % FILES}.py")
        text = f"Number {number} of the things that hold here: the loader{number} reads its settings in layers."
        fact = make_fact(
            kind, text, BEGAN + timedelta(hours=number), files=files, commit=commit, keywords=(f"loader{number}",)
        )
        path = self.folder / ".gitmem" / fact.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(render_fact(fact))

    def write_concept(self, first: int) -> None:
        made = []
        for number in range(first, first + A_CONCEPT):
            identifier = make_id(1_768_000_000_000 + number * 60_000, number.to_bytes(7, "big"))
            files, words = (f"file{first % FILES}.py",), (f"loader{first}", "settings", f"layer{number}")
            said = f"Changed loader {number} so that it reads its settings in layers."
            made.append(Exchange(identifier, "2026-01-10 00:00:00", (), said, files=files, keywords=words))
        concept = begun(made[0])
        for one in made[1:]:
            concept = joined(concept, one)
        path = self.folder / ".gitmem" / concept.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(render_new(concept, [line_of(one, LINK) for one in made]))

    def start(self) -> float:
        """Start a session; returns milliseconds."""
        payload = {"session_id": os.urandom(8).hex(), "cwd": str(self.folder), "hook_event_name": "SessionStart"}
        begin = time.perf_counter()
        subprocess.run(
            (self.gitmem, "hook", "claude"),
            cwd=self.folder,
            env=self.environ,
            check=True,
            input=json.dumps(payload | {"source": "startup", "transcript_path": ""}).encode(),
            capture_output=True,
        )
        spent = time.perf_counter() - begin
        for left in (self.folder / ".gitmem/.git/gitmem/spool/hooks").glob("*.json"):
            left.unlink()
        return spent * 1000

    def list_facts(self, *options: str) -> tuple[float, int]:
        """List facts; return the seconds it took and the number of facts."""
        begin = time.perf_counter()
        facts = json.loads(self.run(self.gitmem, "facts", "list", *options, "--json"))
        return time.perf_counter() - begin, len(facts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--facts", type=int, default=1_000)
    parser.add_argument("--exchanges", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=21)
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="gitmem-bench-"))
    try:
        gitmem = shutil.which("gitmem", path=str(Path(sys.executable).parent))
        assert gitmem, "gitmem is not installed beside this Python"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT", "CLAUDE", "PYTHON"))}
        environ = kept | {"HOME": str(folder), "PATH": f"{Path(gitmem).parent}{os.pathsep}{os.environ['PATH']}"}
        small = Project(folder / "small", gitmem, environ, 0, 0)
        large = Project(folder / "large", gitmem, environ, args.facts, args.exchanges)
        times = [(small.start(), large.start()) for _ in range(args.rounds + 2)][2:]
        one, other = (statistics.median(column) for column in zip(*times, strict=True))
        print(f"start: {one:.0f} ms without facts, {other:.0f} ms with {args.facts} and {args.exchanges} exchanges")
        print(f"  {other / one:.2f} times, wanted at most {FLAT}: {'yes' if other <= FLAT * one else 'NO'}")
        listed = [large.list_facts("--stale") for _ in range(3)]
        seconds = statistics.median(spent for spent, _ in listed)
        plain = statistics.median(large.list_facts()[0] for _ in range(3))
        print(f"facts list --stale: {seconds:.2f} s for {listed[0][1]} stale facts, wanted under {STALE:g} s")
        print(f"  {seconds / plain:.2f} times facts list without --stale")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
