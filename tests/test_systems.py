"""What Windows and macOS lack or do otherwise, as far as it can be shown on Linux (docs/hosts.md, "Systems").

Commands run without `fork`, symbolic links and folders' descriptors, names are compared as there, checkouts have CRLF.
What is written for Windows alone (`msvcrt`'s lock, `cmd`) does not run here.
"""

import json
import os
import subprocess
import sys
from pathlib import Path, PureWindowsPath

import pytest

from gitmem.git.log import log
from gitmem.hosts.edits import edits_of
from gitmem.hosts.host import InstallPlace, Scope, direct_command
from gitmem.hosts.install import FileEdit
from gitmem.hosts.registry import NAMES, find_host
from gitmem.hosts.settings import HOOKS
from gitmem.platform.machine import Context
from gitmem.store.store import Store
from tests.hooked import put

DEMO = Path(__file__).parent / "data" / "demo"
_FORBIDDEN = set('<>:"|?*\\')
_LONGEST = 200  # characters below the store: Windows takes 260 with the folder of the project, git's own files included
_SESSION = "7d1f0c2a-11d4-4c52-9d0e-6a2f3b1c8e01"
_SAID = {
    **dict.fromkeys(("prompt", "submitted_prompt"), "We decided to deploy on Fridays. Please write it down."),
    **dict.fromkeys(
        ("last_assistant_message", "prompt_response", "text"), "The handbook says that we deploy on Fridays."
    ),
}
# A Python without what Windows' lacks: no fork, no symbolic links, no opening relative to a folder's descriptor; and
# with `nolinks` in the environment none of the hard links that exFAT and some network shares lack.
_WITHOUT = """
import os, sys
def refuse(*args, **names):
    raise OSError(38, "Function not implemented")
for name in ("fork", "forkpty", "O_NOFOLLOW", "O_DIRECTORY", "O_NONBLOCK"):
    vars(os).pop(name, None)
os.symlink = refuse
if os.environ.get("nolinks"):
    os.link = refuse
os.supports_dir_fd = set()
sys.argv[0] = "gitmem"
from gitmem.__main__ import run
sys.exit(run())
"""


