"""Folders that are made once in a session, and copied for each test that needs them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


class FolderCopies:
    """Gives tests folders, such as clones with their remote, that are copies of ones made once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, Path] = {}

    def __call__(self, what: str, to: Path, names: Sequence[str], make: Callable[[], object]) -> Path:
        """Have `make` fill these folders in `to`, or copy what it made as `what` in an earlier test.

        Returns where they were made. The settings of repositories name the copies.
        """
        if what not in self._made:
            make()
            for name in names:
                shutil.copytree(to / name, self._folder / what / name, symlinks=True)
            self._made[what] = to
        elif to != self._made[what]:
            for name in names:
                shutil.copytree(self._folder / what / name, to / name, symlinks=True, dirs_exist_ok=True)
                for config in (to / name).glob("**/.git/config"):
                    text = config.read_text(encoding="utf-8")
                    config.write_text(text.replace(_quoted(self._made[what]), _quoted(to)), encoding="utf-8")
        return self._made[what]


def _quoted(path: Path) -> str:
    """Write a path as git does in its configuration."""
    return str(path).replace("\\", "\\\\")
