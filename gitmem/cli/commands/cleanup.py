"""`gitmem cleanup`: take what was learned and never helped out of the memory."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from gitmem.errors import ExitCode
from gitmem.text.quantities import count

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem cleanup`."""
    parser.add_argument("--dry-run", action="store_true", help="list what would go, change nothing")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Take episodes and bug patterns that were of no use out of the memory, in one commit.

    An episode goes if it is older than cleanup.max_age_days, did not help and was told less than twice; a bug pattern
    if it did not come for 90 days and was used less than cleanup.min_usage_count times. 'gitmem undo' brings them back.

    With --json: {episodes, patterns, commit}; the first two are lists of files.

    Examples:
      gitmem cleanup --dry-run
      gitmem cleanup

    """
    from gitmem.memory.learned.cleanup import clean_up

    done = clean_up(door.settled(args), dry_run=args.dry_run)
    files = (*done.episodes, *done.patterns)
    what = f"{count(len(done.episodes), 'episode')} and {count(len(done.patterns), 'bug pattern')}"
    lines = [f"{what} would go:", *files] if args.dry_run else [f"Took out {what}; 'gitmem undo' brings them back."]
    door.answer(args, asdict(done), "\n".join(lines) if files else "There is nothing to clean up.")
    return ExitCode.OK
