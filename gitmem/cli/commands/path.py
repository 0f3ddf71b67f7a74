"""`gitmem path`: print where the store is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.errors import ExitCode

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem path`."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Print where the store is.

    With --json: {store, memory}, the folder and the path of memory.md.

    Examples:
      cd "$(gitmem path)"
      git -C "$(gitmem path)" log --oneline

    """
    store = door.find(args)
    door.answer(args, {"store": store, "memory": os.path.join(store, "memory.md")}, store)
    return ExitCode.OK
