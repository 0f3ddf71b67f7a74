"""A clone or a restore that was killed at any of its steps is finished by the same command, whatever came between."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.conftest import Project, Victim, Victims, run_gitmem
from tests.faults.test_kill_at_each_step import NO_PACKING, each_step, sampled

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.fixture
def source(projects: Callable[..., Project], tmp_path: Path) -> Project:
    """A project with some memory, a remote of it and a backup."""
    first = projects("source")
    first.settings = f"{NO_PACKING}sync:\n  auto: 'off'\n"
    first.configure("")
    for _ in range(3):
        first.save(first.text())
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "remote.git")], check=True)
    assert first.here("remote", "add", str(tmp_path / "remote.git")).code == 0
    assert first.here("sync").code == 0
    assert first.here("backup", str(tmp_path / "memory.bundle")).code == 0
    return first


def _empty(root: Path, command: list[str]) -> list[str]:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return command


def _has_said(victim: Victim) -> bool:
    """Return whether all was done, and said: the process was killed when about to end itself."""
    return victim.steps[-1] == "_exit" and "the memory to" in victim.out


@pytest.mark.parametrize(
    "words",
    [
        ("clone", "remote.git"),
        *(
            pytest.param(words, marks=pytest.mark.slow)
            for words in (("clone", "remote.git", "--branch"), ("restore", "memory.bundle"))
        ),
    ],
)
@sampled(group=263, slow=11)
def test_is_finished_by_the_same_command(  # noqa: PLR0917
    source: Project, victims: Victims, tmp_path: Path, words: tuple[str, ...], how: str, every: int
):
    root = tmp_path / "other"
    command = [words[0], str(tmp_path / words[1]), *words[2:]]
    other, shared = Project(root), {*source.kept}
    for step, victim in each_step(victims, other, lambda: _empty(root, command), how, every):
        where = f"step {step}: killed when about to {victim.steps[-1]}"
        kept = {*shared}
        if step % 2 and (done := run_gitmem(root, "save", "--json", "--", "said in between")).code == 0:
            kept.add(done.said["id"])
        done = run_gitmem(root, *command)
        assert done.code == 0 or _has_said(victim), (where, done)
        other = Project(root)
        assert other.ids() == kept, where
        assert other.git("status", "--porcelain") == "", where
        if words[0] == "clone":
            done = run_gitmem(root, "sync")
            assert done.code == 0, (where, done)
            shared = kept
        assert run_gitmem(root, "save", "said later").code == 0, where


@pytest.mark.slow
@pytest.mark.parametrize("words", [("clone", "remote.git"), ("clone", "memory.bundle")])
def test_what_was_killed_before_it_could_say_so_is_finished_by_the_same_command(
    source: Project, victims: Victims, tmp_path: Path, words: tuple[str, str]
):
    root = tmp_path / "other"
    command = [words[0], str(tmp_path / words[1])]
    for step in range(1, 10):
        victim = victims.run(root, *_empty(root, command), at=step, since="origins.asked")  # the last before the answer
        if not victim.killed:
            break
        done = run_gitmem(root, *command)
        assert done.code == 0 or _has_said(victim), (victim.steps[-1], done)
        assert Project(root).ids() == {*source.kept}
    assert step > 3


@pytest.mark.few(1)
@pytest.mark.parametrize("words", [("clone", "remote.git"), ("clone", "memory.bundle")])
def test_a_clone_that_was_killed_twice_is_finished(
    source: Project, victims: Victims, tmp_path: Path, words: tuple[str, str]
):
    root = tmp_path / "other"
    command = _empty(root, [words[0], str(tmp_path / words[1])])
    assert victims.run(root, *command, at=1, since="read-tree").killed
    assert victims.run(root, *command, at=2, since="origins.asked").killed  # all is done, and not said
    done = run_gitmem(root, *command)
    assert done.code == 0, done
    assert Project(root).ids() == {*source.kept}


def test_a_clone_that_failed_and_was_then_killed_is_finished(source: Project, victims: Victims, tmp_path: Path):
    root, remote = tmp_path / "other", tmp_path / "remote.git"
    command = _empty(root, ["clone", str(remote)])
    assert victims.run(root, *command, at=1, since="remote.origin.fetch").killed
    remote.rename(tmp_path / "away")
    assert run_gitmem(root, *command).code != 0
    (tmp_path / "away").rename(remote)
    assert victims.run(root, *command, at=1, since="read-tree").killed
    done = run_gitmem(root, *command)
    assert done.code == 0, done
    assert Project(root).ids() == {*source.kept}
