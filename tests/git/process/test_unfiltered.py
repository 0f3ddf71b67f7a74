"""A git that knows no attributes works in every kind of repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gitmem.git.process.run import Git
from gitmem.git.worktree.files import WorkTree

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunsGit


@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_object_ids_of_both_kinds(tmp_path: Path, bare_git: RunsGit, environ: dict[str, str], kind: str):
    bare_git(tmp_path, "init", "-q", f"--object-format={kind}")
    (tmp_path / ".gitattributes").write_bytes(b"* text eol=crlf\n")
    (tmp_path / "a.md").write_bytes(b"one\n")
    git = Git(str(tmp_path / ".git"), str(tmp_path), environ)
    tree = WorkTree(str(tmp_path), git, ".tmp")
    with tree.open_index() as index:
        index.finish([".gitattributes", "a.md"])
    bare_git(tmp_path, "commit", "-qm", "one")
    assert tree.edited() == []
    (tmp_path / "a.md").write_bytes(b"one\r\n")
    assert tree.edited() == ["a.md"]


def test_a_history_that_is_cut_off(tmp_path: Path, bare_git: RunsGit, environ: dict[str, str]):
    whole, shallow = tmp_path / "whole", tmp_path / "shallow"
    whole.mkdir()
    bare_git(whole, "init", "-q")
    for text in ("one", "two", "three"):
        (whole / "a.md").write_text(f"{text}\n")
        bare_git(whole, "add", "-A")
        bare_git(whole, "commit", "-qm", text)
    bare_git(tmp_path, "clone", "-q", "--depth=2", whole.as_uri(), str(shallow))
    git = Git(str(shallow / ".git"), str(shallow), environ)
    tip = bare_git(shallow, "rev-parse", "HEAD")
    assert git.unfiltered.run("log", "--format=%s", tip).split() == [b"three", b"two"]


def test_what_the_repository_says_of_its_file_system_counts(tmp_path: Path, bare_git: RunsGit, environ: dict[str, str]):
    bare_git(tmp_path, "init", "-q")
    bare_git(tmp_path, "config", "core.fileMode", "false")
    bare_git(tmp_path, "config", "core.fsmonitor", "touch ran")
    git = Git(str(tmp_path / ".git"), str(tmp_path), environ).unfiltered
    assert git.run("config", "core.fileMode").strip() == b"false"
    assert git.run("config", "core.fsmonitor").strip() == b"false"
