"""`gitmem adopt`: mirror the agent's own memory files in the store."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.errors import ExitCode, NotFoundError

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.store.store import Store


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem adopt`."""
    parser.add_argument(
        "folder",
        nargs="?",
        metavar="FOLDER",
        help="the agent's memory files (default: where Claude Code keeps the project's)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Mirror the agent's own memory files as facts in the store. Nothing is written to the agent's files.

    When a file changes there, its fact changes here with the next run; when it is gone there, its fact is retired. A
    second run adds nothing. With the hooks of 'gitmem install claude' this happens by itself. What the agent loads by
    itself is not repeated when a session starts.

    With --json: {folder, new, changed, retired, commits}, lists of ids.

    Examples:
      gitmem adopt
      gitmem adopt ~/notes/agent-memory

    """
    from gitmem.memory.facts.adopt import adopt
    from gitmem.text.quantities import count

    store = door.settled(args)
    folder = os.path.join(door.folder(args), os.path.expanduser(args.folder)) if args.folder else _folder(store, door)
    if not os.path.isdir(folder):
        raise NotFoundError(
            f"There is no folder {folder}.", "The agent has no memory of this project yet, or give its folder."
        )
    done = adopt(store, folder)
    value = {"folder": folder, "new": list(done.new), "changed": list(done.changed), "retired": list(done.retired)}
    counts = f"{count(len(done.new), 'new fact')}, {len(done.changed)} changed, {len(done.retired)} retired"
    door.answer(args, {**value, "commits": list(done.commits)}, f"{folder}: {counts}.")
    return ExitCode.OK


def _folder(store: Store, door: Door) -> str:
    from gitmem.hosts.agents.claude_code import memory_folder

    return memory_folder(door.environ, door.home(), os.path.dirname(store.root))
