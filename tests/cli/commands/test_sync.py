"""The commands of sync as a person types them, and plain git beside them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gitmem.cli.door import Door
from gitmem.cli.main import main
from gitmem.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RunsGit

_ROOT = Path(__file__).resolve().parents[3]


class Ran:
    """What a command came to."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def said(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(home: Path, environ: dict[str, str]) -> Callable[..., Ran]:
    """Give a function that runs a gitmem command in a folder."""

    def call(folder: Path, *args: str, ok: bool = True) -> Ran:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        door = Door(environ, str(folder), io.TextIOWrapper(io.BytesIO()), out, err)
        code = main(args, lambda: door)
        said, told = (stream.buffer.getvalue().decode() for stream in (out, err))
        ran = Ran(code, said, told)
        assert (code == 0) is ok, ran.err
        return ran

    return call


@pytest.fixture
def remote(tmp_path: Path, bare_git: RunsGit) -> Path:
    path = tmp_path / "remote.git"
    bare_git(tmp_path, "init", "--bare", "--quiet", str(path))
    return path


@pytest.fixture
def first(tmp_path: Path, remote: Path, run: Callable[..., Ran]) -> Path:
    """A project with a store that was synced once."""
    folder = tmp_path / "laptop"
    folder.mkdir()
    run(folder, "init")
    run(folder, "save", "of the laptop")
    run(folder, "remote", "add", "../remote.git")
    run(folder, "sync")
    return folder


@pytest.fixture
def second(tmp_path: Path, first: Path, remote: Path, run: Callable[..., Ran]) -> Path:
    """Another project that is a clone of it."""
    folder = tmp_path / "desktop"
    run(tmp_path, "clone", str(remote), "desktop")
    return folder


def test_two_machines(first: Path, second: Path, run: Callable[..., Ran], bare_git: RunsGit):
    assert "of the laptop" in run(second, "show").out
    run(second, "save", "of the desktop", "--type", "decision")
    assert run(second, "sync").out == "Synced with origin: received nothing, sent 1 commit.\n"
    assert run(first, "sync").out == "Synced with origin: received 1 commit, sent nothing.\n"
    said = run(first, "sync", "--json").said
    assert (said["remote"], said["came"], said["went"], said["review"]) == ("origin", 0, 0, [])
    assert "of the desktop" in run(first, "show").out
    tips = {bare_git(folder / ".gitmem", "rev-parse", "HEAD") for folder in (first, second)}
    assert tips == {said["commit"]}
    for folder in (first, second):
        assert bare_git(folder / ".gitmem", "status", "--porcelain") == ""


def test_what_needs_a_person_is_said_by_sync_and_status(first: Path, second: Path, run: Callable[..., Ran]):
    (first / ".gitmem" / "knowledge").mkdir()
    (first / ".gitmem" / "knowledge" / "a.md").write_text("# A\n\nA line.\n")
    run(first, "sync")
    run(second, "sync")
    for folder, text in ((first, "red"), (second, "blue")):
        path = folder / ".gitmem" / "knowledge" / "a.md"
        path.write_text(path.read_text().replace("A line.", f"A {text} line."))
    run(first, "sync")
    assert "1 document to review: knowledge/a.md." in run(second, "sync").out
    run(first, "sync")
    for folder in (first, second):
        assert "1 document with two versions: knowledge/a.md" in run(folder, "status").out
        assert run(folder, "status", "--json").said["review"] == [{"path": "knowledge/a.md", "places": ["A"]}]


def test_status_says_what_waits_and_what_failed(first: Path, remote: Path, run: Callable[..., Ran]):
    run(first, "save", "one more")
    assert "1 commit to send" in run(first, "status").out
    remote.rename(remote.with_name("away.git"))
    failed = run(first, "sync", ok=False)
    assert failed.code == ExitCode.FAILURE
    assert "no repository that can be read" in failed.err
    assert "failed: origin" in run(first, "status").out
    listed = run(first, "remote", "list", "--json").said
    assert listed[0]["waiting"] == 1
    assert listed[0]["failure"]


