"""Hooks, servers and blocks go into files and come out again, and nothing else of the file changes."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.hosts.host import InstallPlace, Scope, shared_server
from gitmem.hosts.json_settings import SettingsError, parse
from gitmem.hosts.settings import HooksEdit, ServerEdit
from gitmem.hosts.text_settings import BlockEdit
from tests.hooked import put

HOOKS = {
    event: {"type": "command", "command": f'gitmem={event}; it\'s "quoted" \\ $x', "timeout": 10}
    for event in ("SessionStart", "PostToolUse", "Stop")
}
OLD = {event: hook | {"command": f"gitmem={event}; of an older version"} for event, hook in HOOKS.items()}
THEIRS = '{"matcher": "Bash", "hooks": [{"type": "command", "command": "lint"}]}'


def with_hooks(text: str, hooks: dict, known: dict | None = None) -> tuple[str, dict]:
    return put(HooksEdit("", hooks), text, known)


def without_hooks(text: str, noted: dict) -> str:
    return HooksEdit("", {}).take(text, noted)


def groups(text: str) -> dict[str, list[object]]:
    node = parse(text)
    return {} if node is None else node.plain().get("hooks", {})


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param("", '{\n  "hooks": {\n    "Stop": [\n      HOOK\n    ]\n  }\n}\n', id="no file"),
        pytest.param("{}", '{\n  "hooks": {\n    "Stop": [\n      HOOK\n    ]\n  }\n}', id="empty"),
        pytest.param(
            '{\n  "model": "opus"\n}\n',
            '{\n  "model": "opus",\n  "hooks": {\n    "Stop": [\n      HOOK\n    ]\n  }\n}\n',
            id="without hooks",
        ),
        pytest.param(
            '{\n\t// for the team\n\t"model": "opus", // the best\n\t/* until May */\n}',
            '{\n\t// for the team\n\t"model": "opus", // the best\n\t/* until May */\n'
            '\t"hooks": {\n\t\t"Stop": [\n\t\t\tHOOK\n\t\t]\n\t},\n}',
            id="comments, tabs, trailing comma",
        ),
        pytest.param(
            '{\n  "a": 1 // one\n}',
            '{\n  "a": 1, // one\n  "hooks": {\n    "Stop": [\n      HOOK\n    ]\n  }\n}',
            id="comment",
        ),
        pytest.param(
            f'{{\r\n    "hooks": {{\r\n        "Stop": [\r\n            {THEIRS}\r\n        ]\r\n    }}\r\n}}\r\n',
            f'{{\r\n    "hooks": {{\r\n        "Stop": [\r\n            {THEIRS},\r\n            HOOK'
            "\r\n        ]\r\n    }\r\n}\r\n",
            id="beside theirs, CRLF",
        ),
        pytest.param(
            f'{{"hooks": {{"Stop": [{THEIRS}]}}, "a": 1}}',
            f'{{"hooks": {{"Stop": [{THEIRS}, HOOK]}}, "a": 1}}',
            id="one line",
        ),
        pytest.param('\ufeff{"a":1}', '\ufeff{"a":1, "hooks": {"Stop": [HOOK]}}', id="byte order mark"),
    ],
)
def test_hooks_are_written_in_the_style_of_the_file_and_taken_back(before, after):
    text, noted = with_hooks(before, {"Stop": HOOKS["Stop"]})
    hook = json.dumps({"hooks": [HOOKS["Stop"]]})
    squeezed = text
    for indent in ("  ", "    ", "\t"):
        for newline in ("\n", "\r\n"):
            spread = json.dumps({"hooks": [HOOKS["Stop"]]}, indent=indent)
            squeezed = squeezed.replace(spread.replace("\n", f"{newline}{indent * 3}"), "HOOK")
    assert squeezed.replace(hook, "HOOK") == after
    assert without_hooks(text, noted) == before


def test_what_a_user_changed_about_a_hook_stays_until_the_next_version():
    text, _ = with_hooks("{}", HOOKS)
    changed = text.replace('"timeout": 10', '"timeout": 30', 1)
    assert with_hooks(changed, HOOKS)[0] == changed


def test_hooks_that_stand_twice_become_one():
    one = {"hooks": [HOOKS["Stop"]]}
    text, _ = with_hooks(json.dumps({"hooks": {"Stop": [one, one]}}), {"Stop": HOOKS["Stop"]})
    assert groups(text) == {"Stop": [one]}


def test_a_users_hook_in_our_group_stays():
    text, noted = with_hooks("{}", HOOKS)
    document = json.loads(text)
    document["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "bell"})
    assert groups(without_hooks(json.dumps(document), noted)) == {
        "Stop": [{"hooks": [{"type": "command", "command": "bell"}]}]
    }


def test_a_file_that_the_host_wrote_anew_loses_our_hooks_only():
    text, noted = with_hooks('{\n  "hooks": {\n    "Stop": []\n  }\n}', HOOKS)
    rewritten = json.dumps(json.loads(text) | {"permissions": {"allow": ["Bash(ls:*)"]}}, indent=4)
    assert json.loads(without_hooks(rewritten, noted)) == {
        "hooks": {"Stop": []},
        "permissions": {"allow": ["Bash(ls:*)"]},
    }


def test_comments_a_user_wrote_meanwhile_stay():
    text, noted = with_hooks("{}", {"Stop": HOOKS["Stop"]})
    changed = text.replace('"Stop": [', '"Stop": [ // mine').replace('{\n  "hooks"', '{ // top\n  "hooks"')
    assert without_hooks(changed, noted) == '{ // top\n  "hooks": {\n    "Stop": [ // mine\n    ]\n  }\n}'


@pytest.mark.parametrize(
    "text",
    [
        *("{", '{"a": 1', '{"a" 1}', '{"a": 01}', '{"a": nul}', "{'a': 1}", '{"a": "\n"}', '{"a": 1}}', "{,}", "[]"),
        *('{"a": 1 "b": 2}', "// nothing", "/* open", '"text"', '{"hooks": []}', '{"hooks": {"Stop": {}}}'),
        *("[" * 200 + "]" * 200, "{\x00}"),
    ],
)
def test_what_is_no_settings_file_is_refused(text):
    with pytest.raises(SettingsError):
        with_hooks(text, HOOKS)
    with pytest.raises(SettingsError):
        without_hooks(text, {})


BLANKS = st.text(" \t\n", max_size=4)
COMMENTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6)
GAPS = st.one_of(
    BLANKS,
    st.builds("{}//{}\n{}".format, BLANKS, COMMENTS, BLANKS),
    st.builds("{}/*{}*/{}".format, BLANKS, COMMENTS.filter(lambda text: "*/" not in f"{text}*/"[:-2]), BLANKS),
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
THEIR_GROUPS = st.lists(st.just(json.loads(THEIRS)) | st.just({"hooks": []}) | st.just({}), max_size=2)
DOCUMENTS = st.builds(
    lambda rest, hooks: rest if hooks is None else rest | {"hooks": hooks},
    st.dictionaries(st.text(max_size=5).filter(lambda key: key != "hooks"), VALUES, max_size=3),
    st.none() | st.dictionaries(st.sampled_from(["Stop", "PostToolUse", "Notification"]), THEIR_GROUPS, max_size=3),
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A document as a user may have written it."""

    def write(value: object) -> str:
        if isinstance(value, dict):
            return listed("{}", [f"{string(key)}{draw(GAPS)}:{draw(GAPS)}{write(item)}" for key, item in value.items()])
        if isinstance(value, list):
            return listed("[]", [write(item) for item in value])
        return string(value)

    def string(value: object) -> str:
        return json.dumps(value, ensure_ascii=draw(st.booleans()))

    def listed(brackets: str, items: list[str]) -> str:
        spaced = ",".join(f"{draw(GAPS)}{item}{draw(GAPS)}" for item in items)
        comma = f",{draw(GAPS)}" if items and draw(st.booleans()) else ""
        return brackets[0] + (spaced + comma if items else draw(GAPS)) + brackets[1]

    text = draw(GAPS) + write(draw(DOCUMENTS)) + draw(GAPS)
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return draw(st.sampled_from(["", "\ufeff"])) + text


