"""`gitmem get`: print lines of a document."""

from __future__ import annotations

import re

from gitmem.cli.hits import named_commit
from gitmem.errors import ExitCode, UsageError
from gitmem.text.terminal import plain

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem get`."""
    parser.add_argument("where", metavar="PATH[:LINE[-LINE]]|^ID", help="a place as 'gitmem search' prints it")
    parser.add_argument("--at", metavar="REV|DATE", help="the file as it was then")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Print lines of a document of the store: all, some, the entry or section around one, or the memory of an id.

    Only documents of the store are read: links are not followed, and no path leads out of the store.

    With --json: {path, start_line, end_line, text, tokens}.

    Examples:
      gitmem get memory.md:12
      gitmem get daily/2026/11/2026-11-21.md:10-40
      gitmem get ^x4f7k2m9q0x

    """
    from gitmem.memory.guide.asked import note_asked
    from gitmem.memory.guide.given import GET, Given
    from gitmem.search.units.passage import read_passage
    from gitmem.search.whole import is_handle, read_memory

    store = door.settled(args)
    began = store.context.clock()
    place = re.fullmatch(r"(?P<path>.+?)(?::(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?)?", args.where, re.DOTALL)
    if place is None:
        raise UsageError("A place is PATH, PATH:LINE or PATH:LINE-LINE.", "'gitmem search' prints such places.")
    lines = [int(place[name]) if place[name] else None for name in ("first", "last")]
    if args.at is None and is_handle(args.where):
        found = read_memory(store, args.where)
    else:
        found = read_passage(store, place["path"], *lines, commit=named_commit(args, store))
    value = {
        "path": found.path,
        "start_line": found.start,
        "end_line": found.end,
        "text": found.text,
        "tokens": found.tokens,
    }
    door.answer(args, value, plain(found.text), f"get {plain(args.where)}")
    ids = (args.where.removeprefix("^"),) if args.at is None and is_handle(args.where) else ()
    note_asked(store, Given(began, door.session(), GET, ids), "" if door.out.isatty() else found.text)
    return ExitCode.OK
