"""Accepted events that are not committed yet, one per file (docs/format.md, "The spool").

Delivering creates one small file, without a lock or git. Draining commits the events in order of arrival and removes
each after its commit. An event that a host delivers twice, through plugin and settings, is answered once.

A shell delivers hook payloads without Python, by exclusive creation; the modification time is the time of the event.
Events for a store that git refuses, such as another user's, wait in the user's own folder, closed to other users.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator

from gitmem.config.values import RecallConfig
from gitmem.errors import RefusedError
from gitmem.platform.machine import UTC, datetime, local
from gitmem.platform.safe_open import CREATE, READ, drop_file, set_mark
from gitmem.store.locate import HOME_HOSTS, user_store
from gitmem.values import TypeVar, Value

T = TypeVar("T")
MAX_EVENT_BYTES = 64 * 1024 * 1024
STILL_WRITING_SECONDS = 60.0  # after which an incomplete file counts as abandoned
_SUFFIX = ".json"
_ASIDE = "aside"


class SpooledEvent(Value):
    """A complete event: its file's name, its content, and the file's modification time (seconds since 1970)."""

    name: str
    content: dict[str, object]
    modified: float = 0.0


class Spool:
    """The waiting events of one store, each a file in `folder`."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def deliver(self, content: dict[str, object]) -> str:
        """Store an event and return its name; a later process commits it if this one dies.

        Raises RefusedError if it is too large to be read back, OSError if it could not be stored; no file is left.
        """
        data = json.dumps(content).encode("ascii")  # ASCII also escapes a lone surrogate, which UTF-8 cannot encode
        if len(data) > MAX_EVENT_BYTES:
            raise RefusedError(
                f"An event of {len(data):,} bytes is more than gitmem handles.", "Save the part that matters."
            )
        self.make()
        while True:
            name = f"{time.time_ns():020d}-{os.getpid()}-{os.urandom(4).hex()}{_SUFFIX}"
            with contextlib.suppress(FileExistsError):
                _create(os.path.join(self.folder, name), data)
                return name

    def make(self) -> None:
        """Create the folder, and those above it in the private folder, for the user alone.

        A hook's script delivers events only if it exists.
        """
        for folder in (os.path.dirname(self.folder), self.folder):
            os.makedirs(folder, mode=0o700, exist_ok=True)

    def names(self) -> list[str]:
        """Return the names of the waiting events, in order of arrival."""
        return [name for name in _listed(self.folder) if name.endswith(_SUFFIX)]

    def aside(self) -> list[str]:
        """Return the names of the unreadable events that were put aside."""
        return _listed(os.path.join(self.folder, _ASIDE))

    def events(self) -> Iterator[SpooledEvent]:
        """Yield the complete events, in order of arrival; incomplete files are treated as in `event`."""
        for name in self.names():
            event = self.event(name)
            if event is not None:
                yield event

    def remove(self, names: list[str]) -> None:
        """Remove committed events; one that cannot be removed is recognised later by its id."""
        for name in names:
            drop_file(os.path.join(self.folder, name))

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
        with contextlib.suppress(FileExistsError):
            _create(path, data, sync=True)
        return path

    def event(self, name: str) -> SpooledEvent | None:
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
                content = parse(file.read(MAX_EVENT_BYTES + 1))
        except OSError:
            return None
        finally:
            os.close(descriptor)
        # `abs`: after the clock was set back, a file dated in the future counts as abandoned, too.
        if content is None and abs(time.time() - status.st_mtime) >= STILL_WRITING_SECONDS:
            self.put_aside(name)
        return None if content is None else SpooledEvent(name, content, status.st_mtime)