@given(texts() | BLANKS)
@example("{}")
@example("{ //\n}")
@example('{"a":1//\n}')
@example('{"hooks":{ } }')
def test_taking_back_is_the_inverse(before):
    text, noted = with_hooks(before, HOOKS)
    assert without_hooks(text, noted) == before
    assert with_hooks(text, HOOKS)[0] == text
    root = parse(before)
    expected = root.plain() if root else {}
    theirs = expected.get("hooks", {})
    ours = {event: [*theirs.get(event, []), {"hooks": [hook]}] for event, hook in HOOKS.items()}
    assert parse(text).plain() == expected | {"hooks": theirs | ours}


@given(texts(), st.data())
def test_an_edit_elsewhere_stays_and_the_rest_is_as_it_was(before, data):
    """The same edit on the original gives what taking back gives: a new first key, another value, other blanks."""

    def edited(text: str) -> str:
        root = parse(text)
        changes = [(root.start + 1, root.start + 1, '/* new */ "new": [{}],')] if first else []
        changes += [(item.node.start, item.node.end, '{"other": "값"}') for item in root.items if item.key == chosen]
        for start, end, new in sorted(changes, reverse=True):
            text = text[:start] + new + text[end:]
        return text + blanks

    root = parse(before)
    first = bool(root.items) and data.draw(st.booleans())
    chosen = data.draw(st.sampled_from([item.key for item in root.items if item.key != "hooks"] or [None]))
    blanks = data.draw(BLANKS)
    text, noted = with_hooks(before, HOOKS)
    assert without_hooks(edited(text), noted) == edited(before)


