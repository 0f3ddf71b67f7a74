"""`gitmem undo`: take back a commit by a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import ExitCode
from gitmem.text.quantities import count

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.store.history.undo import Undone

_NAMED = 5  # files


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem undo`."""
    which = parser.add_mutually_exclusive_group()
    about = "a commit, the id of an entry, or a session (default: what you did last)"
    which.add_argument("what", nargs="?", metavar="COMMIT|^ENTRY|SESSION", help=about)
    which.add_argument("--session", help="undo a whole session: its id, or a prefix of it")
    parser.add_argument("--dry-run", action="store_true", help="only list the changes to undo")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Take back a save, a session, a rotation or any other commit, by a new commit. Later changes stay.

    Entries are removed wherever they are now, also from archives. An undo can be undone; undoing a commit twice changes
    nothing.

    With --json: {commit, dry_run, undone, already, files}; undone and already list commits as 'gitmem log --json'
    prints them, already with {undone_by}.

    Examples:
      gitmem undo                     what you did last: a save, a rotation, an edit of a fact; again, what was before
      gitmem undo 3fa9c1d2e4          the commit that 'gitmem log' lists under this id
      gitmem undo ^01ksd9q2x0m3v8t5   the save of this entry
      gitmem undo --session 1b4e51f0 --dry-run

    """
    from gitmem.store.history.undo import undo

    store = door.settled(args)
    done = undo(store, revision=args.what, session=args.session, dry_run=args.dry_run)
    door.notices(done.notices)
    door.answer(args, _value(done, dry_run=args.dry_run), _text(done, dry_run=args.dry_run))
    return ExitCode.OK


def _value(done: Undone, *, dry_run: bool) -> dict[str, object]:
    from gitmem.cli.output import commit_value

    return {
        "commit": done.commit,
        "dry_run": dry_run,
        "undone": [commit_value(item) for item in done.undone],
        "already": [{**commit_value(item), "undone_by": by} for item, by in done.already],
        "files": list(done.files),
    }


def _text(done: Undone, *, dry_run: bool) -> str:
    from gitmem.cli.output import SHORT
    from gitmem.text.terminal import plain

    lines = []
    for item, by in done.already:
        state = f"was undone already, by {by[:SHORT]}" if by else "left nothing to undo"
        lines.append(f"{item.commit[:SHORT]} {item.subject}\n  {state}.")
    lines += [f"{'Would undo' if dry_run else 'Undid'} {item.commit[:SHORT]} {item.subject}" for item in done.undone]
    if done.files:
        more = len(done.files) - _NAMED
        named = ", ".join(done.files[:_NAMED])
        lines.append(
            f"  in {named}" if more <= 0 else f"  in {count(len(done.files), 'file')}: {named} and {more} more"
        )
    if done.commit:
        lines.append(f"To reverse this: gitmem undo {done.commit[:SHORT]}")
    return plain("\n".join(lines))
