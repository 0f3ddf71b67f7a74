"""The MCP server goes into a list of servers and comes out again, and nothing else of the file changes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.hosts.host import Place, Scope, shared_server
from gitmem.hosts.json_settings import SettingsError, parse
from gitmem.hosts.server_settings import has_server, with_server, without_server

PROJECT = ("mcpServers", "gitmem")
LOCAL = ("projects", "/home/ada/my project", "mcpServers", "gitmem")
SERVER = shared_server(Place(Scope.PROJECT, "/p", "/h", {}))
OTHER = {"command": "npx", "args": ["mcp"]}


def found(text: str, place: tuple[str, ...]) -> object:
    value = parse(text).plain()
    for key in place:
        value = value[key]
    return value


@pytest.mark.parametrize("place", [PROJECT, LOCAL])
@pytest.mark.parametrize(
    "before",
    [
        "",
        "\n",
        "{}",
        "{ }\n",
        '{"mcpServers": {}}',
        '{\r\n\t"mcpServers": {\r\n\t}\r\n}\r\n',
        '{"mcpServers": {"other": {"command": "npx"}}, "projects": {}}',
        '{\n  "projects": {\n    "/home/ada/my project": {\n      "mcpServers": {},\n      "ok": true\n    }\n  }\n}\n',
        '{\n  // 한글\n  "projects": {\n    "/home/ada/my project": {},\n  },\n}',
    ],
)
def test_it_goes_in_and_comes_out_without_a_trace(before, place):
    text, emptied = with_server(before, place, SERVER)
    assert found(text, place) == SERVER
    assert has_server(text, place)
    assert with_server(text, place, SERVER, emptied) == (text, emptied)
    assert without_server(text, place, emptied) == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=3), st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_any_other_content_stays(content, indent, local):
    place = LOCAL if local else PROJECT
    before = json.dumps(content, ensure_ascii=False, indent=indent)
    text, emptied = with_server(before, place, SERVER)
    without = parse(text).plain()
    assert without.pop(place[0]) is not None
    assert without == content
    assert without_server(text, place, emptied) == before


def test_what_a_person_changed_stays(monkeypatch):
    text, emptied = with_server("{}", PROJECT, SERVER)
    changed = text.replace('"mcp"', '"mcp", "-C", "/elsewhere"').replace("true", "false")
    assert changed != text
    assert with_server(changed, PROJECT, SERVER, emptied)[0] == changed
    assert without_server(changed, PROJECT, emptied) == "{}"
    more = text.replace('"gitmem": {', '"mine": {"command": "x"},\n    "gitmem": {', 1)
    assert found(without_server(more, PROJECT, emptied), ("mcpServers",)) == {"mine": {"command": "x"}}


@pytest.mark.parametrize(
    "command, ours",
    [
        ("gitmem", True),
        ("/opt/bin/gitmem", True),
        ("C:\\\\bin\\\\gitmem.exe", True),
        ("not-gitmem", False),
        ("npx", False),
    ],
)
def test_a_server_of_this_name_that_is_anothers_is_left_alone(command, ours):
    text = '{"mcpServers": {"gitmem": {"command": "COMMAND", "args": ["mcp"]}}}'.replace("COMMAND", command)
    assert has_server(text, PROJECT) == ours
    if ours:
        assert "gitmem" not in without_server(text, PROJECT, {})
        return
    assert without_server(text, PROJECT, {}) == text
    with pytest.raises(SettingsError, match="another server"):
        with_server(text, PROJECT, SERVER)


@pytest.mark.parametrize(
    "text", ["[", "[]", '{"mcpServers": []}', '{"mcpServers": 1}', '{"mcpServers": {"gitmem": 1}}']
)
def test_what_is_no_list_of_servers_is_refused(text):
    with pytest.raises(SettingsError):
        with_server(text, PROJECT, SERVER)
