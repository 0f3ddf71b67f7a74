"""`gitmem patterns`: list recurring errors, with their mends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli.document import pattern_value, show_pattern
from gitmem.errors import ExitCode

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.model.learned.pattern import BugPattern


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem patterns`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", prog="gitmem patterns")
    listing = actions.add_parser("list", help="list the errors that came, the last one first")
    show = actions.add_parser("show", help="print one with all that was tried")
    show.add_argument("pattern", metavar="ID", help="its id, or an unambiguous prefix of it")
    for part in (parser, listing, show):
        part.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """List the errors of sessions with their number, last date and mend, or print one.

    They are learned when a session ends, without a model: each is a file below patterns/bugs/. An error that comes
    again with other paths, numbers and versions is the same one. 'stale' says that the files it was about have
    changed a lot since.

    With --json: a pattern is {id, error: {type, message, frames}, created, updated, seen, commands, files, file_types,
    causes, solutions, stale, path}, a solution {text, worked, failed, commands, success_rate, confidence}, a cause
    {text, said}; 'seen', 'worked', 'failed' and 'said' are ids of exchanges, 'commands' the programs that failed.
    'list', which is the default, prints a list of them; 'show' adds {related, mended_in}: the ids of patterns with a
    solution, exchanges or files in common, and the average seconds until it was mended, or null.

    Examples:
      gitmem patterns
      gitmem patterns show b4f7k2m9q0x
      gitmem patterns list --json

    """
    from gitmem.memory.learned.known import known_patterns
    from gitmem.text.terminal import plain

    store = door.settled(args)
    if args.action != "show":
        found = known_patterns(store)
        text = "\n".join(map(_row, found)) or "No errors are known yet: they are learned when a session ends."
        door.answer(args, [pattern_value(one) for one in found], plain(text))
        return ExitCode.OK
    show_pattern(store, args.pattern, args, door)
    return ExitCode.OK


def _row(pattern: BugPattern) -> str:
    best = pattern.best()
    mend = f" → {best.text}" if best else ""
    stale = " (stale)" if pattern.stale else ""
    return f"{pattern.id}  {pattern.updated:%Y-%m-%d}  {len(pattern.seen):>3}  {pattern.title}{mend}{stale}"
