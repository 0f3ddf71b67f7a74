"""Whether an error that comes again is recognised, and an unrelated one that looks like it is not.

`bench/errors.json` holds 40 pairs of outputs of pytest, tsc, cargo, go, npm, pip, ruff, docker, git and psql: one error
on two days, with other paths, numbers and versions, and beside each pair another error that looks like it. Then the
same for 20 one-line messages of gh, curl, ssh, kubectl and the like, on which the likeness of messages was tuned.

    python bench/errors.py [--verbose]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from gitmem.lessons.error import MATCH, likeness, read_error

PAIRS = Path(__file__).with_name("errors.json")


def score(one: str, other: str) -> float:
    """Return the likeness of two outputs, 0 if one of them tells no error."""
    known, seen = read_error(one), read_error(other)
    return likeness(known, seen) if known and seen else 0.0


def main() -> None:
    """Print how many errors are recognised, and how many look-alikes are taken for one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--verbose", action="store_true", help="print the pairs that are judged wrongly")
    args = parser.parse_args()
    for name, pairs in json.loads(PAIRS.read_text("utf-8")).items():
        if name != "about":
            judge(name, pairs, verbose=args.verbose)


def judge(name: str, pairs: list[dict[str, str]], *, verbose: bool) -> None:
    """Print the figures of a list of pairs."""
    recognised = taken = 0
    for pair in pairs:
        again = score(pair["first"], pair["again"])
        other = max(score(pair[day], pair["other"]) for day in ("first", "again"))
        recognised += again > MATCH
        taken += other > MATCH
        if verbose and (again <= MATCH or other > MATCH):
            print(f"{name}: again {again:.2f}, look-alike {other:.2f}: {read_error(pair['first'])}")
    print(f"{name}: {recognised} of {len(pairs)} errors recognised, {taken} of {len(pairs)} look-alikes taken for them")


if __name__ == "__main__":
    main()
