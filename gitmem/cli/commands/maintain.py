"""`gitmem maintain`: pack the repository."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from gitmem.cli.terminal import Progress
from gitmem.errors import ExitCode
from gitmem.text.quantities import bytes_of, count

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.store.upkeep.maintenance import Maintenance


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem maintain`."""
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--if-needed", action="store_true", help="only if there are enough packs or loose objects")
    when.add_argument(
        "--project", action="store_true", help="pack the project's repository, which holds the memory's branch"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Pack the store's repository, so that it stays small and fast; its contents do not change.

    It may be interrupted at any time, and saves do not wait for it. A store on a branch of the project's repository
    (gitmem init --branch) is packed only with --project, since that packs the whole repository.

    With --json: {done, before: {loose, packs, bytes}, after, removed, notices}, or {done: false, reason}.

    Examples:
      gitmem maintain
      gitmem maintain --if-needed

    """
    from gitmem.store.upkeep.due import is_due
    from gitmem.store.upkeep.maintenance import maintain
    from gitmem.store.upkeep.project_packs import join_listed

    store = door.settled(args)
    reason = ""
    if not store.own_repository and not args.project:
        join_listed(store)
        reason = (
            f"The repository at {store.repository.layout.common_dir} is the project's: gitmem joined its own packs and "
            "left the rest to git. 'gitmem maintain --project' packs it all."
        )
    elif args.if_needed and not is_due(store):
        reason = "Nothing to do: the repository is well packed."
    if reason:
        door.answer(args, {"done": False, "reason": reason}, reason)
        return ExitCode.OK
    with Progress(door.err) as progress:
        done = maintain(store, progress.step)
    door.notices(done.notices)
    door.answer(args, {"done": True, **asdict(done)}, _words(done))
    return ExitCode.OK


def _words(done: Maintenance) -> str:
    before, after = done.before, done.after
    found = f"{count(before.loose, 'loose object')} and {count(before.packs, 'pack')}"
    packs = f"{count(after.packs, 'pack')}: {bytes_of(before.bytes)} before, {bytes_of(after.bytes)} now."
    lines = [f"Packed {found} into {packs}"]
    if after.loose:
        lines.append(f"Other processes added {count(after.loose, 'loose object')} meanwhile.")
    if done.removed:
        lines.append(f"Removed {count(len(done.removed), 'unfinished file')} of killed processes.")
    return "\n".join(lines)
