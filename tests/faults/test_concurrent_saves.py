"""Many processes save at once, some are killed, a user edits meanwhile: nothing is lost.

What is there twice, or half, or not at all is found by `Project.check`; these tests make the trouble.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gitmem.errors import ExitCode
from tests.faults.conftest import Project

SAVER = Path(__file__).with_name("saver.py")
SECONDS = 500.0

slow = pytest.mark.slow


class Saver:
    """One process of saver.py, in a process group of its own."""

    def __init__(self, project: Project, folder: Path, name: str, count: int, cwd: Path) -> None:
        self.project = project
        self._texts = {f"{name} says {number}\nand 잊지 않는다 {number}" for number in range(count)}
        self._said = folder / f"{name}.out"
        self._complaints = folder / f"{name}.err"
        with self._said.open("wb") as out, self._complaints.open("wb") as err:
            said = {"stdin": subprocess.PIPE, "stdout": out, "stderr": err}
            self._process = project.start(str(SAVER), name, str(count), cwd=cwd, **said)

    @property
    def pid(self) -> int:
        return self._process.pid

    def go(self) -> None:
        """Start it once it is ready."""
        while not self._said.read_bytes() and self._process.poll() is None:
            time.sleep(0.01)
        assert self._process.stdin is not None
        self._process.stdin.close()

    def runs(self) -> bool:
        return self._process.poll() is None

    def kill(self, how: str) -> None:
        """Kill it, alone or with the git processes it started."""
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if how == "group" else os.kill)(self.pid, signal.SIGKILL)

    def end(self) -> int:
        """Wait for its end, record the saves it reported, return its exit code."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        code = self._process.wait(SECONDS)
        for line in self._said.read_text(encoding="utf-8").split("\n")[1:-1]:
            done = json.loads(line)
            self.project.saved(done["id"], done["text"])
            self._texts.remove(done["text"])
        self.project.perhaps |= self._texts
        return code

    def complaints(self) -> str:
        return self._complaints.read_text(encoding="utf-8")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Saver]]:
    """Give a function that starts a saver; savers still running at the end are killed."""
    started: list[Saver] = []

    def one(project: Project, name: str, count: int, cwd: Path | None = None) -> Saver:
        started.append(Saver(project, tmp_path, name, count, cwd or project.root))
        return started[-1]

    yield one
    for saver in started:
        if saver.runs():
            saver.kill("group")
            saver.end()


def run_all(savers: list[Saver]) -> None:
    for saver in savers:
        saver.go()
    for saver in savers:
        assert saver.end() == 0, saver.complaints()
    settle(savers[0].project)


def settle(project: Project) -> None:
    """Run plain commands until none has to wait.

    A git that was killed may have left a lock, which is left alone for some seconds; and packing may go on unseen.
    """
    for command in ("check", "maintain", "check"):
        end = time.monotonic() + 60
        while (done := project.here(command)).code == ExitCode.BUSY and time.monotonic() < end:
            time.sleep(0.3)
        assert done.code == 0, done


@pytest.mark.parametrize(
    "kind, processes, saves",
    [
        ("auto", 4, 8),
        pytest.param("auto", 8, 200, marks=(slow, pytest.mark.long)),
        pytest.param("ref", 3, 4, marks=slow),
        pytest.param("ref", 6, 25, marks=slow),
    ],
)
@pytest.mark.timeout(600)
def test_all_at_once(project: Project, start: Callable[..., Saver], kind: str, processes: int, saves: int):
    project.configure(f"lock:\n  kind: {kind}\n")
    run_all([start(project, f"saver-{number}", saves) for number in range(processes)])
    assert len(project.kept) == processes * saves
    project.check()
    rotations = len(project.archives())
    assert project.git("rev-list", "--count", "HEAD") == str(2 + 2 * rotations + processes * saves)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["alone", pytest.param("group", marks=slow)])
@pytest.mark.parametrize("kills", [5, pytest.param(40, marks=slow)])
@pytest.mark.timeout(600)
def test_killed_again_and_again(project: Project, start: Callable[..., Saver], how: str, kills: int):
    """Each killed saver is replaced; every reported save is there once."""
    chance = random.Random(7)
    savers: list[Saver] = []
    for kill in range(kills):
        while len(savers) < 4:
            savers.append(start(project, f"saver-{kill}-{len(savers)}", 1000))
            savers[-1].go()
        time.sleep(chance.uniform(0.02, 0.4))
        victim = savers.pop(chance.randrange(len(savers)))
        victim.kill(how)
        assert victim.end() in {-signal.SIGKILL, ExitCode.BUSY}, victim.complaints()
    for saver in savers:
        saver.kill("alone")
        saver.end()
    project.age()
    settle(project)
    project.check()
    assert project.kept


