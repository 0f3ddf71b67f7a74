"""Whether what gitmem learns and tells is right, by reading: a table of cases for each kind of thing told.

Each table stands in `bench/precision/KIND.tsv`. What a reader who saw the session judged is in the column verdict:

- `helps`, `beside` the point or `wrong`: something was told, and its words are in the column words;
- `missed`: nothing was told and should have been; `silent`: nothing was told, rightly.

What is told in a turn and stands in no row is *unread*, and counts as wrong until somebody has read it. A case is named
by file, turn and a few words; the recordings stand beside the repository, in ../shared/data, and without them their
tables are skipped. `prompts` are prompts of our own making, with the words that a fact must have and those of the task
beside it that it must not have; they were written before the rules and are never tuned to.

Mends, episodes, prompts and starts are as one reader noted them after a replay of all recordings.

    python bench/precision.py [KIND...] [--list]
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.facts.extract import facts_of_prompt
from gitmem.facts.statements import statements_of

if TYPE_CHECKING:
    from collections.abc import Callable

TABLES = Path(__file__).with_suffix("")
sys.path.insert(0, str(TABLES.parent))
import outcomes  # noqa: E402

TOLD = ("helps", "beside", "wrong", "unread")


class Case(NamedTuple):
    verdict: str
    what: str


def rows(kind: str) -> list[dict[str, str]]:
    with TABLES.joinpath(f"{kind}.tsv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def facts() -> list[Case]:
    """Compare the facts that are learned from each turn of the table with what was read."""
    if not outcomes.DATA.exists():
        return []
    cases = []
    read: dict[tuple[str, int], list[dict[str, str]]] = {}
    for row in rows("facts"):
        read.setdefault((row["file"], int(row["turn"])), []).append(row)
    for (file, number), judged in read.items():
        turns = outcomes.turns_of(file)
        before = turns[number - 1].answer if number else ""
        left = {found.text for found in facts_of_prompt(turns[number], before, ())}
        for row in judged:
            told = next((text for text in left if row["words"] and row["words"] in text), None)
            left.discard(told or "")
            verdict = row["verdict"] if row["verdict"] not in TOLD or told else "missed"
            cases.append(Case(verdict, f"{file} {number}: {row['words']}"))
        cases += [Case("unread", f"{file} {number}: {text}") for text in left]
    return cases


def prompts() -> list[Case]:
    """Read prompts of our own that state something for good, or only look like it."""
    cases = []
    for row in rows("prompts"):
        told = [one.text for one in statements_of(row["prompt"])]
        right = [text for text in told if row["told"] and row["told"] in text]
        right = [text for text in right if not (row["left out"] and row["left out"] in text)]
        wrong = ["wrong"] * (len(told) - len(right))
        wanted = ["missed" if row["verdict"] == "keep" else "silent"] * (not told)
        cases += [Case(verdict, row["prompt"]) for verdict in (*["helps"] * len(right), *wrong, *wanted)]
    return cases


def as_read(kind: str) -> list[Case]:
    """Return what a reader wrote down of a replay of the recordings; what is told since is not compared."""
    return [Case(row["verdict"], f"{row['file']}: {row['words']}") for row in rows(kind)]


# A kind: its cases, and the share of what is told that must help; no target was set for episodes and starts.
KINDS: dict[str, tuple[Callable[[], list[Case]], float]] = {
    "facts": (facts, 0.95),
    "prompts": (prompts, 0.90),
    "mends": (partial(as_read, "mends"), 0.90),
    "told_at_prompts": (partial(as_read, "told_at_prompts"), 0.60),
    "episodes": (partial(as_read, "episodes"), 0.0),
    "start": (partial(as_read, "start"), 0.0),
}


def report(kind: str, *, listed: bool) -> bool:
    """Print the shares of one kind; return whether it reaches its target."""
    read, target = KINDS[kind]
    cases = read()
    if not cases:
        print(f"{kind}: skipped, the recordings are not there")
        return True
    count = Counter(case.verdict for case in cases)
    told = sum(count[verdict] for verdict in TOLD)
    share = count["helps"] / max(told, 1)
    wanted = count["helps"] + count["missed"]
    counts = ", ".join(f"{count[verdict]} {verdict}" for verdict in (*TOLD, "missed", "silent"))
    print(f"{kind}: {len(cases)} cases, {told} told: {counts}; helps {share:.2f} (at least {target})", end="")
    print(f", recall {count['helps'] / max(wanted, 1):.2f}")
    for case in cases if listed else ():
        if case.verdict not in {"helps", "silent"}:
            print(f"  {case.verdict}: {case.what}")
    return share >= target


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], help="all of them if none is named")
    parser.add_argument("--list", action="store_true", help="list what does not help and what is missed")
    args = parser.parse_args()
    reached = [report(kind, listed=args.list) for kind in args.kinds or KINDS]
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
