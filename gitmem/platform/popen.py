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


class Child(subprocess.Popen[bytes]):
    """The `Child` of gitmem.platform.spawn, by other means."""

    stdout: IO[bytes]
    stderr: IO[bytes]

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], *, stdin: bool) -> None:
        super().__init__(
            tuple(argv),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environ),
            creationflags=_NO_WINDOW,
        )

    def __exit__(self, *exc: object) -> None:
        self.close()
        self.wait()

    def communicate(self, data: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:
        """See `gitmem.platform.spawn.Child`."""
        from gitmem.platform.spawn import ExpiredError  # it may be importing this module

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
