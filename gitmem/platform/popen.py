"""A process with pipes, through `subprocess`: the fallback of `spawn` on systems without `posix_spawn`.

Tested through `tests/platform/test_spawn.py`.
"""

from __future__ import annotations

import contextlib
import subprocess  # noqa: TID251  # the one that gitmem.git.process starts git by
import sys
from collections.abc import Mapping, Sequence
from typing import IO

_NO_WINDOW = 0
if sys.platform == "win32":
    _NO_WINDOW = subprocess.CREATE_NO_WINDOW  # no console window flashes


class Child:
    """The `Child` of gitmem.platform.spawn, by other means."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], *, stdin: bool) -> None:
        self._popen = subprocess.Popen(
            tuple(argv),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environ),
            creationflags=_NO_WINDOW,
        )
        assert self._popen.stdout is not None
        assert self._popen.stderr is not None
        self.pid = self._popen.pid
        self.stdin: IO[bytes] | None = self._popen.stdin
        self.stdout: IO[bytes] = self._popen.stdout
        self.stderr: IO[bytes] = self._popen.stderr

    @property
    def returncode(self) -> int | None:
        """The exit status, None before `wait`."""
        return self._popen.returncode

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
        self.wait()

    def communicate(self, data: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:
        """See `gitmem.platform.spawn.Child`."""
        from gitmem.platform.spawn import ExpiredError  # it may be importing this module

        try:
            return self._popen.communicate(data, timeout)
        except subprocess.TimeoutExpired as expired:
            raise ExpiredError(expired.stderr or b"") from None

    def wait(self) -> int:
        """Wait for the end of the process and return its status."""
        return self._popen.wait()

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._popen.terminate()

    def kill(self) -> None:
        """Send SIGKILL."""
        self._popen.kill()

    def close(self) -> None:
        """Close the pipes."""
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):  # a broken pipe: it has ended, and its status says why
                    pipe.close()
