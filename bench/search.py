"""How long a search takes at 1, 10 and 100 MB of markdown, beside `rg` and beside an SQLite FTS5 index.

The text is that of the retrieval sets (bench/retrieval.py), written several times into files of about 20 KB: each copy
is shuffled, and its long words get the number of the copy, so that words are about as rare as in real text. The queries
are the questions of the sets. For comparison: the same ranking with the `rg` binary in place of the bindings; `rg`
alone with the same pattern; FTS5 (unicode61), with the time and space of its index. At 10 MB the questions are also put
as prompts to the hook, as a host runs it, beside `python -c 'import json'`, the least that an answer can take.

    python bench/search.py [--sizes 1,10] [--questions 60]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from gitmem.hosts.registry import find_host
from gitmem.platform.machine import Context, find_program
from gitmem.search.engine import answer, literals_of
from gitmem.search.files import RgScanner, list_paths, make_scanner
from gitmem.search.query import parse_query
from gitmem.store.init import Place, init_store

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "retrieval"
SETS = ("locomo-turn", "korquad", "cosqa")
FILE_BYTES = 20_000
MEGABYTE = 1_000_000
OURS, BESIDE = "gitmem, in process", "the same ranking with the rg binary"
TARGETS = {1: 10.0, 10: 30.0, 100: 105.0}
PROMPT = "UserPromptSubmit"
PROMPT_TARGET = 5.0  # times the Python line


def read_sets(data: Path) -> tuple[list[str], list[str]]:
    docs, questions = [], []
    for name in SETS:
        for line in (data / f"{name}.jsonl").open(encoding="utf-8"):
            row = json.loads(line)
            docs += [doc["text"] for doc in row["docs"]]
            questions += [query["text"] for query in row["queries"]]
    return docs, questions


def fill(root: Path, docs: list[str], size: int, dice: random.Random) -> int:
    """Write files of `size` bytes in all; return their number."""
    written = number = 0
    copy = 0
    while written < size:
        order = docs[:]
        dice.shuffle(order)
        lines: list[str] = []
        length = 0
        for index, text in enumerate(order):
            told = marked(text, copy)
            block = f"## Part {index}\n\n{told}\n\n"
            lines.append(block)
            length += len(block.encode())
            if length >= FILE_BYTES:
                path = root / "knowledge" / f"{number // 100:03}" / f"part-{number:05}.md"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(lines), encoding="utf-8")
                written, number = written + length, number + 1
                lines, length = [], 0
                if written >= size:
                    return number
        copy += 1
    return number


def marked(text: str, copy: int) -> str:
    """Append the number of a copy to two thirds of the long words of a text."""

    def mark(found: re.Match[str]) -> str:
        return f"{found[0]}{copy}" if (sum(map(ord, found[0])) + copy) % 3 else found[0]

    return re.sub(r"\w{7,}", mark, text) if copy else text


def timed(runs: dict[str, Callable[[str], object]], questions: list[str]) -> dict[str, list[float]]:
    """Return the sorted times of each run; the runs take turns, so that load on the machine affects all."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for number, question in enumerate(questions):
        names = [*runs][:: -1 if number % 2 else 1]
        for name in names:
            begun = time.perf_counter()
            runs[name](question)
            times[name].append((time.perf_counter() - begun) * 1000)
    return {name: sorted(found) for name, found in times.items()}


def figures(times: list[float]) -> str:
    return f"p50 {times[len(times) // 2]:7.1f} ms   p95 {times[int(len(times) * 0.95)]:7.1f} ms"


def index_fts(folder: Path, root: Path) -> tuple[sqlite3.Connection, float, float]:
    begun = time.perf_counter()
    place = folder / "fts.db"
    base = sqlite3.connect(place)
    base.execute("create virtual table docs using fts5(path unindexed, text, tokenize='unicode61')")
    for path in sorted(root.rglob("*.md")):
        parts = path.read_text(encoding="utf-8", errors="replace").split("\n## ")
        base.executemany("insert into docs values (?, ?)", [(str(path), part) for part in parts])
    base.commit()
    return base, time.perf_counter() - begun, place.stat().st_size / MEGABYTE


def ask_fts(base: sqlite3.Connection, question: str) -> None:
    words = re.findall(r"\w+", question)
    pattern = " OR ".join(f'"{word}"' for word in words) or '""'
    base.execute("select path from docs where docs match ? order by rank limit 10", (pattern,)).fetchall()


