"""A log in the private folder, with one file per day."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterable, Iterator, Mapping

from gitmem.platform.machine import datetime, timedelta
from gitmem.platform.safe_open import drop_file, make_last
from gitmem.values import Value

_SUFFIX = ".jsonl"


class DayLog(Value):
    """JSON lines in daily files, kept for `days`, of at most `most` bytes each; one write per line needs no lock."""

    folder: str
    days: int
    most: int

    def add(self, at: datetime, line: Mapping[str, object]) -> None:
        """Add a line to the file of its day. Raises OSError if it cannot be written, or the file is full."""
        make_last(self.folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(os.path.join(self.folder, self.name_of(at)), flags, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            if size >= self.most:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), self.folder)
            os.write(descriptor, json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        finally:
            os.close(descriptor)
        oldest = self.name_of(at - timedelta(days=self.days))
        for name in self.names() if not size else ():
            if name < oldest:
                drop_file(os.path.join(self.folder, name))

    def name_of(self, at: datetime) -> str:
        """Return the name of the file of a day."""
        return f"{at.date().isoformat()}{_SUFFIX}"

    def names(self) -> list[str]:
        """Return the names of the files, the oldest first."""
        with contextlib.suppress(OSError):
            return sorted(name for name in os.listdir(self.folder) if name.endswith(_SUFFIX))
        return []

    def read(self, names: Iterable[str], of: bytes = b"") -> Iterator[dict[str, object]]:
        """Yield the lines of these files that contain the bytes `of`; skip broken ones."""
        for name in names:
            with contextlib.suppress(OSError):
                with open(os.path.join(self.folder, name), "rb") as file:
                    lines = file.read(self.most + self.most // 100).split(b"\n")
                for text in lines:
                    if text and of in text:
                        with contextlib.suppress(ValueError, RecursionError):
                            line = json.loads(text)
                            if isinstance(line, dict):
                                yield line
