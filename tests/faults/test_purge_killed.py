"""A purge killed at each of its steps: the store is whole, and the next command finishes, or nothing was done."""

import os
import subprocess
from collections.abc import Callable

import pytest

from tests.faults.conftest import Project, Victims
from tests.faults.test_kill_at_each_step import NO_PACKING
from tests.store.purges import files_with, objects_with

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.mark.parametrize(
    "how, kills",
    [
        ("alone", 1),
        pytest.param("alone", 40, marks=[pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(3600)]),
        pytest.param("group", 40, marks=[pytest.mark.slow, pytest.mark.timeout(3600)]),
    ],
)
def test_a_purge(projects: Callable[..., Project], victims: Victims, how: str, kills: int):
    project = projects()
    project.settings = f"{NO_PACKING}sync:\n  auto: 'off'\n"
    project.configure("")
    secrets = []

    def prepare() -> list[str]:
        secrets.append(f"swordfish-{len(secrets):04d}-token")
        project.save(f"{project.text()} with {secrets[-1]} in it")
        project.save(project.text())
        return ["purge", secrets[-1], "--yes"]

    steps = victims.run(project.root, *prepare(), at=0, how=how, wait=True).steps
    for number in range(kills):
        step = 1 + number * len(steps) // kills
        victim = victims.run(project.root, *prepare(), at=step, how=how, wait=True)
        assert victim.killed, victim
        project.age()
        where = f"step {step}: killed when about to {victim.steps[-1]}"
        assert project.git("fsck", "--strict", "--no-dangling", "--no-progress") == "", where
        done = project.gitmem("check")  # with the digests of a real process
        assert done.code == 0, (where, done)
        assert project.git("status", "--porcelain") == "", where
        holds = objects_with(project.store, secrets[-1])
        if holds:  # nothing was done; nothing is half done either
            assert not (project.store / "purged").exists() or secrets[-1] in _memory(project), where
            again = project.here("purge", secrets[-1], "--yes")
            assert again.code == 0, (where, again)
        assert objects_with(project.store, secrets[-1]) == [], where
        assert files_with(project.store, secrets[-1]) == [], where
    for text in project.kept.values():
        first = text.split("\n", maxsplit=1)[0]
        assert first in _memory(project)


def _memory(project: Project) -> str:
    return (project.store / "memory.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_a_killed_purge_wrote_down_is_finished_by_a_save(projects: Callable[..., Project]):
    project = projects()
    project.save("with swordfish-4242 in it")
    code = (
        "import gitmem.purge.rewrite as f, os\n"
        "f.move_refs = lambda *_: os._exit(9)\n"
        "import sys; from gitmem.cli.main import run; sys.argv = ['gitmem', 'purge', 'swordfish-4242', '--yes']; run()"
    )
    ended = project.start("-c", code, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert ended.wait(60) == 9
    assert objects_with(project.store, "swordfish-4242")
    assert project.gitmem("save", "afterwards").code == 0
    assert objects_with(project.store, "swordfish-4242") == []
    assert project.git("status", "--porcelain") == ""
    assert "with (purged) in it" in _memory(project)
