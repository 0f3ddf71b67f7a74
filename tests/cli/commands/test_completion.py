import os
import shutil
import subprocess
import sys

import pytest

from tests.command_line import ROOT

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
        ("gitmem upkeep ", ["check", "consolidate", "maintain", "reindex"]),
        ("gitmem facts re", ["resolve", "retire"]),
        ("gitmem upkeep maintain --if", ["--if-needed"]),
        ("gitmem completion ", ["bash", "zsh", "fish", "powershell"]),
        ("gitmem save --", ["--type", "--tag", "--session", "--file", "--json"]),
    ],
)
@pytest.mark.few(1)
def test_a_shell_that_asks_is_told_what_may_come(tmp_path, line, expected):
    """Speak argcomplete's protocol: the line in the environment, the answers in a file."""
    answers = offered(tmp_path, line)
    assert set(expected) <= answers
    if line != "gitmem ":
        assert not answers & {"init", "status"}


def offered(folder, line, **more):
    answers = folder / "answers"
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
        **more,
    }
    asked = subprocess.run([sys.executable, "-m", "gitmem"], env=environ, cwd=folder, capture_output=True, check=False)
    assert (asked.returncode, asked.stdout) == (0, b""), asked.stderr
    return {*answers.read_text(encoding="utf-8").split("\n")}


@pytest.mark.slow
def test_what_the_store_has_is_offered(gitmem, tmp_path):
    first = gitmem.json("save", "Use uv; not $(pnpm)", "--type", "rule", "--session", "1b4e51f0")["id"]
    second = gitmem.json("save", "Rebase, don't merge", "--type", "rule")["id"]
    gone = gitmem.json("save", "Use pip", "--type", "rule")["id"]
    gitmem("facts", "retire", gone)
    assert {first, second} <= offered(tmp_path, "gitmem facts show ")
    assert gone not in offered(tmp_path, "gitmem facts show ")
    listed = offered(tmp_path, "gitmem facts retire ", _ARGCOMPLETE_SHELL="bash", COMP_TYPE="63")
    assert f"{first} Use uv not pnpm".replace(" ", "\u00a0") in listed
    alone = offered(tmp_path, f"gitmem facts retire {first[:8]}", _ARGCOMPLETE_SHELL="bash", COMP_TYPE="63")
    assert alone == {first}
    assert "1b4e51f0" in offered(tmp_path, "gitmem sessions 1b")
    assert "1b4e51f0" in offered(tmp_path, "gitmem log --session ")
    assert "1b4e51f0" in offered(tmp_path, "gitmem undo 1b")
    for text in ("We deploy on Fridays.", "We do not deploy on Fridays."):
        gitmem("save", text, "--type", "decision")
    assert offered(tmp_path, "gitmem review ") == {"1"}
    gitmem("remote", "add", "stick", "/media/stick/memory.git")
    assert offered(tmp_path, "gitmem sync st") == {"stick"}
    assert "rotation.threshold_tokens" in offered(tmp_path, "gitmem config rot")
    assert "memory.md" in offered(tmp_path, "gitmem log mem")
    assert {"memory.md", first, "start"} <= offered(tmp_path, "gitmem show ")
    assert "recall" not in offered(tmp_path, "gitmem search "), "it searches for this word"


@pytest.mark.long
@pytest.mark.few(1)
@posix
@pytest.mark.parametrize("shell, start", [("bash", "eval"), ("zsh", "autoload -U compinit; compinit -u; eval")])
def test_a_user_who_presses_tab_sees_each_id_with_its_sentence(gitmem, home, tmp_path, shell, start):
    import pty

    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    ids = [gitmem.json("save", text, "--type", "rule")["id"] for text in ("Use uv; not $(pnpm)", "Deploy on Fridays")]
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "gitmem").write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m gitmem "$@"\n')
    (folder / "gitmem").chmod(0o755)
    for name in (".bashrc", ".zshrc"):
        (home / name).write_text(f'{start} "$(gitmem completion {shell})"\nPS1="ready"\n')
    environ = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "TERM": "xterm"}
    ours, theirs = pty.openpty()
    with subprocess.Popen([shell, "-i"], env=environ, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs) as run:
        os.close(theirs)
        try:
            _until(ours, "ready")
            os.write(ours, b"gitmem facts retire r\t" + b"\t" * (shell == "bash"))
            listed = _until(ours, "Deploy", "pnpm").replace("\u00a0", " ")
            assert all(one in listed for one in ids)
            os.write(ours, b"\x15gitmem facts retire " + ids[0][:9].encode() + b"\t")
            assert _until(ours, ids[0])
        finally:
            run.kill()
    os.close(ours)


def _until(terminal, *words):
    """Read from a terminal until it has shown these words."""
    import select
    import time

    said, end = "", time.monotonic() + 30
    while not all(word in said for word in words):
        assert select.select([terminal], [], [], max(end - time.monotonic(), 0))[0], said
        said += os.read(terminal, 65536).decode("utf-8", "replace")
    return said
