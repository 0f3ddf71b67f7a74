"""How many contradictions are found without a model, and how many found are none, in pairs labelled by hand.

`contradictions.tsv` has 120 pairs that were written before the rules; these were developed on one half of them, so that
the other half says how they fare on what they have not seen. Both halves are of one hand and one sitting, so 88 pairs
in freer words were written later, of which half are found. `WANTED` are the least precision and recall over all.

    python bench/contradictions.py [--development]
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.facts.compare import contradict, ends

if TYPE_CHECKING:
    from collections.abc import Sequence

WANTED = (0.85, 0.7)
PAIRS = Path(__file__).with_suffix(".tsv")


class Pair(NamedTuple):
    half: str
    label: str
    tries: str
    older: str
    newer: str

    @property
    def is_found(self) -> bool:
        return contradict(self.older, self.newer)

    @property
    def is_contradiction(self) -> bool:
        return self.label != "holds"


def pairs() -> list[Pair]:
    lines = (line for line in PAIRS.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return [Pair(*row) for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]


def precision_and_recall(judged: Sequence[Pair]) -> tuple[float, float]:
    found = [pair for pair in judged if pair.is_found]
    right = sum(pair.is_contradiction for pair in found)
    return right / max(len(found), 1), right / max(sum(pair.is_contradiction for pair in judged), 1)


def mistaken_changes(judged: Sequence[Pair]) -> list[Pair]:
    """Return the pairs whose older statement would be superseded though no statement of change ends it."""
    return [pair for pair in judged if ends(pair.newer, pair.older) and pair.label != "changes"]


def report(title: str, judged: Sequence[Pair], *, wrong: bool) -> bool:
    precision, recall = precision_and_recall(judged)
    changes = [pair for pair in judged if pair.label == "changes"]
    ended = sum(ends(pair.newer, pair.older) for pair in changes)
    print(f"{title}: {len(judged)} pairs, precision {precision:.2f}, recall {recall:.2f};", end=" ")
    print(f"{ended} of {len(changes)} changes end the older, {len(mistaken_changes(judged))} mistaken")
    for pair in judged if wrong else ():
        if pair.is_found != pair.is_contradiction or ends(pair.newer, pair.older) != (pair.label == "changes"):
            print(f"  {pair.label}, {pair.tries}: {pair.older} | {pair.newer}")
    return precision >= WANTED[0] and recall >= WANTED[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--development", action="store_true", help="only the half that rules may be fitted to")
    args = parser.parse_args()
    every = pairs()
    for half in ("development",) if args.development else ("development", "held-out", "later"):
        good = report(half, [pair for pair in every if pair.half == half], wrong=half == "development")
    if not args.development:
        good = report("all", every, wrong=False)
    print(f"wanted at least {WANTED[0]} and {WANTED[1]}: {'yes' if good else 'NO'}")


if __name__ == "__main__":
    main()