@pytest.mark.slow
@pytest.mark.parametrize("seconds, processes", [(1, 2), pytest.param(25, 3, marks=slow)])
@pytest.mark.timeout(600)
def test_while_a_user_edits(project: Project, start: Callable[..., Saver], seconds: int, processes: int):
    chance = random.Random(3)
    savers = [start(project, f"saver-{number}", 100_000) for number in range(processes)]
    for saver in savers:
        saver.go()
    end = time.monotonic() + seconds
    day = ""
    while time.monotonic() < end:
        time.sleep(chance.uniform(0.01, 0.2))
        day = day or next((str(path.relative_to(project.store)) for path in project.store.glob("daily/*/*/*.md")), "")
        project.edit(chance.choice(["memory.md", "config.yaml", day or "memory.md"]))
        if chance.random() < 0.1:
            assert project.gitmem("check").code == 0
    for saver in savers:
        saver.kill("alone")
        saver.end()
    settle(project)
    project.check()
    assert project.edits


@pytest.mark.parametrize("rounds", [2, pytest.param(30, marks=slow)])
@pytest.mark.timeout(600)
@pytest.mark.slow
def test_while_the_repository_is_packed(project: Project, start: Callable[..., Saver], rounds: int):
    """Kill commands, with the git processes they started, at any moment."""
    chance = random.Random(13)
    savers = [start(project, f"saver-{number}", 100_000) for number in range(2)]
    for saver in savers:
        saver.go()
    for number in range(rounds):
        time.sleep(0.2)
        packing = project.start("-m", "gitmem", "maintain", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if number % 3:
            time.sleep(chance.uniform(0.1, 0.5))
            with contextlib.suppress(ProcessLookupError):
                os.killpg(packing.pid, signal.SIGKILL)
        assert packing.wait(SECONDS) in {0, -signal.SIGKILL, ExitCode.BUSY}
    for saver in savers:
        saver.kill("alone")
        saver.end()
    project.age()
    settle(project)
    project.check()


@pytest.mark.slow
def test_two_who_rotate_at_once(project: Project):
    project.configure("rotation:\n  threshold_tokens: 300\n  carryover_tokens: 60\n")
    for _ in range(2):
        project.edit(size=1500)
        before = project.archives()
        with ThreadPoolExecutor(3) as people:
            said = [done.out for done in people.map(lambda _: project.gitmem("check"), range(3))]
        assert len(project.archives()) == len(before) + 1
        assert sum("memory.md was full" in text for text in said) == 1
        others = [text for text in said if "memory.md was full" not in text]
        assert all("Nothing to do" in text or "Another process has just rotated" in text for text in others)
        project.check()


@pytest.mark.slow
def test_a_lock_whose_holder_died_is_taken_at_once_and_a_living_holders_is_not(
    project: Project, start: Callable[..., Saver]
):
    for kind in ("file", "ref"):
        project.configure(f"lock:\n  kind: {kind}\n  wait_seconds: 1\n")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        holder = project.start("-c", HOLD, str(project.store), **pipes)
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        if kind == "file" and hasattr(signal, "SIGSTOP"):
            holder.send_signal(signal.SIGSTOP)  # one that stands still lives
        text = project.text()
        busy = project.gitmem("save", text)
        assert busy.code == ExitCode.BUSY
        assert f"process {holder.pid} on " in busy.err
        assert "is kept on the disk" in busy.err
        holder.kill()
        holder.wait()
        holder.stdin.close()
        holder.stdout.close()
        project.promised.add(text)
        project.save(project.text())
        project.check()


HOLD = """
import os, sys
from gitmem.cli.app import real_app
from gitmem.store.store import Store
with Store(sys.argv[1], real_app().context()).lock("a test").acquire(10):
    print("held", flush=True)
    sys.stdin.read()
"""


@slow
@pytest.mark.timeout(600)
def test_a_storm_of_single_saves_ends_well_and_saves_nothing_twice(project: Project):
    """What another process committed while a save waited in vain for the lock is saved."""

    def save(number: int) -> tuple[int, str]:
        done = project.gitmem("save", f"Number {number} of the storm.")
        return done.code, str(done.err)

    with ThreadPoolExecutor(32) as pool:
        ends = list(pool.map(save, range(96)))
    assert {code for code, _ in ends} == {0}, [said for code, said in ends if code]
    text = (project.store / "memory.md").read_text(encoding="utf-8")
    assert [text.count(f": Number {number} of the storm.") for number in range(96)] == [1] * 96
