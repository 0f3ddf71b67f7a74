"""`gitmem check`: rotate memory.md if it is full."""

from __future__ import annotations

from gitmem.errors import ExitCode

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem check`."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Rotate memory.md if it has reached its threshold: it becomes an archive, and its last entries the new memory.md.

    With --json: {tokens, threshold, archive, dropped}; archive is null if nothing was rotated, dropped lists the
    archives that retention removed from the work tree.

    Examples:
      gitmem check
      gitmem check --json

    """
    from gitmem.memory.tiers.rotate import check
    from gitmem.model.paths import MEMORY
    from gitmem.text.tokens import tokens_of_size

    store = door.settled(args)
    before = tokens_of_size(len(store.read(MEMORY) or b""))
    result, notices = check(store)
    door.notices(notices)
    value = {
        "tokens": result.tokens,
        "threshold": result.threshold,
        "archive": result.archive,
        "dropped": list(result.dropped),
    }
    if result.archive:
        text = (
            f"{door.rotated(result.archive)}\nRotated memory.md: {result.tokens:,} tokens went into {result.archive}."
        )
    elif before >= result.threshold > result.tokens:
        text = "Nothing to do: another process has just rotated memory.md."
    else:
        text = f"Nothing to do: memory.md has {result.tokens:,} of {result.threshold:,} tokens."
    door.answer(args, value, text)
    return ExitCode.OK
