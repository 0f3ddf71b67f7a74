"""The spool of hook payloads, one file each (docs/format.md, "The spool"), and events held for a refused store.

A shell delivers without Python, by exclusive creation; the modification time is the time of the event. The events for
another user's store or a copy are held in the person's own folder, where no other user reads them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re

from gitmem.errors import RefusedError
from gitmem.platform.clock import UTC, datetime, local
from gitmem.store.locate import HOME_HOSTS, user_store
from gitmem.store.spool import MAX_EVENT_BYTES, Spool
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")


FOLDER = "hooks"
_NAME = re.compile(r"(?P<event>[A-Za-z]{1,40})(?:\.(?P<host>[a-z]{1,20}))?-(?P<owner>[0-9]{1,10})-")
_NOT_LETTERS = re.compile(r"[^A-Za-z]")
_SESSION_START = ("SessionStart-", "SessionStart.")
_TELL = "tell-"  # begins the name of a mark: the host of this process is told its memory with the next prompt
_OFF = "off-"  # begins the name of a mark: this event is not answered
_FIRST_HOST = "claude"  # whose name the files leave out
_MAX_TRIES = 1_000
_MAX_RETRIES = 20  # of a listing that another process changes
_REMOVED = "removed-"


class Delivered(Value):
    """A delivered payload: file name, time, the host's process id (0 if unknown), the event and host in the name."""

    name: str
    at: datetime
    owner: int
    payload: dict[str, object]
    event: str = ""
    host: str = _FIRST_HOST


