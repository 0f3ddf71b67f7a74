"""`gitmem forget`: delete raw transcripts, and leave the history of memory as it is."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from gitmem.cli.terminal import agreed
from gitmem.errors import ExitCode, UsageError
from gitmem.text.quantities import count

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.store.transcripts.forget import Forgotten


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem forget`."""
    parser.add_argument("--transcripts", action="store_true", required=True, help="the raw transcripts of sessions")
    parser.add_argument("--before", metavar="DATE", help="only sessions that began before this date (default: all)")
    parser.add_argument("--dry-run", action="store_true", help="only list the transcripts to delete")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Delete raw transcripts here, for good, and free their disk space. Memory of the sessions stays.

    To remove a text from memory as well, use 'gitmem purge'; to empty memory in a way that can be undone, 'gitmem
    clear'.

    With --json: {dry_run, sessions, size, kept, freed, notices}, sizes in bytes.

    Examples:
      gitmem forget --transcripts --dry-run
      gitmem forget --transcripts --before 2026-06-01
      gitmem forget --transcripts --yes --json

    """
    from gitmem.store.history.dates import parse_date
    from gitmem.store.transcripts.forget import forget_transcripts

    store = door.settled(args)
    before = None
    if args.before is not None:
        try:
            span = parse_date(args.before, store.context.clock())
        except ValueError:
            span = None
        if span is None:
            raise UsageError(f"{args.before!r} is no date.", "For example: --before 2026-06-01")
        before = span.first
    planned = forget_transcripts(store, before, dry_run=True)
    if args.dry_run or not planned.sessions:
        door.answer(args, {"dry_run": args.dry_run, **asdict(planned)}, _preview(planned))
        return ExitCode.OK
    would = f"This would delete {_count(planned)} for good"
    if not args.yes and not agreed(door, would, _preview(planned), "This cannot be undone. Delete?"):
        print("Nothing was deleted.", file=door.err)
        return ExitCode.OK
    done = forget_transcripts(store, before)
    door.notices(done.notices)
    text = f"Deleted {_count(done)}; this freed {done.freed / 1024:,.0f} KB of disk space."
    door.answer(args, {"dry_run": False, **asdict(done)}, text)
    return ExitCode.OK


def _preview(planned: Forgotten) -> str:
    if not planned.sessions:
        return "There is no transcript to delete."
    return f"Would delete {_count(planned)} and keep {planned.kept}."


def _count(planned: Forgotten) -> str:
    return f"{count(planned.sessions, 'transcript')} of {planned.size / 1024:,.1f} KB"
