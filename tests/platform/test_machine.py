"""Whether a process runs; a machine's name; hints that name the installer in use, and a source that is there."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.platform.machine import command_of_installer, install_command, is_running, machine_name


def test_a_process_that_runs_and_one_that_does_not():
    assert is_running(os.getpid())
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    if os.name == "posix":
        assert not is_running(gone.pid)
        assert not is_running(2**31 - 1)
    assert is_running(1)
    assert is_running(2**80)


def test_machines_that_are_called_alike_get_names_of_their_own(tmp_path):
    """As containers of one image and laptops called `localhost` are."""
    host = os.uname().nodename
    assert machine_name(str(tmp_path / "one")) == host, "there is no store yet"
    for home in ("one", "other", "read only"):
        (tmp_path / home / ".local" / "share" / "gitmem" / "stores").mkdir(parents=True)
    names = [machine_name(str(tmp_path / home)) for home in ("one", "other", "one")]
    assert names[0] == names[2] != names[1]
    assert all(re.fullmatch(rf"{re.escape(host)}-[0-9a-f]{{6}}", name) for name in names)
    assert machine_name(str(tmp_path / "read only"), make=False) == host
    assert machine_name(str(tmp_path / "read only")) != host
    kept = tmp_path / "one" / ".local" / "share" / "gitmem" / "machine"
    for damaged in ("", "../../x", "zz"):
        kept.write_text(damaged)
        assert machine_name(str(tmp_path / "one")) == host


@pytest.mark.skipif(os.name != "posix", reason="priorities are POSIX's")
def test_the_lowest_priority_counts_beside_other_sessions():
    show = "import os; from gitmem.platform.machine import lower_priority; lower_priority(); print(os.nice(0))"
    show += "; print(open('/proc/self/autogroup').read()) if os.path.exists('/proc/self/autogroup') else None"
    command, root = [sys.executable, "-c", show], Path(__file__).parents[2]
    own = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, start_new_session=True).stdout
    assert own.startswith("19\n")
    assert "autogroup" not in own or own.strip().endswith("nice 19")
    shared = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    assert not shared.startswith("19\n")  # a user's terminal keeps its priority


PYTHON = "/py/bin/python"


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Give a function that returns the command of an installer for an installation."""
    monkeypatch.setattr(sys, "executable", PYTHON)

    def made(extra="", *, by="pip", direct=None, receipt="", extras=("mcp",)) -> str:
        if receipt:
            (tmp_path / receipt).touch()
        return command_of_installer(extra, by, json.dumps(direct or {}), extras, str(tmp_path))

    return made


CASES = {
    "pip": ({}, f"{PYTHON} -m pip install 'gitmem-store[mcp,web]'", f"{PYTHON} -m pip install --upgrade"),
    "uv": ({"by": "uv"}, f"uv pip install --python {PYTHON} 'gitmem-store[mcp,web]'", "uv pip install --python"),
    "uv tool": ({"receipt": "uv-receipt.toml"}, "uv tool install 'gitmem-store[mcp,web]'", "uv tool upgrade gitmem"),
    "pipx": ({"receipt": "pipx_metadata.json"}, "pipx install --force 'gitmem-store[mcp,web]'", "pipx upgrade gitmem"),
    "a repository": (
        {"direct": {"url": "https://example.org/g.git", "vcs_info": {"vcs": "git"}}},
        f"{PYTHON} -m pip install 'gitmem-store[mcp,web] @ git+https://example.org/g.git'",
        f"{PYTHON} -m pip install --upgrade 'gitmem-store[mcp] @ git+",
    ),
    "a folder that is gone": (
        {"direct": {"url": "file:///gone/clone", "dir_info": {}}},
        f"{PYTHON} -m pip install '/path/to/a/clone[mcp,web]'",
        f"{PYTHON} -m pip install --upgrade '/path/to/a/clone[mcp]'",
    ),
}


@pytest.mark.parametrize("given, extra, upgrade", CASES.values(), ids=CASES.keys())
def test_the_command_is_that_of_the_installer(command, given, extra, upgrade):
    assert command("web", **given) == extra
    assert command(**given).startswith(upgrade)


@pytest.mark.skipif(os.name == "nt", reason="paths of POSIX")
def test_a_clone_is_installed_from_again(command, tmp_path):
    clone = tmp_path / "a clone"
    clone.mkdir()
    direct = {"url": clone.as_uri(), "dir_info": {"editable": True}}
    assert command("mcp", direct=direct, extras=()) == f"{PYTHON} -m pip install --editable '{clone}[mcp]'"


def test_this_installation_is_read():
    assert "install" in install_command("mcp")
    assert "mcp" in install_command("mcp")
