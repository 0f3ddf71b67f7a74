"""The quality of search: recall at k and MRR on public retrieval sets.

Each group of a set becomes a store of its own, its documents as sections (or entries) of markdown files of about 20 KB;
the questions go through the public search. The sets stand beside the repository, in ../shared/data/retrieval.

    python bench/retrieval.py [SET...] [--as sections|entries] [--every 1] [--data FOLDER]
    python bench/retrieval.py --steps      what each step of the ranking adds: the figures without it
    python bench/retrieval.py --vectors --cache FILE [--weights 0 5 15 30 70]
                                           with the extra `local`; FILE keeps the vectors, which take a while to make
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from array import array
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from gitmem.config.values import SearchConfig
from gitmem.document.entry import Entry, clean_text, render_entry
from gitmem.document.ids import make_id
from gitmem.llm import providers
from gitmem.llm.models import LocalEmbedder
from gitmem.platform.machine import Context
from gitmem.search import near, query, rank
from gitmem.search.engine import answer
from gitmem.search.vectors import fill
from gitmem.store.init import Place, init_store
from gitmem.store.store import Store

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "retrieval"
SETS = ("locomo-turn", "locomo-chunk", "korquad", "cosqa")
FORM = {"locomo-turn": "entries", "locomo-chunk": "sections", "korquad": "sections", "cosqa": "sections"}
FILE_BYTES = 20_000
DEPTH = 100
BEGIN = datetime(2026, 1, 1, 9, tzinfo=UTC)
# Each step of the ranking, and the changes that disable it.
STEPS: dict[str, list[tuple[Any, str, Any]]] = {
    "without neighbours": [(rank, "WINDOW", ())],
    "without first lines": [(rank, "FIRST", 0.0)],
    "without words in the query's order": [(rank, "PAIR", 0.0)],
    "without half weight for what was said between tool calls": [(rank, "SAID", 1.0)],
    "without stop words": [(query, "stop_words", frozenset)],
    "without English stems": [
        (query, "stem", str),
        (rank, "stem", str),
        (query, "root", str),
        (query, "other_forms", lambda _: ()),
    ],
    "without words that begin alike": [(rank, "PARTIAL", 0.0)],
    "without Korean endings": [(query, "hangul_stem", str)],
}
COLUMNS = {
    "locomo-turn": ("R@1", "R@5", "R@10", "MRR"),
    "locomo-chunk": ("R@1", "MRR"),
    "korquad": ("R@1", "MRR"),
    "cosqa": ("R@1", "R@5", "R@10", "MRR"),
}
VECTOR_TARGETS = {"locomo-turn": {"R@10": 0.745}}
TARGETS = {
    "locomo-turn": {"R@5": 0.63, "R@10": 0.71, "MRR": 0.525},
    "korquad": {"R@1": 0.91, "R@5": 0.985},
    "cosqa": {"R@5": 0.48},
}


class KeptEmbedder(LocalEmbedder):
    """The local model with a cache of its vectors in a file of hashes and vectors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.known: dict[bytes, array[float]] = {}
        data = path.read_bytes() if path.exists() else b""
        for at in range(0, len(data) - 1551, 1552):
            self.known[data[at : at + 16]] = array("f", data[at + 16 : at + 1552])

    def _embed(self, text: str, *, query: bool) -> array[float]:
        said = b"query:" + text.encode() if query else text.encode()
        key = hashlib.blake2b(said, digest_size=16).digest()
        if key not in self.known:
            self.known[key] = super()._embed(text, query=query)
            with self.path.open("ab") as file:
                file.write(key + self.known[key].tobytes())
        return self.known[key]


def _provider() -> str:
    return "local" if vars(near)["make_embedder"] is not providers.make_embedder else "none"


def make_store(folder: Path, docs: list[dict[str, Any]], form: str) -> tuple[Store, dict[tuple[str, int], str]]:
    """Make a store of documents; return it and the document that begins at each path and line."""
    environ = {**{k: v for k, v in os.environ.items() if not k.startswith("GIT")}, "HOME": str(folder)}
    environ["GITMEM_EMBEDDING_PROVIDER"] = _provider()
    project = folder / "project"
    project.mkdir()
    context = Context(environ, str(folder), "bench", lambda: datetime.now(UTC))
    store = init_store(str(project), context, Place.PROJECT).store
    root = Path(store.root)
    begins: dict[tuple[str, int], str] = {}
    number, size = 0, 0
    lines: list[str] = []

    def flush() -> None:
        nonlocal number, lines, size
        name = f"daily/2026/01/log-{number:04}.md" if form == "entries" else f"knowledge/part-{number:04}.md"
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(lines), encoding="utf-8")
        for line, document in marks:
            begins[name, line] = document
        number, lines, size = number + 1, [], 0
        marks.clear()

    marks: list[tuple[int, str]] = []
    count = 0
    for index, doc in enumerate(docs):
        if form == "entries":
            text = clean_text(doc["text"])
            at = BEGIN + timedelta(minutes=index)
            block = render_entry(
                Entry(
                    make_id(int(at.timestamp() * 1000), hashlib.sha256(str(index).encode()).digest()),
                    f"{at:%Y-%m-%d %H:%M:%S}",
                    "Note",
                    text,
                )
            )
        else:
            block = f"## Part {index}\n\n{doc['text']}\n\n"
        if size > FILE_BYTES:
            flush()
            count = 0
        marks.append((count + 1, doc["id"]))
        lines.append(block)
        count += block.count("\n")
        size += len(block.encode())
    flush()
    return store, begins


