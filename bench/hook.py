"""How long a host waits for each hook, whole process, in a project with 1 remembered session and in one with 500.

Each is run as a host does, by `sh -c COMMAND` with 8 KB of JSON on standard input, as `gitmem install` writes it.
Beside them `sh -c 'cat > tmp && mv tmp new'`, the least a safe delivery can be, and `python3 -c 'import json'`, the
least an answer can be: a start, a prompt and an error are answered. Of a tool call that no rule forbids, PreToolUse,
nothing is recorded; the store has forty literals to look for. All take turns, so that a noisy machine is noisy
for all; what a hook left to the background is over before the next one starts. Medians are compared.

    python bench/hook.py [--rounds 31] [--sessions 500] [--host NAME]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from gitmem.hosts.registry import NAMES, find_host

DELIVER = "sh: cat > tmp && mv tmp new"
PYTHON = "python -c 'import json'"
ANSWERED = "SessionStart"
TOLD = ("UserPromptSubmit", "PostToolUseFailure")  # answered, too, with what is remembered of them
SPEAKS = "How did we fix the retry of the cache worker?"
FAILS = 'Exit code 1\nTraceback (most recent call last):\n  File "src/cache.py", line 9\nKeyError: retry of the worker'
HOST = find_host("claude")  # or the one of --host
SESSION_START_TARGET = 5.0  # times the Python line
FLAT = 1.25  # times the same in the small store
CHUNK = 50
YEAR = 365 * 86_400
WORDS = (
    "cache",
    "token",
    "retry",
    "parser",
    "queue",
    "schema",
    "worker",
    "index",
    "설정",
    "만료",
    "재시도",
    "파서",
    "배포",
)
FIFTH = "PostToolUse, the fifth"


class Project:
    """A project with a store that remembers so many sessions, spread over a year."""

    def __init__(self, folder: Path, gitmem: str, environ: dict[str, str], sessions: int) -> None:
        self.folder, self.gitmem, self.environ = folder, gitmem, environ
        folder.mkdir()
        self.run("git", "init", "-q")
        self.run(gitmem, "init")
        self.run(gitmem, "install", HOST.name, f"--{HOST.scopes[0].value}", "--only", "hooks")
        self.spool = folder / ".gitmem" / ".git" / "gitmem" / "spool" / "hooks"
        source = random.Random(7)
        for first in range(0, sessions, CHUNK):
            for number in range(first, min(first + CHUNK, sessions)):
                self.remember(number, time.time() - YEAR * (1 - number / max(sessions, 2)) - 86_400, source)
            self.settle()
        rules = [word for number in range(40) for word in ("--forbids", f"tool{number} install")]
        self.run(gitmem, "facts", "add", "Forty things are not to be run.", "--kind", "rule", *rules)
        count = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=folder / ".gitmem", capture_output=True)
        assert int(count.stdout) >= sessions, f"{count.stdout!r} commits for {sessions} sessions"

    def run(self, *command: str) -> None:
        subprocess.run(
            command, cwd=self.folder, env=self.environ, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )

    def settle(self) -> None:
        """Have all that waits committed, and wait for whoever is at it."""
        self.run(self.gitmem, "hook", "claude", "--drain")

    def payload(self, event: str, session: str, **more: object) -> bytes:
        common = {"session_id": session, "transcript_path": "", "cwd": str(self.folder), "hook_event_name": event}
        return json.dumps(common | more, ensure_ascii=False).encode()

    def remember(self, number: int, at: float, source: random.Random) -> None:
        def words(count: int) -> str:
            return " ".join(source.choices(WORDS, k=count))

        session = str(uuid.UUID(int=source.getrandbits(128)))
        edit = {"tool_name": "Edit", "tool_input": {"file_path": f"{self.folder}/src/{source.choice(WORDS)}.py"}}
        said = f"결정: {words(6)}. Fixed the {words(8)} by {words(12)}."
        events: tuple[tuple[str, dict[str, Any]], ...] = (
            ("UserPromptSubmit", {"prompt": f"{number}. {words(20)}"}),
            ("PostToolUse", {**edit, "tool_response": {}, "tool_use_id": session}),
            ("Stop", {"last_assistant_message": said, "stop_hook_active": False}),
            ("SessionEnd", {"reason": "other"}),
        )
        for step, (event, more) in enumerate(events):
            path = self.spool / f"{event}-4194305-{number}-{step}.json"
            path.write_bytes(self.payload(event, session, **more))
            os.utime(path, (at + step, at + step))

    def clear(self) -> None:
        for path in [*self.spool.glob("*.json"), *self.spool.glob("tell-*")]:  # what is shown late is due no more
            path.unlink()

    def hook(self, name: str) -> float:
        """Run the hook of an event as a host does; returns milliseconds."""
        event = name.partition(",")[0]
        ours = HOST.events[event].partition(".")[0]
        filler = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {"stdout": "x" * 7_700}}
        said = {"UserPromptSubmit": {"prompt": SPEAKS}, "PostToolUseFailure": {"error": FAILS}}.get(ours, {})
        data = self.payload(event, str(uuid.uuid4()), source="startup", tool_use_id="t", **filler, **said)
        self.clear()
        for number in range(4 if name == FIFTH else 0):
            (self.spool / f"Unknown-1-1-{number}.json").write_bytes(b"{}")
        spent = timed(["/bin/sh", "-c", HOST.commands()[event]], self.folder, self.environ, data)
        if HOST.events[event] != ANSWERED:
            kept = {"Stop", "SessionEnd", "PreCompact", "PreToolUse"}  # not waiting, or not recorded at all
            assert list(self.spool.glob(f"{ours}[.-]*")) or ours in kept
        self.settle()
        self.clear()
        return spent


def timed(command: list[str], cwd: Path, environ: dict[str, str], data: bytes) -> float:
    """Start a process, wait for it, and return the milliseconds between."""
    with tempfile.TemporaryFile() as stdin, open(os.devnull, "wb") as nothing:
        stdin.write(data)
        stdin.seek(0)
        os.chdir(cwd)  # which `posix_spawn` cannot
        actions = [(os.POSIX_SPAWN_DUP2, stdin.fileno(), 0), (os.POSIX_SPAWN_DUP2, nothing.fileno(), 1)]
        begin = time.perf_counter()
        process = os.posix_spawn(command[0], command, environ, file_actions=actions)
        _, status = os.waitpid(process, 0)
        spent = time.perf_counter() - begin
    assert os.waitstatus_to_exitcode(status) == 0, command
    return spent * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--host", choices=[name for name in NAMES if find_host(name).events], default="claude")
    args = parser.parse_args()
    global HOST, FIFTH  # noqa: PLW0603
    HOST = find_host(args.host)
    tool = next(event for event, ours in HOST.events.items() if ours.partition(".")[0] == "PostToolUse")
    FIFTH = f"{tool}, the fifth"
    folder = Path(tempfile.mkdtemp(prefix="gitmem-bench-"))
    try:
        gitmem = shutil.which("gitmem", path=str(Path(sys.executable).parent))
        assert gitmem, "gitmem is not installed beside this Python"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT", "CLAUDE", "PYTHON"))}
        environ = kept | {"HOME": str(folder), "PATH": f"{Path(gitmem).parent}{os.pathsep}{os.environ['PATH']}"}
        stores = {number: Project(folder / f"p{number}", gitmem, environ, number) for number in (1, args.sessions)}
        names = [*HOST.events, FIFTH]
        times: dict[tuple[str, int], list[float]] = {}
        for turn in range(args.rounds + 2):
            for number, project in stores.items():
                rows = {name: project.hook(name) for name in names}
                line = ["/bin/sh", "-c", "cat > tmp && mv tmp new"]
                rows[DELIVER] = timed(line, folder, environ, b"x" * 8_000)
                rows[PYTHON] = timed([sys.executable, "-c", "import json"], folder, environ, b"")
                for name, spent in rows.items():
                    if turn > 1:
                        times.setdefault((name, number), []).append(spent)
        report({key: statistics.median(values) for key, values in times.items()}, [DELIVER, PYTHON, *names], [*stores])
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)


def report(medians: dict[tuple[str, int], float], names: list[str], sizes: list[int]) -> None:
    small, large = sizes
    print(f"whole process, median ms, with {small} and with {large} remembered sessions")
    for name in names:
        first, last = medians[name, small], medians[name, large]
        line = f"  {name:30} {first:8.2f} {last:8.2f}"
        if HOST.events.get(name) == ANSWERED:
            ratio, growth = last / medians[PYTHON, large], last / first
            line += verdict(ratio, SESSION_START_TARGET, f"x {PYTHON}") + verdict(growth, FLAT, f"x that with {small}")
        elif HOST.events.get(name) in TOLD:
            line += verdict(last / medians[PYTHON, large], SESSION_START_TARGET, f"x {PYTHON}")
        elif name in (*HOST.events, FIFTH):
            line += verdict(last / medians[DELIVER, large], 1.0, f"x {DELIVER}")
        print(line)


def verdict(ratio: float, target: float, what: str) -> str:
    return f"   {ratio:.2f} {what}, target {target:g}: {'ok' if ratio <= target else 'MISSED'}"


if __name__ == "__main__":
    main()
