"""The spool of what hosts' hooks deliver (docs/format.md, "The spool"): a host's own JSON, a file each.

A shell can deliver without Python: it makes `<Event>-<process of the host>-<own process>-<n>.json` exclusively. When it
was made is the file's time. The events of a turn stay until the turn is committed, so nothing of it lives elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import re

from gitmem.errors import RefusedError
from gitmem.machine.moment import UTC, datetime, local
from gitmem.store.spool.spool import MAX_EVENT_BYTES, Spool
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

FOLDER = "hooks"
_NAME = re.compile(r"[A-Za-z]{1,40}-(?P<owner>[0-9]{1,10})-")
_UNFIT = re.compile(r"[^A-Za-z]")
_BEGINNING = "SessionStart-"
_MAX_TRIES = 1_000
_MAX_LOOKS = 20
_REMOVED = "removed-"


class Delivered(Value):
    """A payload that was delivered: its file's name, when, and the process id of the host (0: not known)."""

    name: str
    at: datetime
    owner: int
    payload: dict[str, object]


class HookSpool(Spool):
    """The payloads that wait in one store."""

    def __init__(self, private: str) -> None:
        super().__init__(os.path.join(private, "spool", FOLDER))

    def make(self) -> None:
        """Make the folder, by which a shell knows that it may deliver here."""
        for folder in (os.path.dirname(os.path.dirname(self.folder)), os.path.dirname(self.folder), self.folder):
            os.makedirs(folder, mode=0o700, exist_ok=True)

    def accept(self, event: str, owner: int, data: bytes) -> str:
        """Accept a payload as it came; returns its name.

        Raises:
            RefusedError: it is larger than what could be read back.
            OSError: it could not be stored; nothing of it remains.

        """
        if len(data) > MAX_EVENT_BYTES:
            raise RefusedError(f"A hook's payload of {len(data):,} bytes is more than gitmem handles.")
        self.make()
        kind = _UNFIT.sub("", event)[:40] or "Unknown"
        for number in range(_MAX_TRIES):
            name = f"{kind}-{owner}-{os.getpid()}-{number}.json"
            try:
                self._write(name, data)
            except FileExistsError:
                continue
            return name
        raise OSError(f"no name is free in {self.folder}")

    def fits(self, most: int, most_bytes: int) -> bool:
        """Say whether no more payloads wait than so many, and no more bytes."""
        names, size = self.names(), 0
        for name in names[: most + 1]:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(self.folder, name)).st_size
        return len(names) <= most and size <= most_bytes

    def unfinished(self) -> int:
        """Count what waits for the end of a turn; that a session has begun waits for nothing."""
        return sum(not name.startswith(_BEGINNING) for name in self.names())

    def names(self) -> list[str]:
        """Return the names of what waits: all that was there at one moment, without what another process is removing.

        A folder that files come into while it is listed may show a later one and not an earlier one.
        """
        seen = super().names()
        for _ in range(_MAX_LOOKS):
            before, seen = seen, super().names()
            if seen == before:
                break
        gone = self._forget_removed()
        return [name for name in seen if name not in gone]

    def delivered(self) -> list[Delivered]:
        """Return the whole payloads, in no order; see `read`."""
        return self.read(lambda one: one)

    def read(self, use: Callable[[Delivered], T]) -> list[T]:
        """Return what `use` makes of each whole payload, in no order; one payload is held at a time.

        What lost its writer is moved aside, what is being written is left. `use` may be asked again: where another
        process removes what was committed meanwhile, half a turn may have been seen, and it is begun anew.
        """
        for _ in range(_MAX_LOOKS):
            names = self.names()
            found = {name: use(one) for name in names if (one := self._payload(name)) is not None}
            now = {*self.names()}
            if now.issuperset(names):
                break
        return [made for name, made in found.items() if name in now]

    def _payload(self, name: str) -> Delivered | None:
        event = self.event(name)
        if event is None:
            return None
        found = _NAME.match(name)
        at = local(datetime.fromtimestamp(event.modified, UTC))
        return Delivered(name, at, int(found["owner"]) if found else 0, event.content)

    def remove(self, names: list[str]) -> None:
        """Forget payloads that are committed, all at once: half a turn would be another one.

        What is to go is written down first, so that whoever looks meanwhile, or after a crash, takes it as gone.
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

    def _forget_removed(self) -> set[str]:
        """Finish what others have begun to remove; returns the names."""
        gone: set[str] = set()
        with contextlib.suppress(OSError):
            for name in os.listdir(self.folder):
                if name.startswith(_REMOVED) and not name.endswith(".new"):
                    path = os.path.join(self.folder, name)
                    with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
                        names = file.read().split("\n")
                        gone.update(names)
                        super().remove(names)
                        os.unlink(path)
        return gone

    def _parse(self, data: bytes) -> dict[str, object] | None:
        return parse(data)


def parse(data: bytes) -> dict[str, object] | None:
    """Return the JSON object a host wrote, None where it is not whole; what follows it does not count."""
    if len(data) > MAX_EVENT_BYTES:
        return None
    text = data.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    try:
        content, _ = json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
