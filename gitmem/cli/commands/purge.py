"""`gitmem purge`: remove a text, or all secrets, from the store and its history."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING

from gitmem.cli.terminal import agreed
from gitmem.errors import ExitCode, UsageError
from gitmem.text.quantities import count
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.store.purge import Purge, PurgePlan

_SHOWN = 20  # files that a preview lists


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem purge`."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("text", nargs="?", metavar="TEXT", help="the exact text; '-' reads it from standard input")
    which.add_argument("--regex", metavar="PATTERN", help="every match of this pattern (Python's syntax) within a line")
    which.add_argument("--secret", action="store_true", help="every secret that redaction finds in history")
    parser.add_argument("--dry-run", action="store_true", help="only list the matches to purge")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Remove a text from the memory and its whole history, for good. '(purged)' takes its place.

    History is rewritten: all branches of the store, files, names and messages, what waits in the spool, backups,
    stashes and reflogs. Then every object is read to check that the text is gone. This cannot be undone. Other machines
    purge their copies at their next sync, and keep what they saved meanwhile. A text on the command line stays in your
    shell's history: '-' reads it from standard input.

    With --json: {dry_run, texts, files, commits, rewritten, objects, notices, beyond}; beyond lists what could not be
    reached.

    Examples:
      gitmem purge --secret --dry-run
      gitmem purge --regex 'customer-[0-9]+' --dry-run
      gitmem purge - < leaked-key.txt
      gitmem purge "hunter2-staging" --yes && gitmem sync

    """
    from gitmem.cli.terminal import Progress
    from gitmem.store.purge import plan_purge, purge

    wanted = _wanted(args, door)
    store = door.settled(args)
    with Progress(door.err) as progress:
        progress.step("searching history")
        plan = plan_purge(store, wanted)
    if args.dry_run or not plan.needed:
        door.answer(args, _value(plan.purge, dry_run=args.dry_run), _preview(plan))
        return ExitCode.OK
    would, question = "This rewrites history", "This cannot be undone. Purge?"
    if not args.yes and not agreed(door, would, _preview(plan), question):
        print("Nothing was purged.", file=door.err)
        return ExitCode.OK
    with Progress(door.err) as progress:
        progress.step("rewriting history")
        done = purge(store, plan)
    door.notices(done.notices)
    door.answer(args, _value(done, dry_run=False), _done(done))
    return ExitCode.OK


def _wanted(args: argparse.Namespace, door: Door) -> str | re.Pattern[str] | None:
    if args.regex is not None:
        try:
            return re.compile(args.regex)
        except re.error as error:
            raise UsageError(
                f"{args.regex!a} is no regular expression: {error}.",
                "For example: gitmem purge --regex 'customer-[0-9]+'",
            ) from error
    if args.text != "-":
        return None if args.secret else str(args.text)
    text = door.stdin.read().strip("\r\n")
    if not text:
        raise UsageError("There is no text on standard input.", "For example: gitmem purge - < FILE")
    return text


def _preview(plan: PurgePlan) -> str:
    planned = plan.purge
    if not plan.needed:
        return "The store does not hold it, and neither does its history."
    brought = f"added by {count(planned.commits, 'commit')}" if planned.commits else "which no commit holds any more"
    more = [f"  … and {len(planned.files) - _SHOWN} more"] if len(planned.files) > _SHOWN else []
    files = [f"  {path}" for path in planned.files[:_SHOWN]]
    return plain("\n".join([f"Would purge {count(planned.texts, 'text')}, {brought}:", *files, *more, *planned.beyond]))


def _done(done: Purge) -> str:
    checked = f"; none of the {done.objects:,} objects holds it" if done.objects else ""
    text = f"Purged {count(done.texts, 'text')}: {count(done.rewritten, 'commit')} rewritten{checked}."
    return plain("\n".join([text, *done.beyond]))


def _value(done: Purge, *, dry_run: bool) -> dict[str, object]:
    return {"dry_run": dry_run, **asdict(done)}
