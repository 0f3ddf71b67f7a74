"""Whether an error that comes again is recognised, and whether the fix it is given is the one that worked.

Two parts, both through a store of their own, as a session's end learns and a hook asks:

- *recorded*: the turns of recorded transcripts in order of time. What comes again was labelled by hand, in `RECURS`, by
  the ids of the exchanges; calls that the host refused and commands that only look for something are no errors. Nothing
  is known of an exchange when its own errors are asked about.
- *made*: the 40 pairs of `bench/errors.json`. Each first error is learned with a fix of its own; then the error is
  asked about as it comes again, and the look-alike beside it.

A fix is *wrong* where it is not the one that worked for this error: for a recorded one the same command, or one of
the same program that shares half of its words, or a sentence that does.

    python bench/recurrence.py [FOLDER] [--verbose]

FOLDER holds transcripts, by default ../shared/data/transcripts; without it the first part is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gitmem.hosts.registry import read_transcript
from gitmem.learn.lessons import learn_bugs
from gitmem.model.error_occurrence import find_occurrences
from gitmem.model.transcript import hook_events
from gitmem.model.turns import Failure, Turn, fold
from gitmem.platform.machine import Context
from gitmem.store.init import Place, init_store
from gitmem.store.store import Store
from gitmem.tell.known_errors import match

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "transcripts"
PAIRS = Path(__file__).with_name("errors.json")
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
# Exchanges in which one error came, by hand.
RECURS = (
    {"x3prvnp5snm", "xpt57q5r2az", "xwpnq1s2q0c"},  # gh: Not Found (HTTP 404), for the id of a comment
    {"xpvead96qkd", "xdgjavmrpgx"},  # wrapcheck: error returned from external package is unwrapped
)


def new_store(folder: Path) -> Store:
    """Return a new, empty store."""
    context = Context(dict(os.environ), str(folder.parent), "bench", lambda: datetime.now(UTC))
    init_store(str(folder), context, Place.PROJECT)
    return Store(str(folder / ".gitmem"), context)


def words(fix: str) -> set[str]:
    """Return the words of a fix."""
    return set(fix.strip("`").casefold().split())


def same_fix(given: str, worked: str) -> bool:
    """Say whether two fixes are one."""
    one, other = words(given), words(worked)
    return bool(one & other) and 2 * len(one & other) >= min(len(one), len(other))


def recorded(folder: Path, store: Store, *, verbose: bool) -> None:
    """Print the figures of recorded transcripts."""
    turns = []
    for path in sorted(folder.rglob("*.jsonl")):
        turns += [turn for turn in fold(hook_events(read_transcript(str(path)))) if turn.failures]
    came: set[str] = set()
    again = known = given = wrong = unasked = others = 0
    for turn in sorted(turns, key=lambda turn: turn.started):
        group = next((group for group in RECURS if turn.exchange_id in group), set())
        for one in find_occurrences([turn]):
            found = match(store, f"{one.error.type}: {one.error.message}")
            recurs = bool(group & came)
            again += recurs
            known += recurs and bool(found)
            others += not recurs
            unasked += bool(found) and not recurs
            solution = found[0].solution if found else None
            worked = one.last.remedy
            is_wrong = bool(solution and worked and not same_fix(solution.text, worked))
            given += solution is not None
            wrong += is_wrong
            if verbose and (recurs or found):
                told = solution.text if solution else "-"
                print(f"{turn.exchange_id} {'recurs' if recurs else 'new'}, {len(found)} known: {told} | {worked}")
        if group:
            came.add(turn.exchange_id)
        learn_bugs(store, turn.session, "bench", [turn._replace(closed=True)])
    print(f"recorded: {known} of {again} errors that came again are recognised")
    print(f"recorded: {unasked} of {others} other errors are taken for a known one")
    print(f"recorded: {wrong} of {given} mends that were given are wrong")


def made(store: Store, *, verbose: bool) -> None:
    """Print the figures of the made pairs."""
    pairs = json.loads(PAIRS.read_text("utf-8"))["pairs"]
    for number, pair in enumerate(pairs):
        at = BEGAN + timedelta(hours=number)
        command, fix = f"{pair['tool']} run", f"mend-{number}"
        failure = Failure(at, "Bash", command, pair["first"], command, fix)
        learn_bugs(store, f"s-{number}", "bench", [Turn(f"s-{number}", "bench", "t", at, at, failures=(failure,))])
    known = right = wrong = taken = 0
    for number, pair in enumerate(pairs):
        found, other = match(store, pair["again"]), match(store, pair["other"])
        told, fix = found[0].solution.text if found and found[0].solution else "", f"`mend-{number}`"
        is_known = bool(found) and any(one.text == fix for one in found[0].pattern.solutions)
        known += is_known
        right += told == fix
        wrong += bool(told) and told != fix
        taken += bool(other)
        if verbose and (told != fix or other):
            said = told or ("nothing told" if is_known else "not recognised")
            print(f"{pair['tool']}: {said}; look-alike: {[one.pattern.title for one in other]}")
    print(
        f"made: {known} of {len(pairs)} recognised, {right} told their mend; {wrong} wrong, {taken} look-alikes taken"
    )


def main() -> None:
    """Print how many errors are recognised, and the wrong fixes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument(
        "--verbose", action="store_true", help="print each error that comes again, or is judged wrongly"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        for name in ("recorded", "made"):
            (Path(home) / name).mkdir()
        if args.folder.is_dir():
            recorded(args.folder, new_store(Path(home, "recorded")), verbose=args.verbose)
        else:
            print(f"recorded: left out, {args.folder} is not there")
        made(new_store(Path(home, "made")), verbose=args.verbose)


if __name__ == "__main__":
    main()
