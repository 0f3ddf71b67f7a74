"""Projects for the tests of commands: one that is new, one with some memories, and two machines with a remote."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.platform.machine import Context, machine_name, now
from tests.command_line import Ran, Runner
from tests.conftest import RunsGit
from tests.copies import FolderCopies
from tests.world import World

_SUMMARY = "---\nid: summary-1\nkind: summary\nthemes:\n- the zebra theme\nkey_decisions: []\n---\n\nOverall, zebra.\n"


@pytest.fixture
def run(tmp_path: Path, home: Path, environ: dict[str, str]) -> Runner:
    """Give a function that runs a command in a folder without a store."""
    return Runner(tmp_path, environ)


@pytest.fixture
def gitmem(run: Runner, initialize: Callable[[Path], None]) -> Runner:
    """Give a function that runs a command in a folder with a new store."""
    initialize(run.cwd)
    return run


@pytest.fixture
def project(tmp_path: Path, bare_git: RunsGit, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a git project in which nothing starts in the background."""
    monkeypatch.setattr("gitmem.store.store.Store.start", lambda *_: None)
    folder = tmp_path / "project"
    folder.mkdir()
    bare_git(folder, "init", "-q")
    return folder


@pytest.fixture
def on_path(tmp_path: Path, environ: dict[str, str]) -> Path:
    """Put a program `gitmem` on the PATH; return its folder."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / ("gitmem.exe" if sys.platform == "win32" else "gitmem")
    program.write_bytes(b"#!/bin/sh\n")
    program.chmod(0o755)
    environ["PATH"] = os.pathsep.join([str(folder), environ["PATH"]])
    return folder


@pytest.fixture
def world(tmp_path: Path, home: Path, environ: dict[str, str], initialize: Callable[[Path], None]) -> World:
    """Give a project whose clock is this machine's, as that of commands is."""
    project = tmp_path / "a project 프로젝트"
    project.mkdir()
    initialize(project)
    return World(project / ".gitmem", Context(environ, str(home), machine_name(str(home)), now))


@pytest.fixture
def filled(gitmem: Runner) -> Runner:
    """Give `gitmem` with an entry, a summary and an archive that name a zebra."""
    gitmem("save", "the zebra crossing stays", "--type", "decision", "--tag", "road")
    (gitmem.root / "summaries").mkdir()
    (gitmem.root / "summaries" / "memory_20261101_000000.summary.md").write_text(_SUMMARY)
    (gitmem.root / "archive").mkdir()
    (gitmem.root / "archive" / "memory_20261101_000000.md").write_text("# Old\n\nan old zebra\n")
    return gitmem


@pytest.fixture
def rotated(gitmem: Runner) -> str:
    """Rotate a memory that is too large; return the archive."""
    assert gitmem("config", "rotation.carryover_tokens", "200")[0] == 0
    assert gitmem("config", "rotation.threshold_tokens", "2000")[0] == 0
    memory = gitmem.root / "memory.md"
    text = memory.read_text(encoding="utf-8")
    lines = "".join(f"- The loader reads part {number} of its settings in layers.\n" for number in range(200))
    kept = text.replace("## Core Decisions\n", "## Core Decisions\n\n- 결정: uv를 쓴다, 잠금이 빠르다\n")
    memory.write_text(kept.replace("## Recent Context\n", f"## Recent Context\n\n{lines}"), encoding="utf-8")
    return str(gitmem.json("check")["archive"])


@pytest.fixture
def run_in(home: Path, environ: dict[str, str]) -> Callable[..., Ran]:
    """Give a function that runs a command in a folder, and expects it to fail if `ok` is false."""

    def call(folder: Path, *args: str, ok: bool = True) -> Ran:
        code, out, err = Runner(folder, environ)(*args)
        assert (code == 0) is ok, err
        return Ran(code, out.encode(), err)

    return call


@pytest.fixture
def remote(tmp_path: Path, bare_git: RunsGit) -> Path:
    path = tmp_path / "remote.git"
    bare_git(tmp_path, "init", "--bare", "--quiet", str(path))
    return path


@pytest.fixture
def first(
    tmp_path: Path,
    remote: Path,
    run_in: Callable[..., Ran],
    initialize: Callable[[Path], None],
    folder_copies: FolderCopies,
) -> Path:
    """A project with a store that was synced once."""
    folder = tmp_path / "laptop"

    def make() -> None:
        folder.mkdir()
        initialize(folder)
        run_in(folder, "save", "of the laptop")
        run_in(folder, "remote", "add", "../remote.git")
        run_in(folder, "sync")

    folder_copies("laptop of commands", tmp_path, ("remote.git", "laptop"), make)
    return folder


@pytest.fixture
def second(tmp_path: Path, first: Path, remote: Path, run_in: Callable[..., Ran], folder_copies: FolderCopies) -> Path:
    """Another project that is a clone of it."""
    folder_copies(
        "desktop of commands", tmp_path, ("desktop",), lambda: run_in(tmp_path, "clone", str(remote), "desktop")
    )
    return tmp_path / "desktop"