def test_being_offline_has_an_exit_code_of_its_own(first: Path, run: Callable[..., Ran], bare_git: RunsGit):
    bare_git(first / ".gitmem", "remote", "set-url", "origin", "http://ada:s3cr3t@127.0.0.1:9/x.git")
    failed = run(first, "sync", "--json", ok=False)
    assert failed.code == ExitCode.UNREACHABLE
    assert json.loads(failed.err)["exit_code"] == ExitCode.UNREACHABLE
    everything = [failed.err, run(first, "remote", "list").out, run(first, "status").out, run(first, "doctor").out]
    everything += [path.read_text() for path in (first / ".gitmem" / ".git" / "gitmem").rglob("*.json")]
    assert not any("s3cr3t" in text for text in everything)


def test_without_a_remote_sync_says_how_to_add_one(tmp_path: Path, run: Callable[..., Ran]):
    run(tmp_path, "init")
    failed = run(tmp_path, "sync", ok=False)
    assert failed.code == ExitCode.NOT_FOUND
    assert "gitmem remote add" in failed.err
    assert run(tmp_path, "remote", "list").out == ""


def test_a_remote_is_added_listed_and_removed(first: Path, remote: Path, run: Callable[..., Ran], bare_git: RunsGit):
    run(first, "remote", "add", "backup", str(remote))
    assert [line.split()[0] for line in run(first, "remote").out.splitlines()] == ["origin", "backup"]
    run(first, "remote", "add", "backup", str(remote), ok=False)
    run(first, "sync", "backup")
    run(first, "remote", "remove", "backup")
    assert [line.split()[0] for line in run(first, "remote").out.splitlines()] == ["origin"]
    assert "backup" not in bare_git(first / ".gitmem", "for-each-ref")
    run(first, "remote", "remove", "backup", ok=False)
    run(first, "remote", "add", "ext::sh -c x", ok=False)


def test_a_clone_of_nothing_leaves_nothing(tmp_path: Path, remote: Path, run: Callable[..., Ran]):
    (tmp_path / "empty").mkdir()
    failed = run(tmp_path / "empty", "clone", str(remote), ok=False)
    assert failed.code == ExitCode.NOT_FOUND
    assert list((tmp_path / "empty").iterdir()) == []
    run(tmp_path / "empty", "clone", str(tmp_path / "nowhere.git"), ok=False)
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_store_is_not_cloned_over(first: Path, remote: Path, run: Callable[..., Ran]):
    assert "has a store already" in run(first, "clone", str(remote), ok=False).err


def _diverge(first: Path, second: Path, run: Callable[..., Ran]) -> None:
    run(second, "save", "of the desktop")
    run(second, "sync")
    run(first, "save", "again of the laptop")


def test_git_pull_merges_as_sync_does(first: Path, second: Path, run: Callable[..., Ran], bare_git: RunsGit, tmp_path):
    _diverge(first, second, run)
    store = first / ".gitmem"
    assert "*.md merge=gitmem" in (store / ".gitattributes").read_text()
    command = tmp_path / "bin" / "gitmem"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\nPYTHONPATH='{_ROOT}' exec '{sys.executable}' -m gitmem \"$@\"\n")
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    bare_git(store, "pull", "-q", "--no-rebase", "--no-edit", env={"PATH": path})
    text = (store / "memory.md").read_text()
    assert "of the desktop" in text
    assert "again of the laptop" in text
    assert bare_git(store, "status", "--porcelain") == ""
    bare_git(store, "push", "-q")
    run(first, "sync")
    run(second, "sync")
    assert bare_git(store, "rev-parse", "HEAD") == bare_git(second / ".gitmem", "rev-parse", "HEAD")


