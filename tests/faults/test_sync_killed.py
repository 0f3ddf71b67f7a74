"""A sync killed at each of its steps, and eight clones that save and sync at once: nothing is lost, all converge."""

import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gitmem.errors import ExitCode
from tests.faults.conftest import Project, Victims, run_gitmem
from tests.faults.test_kill_at_each_step import NO_PACKING, each_step, sampled

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
PATIENCE = 1800.0  # seconds for one of many concurrent clones on one machine
MOST_TURNS = 30  # of syncs by all: for a minute after a crowd each lets others go first, more often than not
SETTINGS = f"{NO_PACKING}sync:\n  auto: 'off'\n"


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    path = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(path)], check=True)
    return path


@pytest.fixture
def clones(projects: Callable[..., Project], remote: Path) -> Callable[[int], list[Project]]:
    """Give a function that makes clones of one memory."""

    def make(number: int) -> list[Project]:
        first = projects("clone 0")
        first.settings = SETTINGS
        first.configure("")
        assert first.here("remote", "add", str(remote)).code == 0
        assert first.here("sync").code == 0
        found = [first]
        for index in range(1, number):
            root = first.root.parent / f"clone {index}"
            root.mkdir()
            assert run_gitmem(root, "clone", str(remote)).code == 0
            found.append(Project(root))
        return found

    return make


def converged(clones: list[Project], remote: Path) -> None:
    """Sync all until none lets others go first; then each holds every text once, and all are the same commit."""
    tips: set[str] = set()
    for turn in range(MOST_TURNS):
        for clone in clones:
            done = clone.here("sync")
            assert done.code == 0, done
        tips = {clone.git("rev-parse", "HEAD") for clone in clones}
        if turn and len(tips) == 1:
            break
    assert len(tips) == 1
    wanted = set().union(*(clone.kept for clone in clones))
    for clone in clones:
        ids = [line.rsplit(" ^", 1)[1] for line in _daily(clone).splitlines() if " ^" in line]
        assert len(ids) == len(set(ids))
        assert wanted <= set(ids)
        assert clone.git("status", "--porcelain") == ""
        fsck = clone.git("fsck", "--strict", "--no-dangling", "--no-progress")
        assert fsck == ""


def _daily(clone: Project) -> str:
    return "\n".join(text for path, text in clone.files().items() if path.startswith("daily/"))


@sampled(alone=223, slow=9)
def test_a_sync(clones: Callable[[int], list[Project]], victims: Victims, remote: Path, how: str, every: int):
    first, second = clones(2)

    def prepare() -> list[str]:
        second.save(second.text())
        assert second.here("sync").code == 0
        first.save(first.text())
        first.edit()
        return ["sync"]

    for step, victim in each_step(victims, first, prepare, how, every):
        first.age()
        done = first.here("check") if step % 2 else first.here("sync")
        assert done.code == 0, (victim.steps[-1], done)
        assert first.git("status", "--porcelain") == "", victim.steps[-1]
    converged([first, second], remote)
    for line in first.edits:
        assert line in (second.store / "memory.md").read_text(encoding="utf-8")


def _save_and_sync(machine: Project, saves: int) -> None:
    for _ in range(saves):
        machine.save(machine.text(f"said in {machine.root.name}"), seconds=PATIENCE)
        done = machine.gitmem("sync", seconds=PATIENCE)
        assert done.code in {0, ExitCode.BUSY}, done


@pytest.mark.parametrize(
    "number, saves",
    [
        pytest.param(3, 2, marks=pytest.mark.slow),
        pytest.param(8, 50, marks=[pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(3600)]),
        pytest.param(16, 50, marks=[pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(7200)]),
    ],
)
def test_clones_that_save_and_sync_at_once(
    clones: Callable[[int], list[Project]], remote: Path, number: int, saves: int
):
    """Each clone saves and syncs in processes of its own, with the others in its way all the time."""
    machines = clones(number)
    with ThreadPoolExecutor(number) as pool:
        list(pool.map(lambda machine: _save_and_sync(machine, saves), machines))
    converged(machines, remote)
