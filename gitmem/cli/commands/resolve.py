"""`gitmem resolve`: mark an issue as resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import ExitCode, RefusedError

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem resolve`."""
    parser.add_argument("issue", metavar="ISSUE", help="its id, or an unambiguous prefix of it")
    parser.add_argument("how", nargs="?", default="", metavar="TEXT", help="how it was resolved")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Mark an issue as resolved: its line leaves memory.md, and sessions are no longer told of it.

    'gitmem facts list --kind issue' lists the open ones; so does memory.md, with ^ID at the end of each. 'gitmem undo'
    opens it again.

    With --json: {id, status, commits}.

    Examples:
      gitmem resolve i4f7k2
      gitmem resolve i4f7k2 "the cache is cleared at start now"

    """
    from gitmem.memory.facts.edit import find_fact, retire
    from gitmem.model.fact.fact import FactKind

    store = door.settled(args)
    known = find_fact(store, args.issue)
    if known.kind != FactKind.ISSUE:
        raise RefusedError(f"{known.id} is no issue, but a {known.kind}.", f"'gitmem facts retire {known.id}' ends it.")
    commits = retire(store, known, args.how) if known.binds else ()
    value = {"id": known.id, "status": "resolved", "commits": list(commits)}
    door.answer(args, value, f"{known.id} is resolved{'' if commits else ' already'}.")
    return ExitCode.OK
