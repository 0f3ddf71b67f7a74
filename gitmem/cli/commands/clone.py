"""`gitmem clone`: make a store from a remote memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.cli.arguments import add_places, chosen_place
from gitmem.errors import ExitCode
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem clone`."""
    parser.add_argument("url", help="where the memory is")
    parser.add_argument("project", nargs="?", metavar="DIR", help="the project's folder (default: this one)")
    add_places(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Make this project's store from a memory elsewhere, and sync with it from now on.

    With --json: {store, commit}.

    Examples:
      gitmem clone git@example.org:me/memory.git
      gitmem clone https://example.org/me/memory.git ~/src/project
      gitmem clone git@example.org:me/mine.git --user
      gitmem clone ~/memory.bundle                     a backup: it is read once

    """
    from gitmem.cli.terminal import Progress
    from gitmem.store.setup.remotes import absolute_address
    from gitmem.store.sync.backup import is_backup, restore_into
    from gitmem.store.sync.clone import clone_store
    from gitmem.store.sync.retry import Options

    start = os.path.join(door.folder(args), os.path.expanduser(args.project)) if args.project else door.folder(args)
    url = absolute_address(args.url, door.cwd)
    os.makedirs(start, exist_ok=True)
    with Progress(door.err) as progress:
        options = Options(progress=progress.step)
        if is_backup(url):
            store = restore_into(start, door.context(), chosen_place(args), url, options)
        else:
            store = clone_store(start, door.context(), chosen_place(args), url, asks=door.can_ask(), options=options)
    value = {"store": store.root, "commit": store.tip}
    door.answer(args, value, plain(f"Cloned the memory to {store.root}."))
    return ExitCode.OK