@given(texts(), st.data())
def test_every_version_gives_way_to_the_next(before, data):
    old = data.draw(st.dictionaries(st.sampled_from([*OLD, "Gone"]), st.sampled_from(list(OLD.values())), max_size=4))
    older, noted = with_hooks(before, old)
    text, noted = with_hooks(older, HOOKS, noted)
    assert {place for place, group in groups(text).items() if "gitmem=" in json.dumps(group)} == set(HOOKS)
    assert without_hooks(text, noted) == before


@given(st.text(alphabet=list('{}[]",:/* \n\\a1'), max_size=30))
def test_whatever_stands_there_is_read_or_refused(text):
    try:
        edited, noted = with_hooks(text, HOOKS)
    except SettingsError:
        return
    assert without_hooks(edited, noted) == text


# Servers


PROJECT = ("mcpServers", "gitmem")
LOCAL = ("projects", "/home/ada/my project", "mcpServers", "gitmem")
SERVER = shared_server(InstallPlace(Scope.PROJECT, "/p", "/h", {}))


def with_server(text: str, place: tuple[str, ...], server: dict, known: dict | None = None) -> tuple[str, dict]:
    return put(ServerEdit("", place, server), text, known)


def without_server(text: str, place: tuple[str, ...], noted: dict) -> str:
    return ServerEdit("", place, SERVER).take(text, noted)


def has_server(text: str, place: tuple[str, ...]) -> bool:
    return ServerEdit("", place, SERVER).present(text)


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
    text, noted = with_server(before, place, SERVER)
    assert found(text, place) == SERVER
    assert has_server(text, place)
    assert with_server(text, place, SERVER, noted) == (text, noted)
    assert without_server(text, place, noted) == before


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=3), st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_any_other_content_stays(content, indent, local):
    place = LOCAL if local else PROJECT
    before = json.dumps(content, ensure_ascii=False, indent=indent)
    text, noted = with_server(before, place, SERVER)
    without = parse(text).plain()
    assert without.pop(place[0]) is not None
    assert without == content
    assert without_server(text, place, noted) == before


def test_what_a_user_changed_stays():
    text, noted = with_server("{}", PROJECT, SERVER)
    changed = text.replace('"mcp"', '"mcp", "-C", "/elsewhere"').replace("true", "false")
    assert changed != text
    assert with_server(changed, PROJECT, SERVER, noted)[0] == changed
    assert without_server(changed, PROJECT, noted) == "{}"
    more = text.replace('"gitmem": {', '"mine": {"command": "x"},\n    "gitmem": {', 1)
    assert found(without_server(more, PROJECT, noted), ("mcpServers",)) == {"mine": {"command": "x"}}


@pytest.mark.parametrize(
    "command, ours",
    [
        *((name, True) for name in ("gitmem", "/opt/bin/gitmem", "C:\\\\bin\\\\gitmem.exe")),
        *((name, False) for name in ("not-gitmem", "npx")),
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


# A block in AGENTS.md: a user's words stay to the byte, whichever agents come and go, in whatever order


def with_block(text: str, words: str, name: str) -> str:
    return put(BlockEdit("", name, words), text)[0]


def without_block(text: str, name: str) -> str:
    return BlockEdit("", name).take(text, {})


WORDS = "## Memory\n\nSave what was decided.\nLook before you answer.\n"
TEXTS = [
    *("", "\n", "# Mine", "# Mine\n", "# Mine\n\n", "# Mine\r\n", "# Mine\r\nand\r\n\r\nmore", "한글\udcff\n"),
    "\ufeff# Mine\n\n\n",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("order", [("crush", "roo"), ("roo", "crush")])
def test_the_text_is_as_it_was_after_the_last_one_went(text, order):
    new = text
    for name in ("crush", "roo", "crush"):
        new = with_block(new, WORDS, name)
    assert new.count("Save what was decided.") == 1
    assert new.startswith(text)
    assert ("\r\n" in new) is ("\r\n" in text)
    one = without_block(new, order[0])
    assert [BlockEdit("", name).present(one) for name in order] == [False, True]
    assert without_block(without_block(one, order[1]), order[1]) == text


def test_a_block_that_was_wrapped_anew_goes_and_one_that_was_changed_leaves_its_words():
    new = with_block("# Mine\n", WORDS, "roo")
    assert without_block(new.replace("decided.\nLook", "decided. Look"), "roo") == "# Mine\n"
    changed = without_block(new.replace("decided.", "decided, and by whom."), "roo")
    assert "by whom" in changed
    assert "gitmem" not in changed
