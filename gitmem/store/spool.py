"""The spool: what was accepted and is not committed yet (docs/format.md, "The spool").

To deliver is to make one small file; no lock, no git, nothing heavy. To drain is to hand what is there, in order of
arrival, to somebody who commits it, and only then to remove it.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MAX_EVENT_BYTES = 64 * 1024 * 1024
STILL_WRITING_SECONDS = 60.0  # a file that does not parse and has not grown for so long has lost its writer
_SUFFIX = ".json"
_ASIDE = "aside"
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Event(NamedTuple):
    """A whole event: the name of its file and what it says."""

    name: str
    content: dict[str, object]


class Spool:
    """The events of one store, each a file in `folder`."""

    def __init__(self, folder: str, now: Callable[[], float] = time.time) -> None:
        self.folder = folder
        self._now = now

    def deliver(self, content: dict[str, object]) -> str:
        """Accept an event: it will be committed, whatever happens to this process. Returns its name.

        Raises:
            OSError: it could not be stored; nothing of it remains.

        """
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        data = json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass")
        while True:
            name = f"{time.time_ns():020d}-{os.getpid()}-{os.urandom(4).hex()}{_SUFFIX}"
            path = os.path.join(self.folder, name)
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600)
            except FileExistsError:
                continue
            try:
                with open(descriptor, "wb") as file:
                    file.write(data)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(path)
                raise
            return name

    def names(self) -> list[str]:
        """Return the names of what waits, in order of arrival."""
        try:
            return sorted(name for name in os.listdir(self.folder) if name.endswith(_SUFFIX))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def aside(self) -> list[str]:
        """Return the names of what could not be read and was kept aside."""
        try:
            return sorted(os.listdir(os.path.join(self.folder, _ASIDE)))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def events(self) -> Iterator[Event]:
        """Yield the whole events, in order; what lost its writer is moved aside, what is being written is left."""
        for name in self.names():
            content = self._read(name)
            if content is not None:
                yield Event(name, content)

    def remove(self, names: list[str]) -> None:
        """Forget events that are committed."""
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.folder, name))

    def put_aside(self, name: str) -> None:
        """Keep an event that cannot be understood, out of the way."""
        folder = os.path.join(self.folder, _ASIDE)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.replace(os.path.join(self.folder, name), os.path.join(folder, name))

    def _read(self, name: str) -> dict[str, object] | None:
        path = os.path.join(self.folder, name)
        try:
            descriptor = os.open(path, os.O_RDONLY | _NO_FOLLOW)
        except FileNotFoundError:  # another process has drained it
            return None
        except OSError:
            self.put_aside(name)
            return None
        with open(descriptor, "rb") as file:
            data = file.read(MAX_EVENT_BYTES + 1)
            changed = os.fstat(descriptor).st_mtime
        try:
            if len(data) > MAX_EVENT_BYTES:
                raise ValueError(name)
            content = json.loads(data.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            content = None
        if isinstance(content, dict):
            return content
        # A clock that was set back makes a file of the future; it has lost its writer, too.
        if not 0 <= self._now() - changed < STILL_WRITING_SECONDS:
            self.put_aside(name)
        return None
