"""`gitmem index`: list rotations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli import output
from gitmem.errors import ExitCode

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem index`."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """List the rotations: each archive with its date, size, the days of its entries, and whether it has a summary.

    The list is derived from the tree and the commits, so every clone prints the same. Archives that retention removed
    from the work tree count in the totals, and 'gitmem at COMMIT PATH' still prints them. A rotation that was undone
    does not count.

    With --json, the shape of the memory-index.json of older tools: {version, current, rotatedFiles: [{file, rotatedAt,
    tokens, bytes, lines, dateRange: {first, last}, summary, summaryGenerated}], stats: {totalRotations, lastRotation}}.
    The files are in archive/, the summaries in summaries/; times are UTC.

    Examples:
      gitmem index
      gitmem index --json

    """
    from gitmem.store.history.records import rotations

    store = door.settled(args)
    found = rotations(store)
    door.answer(args, output.index_value(found), output.index_table(found))
    return ExitCode.OK
