"""The plugin's hooks, as a host runs them: `sh -c COMMAND`, with JSON on standard input."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.document.entry import find_entries
from gitmem.hosts.claude_code import HOST

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX shells")
ROOT = Path(__file__).resolve().parents[2]
SHELLS = [name for name in ("sh", "bash", "busybox", "zsh") if shutil.which(name)]


class Plugin:
    """The plugin, installed in a folder with an awkward name, on a machine with or without gitmem."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "plug in's $HOME"
        shutil.copytree(ROOT / "plugin", self.root)
        self.bin = folder / "bin"
        self.bin.mkdir()
        for tool in ("sh", "cat", "rm", "mkdir"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.home = folder / "home of plugin"
        self.home.mkdir()
        self.environ = {"HOME": str(self.home), "PATH": str(self.bin), "CLAUDE_PLUGIN_ROOT": str(self.root)}

    def commands(self, event: str) -> list[str]:
        groups = json.loads((self.root / "hooks" / "hooks.json").read_text())["hooks"][event]
        return [hook["command"] for group in groups for hook in group["hooks"]]

    def run(self, command: str, payload: bytes, cwd: Path, shell: str = "sh", **environ: str) -> str:
        words = [shutil.which(shell), *(["sh"] if shell == "busybox" else []), "-c", command]
        env = self.environ | environ
        done = subprocess.run(words, input=payload, cwd=cwd, env=env, capture_output=True, timeout=60, check=False)
        assert done.returncode == 0
        assert done.stderr == b""
        return done.stdout.decode()

    def event(self, event: str, payload: bytes, cwd: Path, shell: str = "sh", **environ: str) -> list[str]:
        """Deliver an event to all hooks the plugin has for it; returns what they printed."""
        return [self.run(command, payload, cwd, shell, **environ) for command in self.commands(event)]


@pytest.fixture
def plugin(tmp_path) -> Plugin:
    return Plugin(tmp_path)


@pytest.fixture
def project(tmp_path, bare_git) -> Path:
    folder = tmp_path / "프로젝트 one"
    folder.mkdir()
    bare_git(folder, "init", "-q")
    spool = folder / ".gitmem" / ".git" / "gitmem" / "spool" / "hooks"
    spool.mkdir(parents=True)
    (folder / ".gitmem" / ".git" / "HEAD").write_text("ref: refs/heads/gitmem\n")
    return folder


def waiting(project: Path) -> list[Path]:
    return sorted((project / ".gitmem" / ".git" / "gitmem" / "spool" / "hooks").glob("*.json"))


@pytest.mark.parametrize("shell", SHELLS)
def test_an_event_is_delivered_into_the_spool(plugin, project, shell):
    private = (project / ".gitmem" / ".git" / "gitmem").resolve()
    record = plugin.home / ".local" / "share" / "gitmem" / "stores" / str(private)[1:] / "accepted"
    record.parent.mkdir(parents=True)
    for token in (record, private / "machine"):
        token.write_text("0123456789abcdef0123456789abcdef\n")
    assert plugin.event("PostToolUse", b'{"hook_event_name":"PostToolUse"}', project, shell) == [""]
    (file,) = waiting(project)
    assert file.name.startswith("PostToolUse-")
    assert file.read_bytes() == b'{"hook_event_name":"PostToolUse"}'


@pytest.mark.parametrize("shell", SHELLS)
def test_without_its_scripts_it_does_nothing(plugin, project, shell):
    for event in ("SessionStart", "PostToolUse"):
        commands = plugin.commands(event)
        assert [plugin.run(one, b"{}", project, shell, CLAUDE_PLUGIN_ROOT="/not there") for one in commands] == [
            ""
        ] * len(commands)
    assert waiting(project) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_without_gitmem_it_says_once_how_to_install_it(plugin, tmp_path, shell):
    said = [text for text in plugin.event("SessionStart", b"{}", tmp_path, shell) if text]
    (answer,) = map(json.loads, said)
    assert set(answer) == {"systemMessage", "hookSpecificOutput"}
    assert "uv tool install 'gitmem-store[mcp]'" in answer["systemMessage"]
    assert answer["systemMessage"] in answer["hookSpecificOutput"]["additionalContext"]
    assert not any(plugin.event("SessionStart", b"{}", tmp_path, shell))


def test_the_note_that_it_was_said_goes_into_the_plugin_s_folder_of_data(plugin, tmp_path):
    data = tmp_path / "data of plugin"
    assert any(plugin.event("SessionStart", b"{}", tmp_path, CLAUDE_PLUGIN_DATA=str(data)))
    assert [path.name for path in data.iterdir()] == ["told"]
    assert list(plugin.home.iterdir()) == []


def test_where_it_cannot_note_that_it_said_it_nothing_is_said(plugin, tmp_path):
    (tmp_path / "file").write_text("")
    assert not any(plugin.event("SessionStart", b"{}", tmp_path, CLAUDE_PLUGIN_DATA=str(tmp_path / "file" / "data")))


def test_copilot_is_told_at_the_first_level(plugin, tmp_path):
    said = [text for text in plugin.event("SessionStart", b"{}", tmp_path, COPILOT_CLI="1") if text]
    (answer,) = map(json.loads, said)
    assert set(answer) == {"additionalContext"}


def test_gemini_s_agent_is_told_nothing(plugin, tmp_path):
    said = [text for text in plugin.event("SessionStart", b"{}", tmp_path, GEMINI_SESSION_ID="1") if text]
    assert [set(json.loads(text)) for text in said] == [{"systemMessage"}]


def test_switched_off_it_says_nothing(plugin, tmp_path):
    assert not any(plugin.event("SessionStart", b"{}", tmp_path, GITMEM_HOOKS="off"))


# With gitmem, and with the hooks of `gitmem install` beside it


@pytest.fixture
def machine(plugin, home, environ) -> Plugin:
    """Give a plugin on a machine with gitmem, where git knows the user's name."""
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    (plugin.bin / "gitmem").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gitmem "$@"\n')
    (plugin.bin / "gitmem").chmod(0o755)
    plugin.environ = environ | plugin.environ | {"HOME": str(home), "PYTHONPATH": str(ROOT)}
    plugin.environ["PATH"] = os.pathsep.join((str(plugin.bin), environ["PATH"]))
    return plugin


def session(plugin: Plugin, project: Path, bare_git, *, settings_too: bool) -> tuple[list[bool], list[str]]:
    """Have a session remembered; returns which hook was given the memory at its start, and all entries' texts."""
    project.mkdir()
    bare_git(project, "init", "-q")
    bare_git(project, "commit", "-q", "--allow-empty", "-m", "first")
    plugin.run("gitmem init >/dev/null; gitmem save --type decision 'Use uv, not pnpm' >/dev/null", b"", project)
    told = []
    if settings_too:
        plugin.run("gitmem install claude --only hooks >/dev/null", b"", project)

    def deliver(event: str, **more: object) -> None:
        payload = {"hook_event_name": event, "session_id": "s-1", "cwd": str(project), "prompt_id": "p-1"} | more
        data = json.dumps(payload).encode()
        commands = (*plugin.commands(event), *[HOST.commands()[event]] * settings_too)
        told.extend("Use uv" in plugin.run(command, data, project) for command in commands)

    deliver("SessionStart", source="startup")
    deliver("UserPromptSubmit", prompt="Which port do the tests use?")
    deliver("PostToolUse", tool_name="Write", tool_use_id="t-1", tool_input={"file_path": "a.py"}, tool_response="ok")
    deliver("Stop", last_assistant_message="Decision: the tests use port 5433, because 5432 is taken.")
    plugin.run("gitmem hook claude --drain", b"", project)
    pages = [project / ".gitmem" / "memory.md", *sorted((project / ".gitmem").glob("daily/*/*/*.md"))]
    return told, sorted(one.entry.text for page in pages for one in find_entries(page.read_text(encoding="utf-8")))


@pytest.mark.slow
def test_an_event_of_the_plugin_and_of_the_settings_is_one(machine, tmp_path, bare_git):
    told, once = session(machine, tmp_path / "once", bare_git, settings_too=False)
    assert told == [True, False, False, False, False]
    told, both = session(machine, tmp_path / "both", bare_git, settings_too=True)
    assert told.count(True) == 1
    assert both == once
    assert any("port 5433" in text for text in once)
