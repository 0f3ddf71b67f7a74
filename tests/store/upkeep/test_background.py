from __future__ import annotations

import sys
import time
from pathlib import Path
from subprocess import run

import pytest

from gitmem.machine.context import Context
from gitmem.store.setup.init import Place, init_store
from gitmem.store.store import MAX_PACKS
from gitmem.store.upkeep.background import start
from tests.own_settings import own_file

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def project(tmp_path, home, environ) -> tuple[Path, dict[str, str]]:
    folder = tmp_path / "프로젝트 one"
    folder.mkdir()
    environ["PYTHONPATH"] = str(ROOT)
    run([sys.executable, "-m", "gitmem", "init"], cwd=folder, env=environ, check=True, capture_output=True)
    return folder, environ


def until(condition, seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def open_store(folder: Path, environ: dict[str, str]):
    from datetime import UTC, datetime

    context = Context(environ, environ["HOME"], "box", lambda: datetime.now(UTC))
    return init_store(str(folder), context, Place.PROJECT).store


def test_a_command_is_started_and_let_go(project):
    folder, environ = project
    store = open_store(folder, environ)
    start(store, "save", "from the background")
    assert until(lambda: "from the background" in (folder / ".gitmem" / "memory.md").read_text(encoding="utf-8"))


def test_what_cannot_be_started_is_nobodys_failure(project, monkeypatch):
    folder, environ = project
    monkeypatch.setattr(sys, "executable", str(folder / "no python here"))
    start(open_store(folder, environ), "status")
    assert (folder / ".gitmem" / "memory.md").exists()


@pytest.mark.slow
def test_saves_have_the_repository_packed_without_being_asked(project):
    folder, environ = project
    store = open_store(folder, environ)
    for number in range(MAX_PACKS + 11):
        command = [sys.executable, "-m", "gitmem", "save", f"number {number}"]
        run(command, cwd=folder, env=environ, check=True, capture_output=True)
    assert until(lambda: store.spare_packs() <= 0)


@pytest.mark.slow
def test_packing_in_the_background_can_be_switched_off(project):
    folder, environ = project
    own_file(environ, environ["HOME"]).write_text("maintenance:\n  automatic: false\n")
    store = open_store(folder, environ)
    for number in range(MAX_PACKS + 11):
        command = [sys.executable, "-m", "gitmem", "save", f"number {number}"]
        run(command, cwd=folder, env=environ, check=True, capture_output=True)
    assert store.spare_packs() > 0
