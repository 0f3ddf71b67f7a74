"""`gitmem init`: make a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli.arguments import add_places, chosen_place
from gitmem.errors import ExitCode

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem init`."""
    add_places(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


_PUSHED = (
    "'git push --all' in the project pushes this branch, too.\n"
    "Raw transcripts are on no branch: only 'git push --mirror' pushes them."
)


def run(args: argparse.Namespace, door: Door) -> int:
    """Make a store for this project, or add missing files to the one that exists.

    With --json: {store, branch, new}.

    Examples:
      gitmem init
      gitmem init --branch      on an orphan branch of the project's own repository
      gitmem init --user        your own store, for all projects

    """
    from gitmem.store.setup.init import init_store

    made = init_store(door.folder(args), door.context(), chosen_place(args))
    store = made.store
    branch = store.repository.branch().removeprefix("refs/heads/")
    value = {"store": store.root, "branch": branch, "new": made.new}
    verb = "Made a store" if made.new else "There already is a store"
    save = f'gitmem {"--user " * args.user}save "Use uv, not pnpm" --type decision'
    text = f"{verb} at {store.root} (branch {branch}).\nTry: {save}"
    door.answer(args, value, text if store.own_repository else f"{text}\n{_PUSHED}")
    return ExitCode.OK
