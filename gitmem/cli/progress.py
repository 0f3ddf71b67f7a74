"""Progress of long work, on one line of the terminal."""

from __future__ import annotations

import threading
import time
from typing import Self, TextIO

from gitmem.text.terminal import clipped, padded, plain

_PATIENCE = 1.0  # seconds of silence before progress is shown
_BAR, _WIDTH = 24, 78  # columns of the bar, and of its line


class Progress:
    """After a second, shows a user at a terminal the running step, or a bar if the work is counted."""

    def __init__(self, err: TextIO, step: str = "") -> None:
        self._err = err
        self._current = step
        self._talks = False
        self._drawn = False
        self._begun = time.monotonic()

        self._timer = threading.Timer(_PATIENCE, self._talk)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if self._err.isatty():
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        if self._drawn:
            self._draw("")

    def step(self, name: str) -> None:
        """Set the step that runs from now on."""
        self._current = name
        if self._talks:
            self._talk()

    def _talk(self) -> None:
        self._talks = True
        if self._current:
            print(f"gitmem: {self._current} …", file=self._err, flush=True)

    def show(self, done: int, total: int, note: str = "") -> None:
        """Draw the bar, with a note or else the remaining time."""
        spent = time.monotonic() - self._begun
        rest = f"{spent / done * (total - done):,.0f} s left" if done else ""
        self._draw(
            f"[{'#' * (done * _BAR // max(total, 1)):<{_BAR}}] {done:,}/{total:,} {plain(note) or rest}".rstrip()
        )

    def _draw(self, text: str) -> None:
        if self._err.isatty():
            self._drawn = True
            text = clipped(text, _WIDTH)
            print(f"\r{padded(text, _WIDTH)}\r{text}", end="", file=self._err, flush=True)
