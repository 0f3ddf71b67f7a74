"""Codex trusts a hook by a hash that it computes itself; ours is the same, and goes again with the hooks."""

import json
import tomllib

import pytest

from gitmem.hosts.codex import CODEX, trust
from gitmem.hosts.edits import edits_of
from gitmem.hosts.host import InstallPlace, Scope
from gitmem.hosts.settings import HOOKS
from gitmem.hosts.text_settings import TablesEdit
from tests.hooked import put

ENDED = {"type": "CommandExecution", "id": "call_2", "status": "failed", "exit_code": 2}
THEIRS = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "lint"}]}]}}'


def hooks_text(before):
    edit = next(item for item in edits_of(CODEX, InstallPlace(Scope.USER, "/p", "/h", {})) if item.part == HOOKS)
    return put(edit, before)[0]


def test_hashes_are_those_that_codex_computes():
    """The value was computed by Codex 0.169.0's rule for one hook with a known command."""
    text = '{"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "gitmem=x", "timeout": 3}]}]}}'
    assert trust("/h/.codex/hooks.json", text) == {
        'hooks.state."/h/.codex/hooks.json:session_end:0:0"': {
            "trusted_hash": "sha256:13cc881fdfd37cbd565e6e613bb9d4718a381f8daac13474e5cacfabaa191d1f"
        }
    }


def test_trust_goes_by_the_position_among_other_hooks():
    tables = trust("/h/hooks.json", hooks_text(THEIRS))
    assert 'hooks.state."/h/hooks.json:stop:1:0"' in tables
    assert 'hooks.state."/h/hooks.json:session_start:0:0"' in tables
    assert len(tables) == len(CODEX.events)


def test_a_command_failed_if_the_rollout_says_so_at_its_end(tmp_path):
    rollout = tmp_path / "rollout.jsonl"
    lines = [{"payload": {"item": ENDED}}, {"payload": {"item": ENDED | {"id": "call_1", "status": "completed"}}}, {}]
    rollout.write_text("".join(json.dumps(line) + "\n" for line in lines))
    payload = {"hook_event_name": "PostToolUse", "transcript_path": str(rollout), "tool_response": "No such file"}
    told = {key: CODEX.recorded(payload | {"tool_use_id": key}) for key in ("call_1", "call_2", "")}
    assert {key: one["hook_event_name"] for key, one in told.items()} == {
        "call_1": "PostToolUse",
        "call_2": "PostToolUseFailure",
        "": "PostToolUse",
    }
    assert told["call_2"]["error"] == "No such file"
    assert CODEX.recorded(payload | {"tool_use_id": "call_2", "transcript_path": str(tmp_path)}) == payload | {
        "tool_use_id": "call_2",
        "transcript_path": str(tmp_path),
    }


@pytest.mark.parametrize(
    "before",
    [
        'model = "x"',
        '\ufeffmodel = "x"\r\n',
        'a = """\n[mcp_servers.gitmem]\n\\"""\n""" # "\'\'\'\n[b]\n',
    ],
)
def test_a_server_goes_into_toml_and_comes_out_without_a_trace(before):
    edit = TablesEdit("/c", {"mcp_servers.gitmem": {"command": "gitmem", "args": ["mcp"]}})
    text, noted = put(edit, before)
    assert edit.present(text)
    assert edit.take(text, noted) == before


def test_tables_of_trust_come_change_and_go():
    first, later = (trust("/h/hooks.json", hooks_text(before)) for before in ("", THEIRS))
    before = 'model = "x"'
    text, noted = put(TablesEdit("/c", first), before)
    assert set(tomllib.loads(text)["hooks"]["state"]) == {name.split('"')[1] for name in first}
    text, noted = put(TablesEdit("/c", later), text, noted)
    text += '\n[tui]\ntheme = "dark"\n'
    assert TablesEdit("/c", {}).take(text, noted) == before + '\n[tui]\ntheme = "dark"\n'
