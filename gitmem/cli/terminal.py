"""Progress, for what takes over a second."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from typing import TextIO

_PATIENCE = 1.0  # seconds before a person at a terminal is told what takes so long


class Progress:
    """Tells a person at a terminal what is being done, once it has taken longer than they like to wait in silence."""

    def __init__(self, err: TextIO) -> None:
        self._err = err
        self._doing = ""
        self._talks = False
        self._timer = threading.Timer(_PATIENCE, self._talk)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if self._err.isatty():
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def step(self, doing: str) -> None:
        """Note what is being done from now on."""
        self._doing = doing
        if self._talks:
            self._talk()

    def _talk(self) -> None:
        self._talks = True
        print(f"gitmem: {self._doing} …", file=self._err, flush=True)
