"""`gitmem consolidate` and `gitmem clear`: what is old becomes less, and can be brought back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli.consent import agreed
from gitmem.errors import ExitCode, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gitmem.cli.door import Door
    from gitmem.memory.tiers.clear import Cleared
    from gitmem.memory.tiers.consolidate import Consolidated, Done

_SHOWN = 20  # files that a preview lists


def configure_consolidate(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem consolidate`."""
    parser.add_argument("--dry-run", action="store_true", help="only say what would be consolidated")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_consolidate(args: argparse.Namespace, door: Door) -> int:
    """Make weeks of days over a week old, and months of weeks over a month old; one commit a step.

    It happens by itself, in the background, once a day (tiers.automatic). Decisions, preferences and open issues stay
    as they are, and so does what you wrote by hand; the rest is said in a few sentences. History keeps every day:
    'gitmem at DATE' shows it, and 'gitmem undo' of a step brings it back for good.

    Examples:
      gitmem consolidate --dry-run
      gitmem consolidate
      gitmem at 2026-09-28 daily/2026/09/2026-09-28.md

    """
    from gitmem.memory.tiers.consolidate import consolidate_due

    store = door.settled(args)
    done = consolidate_due(store, dry_run=args.dry_run)
    door.notices(done.notices)
    door.answer(args, _consolidated_value(done, dry_run=args.dry_run), _consolidated(done, dry_run=args.dry_run))
    return ExitCode.OK


def _consolidated_value(done: Consolidated, *, dry_run: bool) -> dict[str, object]:
    steps = [
        {"into": one.step.target, "period": one.step.period, "files": list(one.step.sources), "commit": one.commit}
        for one in done.done
    ]
    return {"dry_run": dry_run, "done": steps, "kept": list(done.kept)}


def _consolidated(done: Consolidated, *, dry_run: bool) -> str:
    lines = [_step(one, dry_run=dry_run) for one in done.done]
    if done.kept:
        what = "1 file stays, since its" if len(done.kept) == 1 else f"{len(done.kept)} files stay, since their"
        lines.append(f"{what} consolidation was undone.")
    return "\n".join(lines) or "Nothing is old enough to be consolidated."


def _step(one: Done, *, dry_run: bool) -> str:
    names = ", ".join(path.rpartition("/")[2].removesuffix(".md") for path in one.step.sources)
    commit = f"{one.commit[:10]} " if one.commit else ""
    return f"{commit}{'Would consolidate' if dry_run else 'Consolidated'} {names} into {one.step.target}"


def configure_clear(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem clear`."""
    parser.add_argument("what", choices=("old", "all"), help="logs, archives and sessions that are old; or all memory")
    parser.add_argument("--days", type=int, metavar="N", help="how old, with 'old' (default: more than 30)")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_clear(args: argparse.Namespace, door: Door) -> int:
    """Take what is old, or all, out of the memory, after showing it and asking. 'gitmem undo' brings it back.

    'old' are daily logs, weeks, months, archives and sessions of more than 30 days ago; summaries, facts and memory.md
    stay. 'all' leaves an empty memory.md and the settings. It is one commit: history keeps everything, so this is not
    the way to get rid of a secret. Raw transcripts are on a branch of their own and stay.

    Examples:
      gitmem clear old --dry-run
      gitmem clear old --days 90
      gitmem clear all --yes

    """
    from gitmem.memory.tiers.clear import OLD_DAYS, clear

    if args.days is not None and (args.what == "all" or args.days < 0):
        raise UsageError("--days takes a number of days, and goes with 'old'.", "'gitmem clear --help' shows how.")
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
