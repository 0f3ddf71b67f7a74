"""Start a process with pipes through `posix_spawn`: the part of `subprocess` that git and rg need.

Importing `subprocess` (with `selectors`, `signal` and `threading`) costs a save 8 of its 50 ms. Windows, which has no
`posix_spawn`, gets a class on `subprocess` that passes the same tests. As in `subprocess`, the child inherits the three
standard streams and nothing else, and the signals that Python ignores are restored.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import sys
import time
from collections.abc import Mapping, Sequence

from gitmem.values import IO

# Signals, by their numbers, since the module `signal` takes 1 ms to import; they are the same wherever gitmem runs.
_SIGKILL, _SIGTERM = 9, 15
_IGNORED_BY_PYTHON = (13, 25)  # SIGPIPE and SIGXFSZ
_STREAMS = 3  # stdin, stdout and stderr
_MOST = 256  # descriptors to try if the system does not list them
_CHUNK = 65536
_FEW_READS = 8  # after so many small reads, wait a moment for more output
_FIRST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.05  # seconds between two checks whether a process has ended


class FloodedError(Exception):
    """The outputs are larger than was allowed, and the process still runs."""


class ExpiredError(Exception):
    """The timeout passed and the process still runs; `stderr` is its output so far."""

    def __init__(self, stderr: bytes) -> None:
        super().__init__(stderr)
        self.stderr = stderr


if sys.platform != "win32":

    class Child:
        """A process with pipes, started in the current folder; `returncode` is None before `wait`."""

        def __init__(self, argv: Sequence[str], environ: Mapping[str, str], *, stdin: bool) -> None:
            self.returncode: int | None = None
            self._said: tuple[list[bytes], list[bytes]] = ([], [])
            ours: list[int] = []
            theirs: list[int] = []
            try:
                for reading, writing in ((theirs, ours),) * stdin + ((ours, theirs),) * 2:
                    for end, descriptor in zip((reading, writing), os.pipe(), strict=True):
                        end.append(descriptor)
                self.pid = _spawn(argv, environ, theirs if stdin else [-1, *theirs])
            except BaseException:
                for descriptor in ours:
                    os.close(descriptor)
                raise
            finally:
                for descriptor in theirs:
                    os.close(descriptor)
            self.stdin: IO[bytes] | None = open(ours.pop(0), "wb") if stdin else None  # noqa: SIM115  # until `close`
            self.stdout: IO[bytes] = open(ours[0], "rb")  # noqa: SIM115
            self.stderr: IO[bytes] = open(ours[1], "rb")  # noqa: SIM115

        def __enter__(self) -> Child:
            return self

        def __exit__(self, *exc: object) -> None:
            self.close()
            self.wait()

        def __del__(self) -> None:
            if getattr(self, "pid", None) and self.returncode is None:
                import warnings

                warnings.warn(f"process {self.pid} was not waited for", ResourceWarning, stacklevel=2, source=self)

        def communicate(
            self, data: bytes | None = None, timeout: float | None = None, most: float = math.inf
        ) -> tuple[bytes, bytes]:
            """Write `data`, close stdin, read both outputs to their end and wait; call again after `ExpiredError`.

            Raises ExpiredError if it did not end within `timeout` seconds, FloodedError after `most` bytes.
            """
            end = None if timeout is None else time.monotonic() + timeout
            self._exchange(memoryview(data or b""), end, most)
            self._await_end(end)
            self.close()
            out, err = self._said
            return b"".join(out), b"".join(err)

        def _exchange(self, unsent: memoryview, end: float | None, room: float) -> None:
            """Write and read, whichever is ready, until both are done."""
            poll = select.poll()
            reading = {pipe.fileno(): place for place, pipe in enumerate((self.stdout, self.stderr)) if not pipe.closed}
            for descriptor in reading:
                poll.register(descriptor, select.POLLIN)
            writing = self._register_stdin(poll, unsent)
            while reading or writing is not None:
                ready = poll.poll(None if end is None else max(0.0, (end - time.monotonic()) * 1000))
                if end is not None and time.monotonic() >= end:
                    raise ExpiredError(b"".join(self._said[1]))
                for descriptor, _ in ready:
                    if descriptor == writing:
                        unsent = _send(descriptor, unsent)
                        if not unsent:
                            poll.unregister(descriptor)
                            self._close_stdin()
                            writing = None
                    elif data := os.read(descriptor, _CHUNK):
                        pieces = self._said[reading[descriptor]]
                        pieces.append(data)
                        if len(data) < _CHUNK and len(pieces) > _FEW_READS and writing is None:
                            time.sleep(_FIRST_PAUSE)  # waking up for each small piece costs more
                        room -= len(data)
                        if room < 0:
                            self._said = ([], [])
                            raise FloodedError
                    else:
                        poll.unregister(descriptor)
                        (self.stdout, self.stderr)[reading.pop(descriptor)].close()

        def _register_stdin(self, poll: select.poll, unsent: memoryview) -> int | None:
            """Return the descriptor to write to; None, and close it, if there is nothing to write or no reader."""
            if self.stdin is None or self.stdin.closed:
                return None
            with contextlib.suppress(BrokenPipeError):
                self.stdin.flush()  # what was written before
                if unsent:
                    os.set_blocking(self.stdin.fileno(), False)
                    poll.register(self.stdin.fileno(), select.POLLOUT)
                    return self.stdin.fileno()
            self._close_stdin()
            return None

        def _close_stdin(self) -> None:
            if self.stdin is not None:
                with contextlib.suppress(BrokenPipeError):  # it has ended, and its status says why
                    self.stdin.close()

        def _await_end(self, end: float | None) -> None:
            pause = _FIRST_PAUSE
            while self.returncode is None:
                if end is None:
                    self._reap(0)
                    continue
                self._reap(os.WNOHANG)
                if self.returncode is None:
                    remaining = end - time.monotonic()
                    if remaining <= 0:
                        raise ExpiredError(b"".join(self._said[1]))
                    time.sleep(min(pause, remaining))
                    pause = min(pause * 2, _LONGEST_PAUSE)

        def _reap(self, flags: int) -> None:
            if self.returncode is not None:
                return
            try:
                pid, status = os.waitpid(self.pid, flags)
            except ChildProcessError:  # SIGCHLD is ignored: the status is lost
                self.returncode = 0
                return
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)

        def poll(self) -> int | None:
            """Return the status, None while the process runs."""
            self._reap(os.WNOHANG)
            return self.returncode

        def wait(self) -> int:
            """Wait for the end of the process and return its status."""
            self._await_end(None)
            assert self.returncode is not None
            return self.returncode

        def terminate(self) -> None:
            """Send SIGTERM."""
            self._signal(_SIGTERM)

        def kill(self) -> None:
            """Send SIGKILL."""
            self._signal(_SIGKILL)

        def _signal(self, number: int) -> None:
            self._reap(os.WNOHANG)
            if self.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, number)

        def close(self) -> None:
            """Close the pipes."""
            self._close_stdin()
            self.stdout.close()
            self.stderr.close()

    def _send(descriptor: int, unsent: memoryview) -> memoryview:
        """Write as much as fits into the pipe, and return the rest; nothing if the reader is gone."""
        try:
            return unsent[os.write(descriptor, unsent[:_CHUNK]) :]
        except BlockingIOError:
            return unsent
        except BrokenPipeError:  # it has ended, and its status says why
            return unsent[:0]

    def _spawn(argv: Sequence[str], environ: Mapping[str, str], streams: Sequence[int]) -> int:
        """Start a program with these descriptors, none of them a standard one, as its streams; -1 is an empty file."""
        actions: list[tuple[object, ...]] = []
        for stream, descriptor in enumerate(streams):
            if descriptor < 0:
                actions.append((os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDONLY, 0))
            else:
                actions.append((os.POSIX_SPAWN_DUP2, descriptor, stream))
        actions += [(os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in _inheritable()]
        return os.posix_spawn(argv[0], tuple(argv), environ, file_actions=actions, setsigdef=_IGNORED_BY_PYTHON)

    def _inheritable() -> list[int]:
        """Return the inheritable descriptors that Python's caller left open, except the standard ones."""
        try:
            numbers = [int(name) for name in os.listdir("/dev/fd")]
        except OSError:  # a chroot without /proc
            numbers = list(range(_MOST))
        descriptors = []
        for descriptor in numbers:
            try:
                if descriptor >= _STREAMS and os.get_inheritable(descriptor):
                    descriptors.append(descriptor)
            except OSError:  # closed by now, as that of the listing
                continue
        return descriptors

else:
    import subprocess  # noqa: TID251  # gitmem.git.process starts git with it
    from typing import IO

    class Child(subprocess.Popen[bytes]):
        """The same class, based on `subprocess`."""

        stdout: IO[bytes]
        stderr: IO[bytes]

        def __init__(self, argv: Sequence[str], environ: Mapping[str, str], *, stdin: bool) -> None:
            super().__init__(
                tuple(argv),
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environ),
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # no console window flashes
            )

        def __exit__(self, *exc: object) -> None:
            self.close()
            self.wait()

        def communicate(
            self, data: bytes | None = None, timeout: float | None = None, _most: float = math.inf
        ) -> tuple[bytes, bytes]:
            """See the other `Child`; here the outputs have no limit."""
            try:
                return super().communicate(data, timeout)
            except subprocess.TimeoutExpired as expired:
                raise ExpiredError(expired.stderr or b"") from None

        def close(self) -> None:
            """Close the pipes."""
            for pipe in (self.stdin, self.stdout, self.stderr):
                if pipe is not None:
                    with contextlib.suppress(OSError):  # a broken pipe: it has ended, and its status says why
                        pipe.close()
