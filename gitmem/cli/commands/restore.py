"""`gitmem restore`: read a backup."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.cli.arguments import add_places, chosen_place
from gitmem.errors import ExitCode, StoreNotFoundError
from gitmem.text.quantities import count
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem restore`."""
    parser.add_argument("file", help="a file that 'gitmem backup' wrote")
    add_places(parser)
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        choices=("deletions", "other-project"),
        help="merge although most of the memory here would be removed, or the backup is of another project",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Read a backup: into this project's store, as a sync would merge it, or as its store where it has none.

    What was removed by a purge after the backup does not come back. Settings beside the backup are not applied; read
    them, and copy what you want.

    With --json: {store, commit, came, review}.

    Examples:
      gitmem restore ~/memory.bundle
      gitmem restore ~/memory.bundle --home
      gitmem restore ~/memory.bundle --accept deletions

    """
    from gitmem.cli.terminal import Progress
    from gitmem.store.sync.backup import merge_in, restore_into
    from gitmem.store.sync.guard import Accept
    from gitmem.store.sync.retry import Options

    commit: str | None
    came: int | None
    review: tuple[str, ...]
    file = os.path.abspath(os.path.join(door.cwd, os.path.expanduser(args.file)))
    with Progress(door.err) as progress:
        options = Options(tuple(map(Accept, args.accept)), progress.step)
        try:
            store = door.settled(args)
        except StoreNotFoundError:
            store = restore_into(door.folder(args), door.context(), chosen_place(args), file, options)
            commit, came, review = store.tip, None, ()
            text = f"Restored the memory to {store.root}."
        else:
            done = merge_in(store, file, options)
            door.notices(done.notices)
            commit, came, review = done.commit, done.came, done.review
            text = f"Merged {count(done.came, 'commit')} of the backup." if done.came else "The backup has nothing new."
    value = {"store": store.root, "commit": commit, "came": came, "review": list(review)}
    door.answer(args, value, plain(text))
    return ExitCode.OK
