"""`gitmem diff`: show what changed between two revisions or dates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli import output
from gitmem.cli.document import FILES, named_path
from gitmem.errors import ExitCode, NotFoundError, UsageError

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem diff`."""
    parser.add_argument("what", nargs="*", metavar="A B PATH", help="from A to B, only this file; all are optional")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Print what changed between two revisions or dates, as a unified diff.

    Without arguments: what the last commit changed. With A: from A to now. A and B are revisions or dates (see 'gitmem
    at --help'); a last argument that is neither is a file or folder.

    With --json: {from, to, files: [{path, change}], diff}; a change is added, removed or modified.

    Examples:
      gitmem diff
      gitmem diff yesterday
      gitmem diff 2026-11-01 2026-11-21 memory.md
      gitmem diff HEAD~5 archive

    """
    from gitmem.store.history.records import HEAD, difference, resolve

    store = door.settled(args)
    words = list(args.what)
    if len(words) > 3:  # noqa: PLR2004  # A, B and PATH
        raise UsageError(
            "gitmem diff takes at most two revisions or dates and a path.", "'gitmem diff --help' shows how."
        )
    named = words.pop() if len(words) == 3 else None  # noqa: PLR2004
    ends = [resolve(store, word) for word in words[:-1]]
    if words:
        try:
            ends.append(resolve(store, words[-1]))
        except NotFoundError:
            if named is not None:
                raise
            named = words[-1]
    tip = store.repository.resolve(HEAD)
    old, new = (ends[0], ends[1]) if len(ends) > 1 else (ends[0] if ends else None, tip)
    path = named_path(store, args, door, named) if named is not None else None
    changed = difference(store, old, new, path)
    if path and not any(store.repository.files(side, path) for side in (changed.new, changed.old)):
        raise NotFoundError(f"{named!r} is neither a revision or date nor a file in these revisions.", FILES)
    if args.json:
        door.answer(args, output.difference_value(changed), "")
    else:
        output.write_patch(door, changed.text)
    return ExitCode.OK
