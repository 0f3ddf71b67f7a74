"""`gitmem log`: list commits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gitmem.cli import output
from gitmem.cli.arguments import count, read_date
from gitmem.cli.document import named_path
from gitmem.errors import ExitCode, UsageError
from gitmem.model.entry.kinds import MemoryType
from gitmem.model.message import Op
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door

LOG_LIMIT = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem log`."""
    parser.add_argument("path", nargs="*", metavar="PATH", help="only commits that changed this file or folder")
    parser.add_argument("--op", choices=[op.value for op in Op], help="only this operation")
    parser.add_argument("--session", metavar="ID", help="only this session: its id, or a prefix of it")
    parser.add_argument("--type", choices=[kind.value for kind in MemoryType], help="only saves of this type")
    parser.add_argument("--since", metavar="DATE", help="only from this date on")
    parser.add_argument("--until", metavar="DATE", help="only up to this date")
    parser.add_argument(
        "-n", type=count, dest="limit", metavar="N", help=f"at most N, also as -N (default: {LOG_LIMIT}); 0 for all"
    )
    parser.add_argument("--stat", action="store_true", help="with the files that changed, and how many lines")
    parser.add_argument("--oneline", action="store_true", help="one line each")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """List saves, rotations and edits, the newest first, with time, session and commit.

    Dates are written as 2026-11-21, '2026-11-21 14:03', today, yesterday, '3 days ago'. They are the times at which
    things happened; a commit may follow later. With git itself: git -C "$(gitmem path)" log

    With --json: a list of {commit, parents, date, committed, author, email, subject, op, type, session, host, machine,
    entries, archive}, and with --stat {stat} as well; what is not known is null.

    Examples:
      gitmem log -3 --stat
      gitmem log --oneline
      gitmem log --session 1b4e51f0
      gitmem log --type decision --since '2 weeks ago' -n 0
      gitmem log archive --op rotate

    """
    from gitmem.store.history.records import changed_lines, records

    store = door.settled(args)
    path, given = _path_and_limit(args)
    limit: int = LOG_LIMIT if given is None else given
    since, until = read_date(store, args.since, "--since"), read_date(store, args.until, "--until")
    found = records(
        store,
        path=named_path(store, args, door, path) if path else None,
        op=args.op,
        session=args.session,
        kind=args.type,
        since=since.first if since else None,
        until=until.last if until else None,
        limit=limit + 1 if limit else None,
    )
    more = given is None and len(found) > limit
    found = found[: limit or None]
    stats = changed_lines(store, found) if args.stat else {}
    describe = output.commit_line if args.oneline else output.commit_block
    value = [output.commit_value(one) | ({"stat": stats[one.commit]} if args.stat else {}) for one in found]
    lines = ("\n".join(filter(None, (describe(one), plain(stats.get(one.commit, ""))))) for one in found)
    door.answer(args, value, "\n".join(lines).rstrip("\n"))
    if more and not args.json:
        door.notices((f"These are the newest {limit} commits; -n 0 lists all.",))
    return ExitCode.OK


def _path_and_limit(args: argparse.Namespace) -> tuple[str | None, int | None]:
    """Return the path that was named, and how many commits: `-3` reaches us as a word."""
    numbers = [word for word in args.path if re.fullmatch("-[0-9]+", word)]
    paths = [word for word in args.path if word not in numbers]
    if len(paths) > 1:
        raise UsageError("gitmem log takes one path.", "'gitmem log --help' shows how.")
    return (paths[0] if paths else None), (int(numbers[-1][1:]) if numbers else args.limit)
