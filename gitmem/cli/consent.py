"""Asking a person before something goes that is hard, or impossible, to bring back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import RefusedError

if TYPE_CHECKING:
    from gitmem.cli.door import Door


def agreed(
    door: Door, would: str, preview: str, question: str, remedy: str = "Look with --dry-run, then say --yes."
) -> bool:
    """Show what would be done and ask; `would` says it in short.

    Raises:
        RefusedError: nobody is there to be asked.

    """
    if not (door.stdin.isatty() and door.err.isatty()):
        raise RefusedError(
            f"{would}, and nobody is at a terminal to be asked.",
            f"{remedy} Nothing was done.",
        )
    print(f"{preview}\n{question} [y/N] ", end="", file=door.err, flush=True)
    return door.stdin.readline().strip().casefold() in {"y", "yes"}