class OtherSystem:
    """A project, and gitmem as another system's Python would run it."""

    def __init__(self, project: Path, environ: dict[str, str], home: Path) -> None:
        self.project, self.environ, self.home = project, {**environ, "PYTHONPATH": os.getcwd()}, home
        project.mkdir(parents=True)

    def gitmem(self, *args: str, stdin: str = "") -> str:
        command = [sys.executable, "-c", _WITHOUT, *args]
        done = subprocess.run(
            command, cwd=self.project, env=self.environ, input=stdin, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (args, done.stdout, done.stderr)
        return done.stdout

    def event(self, name: str, **fields: object) -> str:
        """Deliver an event of Claude Code by gitmem itself, as the hook's line on Windows does."""
        payload = {"session_id": _SESSION, "cwd": str(self.project), "hook_event_name": name} | fields
        return self.gitmem("hook", name, stdin=json.dumps(payload))

    def store(self) -> Store:
        return Store(str(self.project / ".gitmem"), Context(self.environ, str(self.home), "box", _never))

    def names(self) -> list[str]:
        store = self.store()
        return [file.path for one in log(store.repository.git, "HEAD") for file in store.repository.files(one.oid)]


def _never():
    raise AssertionError


@pytest.fixture
def machine(tmp_path, environ, home) -> OtherSystem:
    return OtherSystem(tmp_path / "shop", environ, home)


@pytest.mark.slow
def test_without_fork_links_and_folder_descriptors_everything_goes_on(machine, tmp_path, bare_git):
    machine.gitmem("init")
    saved = json.loads(machine.gitmem("save", "We deploy on Fridays.", "--type", "decision", "--json"))
    assert "We deploy on Fridays." in machine.gitmem("search", "deploy")
    bare_git(tmp_path, "init", "-q", "--bare", "remote.git")
    machine.gitmem("remote", "add", "origin", str(tmp_path / "remote.git"))
    machine.gitmem("sync")
    machine.gitmem("facts", "retire", saved["id"])
    machine.gitmem("undo")
    machine.gitmem("replay", str(DEMO / "1-login.jsonl"))
    machine.gitmem("sync")
    machine.gitmem("purge", "We deploy on Fridays.", "--yes")
    assert "Fridays" not in bare_git(machine.project / ".gitmem", "log", "-p", "--all")
    machine.gitmem("doctor", "--json")


@pytest.mark.slow
def test_without_hard_links_a_save_is_committed_and_tended(machine, bare_git):
    machine.environ["nolinks"] = "1"
    machine.gitmem("init")
    saved = json.loads(machine.gitmem("save", "We deploy on Fridays.", "--type", "decision", "--json"))
    assert len(saved["commit"]) == 40
    machine.gitmem("replay", str(DEMO / "1-login.jsonl"))
    machine.gitmem("maintain")
    machine.gitmem("facts", "edit", saved["id"], "We deploy on Mondays.")
    machine.gitmem("undo")
    assert "We deploy on Fridays." in machine.gitmem("search", "deploy")
    assert not bare_git(machine.project / ".gitmem", "status", "--porcelain")
    assert not bare_git(machine.project / ".gitmem", "fsck", "--no-dangling")


@pytest.mark.slow
def test_a_session_is_recorded_by_gitmem_itself_where_no_script_runs(machine):
    machine.gitmem("init")
    machine.event("SessionStart", source="startup")
    machine.event("UserPromptSubmit", prompt="We decided to deploy on Fridays. Please write it down in the handbook.")
    machine.event("Stop", last_assistant_message="The handbook says now that we deploy on Fridays.")
    machine.event("SessionEnd", reason="exit")
    machine.gitmem("status")  # commits what waits
    assert "We decided to deploy on Fridays" in (machine.project / ".gitmem" / "memory.md").read_text("utf-8")
    assert "deploy on Fridays" in machine.event("SessionStart", source="startup", session_id="a-later-one")


@pytest.mark.parametrize("shell", ["cmd", pytest.param("sh", marks=pytest.mark.skipif(os.name == "nt", reason="sh"))])
@pytest.mark.parametrize("name", ["copilot", "cursor", "droid", "gemini", "qwen"])
@pytest.mark.few(1)
def test_the_line_that_install_writes_on_windows_records_a_session(machine, monkeypatch, tmp_path, name, shell):
    """cmd gives a program all words of the line; `;` ends the command in PowerShell as it does in sh."""
    monkeypatch.setattr("gitmem.hosts.host.WINDOWS", True)
    host = find_host(name)
    program = tmp_path / "bin" / "gitmem"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c '{_WITHOUT}' \"$@\"\n")
    program.chmod(0o755)
    environ = machine.environ | {"PATH": f"{program.parent}{os.pathsep}{machine.environ['PATH']}"}
    machine.gitmem("init")
    for theirs, ours in host.events.items():
        line = direct_command(ours, name)
        assert name == "copilot" or host.commands()[theirs] == line
        payload = json.dumps({"hook_event_name": theirs, "session_id": _SESSION, "cwd": str(machine.project)} | _SAID)
        if shell == "cmd":
            machine.gitmem(*line.split()[1:], stdin=payload)
        else:
            subprocess.run(["sh", "-c", line], cwd=machine.project, env=environ, input=payload, text=True, check=True)
    machine.gitmem("status")  # commits what waits
    assert "deploy on Fridays" in (machine.project / ".gitmem" / "memory.md").read_text("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_what_install_writes_on_windows_is_taken_out_to_the_byte(name, monkeypatch):
    monkeypatch.setattr("gitmem.hosts.host.WINDOWS", True)
    text = '{\n  "mine": 1\n}\n'
    for edit in edits_of(find_host(name), InstallPlace(Scope.PROJECT, "/p", "/h", {})):
        if edit.part == HOOKS and not isinstance(edit, FileEdit):
            new, noted = put(edit, text)
            assert ("h=$HOME" in new) == (name in {"claude", "codex", "copilot"})
            assert ("; exit 0 # gitmem" in new) == (name not in {"claude", "codex"})
            assert edit.take(new, noted) == text


@pytest.mark.slow
def test_a_checkout_with_crlf_is_read_and_stays_as_it_is(machine, bare_git):
    machine.gitmem("init")
    saved = json.loads(machine.gitmem("save", "We deploy on Fridays.", "--type", "decision", "--json"))
    root = machine.project / ".gitmem"
    (root / ".gitattributes").unlink(missing_ok=True)  # by its rule git would keep LF
    for path in root.rglob("*.md"):
        path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    assert "We deploy on Fridays." in machine.gitmem("search", "deploy")
    machine.gitmem("facts", "edit", saved["id"], "We deploy on Mondays.")
    machine.gitmem("save", "Bread is baked on Sundays.", "--type", "decision")
    assert "We deploy on Mondays." in machine.gitmem("search", "deploy")
    assert "Bread is baked" in machine.gitmem("search", "bread")
    memory = (root / "memory.md").read_bytes()
    assert memory.count(b"\n") == memory.count(b"\r\n")


@pytest.mark.slow
def test_no_name_in_a_store_is_refused_or_taken_for_another_elsewhere(machine):
    machine.gitmem("init")
    for text in (
        "CON",
        "aux.txt is the device of all devices",
        'What? A:B <c> | "d" * e\\f. ',
        "ÄPFEL and äpfel",
        "x" * 300,
    ):
        machine.gitmem("save", text, "--type", "decision", "--tag", "nul")
    for name in ("1-login.jsonl", "2-orders.jsonl"):
        machine.gitmem("replay", str(DEMO / name))
    names = {*machine.names()}
    assert len(names) > 15
    for name in names:
        assert len(name) <= _LONGEST, name
        for part in PureWindowsPath(name).parts:
            assert not _FORBIDDEN & {*part}, name
            assert part == part.rstrip(". "), name
            assert not PureWindowsPath(part).is_reserved(), name
    assert len({name.casefold() for name in names}) == len(names)


@pytest.mark.slow
def test_where_git_folds_case_a_store_is_written_and_searched(machine, bare_git):
    machine.gitmem("init")
    bare_git(machine.project / ".gitmem", "config", "core.ignorecase", "true")
    bare_git(machine.project / ".gitmem", "config", "core.symlinks", "false")
    bare_git(machine.project / ".gitmem", "config", "core.precomposeunicode", "true")
    machine.gitmem("save", "Äpfel are bought on Fridays.", "--type", "decision")
    machine.gitmem("replay", str(DEMO / "2-orders.jsonl"))
    assert "bought on Fridays" in machine.gitmem("search", "äpfel")


def test_a_long_path_of_the_project_is_no_obstacle(tmp_path, environ, home):
    machine = OtherSystem(tmp_path / "/".join("folder-of-a-deep-project" for _ in range(12)), environ, home)
    assert len(str(machine.project)) > 260
    machine.gitmem("init")
    machine.gitmem("save", "We deploy on Fridays.", "--type", "decision")
    assert "We deploy on Fridays." in machine.gitmem("search", "deploy")
