"""Runs `gitmem` command lines, each in a process of its own that may end itself at a given step.

Instead of ending, it may have `git gc --prune=now` run in the store before it goes on.

A step is what changes the disk, starts a process, or hands something to one: seen by an audit hook and, for writes and
waits, which have no audit event, by a profile function. Nothing in gitmem knows of it. Reads jobs from standard input,
a JSON object a line, and answers each with one.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from importlib import import_module
from typing import IO

_AUDITED = {
    *("os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate"),
    *("os.utime", "fcntl.flock", "os.posix_spawn", "subprocess.Popen"),
}
_STARTS = ("os.posix_spawn", "subprocess.Popen")
# A flush writes the buffer, but from outside the file looks the same before either.
_CALLED = {"write", "BufferedWriter.write", "TextIOWrapper.write", "fsync", "poll.poll", "waitpid", "_exit"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_PATIENCE = 60.0  # seconds; a fraction of one should do
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER, prctl(2)


class Steps:
    """Counts the steps of this process; at number `at` it ends: alone, or with the group of those it started.

    The first one counted is the first whose name contains `since`.
    """

    def __init__(self, at: int, how: str, report: int, since: str) -> None:
        self._at, self._how, self._report, self._since = at, how, report, since
        self._count = 0
        self._looking_away = False

    def watch(self) -> None:
        sys.addaudithook(self._audit)
        sys.setprofile(self._profile)

    def _audit(self, event: str, args: tuple[object, ...]) -> None:
        if event == "open":
            flags = args[2]
            if isinstance(args[0], str) and isinstance(flags, int) and flags & _WRITES:
                self._step(f"open {args[0]!s}")
        elif event in _AUDITED:
            self._step(f"{event} {args[1] if event in _STARTS else args[0]!s}")

    def _profile(self, _frame: object, event: str, function: object) -> None:
        if event == "c_call" and getattr(function, "__qualname__", "") in _CALLED:
            self._step(str(getattr(function, "__qualname__", "")))

    def _step(self, name: str) -> None:
        if self._looking_away or (not self._count and self._since not in name):
            return
        self._looking_away = True
        self._count += 1
        if self._at in {0, self._count}:
            os.write(self._report, (name.replace("\n", " ") + "\n").encode("utf-8", "replace"))
        if self._count == self._at:
            if self._how == "gc":
                for command in (
                    ["gc", "--quiet", "--prune=now"],
                    ["prune", "--expire=now"],
                ):  # the first stops at locks
                    subprocess.run(["git", "-C", ".gitmem", *command], check=False)
            else:
                if self._how == "group":
                    os.killpg(0, signal.SIGKILL)
                os.kill(os.getpid(), signal.SIGKILL)
        self._looking_away = False


def run(job: dict[str, object]) -> dict[str, object]:
    """Run one command line; return its end, its output, and whether it left a process running."""
    if job.get("group"):
        return {"left": _wait_for_group(int(str(job["group"])))}
    started = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as report:
        child = os.fork()
        if child == 0:
            try:
                _command(job, out.fileno(), err.fileno(), report.fileno())
            except BaseException:  # noqa: BLE001  # else only the status would tell
                os.write(err.fileno(), traceback.format_exc().encode("utf-8", "replace"))
            finally:
                os._exit(99)
        if job["after"] is not None:
            time.sleep(float(str(job["after"])))
            _kill(child)
        code = os.waitstatus_to_exitcode(_wait(child))
        seconds = time.monotonic() - started
        left = bool(job["wait"]) and _wait_for_group(child)
        texts = [_text(file) for file in (out, err, report)]
    answer = {"code": code, "out": texts[0], "err": texts[1], "steps": texts[2].splitlines()}
    return {**answer, "seconds": seconds, "group": child, "left": left}


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _kill(child: int) -> None:
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:  # it has not come to make its group, or is gone
        os.kill(child, signal.SIGKILL)


def _command(job: dict[str, object], out: int, err: int, report: int) -> None:
    from gitmem.cli.main import run as run_command

    os.setsid()
    os.chdir(str(job["cwd"]))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.environ.update(job.get("env") or {})  # type: ignore[call-overload]
    sys.argv = ["gitmem", *job["args"]]  # type: ignore[misc]
    if job["at"] is not None:
        Steps(int(str(job["at"])), str(job["how"]), report, str(job["since"])).watch()
    run_command()


def _wait(child: int) -> int:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.001)
    _kill(child)
    return os.waitpid(child, 0)[1]


def _wait_for_group(group: int) -> bool:
    """Wait until every process a command started has ended; kill them and return True if that takes too long."""
    end = time.monotonic() + _PATIENCE / 4
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        try:
            os.killpg(group, 0)
        except (ProcessLookupError, PermissionError):  # the latter: macOS, for what is dead and not yet reaped
            return False
        if time.monotonic() > end:
            os.killpg(group, signal.SIGKILL)
            return True
        time.sleep(0.002)


def main() -> None:
    """Answer jobs until the input ends."""
    if sys.platform == "linux":  # so that what a dead command leaves running is reaped, and seen to be gone
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    # Imports are no steps, and are made once for all commands.
    import gitmem.archive.extractive
    import gitmem.archive.rotate
    import gitmem.archive.summarize
    import gitmem.cli.app
    import gitmem.record.save
    import gitmem.store.init
    import gitmem.store.store  # noqa: F401
    from gitmem.cli.table import COMMANDS, MODULES

    for command in COMMANDS:
        with contextlib.suppress(ModuleNotFoundError):
            import_module(f"gitmem.cli.commands.{MODULES.get(command, command.replace('-', '_'))}")

    rest = b""
    while data := os.read(0, 1 << 16):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            job = json.loads(line)
            os.write(1, json.dumps({**run(job), "number": job["number"]}).encode() + b"\n")


if __name__ == "__main__":
    main()
