"""The spool: what was accepted and is not committed yet (docs/format.md, "The spool").

To deliver is to make one small file; no lock, no git, nothing heavy. To drain is to hand what is there, in order of
arrival, to somebody who commits it, and only then to remove it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import time
from collections.abc import Iterator

from gitmem.errors import RefusedError
from gitmem.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MAX_EVENT_BYTES = 64 * 1024 * 1024
STILL_WRITING_SECONDS = 60.0  # a file that does not parse and has not grown for so long has lost its writer
_SUFFIX = ".json"
_ASIDE = "aside"
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Event(Value):
    """A whole event: the name of its file, what it says, and when the file was written (seconds since 1970)."""

    name: str
    content: dict[str, object]
    modified: float = 0.0


class Spool:
    """The events of one store, each a file in `folder`."""

    def __init__(self, folder: str, now: Callable[[], float] = time.time) -> None:
        self.folder = folder
        self._now = now
        self._delivered: dict[bytes, dict[str, object]] = {}  # so that one's own event is not parsed: see `deliver`

    def deliver(self, content: dict[str, object]) -> str:
        """Accept an event: it will be committed, whatever happens to this process. Returns its name.

        Raises:
            RefusedError: it is larger than what could be read back.
            OSError: it could not be stored; nothing of it remains.

        """
        data = json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass")
        if len(data) > MAX_EVENT_BYTES:
            raise RefusedError(
                f"An event of {len(data):,} bytes is more than gitmem handles.", "Save the part that matters."
            )
        for folder in (os.path.dirname(self.folder), self.folder):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        while True:
            name = f"{time.time_ns():020d}-{os.getpid()}-{os.urandom(4).hex()}{_SUFFIX}"
            try:
                self._write(name, data)
            except FileExistsError:
                continue
            self._delivered[data] = content
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
            event = self.event(name)
            if event is not None:
                yield event

    def remove(self, names: list[str]) -> None:
        """Forget events that are committed; one that cannot be removed is met again, and known by its id."""
        for name in names:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self.folder, name))

    def put_aside(self, name: str) -> None:
        """Keep an event that cannot be understood, out of the way; nothing that is there already is overwritten."""
        folder = os.path.join(self.folder, _ASIDE)
        with contextlib.suppress(OSError):  # it stays where it is, and others are not kept from being saved
            os.makedirs(folder, mode=0o700, exist_ok=True)
            target, number = os.path.join(folder, name), 1
            while os.path.lexists(target):
                number += 1
                target = os.path.join(folder, f"{name}.{number}")
            os.rename(os.path.join(self.folder, name), target)

    def event(self, name: str) -> Event | None:
        """Return the event in a file, None where it is not whole (yet), is gone, or was moved aside."""
        path = os.path.join(self.folder, name)
        try:
            descriptor = os.open(path, os.O_RDONLY | _NO_FOLLOW)
        except OSError as error:
            # A link, or not ours to read. Too many open files, or a disk that fails, say nothing of the event.
            if error.errno in {errno.ELOOP, errno.EMLINK, errno.EACCES, errno.EPERM, errno.ENXIO}:
                self.put_aside(name)
            return None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or (os.name == "nt" and os.path.islink(path)):
                self.put_aside(name)
                return None
            with open(descriptor, "rb", closefd=False) as file:
                content = self._parse(file.read(MAX_EVENT_BYTES + 1))
        except OSError:
            return None
        finally:
            os.close(descriptor)
        # A clock that was set back makes a file of the future; it has lost its writer, too.
        if content is None and abs(self._now() - status.st_mtime) >= STILL_WRITING_SECONDS:
            self.put_aside(name)
        return None if content is None else Event(name, content, status.st_mtime)

    def _write(self, name: str, data: bytes) -> None:
        """Make a file exclusively; raises FileExistsError where the name is taken, OSError where nothing was stored."""
        path = os.path.join(self.folder, name)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise

    def _parse(self, data: bytes) -> dict[str, object] | None:
        """Return what an event says, None where it is not whole: an object ends with what no part of it does."""
        if len(data) > MAX_EVENT_BYTES:
            return None
        if data in self._delivered:
            return self._delivered[data]
        try:
            content = json.loads(data.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            return None
        return content if isinstance(content, dict) else None