def whole_process(folder: Path, project: Path, environ: dict[str, str], rounds: int = 11) -> tuple[float, float]:
    python = sys.executable
    gitmem = shutil.which("gitmem", path=str(Path(python).parent)) or "gitmem"
    runs = {"bare": [python, "-c", "pass"], "search": [gitmem, "search", "support group", "--json"]}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, command in runs.items():
            begun = time.perf_counter()
            subprocess.run(command, cwd=project, env=environ, check=True, stdout=subprocess.DEVNULL)
            times[name].append((time.perf_counter() - begun) * 1000)
    return sorted(times["bare"])[rounds // 2], sorted(times["search"])[rounds // 2]


def whole_prompt(project: Path, environ: dict[str, str], questions: list[str]) -> bool:
    """Put each question to the hook of a new session; report the medians of whole processes."""
    gitmem = shutil.which("gitmem", path=str(Path(sys.executable).parent)) or "gitmem"
    environ = environ | {"PATH": os.pathsep.join([str(Path(gitmem).parent), environ.get("PATH", "")])}
    subprocess.run(
        [gitmem, "install", "claude", "--project", "--only", "hooks"],
        cwd=project,
        env=environ,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    plain, hook = [sys.executable, "-c", "import json"], ["/bin/sh", "-c", find_host("claude").commands()[PROMPT]]
    payload = {"transcript_path": "", "cwd": str(project), "hook_event_name": PROMPT, "filler": "x" * 7_700}
    times: dict[str, list[float]] = {"plain": [], "prompt": []}
    told = 0
    for number, question in enumerate(questions):
        asked = json.dumps(payload | {"session_id": f"s{number}", "prompt": question}).encode()
        for name, command in (("plain", plain), ("prompt", hook)):
            begun = time.perf_counter()
            done = subprocess.run(command, cwd=project, env=environ, check=True, input=asked, stdout=subprocess.PIPE)
            times[name].append((time.perf_counter() - begun) * 1000)
            told += bool(done.stdout)
        for left in (project / ".gitmem" / ".git" / "gitmem" / "spool" / "hooks").glob("*.json"):
            left.unlink()
    beside, prompt = (sorted(found)[len(found) // 2] for found in times.values())
    most = PROMPT_TARGET * beside
    print(
        f"  whole process: a prompt {prompt:.0f} ms, import json {beside:.0f} ms, {told} of {len(questions)} were told"
    )
    print(f"    {prompt / beside:.2f} times, at most {PROMPT_TARGET:g}: {'yes' if prompt <= most else 'NO'}")
    return prompt <= most


def report_fts(folder: Path, root: Path, questions: list[str]) -> None:
    base, seconds, megabytes = index_fts(folder, root)
    times = timed({"fts": lambda question: ask_fts(base, question)}, questions)["fts"]
    print(f"  {'FTS5, its index built':<35} {figures(times)}")
    print(f"  {'FTS5, building the index':<35} {seconds:7.1f} s, {megabytes:.0f} MB")
    base.close()


def measure(size: int, docs: list[str], questions: list[str]) -> bool:
    folder = Path(tempfile.mkdtemp(prefix="gitmem-bench-"))
    try:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environ["HOME"] = str(folder)
        environ["GITMEM_EMBEDDING_PROVIDER"] = "none"
        project = folder / "project"
        project.mkdir()
        context = Context(environ, str(folder), "bench", lambda: datetime.now(UTC))
        store = init_store(str(project), context, Place.PROJECT).store
        count = fill(Path(store.root), docs, size * MEGABYTE, random.Random(7))
        print(f"{size} MB in {count} files, {len(questions)} questions", flush=True)
        begun = time.perf_counter()
        answer(store, questions[0])
        print(f"  the first search ever             {(time.perf_counter() - begun) * 1000:7.1f} ms")
        for question in questions[:5]:
            answer(store, question)
        runs: dict[str, Callable[[str], object]] = {OURS: lambda question: answer(store, question)}
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        rg = find_program("rg", {"PATH": path})
        if rg is None:
            print("  rg: skipped, there is none on this machine")
        else:
            scanner, bindings = RgScanner(rg, environ), make_scanner(store.context, store.private)
            with_rg = mock.patch("gitmem.search.sources.make_scanner", mock.Mock(return_value=scanner))
            runs[BESIDE] = with_rg(lambda question: answer(store, question))
            paths = list_paths(store.root)
            literals = {question: literals_of(parse_query(question).terms) for question in questions}
            runs["rg alone, the same pattern"] = lambda asked: scanner.scan(store.root, paths, literals[asked])
            runs["the bindings alone, same pattern"] = lambda asked: bindings.scan(store.root, paths, literals[asked])
        times = timed(runs, questions)
        for name, found in times.items():
            print(f"  {name:<35} {figures(found)}", flush=True)
        beside = times[BESIDE][len(questions) // 2] if BESIDE in times else None
        report_fts(folder, Path(store.root), questions)
        p50 = times[OURS][len(questions) // 2]
        quick = True
        if size == 1:
            bare, whole = whole_process(folder, project, environ)
            most = 3 * bare + p50
            print(f"  whole process: gitmem search {whole:.0f} ms, bare Python {bare:.0f} ms; at most {most:.0f}")
        if size == 10:
            quick = whole_prompt(project, environ, questions)
        good = p50 <= TARGETS.get(size, p50) or (beside is not None and p50 <= beside)
        if not good:
            print(f"  p50 {p50:.1f} ms is over {TARGETS[size]:.0f} ms and over the same ranking with rg")
        return good and quick
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1,10,100")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--data", type=Path, default=DATA)
    args = parser.parse_args()
    if not args.data.is_dir():
        print(f"skipped: there is no folder {args.data} with the text")
        return 0
    docs, questions = read_sets(args.data)
    asked = random.Random(3).sample(questions, args.questions)
    good = [measure(int(size), docs, asked) for size in args.sizes.split(",")]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
