"""What `gitmem why FILE:LINE` costs beside `git blame` of the same line.

    python bench/why.py [--exchanges 10000] [--each 5] [--lines 2000] [--rounds 9]

Makes a project whose one file grew to so many lines, with a commit after each five exchanges, and a store that records
so many exchanges, each of which wrote some lines of the file or of others. Prints, for lines drawn evenly, the median
time of `git blame -w -C` of the line, of `gitmem why` as a process, and of its answer within a warm process; and what
the record of code lines takes beside the logs of the same exchanges. Of few commits (`--each 40`) a blame takes hardly
longer than Python takes to start.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gitmem.document.code_lines import Written, add_written, digests_of, lines_path
from gitmem.document.entry import Entry, put_entry
from gitmem.document.ids import daily_path, exchange_id
from gitmem.platform.machine import Context
from gitmem.project.code import ProjectCode, project_code
from gitmem.store.init import Place, init_store
from gitmem.store.store import Store
from gitmem.tell.blamed_code import Blaming
from gitmem.tell.why import LineOrigin, why_lines

BEGAN = datetime(2026, 1, 1, 9, tzinfo=UTC)
A_DAY = 40  # exchanges
WORDS = ["login", "order", "refund", "cache", "schema", "index", "queue", "worker", "report", "invoice"]


def line_of(number: int) -> str:
    word = WORDS[number % len(WORDS)]
    return f"    result_{number} = compute_{word}(total=value_{number * 7919 % 10007}, limit={number})"


def fill(project: Path, store: Store, exchanges: int, lines: int, each: int) -> None:
    """Write the project's commits, and the store's logs and records, a day at a time."""
    root, code, history = Path(store.root), "", b""
    for first in range(0, exchanges, A_DAY):
        day = BEGAN + timedelta(days=first // A_DAY)
        log, rows = f"---\nid: day-{day:%Y-%m-%d}\nkind: daily\n---\n## Timeline\n", list[Written]()
        for number in range(first, min(first + A_DAY, exchanges)):
            at = day + timedelta(minutes=number - first)
            own = [line_of(place) for place in range(lines * number // exchanges, lines * (number + 1) // exchanges)]
            code += "".join(f"{line}\n" for line in own)
            entry, written = exchange(number, at, own)
            log, rows = put_entry(log, "Timeline", entry), rows + written
            if (number + 1) % each == 0 or number + 1 == exchanges:
                history += as_commit(number, at + timedelta(seconds=30), code)
        for path, data in (
            (daily_path(f"{day:%Y-%m-%d}"), log.encode()),
            (lines_path(f"{day:%Y-%m-%d}"), add_written(b"", rows)),
        ):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
    subprocess.run(["git", "fast-import", "--quiet", "--date-format=raw"], cwd=project, input=history, check=True)
    subprocess.run(["git", "reset", "-q", "--hard"], cwd=project, check=True)
    for words in (("add", "-A"), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "Record")):
        subprocess.run(["git", *words], cwd=root, check=True)
    subprocess.run([sys.executable, "-m", "gitmem", "status"], cwd=project, check=True, capture_output=True)


def exchange(number: int, at: datetime, own: list[str]) -> tuple[Entry, list[Written]]:
    """Return an exchange that wrote some lines of the file and of another one, and its rows of the record."""
    identifier = exchange_id("bench", str(number))
    other = [f"    other_{number}_{place} = another_function(of_line={place})" for place in range(12)]
    rows = [Written(f"{at:%H:%M:%S}", identifier, f"src/other_{number % 50}.py", digests_of(other))]
    rows += [Written(f"{at:%H:%M:%S}", identifier, "src/work.py", digests_of(own))] if own else []
    said = f"{WORDS[number % 10].title()} step {number}: what was asked of the agent, in a sentence or two.\n\n"
    said += "**Answer:** " + f"The work on step {number} is done, and its tests pass; details follow here. " * 8
    said += "\n\n**Files:** src/work.py"
    return Entry(identifier, f"{at:%H:%M:%S}", "Exchange", said, ("5e55bbbb",)), rows


def as_commit(number: int, at: datetime, code: str) -> bytes:
    """Return a commit of the project in the language of `git fast-import`."""
    head = f"commit refs/heads/main\ncommitter a <a@b> {at.timestamp():.0f} +0000\ndata <<END\nStep {number}\nEND\n"
    return f"{head}M 644 inline src/work.py\ndata {len(code)}\n{code}\n".encode()


def timed(call: Callable[[], object], rounds: int) -> float:
    """Return the median milliseconds of a call."""
    took = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        took.append((time.perf_counter() - begin) * 1000)
    return median(took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exchanges", type=int, default=10_000)
    parser.add_argument("--each", type=int, default=5, help="exchanges of a commit of the project")
    parser.add_argument("--lines", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder, "home"), Path(folder, "project")
        home.mkdir()
        project.mkdir()
        os.environ |= {
            "HOME": str(home),
            "PYTHONPATH": str(Path(__file__).resolve().parent.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        subprocess.run(["git", "init", "-q", "-b", "main", str(project)], check=True)
        context = Context(os.environ, str(home), "bench", lambda: datetime.now(UTC))
        store = init_store(str(project), context, Place.PROJECT).store
        fill(project, store, args.exchanges, args.lines, args.each)
        code = project_code(str(project), os.environ)
        assert code is not None
        logs, records = (
            sum(file.stat().st_size for file in (project / ".gitmem" / name).rglob("*.*"))
            for name in ("daily", "lines")
        )
        print(f"record of code lines: {records:,} bytes beside {logs:,} of the logs, {records / logs:.1%}")
        blames, whys, answers, right = [], [], [], 0
        for number in range(1, args.lines, max(args.lines // 8, 1)):
            blame = ["git", "blame", "-w", "-C", "-p", f"-L{number},{number}", "src/work.py"]
            why = [sys.executable, "-m", "gitmem", "why", f"src/work.py:{number}"]
            blames.append(timed(partial(run, blame, project), args.rounds))
            whys.append(timed(partial(run, why, project), args.rounds))
            answers.append(timed(partial(answer_to, store, code, number), args.rounds))
            (answer,) = answer_to(store, code, number)
            right += answer.certain and answer.exchange is not None
        blamed, answered = median(blames), median(whys)
        print(
            f"git blame of a line {blamed:.0f} ms; gitmem why {answered:.0f} ms, {answered / blamed:.2f} x (target 1.5)"
        )
        print(f"the answer in a warm process {median(answers):.0f} ms; certain in {right} of {len(blames)} lines")


def answer_to(store: Store, code: ProjectCode, number: int) -> list[LineOrigin]:
    return why_lines(store, code, Blaming(code, "src/work.py", number, number))


def run(words: list[str], folder: Path) -> None:
    subprocess.run(words, cwd=folder, capture_output=True, check=True)


if __name__ == "__main__":
    main()
