from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tests.cli.commands.project import ROOT

posix = pytest.mark.skipif(sys.platform == "win32", reason="links, modes and bash")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_prints_a_script_for_each_shell(run, shell):
    code, out, err = run("completion", shell)
    assert (code, err) == (0, "")
    assert "gitmem" in out
    assert "_ARGCOMPLETE" in out


@pytest.mark.parametrize(
    "line, expected",
    [
        ("gitmem sa", ["save"]),
        ("gitmem ", ["init", "save", "config", "completion"]),
        ("gitmem config --un", ["--unset"]),
        ("gitmem save --type dec", ["decision"]),
        ("gitmem -C /tmp maintain --if", ["--if-needed"]),
        ("gitmem completion ", ["bash", "zsh", "fish", "powershell"]),
        ("gitmem save --", ["--type", "--tag", "--session", "--file", "--json"]),
    ],
)
def test_a_shell_that_asks_is_told_what_may_come(tmp_path, line, expected):
    """Speak argcomplete's protocol: the line in the environment, the answers in a file."""
    answers = tmp_path / "answers"
    environ = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answers),
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "9",
    }
    asked = subprocess.run(
        [sys.executable, "-m", "gitmem"], env=environ, cwd=tmp_path, capture_output=True, check=False
    )
    assert (asked.returncode, asked.stdout) == (0, b""), asked.stderr
    assert set(expected) <= set(answers.read_text().split("\n"))
    if line != "gitmem ":
        assert not set(answers.read_text().split("\n")) & {"init", "status"}


@posix
@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_a_real_bash_completes(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "gitmem").write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m gitmem "$@"\n')
    (folder / "gitmem").chmod(0o755)
    script = """
        eval "$(gitmem completion bash)"
        complete -p gitmem
        COMP_LINE="gitmem config --un" COMP_POINT=18 COMP_TYPE=9 COMP_WORDS=(gitmem config --un) COMP_CWORD=2
        _python_argcomplete gitmem --un config
        printf '%s\n' "answer: ${COMPREPLY[@]}"
    """
    environ = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    run = subprocess.run(["bash", "-c", script], env=environ, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "complete " in run.stdout
    assert "answer: --unset" in run.stdout, run.stderr
