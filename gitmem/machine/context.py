"""Environment, home, machine name and clock, passed in by a door: nothing below reads them from the process."""

from __future__ import annotations

from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime


class Context(Value):
    """The surroundings of a command.

    `environ` are the environment variables, `home` the user's home folder, `machine` the host's name, `clock` returns
    the time with its zone.
    """

    environ: Mapping[str, str]
    home: str
    machine: str
    clock: Callable[[], datetime]
