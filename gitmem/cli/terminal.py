"""Ask a person at a terminal, and show progress of long work.

Tested through `tests/cli/commands/test_clear.py`.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Self

from gitmem.errors import RefusedError
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    from typing import TextIO

    from gitmem.cli.door import Door

_PATIENCE = 1.0  # seconds of silence before progress is shown
_BAR, _WIDTH = 24, 78  # characters of the bar, and of its line


def agreed(
    door: Door, would: str, preview: str, question: str, remedy: str = "Look with --dry-run, then repeat it with --yes."
) -> bool:
    """Show a preview and ask a yes-or-no question; `would` names the effect of a yes.

    Raises:
        RefusedError: nobody is at a terminal.

    """
    if not door.can_ask():
        raise RefusedError(f"{would}, and nobody is at a terminal to be asked.", f"{remedy} Nothing was done.")
    print(f"{preview}\n{question} [y/N] ", end="", file=door.err, flush=True)
    return door.stdin.readline().strip().casefold() in {"y", "yes"}


class Progress:
    """Tells a person at a terminal which step runs, once the work has taken a second."""

    def __init__(self, err: TextIO) -> None:
        self._err = err
        self._current = ""
        self._talks = False
        self._timer = threading.Timer(_PATIENCE, self._talk)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if self._err.isatty():
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def step(self, name: str) -> None:
        """Note the step that runs from now on."""
        self._current = name
        if self._talks:
            self._talk()

    def _talk(self) -> None:
        self._talks = True
        print(f"gitmem: {self._current} …", file=self._err, flush=True)


class Bar:
    """Shows a progress bar on a terminal, and nothing elsewhere."""

    def __init__(self, err: TextIO) -> None:
        self._err = err
        self._begun = time.monotonic()

    def show(self, done: int, total: int, note: str = "") -> None:
        """Draw the bar; without a note it says how long the rest will take."""
        spent = time.monotonic() - self._begun
        rest = f"{spent / done * (total - done):,.0f} s left" if done else ""
        self._draw(
            f"[{'#' * (done * _BAR // max(total, 1)):<{_BAR}}] {done:,}/{total:,} {plain(note) or rest}".rstrip()
        )

    def clear(self) -> None:
        """Take the bar away."""
        self._draw("")

    def _draw(self, text: str) -> None:
        if self._err.isatty():
            print(f"\r{text:{_WIDTH}.{_WIDTH}}\r{text[:_WIDTH]}", end="", file=self._err, flush=True)
