"""A lock that is a git ref, for a folder that several machines share.

`refs/gitmem/lock` moves by compare-and-swap from a blob that says "free" to one that names the holder, and back. It
is never deleted: git would remove its empty folder while others write there.
Tested through `tests/git/test_lock.py`.
"""

from __future__ import annotations

import contextlib
import math
import os

from gitmem.errors import GitFailedError, GitmemError
from gitmem.git.lock import RECORD_LIMIT, STALE_SECONDS, Clock, Holder, Lock, alive
from gitmem.git.process import Git
from gitmem.git.repository import LEFT_BEHIND_SECONDS, clear_left_behind, common_dir_of

LOCK_REF = "refs/gitmem/lock"
_BLOB_SECONDS = 1.0  # for which a waiter reuses its blob, which takes a process to write
_LOOK_SECONDS = 0.25  # between two reads of the holder

_FREE = {  # object id of the blob "free\n", by the length of the repository's object ids
    40: "7f2b810e2e03bf62e8aa7aa05adf5b1e1b71c188",
    64: "8ff989006cdbf3eb4df86857c29656868cea70f5e60f8d7f8c86f778a2846117",
}


class RefLock(Lock):
    """A lock that is a git ref; see the module's docstring. `folder` is on the repository's file system."""

    _PAUSE = 0.010  # each attempt is a process

    def __init__(self, git: Git, folder: str, *, purpose: str, machine: str, clock: Clock) -> None:
        super().__init__(folder, purpose=purpose, machine=machine, clock=clock)
        self._git = git
        self._common = common_dir_of(git.git_dir or "")
        self._blob = ""  # names this process as the holder
        self._beat = 0.0
        self._holding = False
        self._looked_at = -math.inf

    def acquire(self, timeout: float) -> Lock:
        """See `Lock.acquire`."""
        self._blob, self._looked_at = "", -math.inf
        return super().acquire(timeout)

    def _attempt(self) -> bool:
        self._make_blob()
        # Usually free: three processes for a lock and its release, one for each failed attempt.
        self._holding = self._move(self._blob, _FREE[len(self._blob)])
        now = self._clock.monotonic()
        if not self._holding and now - self._looked_at > _LOOK_SECONDS:
            self._looked_at = now
            old, text = self._look()
            self._holding = self._takes(old, text) and self._move(self._blob, old)
        left = os.path.join(self._common, LOCK_REF + ".lock")  # perhaps of a killed git
        if not self._holding and os.path.exists(left) and self._age(LOCK_REF + ".lock") >= LEFT_BEHIND_SECONDS:
            clear_left_behind(left)
        return self._holding

    def release(self) -> None:
        """See `Lock.release`. If git fails, the lock is stale once this process has ended."""
        if not self._holding:
            return
        self._holding = False
        with contextlib.suppress(GitmemError):
            if self._move(_FREE[len(self._blob)], self._blob):
                return
            # The blob "free" is missing or damaged: write it, with other words if need be.
            for text in (b"free\n", f"free {self._token}\n".encode()):
                if self._points_to(self._blob) and self._move(self._write(text), self._blob):
                    return

    def heartbeat(self) -> None:
        """See `Lock.heartbeat`."""
        if self._holding:
            blob = self._write(self._record(self._clock.monotonic()))
            if self._move(blob, self._blob):
                self._blob = blob

    def held(self) -> bool:
        """See `Lock.held`."""
        return self._holding and self._points_to(self._blob)

    def _make_blob(self) -> None:
        """Write a blob that names this process, unless the last one is recent."""
        now = self._clock.monotonic()
        if not self._blob or now > self._beat:
            self._beat = now + _BLOB_SECONDS
            self._blob = self._write(self._record(self._beat))

    def _takes(self, old: str, text: bytes) -> bool:
        """Return whether the lock may be taken from the state `old`, whose blob is `text`."""
        if not old.strip("0") or text.startswith(b"free"):
            return True
        holder = Holder.from_bytes(text)
        if holder and holder.token == self._token:
            return True  # our own move, after which git was stopped or failed
        if holder and holder.place and holder.place == self._place:
            return self._silent(text, holder.beat) or not alive(holder)
        # Another machine's, or nobody's: use the shared file system's clock, or our own observation.
        return self._silent(text, None) or self._age(LOCK_REF, "packed-refs") >= STALE_SECONDS

    def _look(self) -> tuple[str, bytes]:
        """Return the ref's value (zeros: missing) and the blob's content (empty if unreadable)."""
        answer = self._git.run("cat-file", "--batch", stdin=LOCK_REF.encode() + b"\n")
        header, _, text = answer.partition(b"\n")
        fields = header.split()
        if len(fields) == 3:  # noqa: PLR2004  # id, type, size
            return fields[0].decode(), text[: min(int(fields[2]), RECORD_LIMIT)]
        oid = self._git.run("rev-parse", "--verify", "--quiet", LOCK_REF, ok=(0, 1)).decode().strip()
        return oid or "0" * len(self._blob), b""

    def _points_to(self, oid: str) -> bool:
        try:
            return self._git.run("rev-parse", "--verify", "--quiet", LOCK_REF).decode().strip() == oid
        except GitFailedError:
            return False

    def _write(self, text: bytes) -> str:
        return self._git.run("hash-object", "-w", "--stdin", stdin=text).decode().strip()

    def _move(self, new: str, old: str) -> bool:
        try:
            self._git.run("update-ref", LOCK_REF, new, old)
        except GitFailedError as error:
            if any(reason in error.stderr for reason in ("Permission denied", "Read-only file system", "No space")):
                raise
            return False
        return True

    def _age(self, *names: str) -> float:
        """Return the seconds since the youngest of these files of the repository changed; 0 where there is none.

        By the clock of the file system that stamped them, since the clocks of two machines may differ.
        """
        stamps = []
        for name in names:
            with contextlib.suppress(OSError):
                stamps.append(os.stat(os.path.join(self._common, name)).st_mtime)
        probe = os.path.join(self._folder, f"lock-probe-{self._token}")
        try:
            file = os.open(probe, os.O_RDWR | os.O_CREAT, 0o600)
            os.write(file, b"?")
            now = os.fstat(file).st_mtime
            os.close(file)
            return now - max(stamps, default=now)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(probe)