class HookSpool(Spool):
    """The hook payloads that wait in one store."""

    def __init__(self, private: str) -> None:
        super().__init__(os.path.join(private, "spool", FOLDER))

    def make(self) -> None:
        """Create the folder; a hook's script delivers events only if it exists."""
        for folder in (os.path.dirname(os.path.dirname(self.folder)), os.path.dirname(self.folder), self.folder):
            os.makedirs(folder, mode=0o700, exist_ok=True)

    def accept(self, event: str, owner: int, data: bytes, host: str = _FIRST_HOST) -> str:
        """Store a payload byte for byte and return its name.

        Raises:
            RefusedError: it is too large to be read back.
            OSError: it could not be stored; no file is left.

        """
        if len(data) > MAX_EVENT_BYTES:
            raise RefusedError(f"A hook's payload of {len(data):,} bytes is more than gitmem handles.")
        self.make()
        kind = _NOT_LETTERS.sub("", event)[:40] or "Unknown"
        kind += f".{host}" * (host != _FIRST_HOST)
        for number in range(_MAX_TRIES):
            name = f"{kind}-{owner}-{os.getpid()}-{number}.json"
            try:
                self._write(name, data)
            except FileExistsError:
                continue
            return name
        raise OSError(f"no name is free in {self.folder}")

    def set_untold(self, owner: int, *, untold: bool) -> None:
        """Note whether the host of this process is to be told its memory with the next prompt."""
        self._set_mark(f"{_TELL}{owner}", on=untold)

    def is_untold(self, owner: int) -> bool:
        """Return whether the host of this process is to be told its memory."""
        return os.path.exists(os.path.join(self.folder, f"{_TELL}{owner}"))

    def set_silent(self, event: str, *, silent: bool) -> None:
        """Note whether this event is delivered only, and not answered (hooks/hook.sh)."""
        self._set_mark(f"{_OFF}{event}", on=silent)

    def _set_mark(self, name: str, *, on: bool) -> None:
        mark = os.path.join(self.folder, name)
        if on == os.path.exists(mark):
            return
        with contextlib.suppress(OSError):
            if on:
                self.make()
                with open(mark, "wb"):
                    pass
            else:
                os.unlink(mark)

    def fits(self, most: int, most_bytes: int) -> bool:
        """Return whether at most so many payloads with at most so many bytes wait."""
        names, size = self.names(), 0
        for name in names[: most + 1]:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(self.folder, name)).st_size
        return len(names) <= most and size <= most_bytes

    def unfinished(self) -> int:
        """Count the payloads that wait for the end of a turn; a session's start does not wait."""
        return sum(not name.startswith(_SESSION_START) for name in self.names())

    def names(self) -> list[str]:
        """Return the names of the waiting payloads at one moment, without those another process is removing.

        The folder is listed until two listings agree: one made while files arrive may miss an earlier one.
        """
        names = super().names()
        for _ in range(_MAX_RETRIES):
            previous, names = names, super().names()
            if names == previous:
                break
        removed = self._finish_removals()
        return [name for name in names if name not in removed]

    def delivered(self) -> list[Delivered]:
        """Return the complete payloads, in no order; see `read`."""
        return self.read(lambda payload: payload)

    def read(self, use: Callable[[Delivered], T]) -> list[T]:
        """Return `use(payload)` for each complete payload, in no order, with one payload in memory at a time.

        Incomplete files are treated as in `event`. If another process removes committed payloads meanwhile, half a
        turn may have been read: reading starts again, and `use` is called again.
        """
        for _ in range(_MAX_RETRIES):
            names = self.names()
            results = {name: use(payload) for name in names if (payload := self._payload(name)) is not None}
            left = {*self.names()}
            if left.issuperset(names):
                break
        return [result for name, result in results.items() if name in left]

    def _payload(self, name: str) -> Delivered | None:
        event = self.event(name)
        if event is None:
            return None
        parts = _NAME.match(name)
        at = local(datetime.fromtimestamp(event.modified, UTC))
        if parts is None:
            return Delivered(name, at, 0, event.content)
        return Delivered(name, at, int(parts["owner"]), event.content, parts["event"], parts["host"] or _FIRST_HOST)

    def move(self, name: str, into: HookSpool) -> None:
        """Move a payload into another spool, with its modification time."""
        with open(os.path.join(self.folder, name), "rb") as file:
            data, status = file.read(), os.fstat(file.fileno())
        into.make()
        target = os.path.join(into.folder, name)
        with contextlib.suppress(FileExistsError), open(target, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        self.remove([name])

    def remove(self, names: list[str]) -> None:
        """Remove committed payloads, all at once: half a turn would be read as another turn.

        Their names are written to a list first, so that a reader, also one after a crash, takes them as removed.
        """
        if not names:
            return
        path = os.path.join(self.folder, f"{_REMOVED}{os.getpid()}-{os.urandom(4).hex()}")
        with contextlib.suppress(OSError):
            with open(f"{path}.new", "x", encoding="utf-8") as file:
                file.write("\n".join(names))
            os.rename(f"{path}.new", path)
        super().remove(names)
        with contextlib.suppress(OSError):
            os.unlink(path)

    def _finish_removals(self) -> set[str]:
        """Remove the payloads on the lists of other processes, and return their names."""
        removed: set[str] = set()
        with contextlib.suppress(OSError):
            for name in os.listdir(self.folder):
                if name.startswith(_REMOVED) and not name.endswith(".new"):
                    path = os.path.join(self.folder, name)
                    with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
                        names = file.read().split("\n")
                        removed.update(names)
                        super().remove(names)
                        os.unlink(path)
        return removed

    def _parse(self, data: bytes) -> dict[str, object] | None:
        return parse(data)


def parse(data: bytes) -> dict[str, object] | None:
    """Return the JSON object that a host wrote, ignoring text after it; None if it is incomplete."""
    if len(data) > MAX_EVENT_BYTES:
        return None
    text = data.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    try:
        content, _ = json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


_FOLDER = "held"
_MAX_EVENTS = 1_000  # of one store, which may stay refused for ever


def hold(home: str, root: str, event: str, owner: int, data: bytes) -> None:
    """Hold an event for the store at `root`, unless `_MAX_EVENTS` are held for it already."""
    spool = _spool(home, root)
    if len(spool.names()) < _MAX_EVENTS:
        spool.accept(event, owner, data)


def release(home: str, root: str, into: HookSpool) -> None:
    """Move the events held for the store at `root` into its spool, with their modification times."""
    if not os.path.isdir(os.path.join(user_store(home), HOME_HOSTS, _FOLDER)):
        return
    held = _spool(home, root)
    for name in held.names():
        held.move(name, into)
    with contextlib.suppress(OSError):
        os.removedirs(held.folder)


def _spool(home: str, root: str) -> HookSpool:
    import hashlib

    name = hashlib.sha256(os.path.realpath(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return HookSpool(os.path.join(user_store(home), HOME_HOSTS, _FOLDER, name))
