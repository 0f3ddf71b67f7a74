"""`gitmem clear`: remove old files, or all, from the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli.terminal import agreed
from gitmem.errors import ExitCode, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gitmem.cli.door import Door
    from gitmem.memory.tiers.clear import Cleared

_SHOWN = 20  # files that a preview lists


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem clear`."""
    parser.add_argument("what", choices=("old", "all"), help="old: logs, archives and sessions; all: the whole memory")
    parser.add_argument("--days", type=int, metavar="N", help="with 'old': more than N days ago (default: 30)")
    parser.add_argument("--dry-run", action="store_true", help="only list the files to remove")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Remove old files, or all, from the memory, after a preview and a question. 'gitmem undo' brings them back.

    'old' means daily logs, weeks, months, archives and sessions from more than 30 days ago; summaries, facts and
    memory.md stay. 'all' leaves an empty memory.md and the settings. It is one commit. History keeps everything, so to
    get rid of a secret use 'gitmem purge'. Raw transcripts are on a branch of their own and stay: see 'gitmem forget'.

    With --json: {dry_run, files, bytes, commit}.

    Examples:
      gitmem clear old --dry-run
      gitmem clear old --days 90
      gitmem clear all --yes

    """
    from gitmem.memory.tiers.clear import OLD_DAYS, clear

    if args.days is not None and (args.what == "all" or args.days < 0):
        raise UsageError(
            "--days takes a number of days, and goes with 'old' only.", "For example: gitmem clear old --days 90"
        )
    days = None if args.what == "all" else OLD_DAYS if args.days is None else args.days
    store = door.settled(args)
    preview = clear(store, days=days, dry_run=True)
    if args.dry_run or not preview.files:
        door.answer(args, _cleared_value(preview, dry_run=args.dry_run), _preview(preview))
        return ExitCode.OK
    would, question = f"This would remove {_count(preview)}", "Remove them? 'gitmem undo' brings them back."
    if not args.yes and not agreed(door, would, _preview(preview), question):
        print("Nothing was removed.", file=door.err)
        return ExitCode.OK
    done = clear(store, days=days)
    door.notices(done.notices)
    door.answer(args, _cleared_value(done, dry_run=False), _cleared(done))
    return ExitCode.OK


def _preview(preview: Cleared) -> str:
    from gitmem.text.terminal import plain

    if not preview.files:
        return "There is nothing to clear."
    more = [f"  … and {len(preview.files) - _SHOWN} more"] if len(preview.files) > _SHOWN else []
    return plain(
        "\n".join([f"Would remove {_count(preview)}:", *(f"  {path}" for path in preview.files[:_SHOWN]), *more])
    )


def _cleared(done: Cleared) -> str:
    if done.commit is None:
        return "There was nothing to clear."
    return f"Removed {_count(done)} in {done.commit[:10]}.\nTo bring them back: gitmem undo {done.commit[:10]}"


def _count(cleared: Cleared) -> str:
    files = "1 file" if len(cleared.files) == 1 else f"{len(cleared.files)} files"
    return f"{files} of {cleared.size / 1024:,.1f} KB"


def _cleared_value(done: Cleared, *, dry_run: bool) -> dict[str, object]:
    files: Sequence[str] = done.files
    return {"dry_run": dry_run, "files": list(files), "bytes": done.size, "commit": done.commit}
