"""What holds of every host: install and uninstall leave each file as it was, also after it was edited meanwhile."""

import sys
from pathlib import Path

import pytest

from gitmem.hosts.edits import edits_of
from gitmem.hosts.host import InstallPlace, Scope, hook_script, script_path
from gitmem.hosts.registry import NAMES, find_host, sender
from gitmem.hosts.script import turn_roundtrip_works
from tests.hooked import put

HOSTS = [find_host(name) for name in NAMES]
BY_NAME = pytest.mark.parametrize("host", HOSTS, ids=NAMES)
JSON = '{\n    // mine\n    "theme": "dark"\n}\n'
TOML = 'model = "x"\n\n[mcp_servers.other]\ncommand = "npx"\n'


def edits(host, scope=Scope.USER):
    return edits_of(host, InstallPlace(scope, "/p", "/h", {}))


@pytest.mark.parametrize(
    "name, file",
    [("claude", "/gitmem/save.md"), ("gemini", "/gitmem/save.toml"), ("droid", "/commands/gitmem-save.md")],
)
def test_a_command_is_a_file_that_the_host_names_it_after(name, file):
    items = edits_of(find_host(name), InstallPlace(Scope.USER, "/p", "/h", {}))
    assert len([item for item in items if Path(item.path).as_posix().endswith(file)]) == 1


@BY_NAME
@pytest.mark.parametrize("before", ["", "own"])
def test_edits_are_taken_back_to_the_byte(host, before):
    for edit in edits(host):
        text = "" if not before else TOML if edit.path.endswith(".toml") else JSON
        new, noted = put(edit, text)
        again, kept = put(edit, new, noted)
        assert (again, kept) == (new, noted)
        assert edit.take(new, noted) == text
        assert new == text or edit.present(new)


@pytest.mark.parametrize(
    "payload, host",
    [
        ({"transcript_path": "/h/.claude/projects/-p/x.jsonl"}, "claude"),
        ({"turn_id": "t"}, "codex"),
        ({"generation_id": "g"}, "cursor"),
        ({"transcript_path": "/h/.cursor/projects/p/agent-transcripts/x.jsonl"}, "cursor"),
        ({"transcript_path": "/h/.codex/sessions/2026/11/22/rollout-x.jsonl"}, "codex"),
        ({"transcript_path": "C:\\h\\.gemini\\tmp\\p\\chats\\x.jsonl"}, "gemini"),
        ({}, "claude"),
    ],
)
def test_a_hook_of_claude_codes_settings_is_told_apart_by_its_payload(payload, host):
    assert sender(payload, "claude") == host
    assert sender(payload, "gemini") == "gemini"


@pytest.mark.slow
@pytest.mark.parametrize("name", [host.name for host in HOSTS if host.events])
def test_a_turn_that_its_lines_are_given_becomes_a_commit_and_is_found(name, home, environ):
    """What `gitmem install` tries for a user; Cline's prompts are in its record of a session, which is not here."""
    path = Path(script_path(str(home)))
    path.parent.mkdir(parents=True)
    path.write_bytes(hook_script(str(Path(sys.executable).with_name("gitmem"))))
    back = turn_roundtrip_works(find_host(name), environ, str(home))
    assert back is (None if name == "cline" else True)
    path.write_text("exit 0\n")
    assert not turn_roundtrip_works(find_host(name), environ, str(home))