def _create(path: str, data: bytes, *, sync: bool = False) -> None:
    """Create a file; raises FileExistsError if the name is taken, another OSError, without a file, if that failed."""
    descriptor = os.open(path, CREATE, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
    except BaseException:
        drop_file(path)
        raise


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


ANSWERED = "answered"
_SECONDS = 10.0  # a host starts all hooks of an event at once, and ends them after this time


def may_answer(private: str, owner: int, data: bytes) -> bool:
    """Return whether this hook is the one that answers an event; True in doubt.

    The same bytes more than ten seconds later are another event, such as the next compaction of a session.
    """
    if not owner:
        return True
    import zlib  # late: only a hook answers

    folder = os.path.join(private, ANSWERED)
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
            if not end <= os.stat(path).st_mtime <= end + 2 * _SECONDS:  # also true after the clock was set back
                os.unlink(path)


FOLDER = "hooks"
# Compiled at first use: a save needs none.
_NAME = r"(?P<event>[A-Za-z]{1,40})(?:\.(?P<host>[a-z]{1,20}))?-(?P<owner>[0-9]{1,10})-"
_NOT_LETTERS = r"[^A-Za-z]"
_SESSION_START = ("SessionStart-", "SessionStart.")
_TELL = "tell-"  # prefix of a mark: show this process (a host) its memory with the next prompt
_OFF = "off-"  # prefix of a mark: do not answer this event
_PAUSED = "paused"  # name of the mark of a pause
_FIRST_HOST = "claude"  # file names leave out this host
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
        """Create the folder, as `Spool` does, with the private folder."""
        os.makedirs(os.path.dirname(os.path.dirname(self.folder)), mode=0o700, exist_ok=True)
        super().make()

    def accept(self, event: str, owner: int, data: bytes, host: str = _FIRST_HOST) -> str:
        """Store a payload byte for byte and return its name; raises as `deliver`."""
        if len(data) > MAX_EVENT_BYTES:
            raise RefusedError(f"A hook's payload of {len(data):,} bytes is more than gitmem handles.")
        self.make()
        kind = re.sub(_NOT_LETTERS, "", event)[:40] or "Unknown"
        kind += f".{host}" * (host != _FIRST_HOST)
        number = 0
        while True:
            name = f"{kind}-{owner}-{os.getpid()}-{number}{_SUFFIX}"
            with contextlib.suppress(FileExistsError):
                _create(os.path.join(self.folder, name), data)
                return name
            number += 1

    def set_memory_due(self, owner: int, *, due: bool) -> None:
        """Note whether an agent, given by its process id, is to be shown its memory with the next prompt."""
        self._set_mark(f"{_TELL}{owner}", on=due)

    def is_memory_due(self, owner: int) -> bool:
        """Return whether this agent is to be shown its memory with the next prompt."""
        return os.path.exists(os.path.join(self.folder, f"{_TELL}{owner}"))

    def follow_settings(self, recall: RecallConfig) -> None:
        """Note which events hooks/hook.sh only delivers, without an answer."""
        self._set_mark(f"{_OFF}UserPromptSubmit", on=not recall.prompt)
        self._set_mark(f"{_OFF}PostToolUseFailure", on=not recall.error)

    def set_paused(self, *, paused: bool) -> None:
        """Note whether hooks/hook.sh must leave each event to gitmem, which knows when the pause ends."""
        self._set_mark(_PAUSED, on=paused)

    def is_paused(self) -> bool:
        """Return whether a pause was begun; it may be over by now."""
        return os.path.exists(os.path.join(self.folder, _PAUSED))

    def _set_mark(self, name: str, *, on: bool) -> None:
        mark = os.path.join(self.folder, name)
        with contextlib.suppress(OSError):
            if on != os.path.exists(mark):
                self.make()
                set_mark(mark, on=on)

    def fits(self, most: int, most_bytes: int) -> bool:
        """Return whether at most `most` payloads wait, of at most `most_bytes` together."""
        names, size = self.names(), 0
        for name in names[: most + 1]:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(self.folder, name)).st_size
        return len(names) <= most and size <= most_bytes

    def unfinished(self) -> int:
        """Count the payloads that wait for the end of a turn; a session's start needs none."""
        return sum(not name.startswith(_SESSION_START) for name in self.names())

    def names(self) -> list[str]:
        """Return the names of the payloads that waited at one moment, without those that another process removes."""
        listed = _listed(self.folder)  # list until two listings agree: while files arrive, one may miss an earlier file
        for _ in range(_MAX_RETRIES):
            previous, listed = listed, _listed(self.folder)
            if listed == previous:
                break
        removed = self._finish_removals(name for name in listed if name.startswith(_REMOVED))
        return [name for name in listed if name.endswith(_SUFFIX) and name not in removed]

    def read(self, use: Callable[[Delivered], T]) -> list[T]:
        """Return `use(payload)` for each complete payload, not in order of time, with one in memory at a time.

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
        parts = re.match(_NAME, name)
        at = local(datetime.fromtimestamp(event.modified, UTC))
        if parts is None:
            return Delivered(name, at, 0, event.content)
        return Delivered(name, at, int(parts["owner"]), event.content, parts["event"], parts["host"] or _FIRST_HOST)

    def move(self, name: str, into: HookSpool) -> None:
        """Move a payload into another spool, with its modification time, unless another process did meanwhile."""
        import shutil

        into.make()
        with contextlib.suppress(FileNotFoundError):
            shutil.move(os.path.join(self.folder, name), os.path.join(into.folder, name))

    def remove(self, names: list[str]) -> None:
        """Remove committed payloads, all at once: half a turn would be read as another turn."""
        if not names:
            return
        # Write their names into a list first: readers, also after a crash, treat listed payloads as removed.
        path = os.path.join(self.folder, f"{_REMOVED}{os.getpid()}-{os.urandom(4).hex()}")
        with contextlib.suppress(OSError):
            with open(f"{path}.new", "x", encoding="utf-8") as file:
                file.write("\n".join(names))
            os.rename(f"{path}.new", path)
        super().remove(names)
        drop_file(path)

    def _finish_removals(self, lists: Iterable[str]) -> set[str]:
        """Remove the payloads that other processes put on these lists, and return their names."""
        removed: set[str] = set()
        for path in (os.path.join(self.folder, name) for name in lists if not name.endswith(".new")):
            with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
                names = file.read().split("\n")
                removed.update(names)
                super().remove(names)
                os.unlink(path)
        return removed


def parse(data: bytes) -> dict[str, object] | None:
    """Return the JSON object that these bytes begin with; None if it is incomplete, too large or no object."""
    if len(data) > MAX_EVENT_BYTES:
        return None
    text = data.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    try:
        content, _ = json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


_FOLDER = "held"
_MAX_EVENTS = 1_000  # held for one store, which may stay refused for ever


def hold(home: str, root: str, event: str, owner: int, data: bytes) -> None:
    """Hold an event for the store at `root`, unless `_MAX_EVENTS` are held for it already."""
    spool = _spool(home, root)
    if len(spool.names()) < _MAX_EVENTS:
        try:
            spool.accept(event, owner, data)
        except FileNotFoundError:  # `release` has just removed the empty folder
            spool.accept(event, owner, data)


def release(home: str, root: str, into: HookSpool) -> None:
    """Move the events held for the store at `root` into its spool, with their modification times."""
    if not os.path.isdir(os.path.join(user_store(home), HOME_HOSTS, _FOLDER)):
        return
    spool = _spool(home, root)
    for name in spool.names():
        spool.move(name, into)
    with contextlib.suppress(OSError):
        os.removedirs(spool.folder)


def _spool(home: str, root: str) -> HookSpool:
    import hashlib

    name = hashlib.sha256(os.path.realpath(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return HookSpool(os.path.join(user_store(home), HOME_HOSTS, _FOLDER, name))
