"""Accepted events that are not committed yet, a file each (docs/format.md, "The spool").

Delivering creates one small file, without a lock or git. Draining commits the events in order of arrival and removes
each after its commit. An event that a host delivers twice, by plugin and settings, is answered once.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import time
import zlib
from collections.abc import Iterator

from gitmem.errors import RefusedError
from gitmem.platform.safe_open import CREATE, READ
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable


MAX_EVENT_BYTES = 64 * 1024 * 1024
STILL_WRITING_SECONDS = 60.0  # after which an incomplete file counts as abandoned
_SUFFIX = ".json"
_ASIDE = "aside"


class Event(Value):
    """A complete event: its file's name, its content, and the file's modification time (seconds since 1970)."""

    name: str
    content: dict[str, object]
    modified: float = 0.0


class Spool:
    """The waiting events of one store, each a file in `folder`."""

    def __init__(self, folder: str, now: Callable[[], float] = time.time) -> None:
        self.folder = folder
        self._now = now
        self._delivered: dict[bytes, dict[str, object]] = {}  # saves parsing the events of this process

    def deliver(self, content: dict[str, object]) -> str:
        """Store an event and return its name; a later process commits it if this one dies.

        Raises:
            RefusedError: it is too large to be read back.
            OSError: it could not be stored; no file is left.

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
        """Return the names of the waiting events, in order of arrival."""
        try:
            return sorted(name for name in os.listdir(self.folder) if name.endswith(_SUFFIX))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def aside(self) -> list[str]:
        """Return the names of the unreadable events that were put aside."""
        try:
            return sorted(os.listdir(os.path.join(self.folder, _ASIDE)))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def events(self) -> Iterator[Event]:
        """Yield the complete events, in order of arrival; incomplete files are treated as in `event`."""
        for name in self.names():
            event = self.event(name)
            if event is not None:
                yield event

    def remove(self, names: list[str]) -> None:
        """Remove committed events; one that cannot be removed is recognised later by its id."""
        for name in names:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self.folder, name))

    def put_aside(self, name: str) -> None:
        """Move an unreadable event to the folder `aside`, without overwriting a file there."""
        folder = os.path.join(self.folder, _ASIDE)
        with contextlib.suppress(OSError):  # if it cannot be moved it stays, and the others are still saved
            os.makedirs(folder, mode=0o700, exist_ok=True)
            target, number = os.path.join(folder, name), 1
            while os.path.lexists(target):
                number += 1
                target = os.path.join(folder, f"{name}.{number}")
            os.rename(os.path.join(self.folder, name), target)

    def keep_aside(self, name: str, data: bytes) -> str:
        """Write bytes that cannot be committed to the folder `aside`, the same bytes once; return the path."""
        import hashlib

        stem, dot, suffix = name.rpartition(".")
        folder = os.path.join(self.folder, _ASIDE)
        path = os.path.join(folder, f"{stem}-{hashlib.sha256(data).hexdigest()[:10]}{dot}{suffix}")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError), open(path, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return path

    def event(self, name: str) -> Event | None:
        """Return the event in a file, None if there is no complete one.

        A file that is still incomplete after `STILL_WRITING_SECONDS`, or is no regular file, is put aside.
        """
        path = os.path.join(self.folder, name)
        try:
            descriptor = os.open(path, READ)
        except OSError as error:
            # A link, or no permission. Other errors (too many open files, a failing disk) are not the event's fault.
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
        # `abs`: after the clock was set back, a file dated in the future counts as abandoned, too.
        if content is None and abs(self._now() - status.st_mtime) >= STILL_WRITING_SECONDS:
            self.put_aside(name)
        return None if content is None else Event(name, content, status.st_mtime)

    def _write(self, name: str, data: bytes) -> None:
        """Create a file exclusively; raises FileExistsError if the name is taken, OSError if the write failed."""
        path = os.path.join(self.folder, name)
        descriptor = os.open(path, CREATE, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise

    def _parse(self, data: bytes) -> dict[str, object] | None:
        """Return the content of an event, None if truncated: a prefix of a JSON object does not parse."""
        if len(data) > MAX_EVENT_BYTES:
            return None
        if data in self._delivered:
            return self._delivered[data]
        try:
            content = json.loads(data.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            return None
        return content if isinstance(content, dict) else None


FOLDER = "answered"
_SECONDS = 10.0  # a host calls its hooks at once, and ends them after as long


def may_answer(private: str, owner: int, data: bytes) -> bool:
    """Return whether this hook has to answer an event, since no other one does; True in doubt.

    The same bytes later than ten seconds are another event, such as the next compaction of a session.
    """
    if not owner:
        return True
    folder = os.path.join(private, FOLDER)
    mark = os.path.join(folder, f"{owner}-{zlib.crc32(data):08x}")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _remove_old(folder)
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        return not os.path.isfile(mark)
    return True


def _remove_old(folder: str) -> None:
    end = time.time() - _SECONDS
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            if not end <= os.stat(path).st_mtime <= end + 2 * _SECONDS:  # a clock that was set back counts, too
                os.unlink(path)
