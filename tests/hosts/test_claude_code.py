import json

from gitmem.hosts.claude_code import HOST
from gitmem.hosts.edits import edits_of
from gitmem.hosts.host import InstallPlace, Scope
from gitmem.hosts.settings import HOOKS
from tests.hooked import put


def test_the_settings_are_where_the_host_looks_for_them():
    def at(scope, environ):
        edits = edits_of(HOST, InstallPlace(scope, "/p", "/h", environ))
        return next(edit.path for edit in edits if edit.part == HOOKS)

    assert at(Scope.PROJECT, {}) == "/p/.claude/settings.json"
    assert at(Scope.LOCAL, {}) == "/p/.claude/settings.local.json"
    assert at(Scope.USER, {}) == "/h/.claude/settings.json"
    assert at(Scope.USER, {"CLAUDE_CONFIG_DIR": "/c"}) == "/c/settings.json"


def test_a_line_of_settings_is_short_and_has_a_timeout_in_seconds():
    edit = next(item for item in edits_of(HOST, InstallPlace(Scope.PROJECT, "/p", "/h", {})) if item.part == HOOKS)
    text, _ = put(edit, "")
    assert len(text) < 3_300
    assert all(len(line.strip()) <= 160 for line in text.splitlines())
    for groups in json.loads(text)["hooks"].values():
        assert groups[0]["hooks"][0]["timeout"] == 10
