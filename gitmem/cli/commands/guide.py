"""`gitmem guide`: print advice from memory for a task, a question or an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import ExitCode, UsageError
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem guide`."""
    parser.add_argument("task", nargs="*", metavar="TASK", help="a task or a question, in words")
    parser.add_argument("--error", metavar="FILE", help="the output of a failed command; - reads standard input")
    parser.add_argument("--session", default="", metavar="ID", help="for this running session (default: the newest)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Print advice from memory for a task or an error: past approaches, things to try or to avoid, likely trouble.

    It looks at the notes of the running session, then at exchanges, then at facts and bug patterns. Each line names its
    source ('gitmem get ^ID' shows it). Without a clear match it prints nothing.

    With --json: {kind, lines: [{part, text, sources, confidence}], complexity, confidence}. kind is similar_error,
    how_to, convention, past_approach or general; part is approach, try, avoid or challenge.

    Examples:
      gitmem guide "add retries to the importer"
      pytest 2>&1 | gitmem guide --error -
      gitmem guide --error build.log "make the release build pass"

    """
    from gitmem.memory.guide.guide import as_text, guide

    task, error = " ".join(args.task), door.read_output(args, args.error)
    if not (task.strip() or error.strip()):
        raise UsageError("There is no task and no error.", "gitmem guide 'add retries', or gitmem guide --error FILE")
    found = guide(door.settled(args), task, error=error, session=args.session)
    door.answer(
        args, found._asdict() | {"lines": [line._asdict() for line in found.lines]}, plain(as_text(found)), "guide"
    )
    if not found.lines and not args.json:
        door.notices(("No memory clearly matches.",))
    return ExitCode.OK
