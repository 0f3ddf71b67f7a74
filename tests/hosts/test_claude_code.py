from __future__ import annotations

import json

from gitmem.hosts.claude_code import EVENTS, Scope, hooks, plugin_hooks, settings_file
from gitmem.machine.resources import read_resource


def test_every_event_has_a_command_that_names_it_and_a_timeout_in_seconds():
    for event, hook in hooks().items():
        assert str(hook["command"]).startswith(f"gitmem={event}; ")
        assert hook["type"] == "command"
        assert 1 <= int(str(hook["timeout"])) <= 60


def test_the_plugin_has_the_hooks_that_install_writes():
    remedy = "python -c 'from gitmem.hosts.claude_code import plugin_hooks as p; print(p())' > hooks/hooks.json"
    assert read_resource("hooks", "hooks.json").decode() == plugin_hooks() + "\n", remedy
    assert list(json.loads(plugin_hooks())["hooks"]) == list(EVENTS)


def test_the_settings_are_where_the_host_looks_for_them():
    assert settings_file(Scope.PROJECT, "/p", "/h", {}) == "/p/.claude/settings.json"
    assert settings_file(Scope.LOCAL, "/p", "/h", {}) == "/p/.claude/settings.local.json"
    assert settings_file(Scope.USER, "/p", "/h", {}) == "/h/.claude/settings.json"
    assert settings_file(Scope.USER, "/p", "/h", {"CLAUDE_CONFIG_DIR": "/c"}) == "/c/settings.json"
