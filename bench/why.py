"""What `gitmem why FILE:LINE` costs beside `git blame` of the same line.

    python bench/why.py [--exchanges 10000] [--lines 2000] [--rounds 9]

Makes a project whose one file grew to so many lines over as many commits as there are days, and a store that records
so many exchanges, each of which wrote some lines of the file or of others. Prints, for lines drawn evenly, the median
time of `git blame -w -C` of the line, of `gitmem why` as a process, and of its answer within a warm process; and what
the record of code lines takes beside the logs of the same exchanges.
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
from gitmem.tell.why import Why, why_lines

BEGAN = datetime(2026, 1, 1, 9, tzinfo=UTC)
A_DAY = 40  # exchanges
WORDS = ["login", "order", "refund", "cache", "schema", "index", "queue", "worker", "report", "invoice"]


def line_of(number: int) -> str:
    word = WORDS[number % len(WORDS)]
    return f"    result_{number} = compute_{word}(total=value_{number * 7919 % 10007}, limit={number})"


def fill(project: Path, store: Store, exchanges: int, lines: int) -> None:
    """Write the project's commits and the store's logs and records, a day at a time."""
    file, root, written = project / "src" / "work.py", Path(store.root), 0
    file.parent.mkdir()
    for first in range(0, exchanges, A_DAY):
        day = BEGAN + timedelta(days=first // A_DAY)
        log, rows = f"---\nid: day-{day:%Y-%m-%d}\nkind: daily\n---\n## Timeline\n", []
        for number in range(first, min(first + A_DAY, exchanges)):
            at = day + timedelta(minutes=number - first)
            identifier = exchange_id("bench", str(number))
            until = lines * (number + 1) // exchanges
            own = [line_of(place) for place in range(written, until)]
            other = [f"    other_{number}_{place} = another_function(of_line={place})" for place in range(12)]
            rows.append(Written(f"{at:%H:%M:%S}", identifier, f"src/other_{number % 50}.py", digests_of(other)))
            rows += [Written(f"{at:%H:%M:%S}", identifier, "src/work.py", digests_of(own))] if own else []
            with file.open("a") as code:
                code.write("".join(f"{line}\n" for line in own))
            written = until
            said = f"{WORDS[number % 10].title()} step {number}: what was asked of the agent, in a sentence or two.\n\n"
            said += "**Answer:** " + f"The work on step {number} is done, and its tests pass; details follow here. " * 8
            said += "\n\n**Files:** src/work.py"
            entry = Entry(identifier, f"{at:%H:%M:%S}", "Exchange", said, ("5e55bbbb",))
            log = put_entry(log, "Timeline", entry)
        for path, data in (
            (daily_path(f"{day:%Y-%m-%d}"), log.encode()),
            (lines_path(f"{day:%Y-%m-%d}"), add_written(b"", rows)),
        ):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
        commit(project, "src", f"Day {first // A_DAY}", day + timedelta(hours=8))
    commit(root, ".", "Record the exchanges", BEGAN)
    subprocess.run([sys.executable, "-m", "gitmem", "status"], cwd=project, check=True, capture_output=True)


def commit(folder: Path, what: str, message: str, at: datetime) -> None:
    dates = {"GIT_AUTHOR_DATE": at.isoformat(), "GIT_COMMITTER_DATE": at.isoformat()}
    for words in (("add", "-A", what), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", message)):
        subprocess.run(["git", *words], cwd=folder, env={**os.environ, **dates}, check=words[0] != "commit")


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
        fill(project, store, args.exchanges, args.lines)
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


def answer_to(store: Store, code: ProjectCode, number: int) -> list[Why]:
    return why_lines(store, code, Blaming(code, "src/work.py", number, number))


def run(words: list[str], folder: Path) -> None:
    subprocess.run(words, cwd=folder, capture_output=True, check=True)


if __name__ == "__main__":
    main()
