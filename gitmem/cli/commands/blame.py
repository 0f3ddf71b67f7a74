"""`gitmem blame`: show the save each line came from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gitmem.cli import output
from gitmem.cli.document import named_path, refuse_folder
from gitmem.errors import ExitCode

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem blame`."""
    parser.add_argument("where", metavar="PATH[:LINE[-LINE]]", help="a file, one line of it, or a range of lines")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Print the save that each line of a file came from: date, host and session, commit.

    Lines of an archive are followed through the rotation to the save that wrote them. The author is named where that is
    somebody else, or where there is no host and session. A line that you edited and have not committed is marked 'not
    committed yet'.

    With --json: {path, lines: [{line, text, origin}]}, an origin being a commit as 'gitmem log --json' prints it, or
    null.

    Examples:
      gitmem blame memory.md
      gitmem blame memory.md:12
      gitmem blame archive/memory_20260113_112700.md:40-60

    """
    from gitmem.store.history.origin import blame

    place = re.fullmatch(r"(?P<path>.*?)(?::(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?)?", args.where, re.DOTALL)
    assert place is not None
    store = door.settled(args)
    path = named_path(store, args, door, place["path"])
    refuse_folder(store, path)
    first = int(place["first"]) if place["first"] else None
    lines = blame(store, path, (first, int(place["last"] or first)) if first is not None else None)
    door.answer(args, output.blame_value(path, lines), output.blame_table(lines, store))
    return ExitCode.OK