def run(
    name: str, data: Path, form: str, every: int, *, weight: int = 0, embedder: LocalEmbedder | None = None
) -> dict[str, float]:
    rows = [json.loads(line) for line in (data / f"{name}.jsonl").open(encoding="utf-8")]
    results: dict[str, list[float]] = {"R@1": [], "R@5": [], "R@10": [], "MRR": [], "ms": []}
    for row in rows:
        folder = Path(tempfile.mkdtemp(prefix="gitmem-bench-"))
        try:
            store, begins = make_store(folder, row["docs"], form)
            if embedder is not None:
                fill(store, embedder, seconds=86_400)
                store.config = store.config._replace(search=store.config.search._replace(vector_percent=weight))
            questions = [q for q in row["queries"] if q["category"] != "adversarial"][::every]
            for question in questions:
                begun = time.perf_counter()
                hits = answer(store, question["text"], limit=DEPTH).hits
                results["ms"].append((time.perf_counter() - begun) * 1000)
                found = list(dict.fromkeys(filter(None, (begins.get((hit.path, hit.start)) for hit in hits))))
                gold = set(question["gold"])
                for k in (1, 5, 10):
                    results[f"R@{k}"].append(len(gold & set(found[:k])) / len(gold))
                rank = next((place for place, doc in enumerate(found, 1) if doc in gold), 0)
                results["MRR"].append(1 / rank if rank else 0.0)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    means = {key: statistics.fmean(values) for key, values in results.items() if key != "ms"}
    times = sorted(results["ms"])
    return {**means, "n": len(times), "p50": times[len(times) // 2], "p95": times[int(len(times) * 0.95)]}


def with_vectors(sets: list[str], data: Path, every: int, weights: list[int], cache: Path) -> int:
    """Print a markdown table; return 1 if the default weight is worse than words alone or than its target."""
    embedder = KeptEmbedder(cache)
    keys = ("R@1", "R@5", "R@10", "MRR")
    missed = 0
    print(f"| set | vectors, in hundredths | {' | '.join(keys)} | p50 ms |")
    print(f"| --- | --- |{' --- |' * (len(keys) + 1)}")
    with mock.patch.object(near, "make_embedder", return_value=embedder):
        for name in sets:
            least = dict(VECTOR_TARGETS.get(name, {}))
            for weight in weights:
                got = run(name, data, FORM[name], every, weight=weight, embedder=embedder)
                cells = " | ".join(f"{got[key]:.3f}" for key in keys)
                print(f"| {name} | {weight} | {cells} | {got['p50']:.0f} |", flush=True)
                if weight == 0:
                    least = {key: max(got[key], least.get(key, 0.0)) for key in keys}
                elif weight == SearchConfig().vector_percent:
                    missed += sum(got[key] < value for key, value in least.items())
    print(f"{missed} figures under their target" if missed else "every target is met")
    return 1 if missed else 0


def steps(data: Path, every: int) -> int:
    """Print the results without each step as a markdown table."""
    print(f"| ranking | {' | '.join(' '.join((name, ' / '.join(keys))) for name, keys in COLUMNS.items())} |")
    print(f"| --- |{' --- |' * len(COLUMNS)}")
    for name, changes in {"**all steps**": [], **STEPS}.items():
        with contextlib.ExitStack() as stack:
            for owner, attribute, value in changes:
                stack.enter_context(mock.patch.object(owner, attribute, value))
            got = {one: run(one, data, FORM[one], every) for one in COLUMNS}
        cells = (" / ".join(f"{got[one][key]:.3f}" for key in keys) for one, keys in COLUMNS.items())
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--as", dest="form", choices=("sections", "entries"))
    parser.add_argument("--every", type=int, default=1, help="ask every n-th question only")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--steps", action="store_true", help="disable each step of the ranking in turn")
    parser.add_argument("--vectors", action="store_true", help="with the vectors of the extra `local`")
    parser.add_argument("--cache", type=Path, help="the file that keeps vectors from one run to the next")
    parser.add_argument(
        "--weights", type=int, nargs="+", default=[0, SearchConfig().vector_percent], help="of vectors, in hundredths"
    )
    args = parser.parse_args()
    if not args.data.is_dir():
        print(f"skipped: there is no folder {args.data} with the retrieval sets")
        return 0
    if args.steps:
        return steps(args.data, args.every)
    if args.vectors:
        cache = args.cache or Path(tempfile.gettempdir()) / "gitmem-bench.vectors"
        return with_vectors(list(args.sets), args.data, args.every, args.weights, cache)
    missed = 0
    print(f"{'set':<24} {'questions':>9} {'R@1':>6} {'R@5':>6} {'R@10':>6} {'MRR':>6} {'p50 ms':>7} {'p95 ms':>7}")
    for name in args.sets:
        form = args.form or FORM[name]
        got = run(name, args.data, form, args.every)
        figures = " ".join(f"{got[key]:>6.3f}" for key in ("R@1", "R@5", "R@10", "MRR"))
        print(f"{name + ' ' + form:<24} {got['n']:>9} {figures} {got['p50']:>7.1f} {got['p95']:>7.1f}", flush=True)
        for key, target in TARGETS.get(name, {}).items():
            if got[key] < target:
                missed += 1
                print(f"    {key} {got[key]:.3f} is under its target {target}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
