"""`gitmem init`, `path`, `config` and `completion`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.errors import ExitCode

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure_init(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem init`."""
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--branch", action="store_true", help="keep it on the orphan branch 'gitmem' of the project's repository"
    )
    place.add_argument("--home", action="store_true", help="keep it under ~/.gitmem/projects, not in the project")
    # No default, so that `gitmem --user init` says the same as `gitmem init --user`.
    import argparse

    place.add_argument("--user", action="store_true", default=argparse.SUPPRESS, help="make your own store, ~/.gitmem")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_init(args: argparse.Namespace, door: Door) -> int:
    """Make a store for this project; where there is one, complete it.

    Examples:
      gitmem init
      gitmem init --branch      on an orphan branch of the project's own repository
      gitmem init --user        what belongs to you, not to a project

    """
    from gitmem.store.init import Place, init_store

    chosen = (place for place in (Place.BRANCH, Place.HOME, Place.USER) if getattr(args, place.value))
    made = init_store(door.folder(args), door.context(), next(chosen, Place.PROJECT))
    store = made.store
    branch = store.repository.branch().removeprefix("refs/heads/")
    value = {"store": store.root, "branch": branch, "new": made.new}
    verb = "Made a store" if made.new else "There is a store"
    door.answer(
        args, value, f'{verb} at {store.root} (branch {branch}).\nTry: gitmem save "Use uv, not pnpm" --type decision'
    )
    return ExitCode.OK


def configure_path(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem path`."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_path(args: argparse.Namespace, door: Door) -> int:
    """Print where the store is.

    Examples:
      cd "$(gitmem path)"
      git -C "$(gitmem path)" log --oneline

    """
    store = door.find(args)
    door.answer(args, {"store": store, "memory": os.path.join(store, "memory.md")}, store)
    return ExitCode.OK
