from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands.project import Runner

ROOT = Path(__file__).resolve().parents[3]


class Shell:
    """Runs the command in a project, as a user does."""

    def __init__(self, project: Path, environ: dict[str, str]) -> None:
        self.project = project
        self.environ = {**environ, "PYTHONPATH": str(ROOT)}
        self.store = project / ".gitmem"

    def run(self, *args: str, stdin: bytes = b"", code: int = 0, cwd: Path | None = None) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "gitmem", *args],
            cwd=cwd or self.project,
            env=self.environ,
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )
        self.err = done.stderr.decode()
        assert done.returncode == code, (done.returncode, self.err)
        assert "Traceback" not in self.err
        return done.stdout.decode()

    def here(self, *args: str, stdin: bytes = b"", code: int = 0, cwd: Path | None = None) -> str:
        """Run the command in this process, where its own does not matter."""
        found, out, self.err = Runner(cwd or self.project, self.environ)(*args, stdin=stdin)
        assert found == code, (found, self.err)
        return out

    def memory(self) -> str:
        return (self.store / "memory.md").read_text(encoding="utf-8")


@pytest.fixture
def shell(tmp_path, home, environ, bare_git, initialize) -> Shell:
    project = tmp_path / "프로젝트 one"
    project.mkdir()
    bare_git(project, "init", "-q")
    initialize(project)
    return Shell(project, environ)


def test_a_save_that_left_secrets_out_says_how_many_of_which_kind(shell):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    text = f"use {token}, not {token[::-1]} or {token}; password=hunter2x <private>mine</private>"
    value = json.loads(shell.here("save", text, "--json"))
    assert value["redacted"] == {"github-token": 2, "password": 1, "private": 1}
    assert token not in json.dumps(value)
    shell.here("save", text)
    told = "what looked like a secret (2 github-token, 1 password) and 1 private passage"
    assert shell.err == f"gitmem: Left out of what was saved: {told}.\n"


def test_a_huge_line_is_saved_whole(shell):
    text = ("0123456789abcdef " * 65_536).strip()
    shell.run("save", stdin=text.encode())
    assert text in shell.memory() or any(text in p.read_text(encoding="utf-8") for p in shell.store.glob("archive/*"))


def test_a_leaked_git_environment_never_touches_the_users_code(shell, bare_git):
    bare_git(shell.project, "commit", "-q", "--allow-empty", "-m", "code")
    before = bare_git(shell.project, "rev-parse", "HEAD")
    shell.environ |= {
        "GIT_DIR": str(shell.project / ".git"),
        "GIT_WORK_TREE": str(shell.project),
        "GIT_INDEX_FILE": str(shell.project / ".git" / "index"),
    }
    shell.run("save", "leaked")
    assert bare_git(shell.project, "rev-parse", "HEAD") == before
    assert "leaked" in shell.memory()
    assert bare_git(shell.store, "status", "--porcelain") == ""


def test_no_colour_and_no_control_characters_when_piped(shell):
    shell.run("save", "red \x1b[31malert")
    assert "\x1b" not in shell.run("log") + shell.run("show") + shell.run("status")


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_the_private_folder_is_private(shell):
    shell.run("save", "x")
    assert (shell.store / ".git" / "gitmem").stat().st_mode & 0o077 == 0
    assert (shell.store / ".git" / "gitmem" / "spool").stat().st_mode & 0o077 == 0
