"""`gitmem adopt`: the agent's own memory files, mirrored in the store."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from gitmem.errors import ExitCode, NotFoundError

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.store.store import Store

_SEEN = "adopted"  # in the private folder: how the folder looked when it was mirrored last


def configure_adopt(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem adopt`."""
    parser.add_argument("folder", nargs="?", metavar="FOLDER", help="default: where Claude Code keeps the project's")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_adopt(args: argparse.Namespace, door: Door) -> int:
    """Mirror the agent's own memory files as facts. Theirs stay theirs: nothing is written there.

    What changes there changes here the next time, and what is gone there is retired here; again, it adds nothing. With
    the hooks of 'gitmem install claude' it is done by itself. What the agent loads by itself is not told twice.

    Examples:
      gitmem adopt
      gitmem adopt ~/notes/agent-memory

    """
    from gitmem.memory.facts.adopt import adopt

    store = door.settled(args)
    folder = os.path.join(door.folder(args), os.path.expanduser(args.folder)) if args.folder else _folder(store, door)
    if not os.path.isdir(folder):
        raise NotFoundError(f"There is no folder {folder}.", "The agent has kept no memory of this project yet.")
    done = adopt(store, folder)
    value = {"folder": folder, "new": list(done.new), "changed": list(done.changed), "retired": list(done.retired)}
    counts = f"{len(done.new)} new, {len(done.changed)} changed, {len(done.retired)} retired"
    door.answer(args, {**value, "commits": list(done.commits)}, f"{folder}: {counts}.")
    return ExitCode.OK


def adopt_if_changed(store: Store, door: Door) -> None:
    """Mirror the agent's own memory behind its back, if it looks otherwise than when that was done last."""
    from gitmem.machine.beneath import read_text
    from gitmem.memory.facts.adopt import adopt, fingerprint

    folder, seen = _folder(store, door), os.path.join(store.private, _SEEN)
    look = fingerprint(folder)
    if look and read_text(seen) != look:
        adopt(store, folder)
        with contextlib.suppress(OSError, ValueError), open(seen, "w", encoding="utf-8", newline="\n") as file:
            file.write(look)


def _folder(store: Store, door: Door) -> str:
    from gitmem.hosts.claude_code import memory_folder

    return memory_folder(door.environ, door.home(), os.path.dirname(store.root))
