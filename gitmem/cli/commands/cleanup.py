"""`gitmem cleanup`: remove episodes and bug patterns that never helped."""

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
    parser.add_argument("--dry-run", action="store_true", help="list the files that would go, change nothing")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Remove episodes and bug patterns that never helped, in one commit.

    An episode goes if it is older than cleanup.max_age_days, did not help and was shown less than twice; a bug pattern
    if the error has not come for 90 days and its fix was used less than cleanup.min_usage_count times. 'gitmem undo'
    brings them back.

    With --json: {episodes, patterns, commit}; the first two are lists of files.

    Examples:
      gitmem cleanup --dry-run
      gitmem cleanup

    """
    from gitmem.memory.learned.cleanup import clean_up

    done = clean_up(door.settled(args), dry_run=args.dry_run)
    files = (*done.episodes, *done.patterns)
    numbers = f"{count(len(done.episodes), 'episode')} and {count(len(done.patterns), 'bug pattern')}"
    lines = (
        [f"{numbers} would go:", *files] if args.dry_run else [f"Removed {numbers}; 'gitmem undo' brings them back."]
    )
    door.answer(args, asdict(done), "\n".join(lines) if files else "There is nothing to clean up.")
    return ExitCode.OK