@pytest.mark.parametrize("installed", [True, False])
def test_markers_of_a_pull_without_the_driver_are_repaired_by_the_next_command(
    first: Path, second: Path, run: Callable[..., Ran], bare_git: RunsGit, installed: bool
):
    """Not installed, as in a clone by hand; or installed where git does not find gitmem."""
    _diverge(first, second, run)
    store = first / ".gitmem"
    if not installed:
        assert run(first, "uninstall", "claude").code == 0
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
    assert "of the laptop" in run(first, "show").out, "it can be read"
    assert run(first, "save", "waits", ok=False).code == ExitCode.UNFINISHED
    bare_git(store, "commit", "-qam", "Merged by hand")
    said = run(first, "save", "after").err
    assert "Git left conflict markers in" in said
    for path in store.rglob("*.md"):
        assert "<<<<<<<" not in path.read_text()
    text = (store / "memory.md").read_text()
    for words in ("of the desktop", "again of the laptop", "waits", "after"):
        assert text.count(f": {words} ^") == 1
    assert "Gitmem-Op: repair" in bare_git(store, "log", "--format=%b")
    run(first, "sync")
    run(second, "sync")
    assert "waits" in run(second, "show").out


def _without_gitmem() -> dict[str, str]:
    """Return an environment in which git finds no `gitmem`, and has a name for commits."""
    folders = [path for path in os.environ["PATH"].split(os.pathsep) if not (Path(path) / "gitmem").exists()]
    name = {f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {**os.environ, **name, "PATH": os.pathsep.join(folders)}


def test_a_store_of_an_older_gitmem_gets_the_driver_by_init(tmp_path: Path, run: Callable[..., Ran], bare_git: RunsGit):
    run(tmp_path, "init")
    store = tmp_path / ".gitmem"
    (store / ".gitattributes").write_text("* -text\n")
    bare_git(store, "config", "--remove-section", "merge.gitmem")
    run(tmp_path, "save", "x")
    run(tmp_path, "init")
    assert (store / ".gitattributes").read_text() == "* -text\n*.md merge=gitmem\n"
    assert "merge-driver %O %A %B %P" in bare_git(store, "config", "merge.gitmem.driver")


def test_a_sync_renews_the_driver_of_an_older_gitmem_and_brings_back_none(
    first: Path, run: Callable[..., Ran], bare_git
):
    store, name = first / ".gitmem", "merge.gitmem.driver"
    now = bare_git(store, "config", name)
    bare_git(store, "config", name, "gitmem merge-driver %O %A %B %P || git merge-file --marker-size=%L %A %O %B")
    assert run(first, "sync").code == 0
    assert bare_git(store, "config", name) == now
    bare_git(store, "config", "--remove-section", "merge.gitmem")
    assert run(first, "sync").code == 0
    assert "merge.gitmem" not in bare_git(store, "config", "--list")


def test_a_background_sync_says_nothing_and_logs_what_failed(
    first: Path, second: Path, remote: Path, run: Callable[..., Ran], bare_git: RunsGit
):
    run(first, "save", "in the background")
    done = run(first, "sync", "--background")
    assert (done.out, done.err) == ("", "")
    run(second, "sync", "--background")
    assert "in the background" in run(second, "show").out
    remote.rename(remote.with_name("away.git"))
    run(first, "sync", "--background")
    assert "no repository that can be read" in run(first, "doctor").out
    bare_git(first / ".gitmem", "remote", "set-url", "origin", "http://127.0.0.1:9/x.git")
    run(second, "status")
    log = second / ".gitmem" / ".git" / "gitmem" / "log" / "gitmem.log"
    before = log.read_text() if log.exists() else ""
    bare_git(second / ".gitmem", "remote", "set-url", "origin", "http://127.0.0.1:9/x.git")
    run(second, "sync", "--background")
    assert (log.read_text() if log.exists() else "") == before, "being offline is no failure"


@pytest.mark.parametrize(
    "words", ["remote add URL other", "sync URL", "remote list URL", "review URL --take ours", "URL"]
)
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_an_address_in_the_wrong_place_does_not_show_its_password(run, tmp_path, words, more):
    run(tmp_path, "init")
    given = ["https://ada:hunter2secret@127.0.0.1:1/x.git" if word == "URL" else word for word in words.split()]
    done = run(tmp_path, *given, *more, ok=False)
    assert done.code != 0
    assert "hunter2secret" not in done.out + done.err
