"""How long the command takes, whole process, beside bare Python and beside the script a user would write instead.

The script appends a line to a file and calls `git add` and `git commit`. The commands take turns, so that a noisy
machine is noisy for all; medians are compared.

    python bench/start.py [--rounds 31]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SCRIPT = """
import subprocess
open("note.md", "a").write("- a line of a note\\n")
subprocess.run(["git", "add", "note.md"], check=True); subprocess.run(["git", "commit", "-qm", "note"], check=True)
"""
STATUS, AGAIN = "gitmem status, after a save", "gitmem status, again"
MILLISECONDS = {
    STATUS: 120.0,
    AGAIN: 120.0,
}  # idle; beside `git status`
TARGETS = {"gitmem --version": ("python -c pass", 3.0), "gitmem save": ("script: write, git add, git commit", 2.2)}


def commands(folder: Path) -> dict[str, tuple[list[str], Path]]:
    python = sys.executable
    gitmem = shutil.which("gitmem", path=str(Path(python).parent)) or "gitmem"
    plain, project = folder / "plain", folder / "project"
    return {
        "python -c pass": ([python, "-c", "pass"], folder),
        "python -I -S -c pass": ([python, "-I", "-S", "-c", "pass"], folder),
        "script: write, git add, git commit": ([python, str(folder / "script.py")], plain),
        "gitmem --version": ([gitmem, "--version"], project),
        "gitmem path": ([gitmem, "path"], project),
        "git status": (["git", "status"], project / ".gitmem"),
        "python -c 'import json'": ([python, "-c", "import json"], folder),
        STATUS: ([gitmem, "status"], project),
        AGAIN: ([gitmem, "status"], project),
        "gitmem save": ([gitmem, "save", "a line of a note"], project),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=31)
    rounds = parser.parse_args().rounds
    folder = Path(tempfile.mkdtemp(prefix="gitmem-bench-"))
    try:
        (folder / ".gitconfig").write_text("[user]\n\tname = Bench\n\temail = bench@example.org\n")
        (folder / "script.py").write_text(SCRIPT)
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON"))}
        environ["HOME"] = str(folder)
        quiet: dict[str, Any] = {"env": environ, "check": True, "stdout": subprocess.DEVNULL}
        for name in ("plain", "project"):
            (folder / name).mkdir()
            subprocess.run(["git", "init", "-q", str(folder / name)], **quiet)
        runs = commands(folder)
        subprocess.run([runs["gitmem path"][0][0], "init"], cwd=folder / "project", **quiet)
        times: dict[str, list[float]] = {name: [] for name in runs}
        for turn in range(rounds + 2):
            for name, (command, cwd) in runs.items():
                start = time.perf_counter()
                subprocess.run(command, cwd=cwd, **quiet)
                if turn > 1:
                    times[name].append((time.perf_counter() - start) * 1000)
        report({name: statistics.median(values) for name, values in times.items()})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def report(medians: dict[str, float]) -> None:
    bare = medians["python -c pass"]
    print("whole process, median ms (times bare Python)")
    for name, value in medians.items():
        yardstick, target = TARGETS.get(name, ("", 0.0))
        ratio = value / medians[yardstick] if yardstick else 0.0
        verdict = (
            f"   {ratio:.2f}x {yardstick}, target {target:g}: {'ok' if ratio <= target else 'MISSED'}" if target else ""
        )
        if most := MILLISECONDS.get(name):
            verdict = f"   {value / medians['git status']:.1f}x git status, target {most:g} ms: "
            verdict += "ok" if value <= most else "MISSED"
        print(f"  {name:38} {value:8.1f}  {value / bare:6.2f}x{verdict}")


if __name__ == "__main__":
    main()
