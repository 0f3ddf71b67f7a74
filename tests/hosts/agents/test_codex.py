"""Codex trusts a hook by a hash that it computes itself; ours is the same, and goes again with the hooks."""

from __future__ import annotations

import tomllib

from gitmem.hosts.agents.codex import HOST, trust
from gitmem.hosts.host import Place, Scope
from gitmem.hosts.settings.edits import HOOKS, TRUST, tables_edit

THEIRS = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "lint"}]}]}}'


def hooks_text(before):
    edit = next(item for item in HOST.edits(Place(Scope.USER, "/p", "/h", {})) if item.part == HOOKS)
    return edit.put(before, {})[0]


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
    assert len(tables) == len(HOST.events)


def test_tables_of_trust_come_change_and_go():
    first, later = (trust("/h/hooks.json", hooks_text(before)) for before in ("", THEIRS))
    before = 'model = "x"'
    text, noted = tables_edit(TRUST, "/c", first).put(before, {})
    assert set(tomllib.loads(text)["hooks"]["state"]) == {name.split('"')[1] for name in first}
    text, noted = tables_edit(TRUST, "/c", later).put(text, noted)
    text += '\n[tui]\ntheme = "dark"\n'
    assert tables_edit(TRUST, "/c", {}).take(text, noted) == before + '\n[tui]\ntheme = "dark"\n'
