"""Run commands in a project as a user does, and read what they print."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitmem.cli.app import App
from gitmem.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
SECRET = "ghp_" + "R4nd0mT0kenF0rTestsOnlyAbCdEfGhIjKlM"
KOREAN = "메모 notes/한국어 이름.md"
# What a model answers when it is asked for a summary.
SUMMARY = {
    "dateRange": {"first": "2026-01-10", "last": "2026-01-13"},
    "themes": [{"name": "설정", "summary": "Settings are read in layers.", "sessions": []}],
    "keyDecisions": [],
    "issues": [],
    "overallSummary": " ".join(f"Step {number} of the loader was done." for number in range(10)),
}
_FENCE = re.compile(r"\A<gitmem-memory source='[^'<>]*'>\nRecorded[^\n]*\n(.*\n)</gitmem-memory>\n\Z", re.DOTALL)


class Terminal(io.TextIOWrapper):
    """A stream that a user sits at."""

    def __init__(self, typed: str = "") -> None:
        super().__init__(io.BytesIO(typed.encode()), encoding="utf-8", newline="\n", write_through=True)

    def isatty(self) -> bool:
        return True


def on_terminal(
    words: Sequence[str], cwd: Path, *, columns: int = 80, rows: int = 24, typed: str = "", **environ: str
) -> tuple[int, str]:
    """Run a command at a terminal of this size on POSIX; return its exit code and all that the terminal was sent."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    asked = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", **environ}
    command = [sys.executable, "-m", "gitmem", *words]
    with subprocess.Popen(command, cwd=cwd, env=asked, stdout=theirs, stdin=theirs, stderr=theirs) as run:
        os.close(theirs)
        os.write(ours, typed.encode())
        said = b""
        with contextlib.suppress(OSError):  # how the end of a terminal reads on Linux
            while data := os.read(ours, 65536):
                said += data
    os.close(ours)
    return run.returncode, said.decode().replace("\r\n", "\n")


def _stream(data: bytes = b"") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="\n", write_through=True)


def _written(stream: io.TextIOWrapper) -> bytes:
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue()


def unfenced(text: str) -> str:
    """Return what a command prints to an agent without its fence; `tests/test_doors.py` looks at the fences."""
    return _FENCE.sub(r"\1", text)


@dataclass
class Ran:
    """A command's exit code, its output and what it wrote to standard error."""

    code: int
    data: bytes
    err: str

    @property
    def out(self) -> str:
        return unfenced(self.data.decode())

    @property
    def json(self) -> Any:
        return json.loads(self.data)


@dataclass
class Runner:
    """Runs commands in a folder: calling it gives exit code, output and what went to standard error."""

    cwd: Path
    environ: dict[str, str]

    @property
    def root(self) -> Path:
        return self.cwd / ".gitmem"

    def __call__(
        self,
        *argv: str,
        stdin: bytes = b"",
        answer: str | None = None,
        terminal: bool = False,
        fence: bool = False,
        cwd: Path | None = None,
        **more: str,
    ) -> tuple[int, str, str]:
        """Run a command: `answer` is typed by a user at a terminal, `more` is added to the environment.

        The output has its `fence` only if that is wanted.
        """
        out = Terminal() if terminal else _stream()
        err = Terminal() if terminal or answer is not None else _stream()
        given = _stream(stdin) if answer is None else Terminal(answer)
        app = App({**self.environ, **more}, str(cwd or self.cwd), given, out, err)
        code = main(argv, lambda: app)
        said = _written(out).decode()
        return code, said if fence else unfenced(said), _written(err).decode()

    def ran(self, *argv: str, **options: Any) -> Ran:
        code, out, err = self(*argv, fence=True, **options)
        return Ran(code, out.encode(), err)

    def json(self, *argv: str) -> Any:
        code, out, err = self(*argv, "--json")
        assert code == 0, err
        return json.loads(out)
