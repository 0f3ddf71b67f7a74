import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.errors import ExitCode
from gitmem.platform.machine import Context, now
from tests.command_line import ROOT, Ran
from tests.copies import accept


def _diverge(first: Path, second: Path, run_in: Callable[..., Ran]) -> None:
    run_in(second, "save", "of the desktop")
    run_in(second, "sync")
    run_in(first, "save", "again of the laptop")


def test_git_pull_merges_as_sync_does(first, second, run_in, bare_git, tmp_path):
    _diverge(first, second, run_in)
    store = first / ".gitmem"
    assert "*.md merge=gitmem" in (store / ".gitattributes").read_text()
    command = tmp_path / "bin" / "gitmem"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' -m gitmem \"$@\"\n")
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    bare_git(store, "pull", "-q", "--no-rebase", "--no-edit", env={"PATH": path})
    text = (store / "memory.md").read_text()
    assert "of the desktop" in text
    assert "again of the laptop" in text
    assert bare_git(store, "status", "--porcelain") == ""
    bare_git(store, "push", "-q")
    run_in(first, "sync")
    run_in(second, "sync")
    assert bare_git(store, "rev-parse", "HEAD") == bare_git(second / ".gitmem", "rev-parse", "HEAD")


@pytest.mark.slow
@pytest.mark.parametrize("installed", [True, False])
def test_markers_of_a_pull_without_the_driver_are_repaired_by_the_next_command(
    first, second, run_in, bare_git, installed
):
    """Not installed, as in a clone by hand; or installed where git does not find gitmem."""
    _diverge(first, second, run_in)
    store = first / ".gitmem"
    if not installed:
        assert run_in(first, "uninstall", "--everything", "--yes").code == 0
        for project in (first, second):
            accept(project, Context(os.environ, os.environ["HOME"], "box", now))
        assert "merge.gitmem" not in bare_git(store, "config", "--list")
    pull = subprocess.run(
        ["git", "pull", "-q", "--no-rebase", "--no-edit"],
        cwd=store,
        env=_without_gitmem(),
        capture_output=True,
        check=False,
    )
    assert pull.returncode == 1
    assert "<<<<<<< " in (store / "memory.md").read_text()
    assert "of the laptop" in run_in(first, "show").out, "it can be read"
    assert run_in(first, "save", "waits", ok=False).code == ExitCode.UNFINISHED
    bare_git(store, "commit", "-qam", "Merged by hand")
    said = run_in(first, "save", "after").err
    assert "Git left conflict markers in" in said
    for path in store.rglob("*.md"):
        assert "<<<<<<<" not in path.read_text()
    text = (store / "memory.md").read_text()
    for words in ("of the desktop", "again of the laptop", "waits", "after"):
        assert text.count(f": {words} ^") == 1
    assert "Gitmem-Op: repair" in bare_git(store, "log", "--format=%b")
    run_in(first, "sync")
    run_in(second, "sync")
    assert "waits" in run_in(second, "show").out


def _without_gitmem() -> dict[str, str]:
    """Return an environment in which git finds no `gitmem`, and has a name for commits."""
    folders = [path for path in os.environ["PATH"].split(os.pathsep) if not (Path(path) / "gitmem").exists()]
    name = {f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {**os.environ, **name, "PATH": os.pathsep.join(folders)}
