"""`gitmem consolidate`: join old days into weeks, and old weeks into months."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import ExitCode

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.memory.tiers.consolidate import Consolidated, Done


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem consolidate`."""
    parser.add_argument("--dry-run", action="store_true", help="only list the files to consolidate")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Join the days of a week that ended over a week ago, and the weeks of a month that ended over a month ago.

    This happens by itself once a day (tiers.automatic); each step is one commit. Decisions, preferences, open issues
    and what you wrote by hand are kept as they are, the rest is shortened to a few sentences. History keeps every day:
    'gitmem at DATE' prints it, and 'gitmem undo' of a step brings it back.

    With --json: {dry_run, done: [{into, period, files, commit}], kept}.

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
        files = "1 file stays: its" if len(done.kept) == 1 else f"{len(done.kept)} files stay: their"
        lines.append(f"{files} consolidation was undone.")
    return "\n".join(lines) or "Nothing is old enough to be consolidated."


def _step(one: Done, *, dry_run: bool) -> str:
    names = ", ".join(path.rpartition("/")[2].removesuffix(".md") for path in one.step.sources)
    commit = f"{one.commit[:10]} " if one.commit else ""
    return f"{commit}{'Would consolidate' if dry_run else 'Consolidated'} {names} into {one.step.target}"
