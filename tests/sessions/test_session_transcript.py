import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.hosts.host import read_records as records
from gitmem.sessions.transcript import Role, objects
from gitmem.sessions.transcript import records as claude_records
from tests.recorded import EVERY_EVENT_TRANSCRIPT

AT = "2026-11-21T14:03:22.500Z"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = ("type", "message", "payload", "timestamp", "sessionId", "uuid", "promptId", "isMeta", "isSidechain", "cwd")
PARTS = st.dictionaries(
    st.sampled_from([*NAMES, "isCompactSummary", "role", "content", "usage"]),
    JSON
    | st.sampled_from(["user", "assistant", "response_item", "session_meta", "message", AT])
    | st.dictionaries(
        st.sampled_from(["content", "type", "role", "usage", "model", "arguments", "output", "call_id", "name"]),
        JSON
        | st.sampled_from(["message", "function_call", "function_call_output", "user"])
        | st.lists(
            st.dictionaries(
                st.sampled_from(["type", "text", "name", "id", "input", "tool_use_id", "content", "is_error"]),
                JSON | st.sampled_from(["text", "tool_use", "tool_result"]),
            ),
            max_size=3,
        ),
    ),
)


def line(kind="user", content: object = "hello", **more) -> str:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    return json.dumps(
        {"type": kind, "uuid": "u-1", "timestamp": AT, "sessionId": "s-1", "cwd": "/p", "message": message, **more},
        ensure_ascii=False,
    )


def read(*lines: str) -> list:
    return list(records(lines))


# Objects of a line


@pytest.mark.parametrize(
    "text, found",
    [
        ("", []),
        ("\n", []),
        ("{}", [{}]),
        ('\ufeff{"a": 1}\r\n', [{"a": 1}]),
        ('{"a": 1}{"b": 2}', [{"a": 1}, {"b": 2}]),
        ('{"a": 1} , {"b": 2}\n', [{"a": 1}, {"b": 2}]),
        ('{"a": {"b": {}}}', [{"a": {"b": {}}}]),
        ('{"a": 1, "b": ', []),
        ('{"a": 1, {"b": 2}', [{"b": 2}]),
        ('garbage {"a": "{\\"b\\": 1}"}', [{"a": '{"b": 1}'}]),
        ('[1, {"a": 1}]', [{"a": 1}]),
        ("null", []),
        ('{"a": "tab\there"}', [{"a": "tab\there"}]),
        ('{"a": "\ud800"}', [{"a": "\ud800"}]),
        ('{"a": NaN}', None),
        ("{" * 100_000, []),
        ('{"a":' * 100_000, []),
        ('{"a": [' * 20_000, []),
        ('{"n": ' + "9" * 10_000 + "}", []),
        ("\0" * 10_000, []),
        ('{"a": "' + "x" * 1_000_000 + '"}', [{"a": "x" * 1_000_000}]),
    ],
    ids=range(21),
)
def test_the_objects_of_a_line(text, found):
    assert found is None or list(objects(text)) == found
    assert all(isinstance(item, dict) for item in objects(text))


@settings(max_examples=50)
@given(st.text() | st.lists(JSON.map(json.dumps), max_size=3).map("".join), st.integers(0, 200))
def test_any_line_can_be_looked_at(text, cut):
    assert all(isinstance(item, dict) for item in objects(text[cut:]))
    list(records([text, text[:cut], line()]))


@settings(max_examples=50)
@given(
    st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=3), max_size=4), st.sampled_from(["", " ", ",", "\r"])
)
def test_whole_objects_are_all_found(items, between):
    assert list(objects(between.join(json.dumps(item) for item in items))) == items


@settings(max_examples=30)
@given(st.lists(PARTS, max_size=3))
def test_a_record_of_any_form_costs_nothing_but_itself(items):
    found = list(claude_records([*(json.dumps(item) for item in items), line(content="the last")]))
    assert found[-1].text == "the last"
    assert all(isinstance(part.role, Role) and part.at.tzinfo for part in found)


# Records


def test_a_message():
    (part,) = read(line(content="한글 ☕", promptId="p-1"))
    assert (part.role, part.text, part.turn, part.session, part.cwd) == (Role.USER, "한글 ☕", "p-1", "s-1", "/p")
    assert part.at == datetime(2026, 11, 21, 14, 3, 22, 500_000, tzinfo=UTC)
    assert not part.injected
    assert not part.sidechain


def test_blocks():
    content = [
        {"type": "thinking", "thinking": "secret thought"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c-1", "name": "Bash", "input": {"command": "ls"}},
        {"type": "text", "text": ""},
        {"type": "text", "text": 5},
        {"type": "image", "source": {}},
        "a string",
        None,
    ]
    text, call = read(line("assistant", content))
    assert (text.role, text.text) == (Role.ASSISTANT, "I look.")
    assert (call.role, call.tool, call.tool_id, call.input) == (Role.CALL, "Bash", "c-1", {"command": "ls"})


@pytest.mark.parametrize("content", ["out", [{"type": "text", "text": "out"}], [{"text": "out"}, {"type": "image"}, 3]])
def test_results(content):
    block = {"type": "tool_result", "tool_use_id": "c-1", "content": content, "is_error": True}
    (part,) = read(line(content=[block]))
    assert (part.role, part.text, part.tool_id, part.failed) == (Role.RESULT, "out", "c-1", True)


def test_what_nobody_said_is_marked():
    assert read(line(isMeta=True))[0].injected
    assert read(line(isSidechain=True))[0].sidechain
    summary = read(line(isCompactSummary=True, content="what was before"))[0]
    assert (summary.role, summary.text) == (Role.SUMMARY, "what was before")


def test_how_much_of_the_context_is_used():
    usage = {"input_tokens": 5, "cache_read_input_tokens": 90_000, "cache_creation_input_tokens": 1_000}
    usage |= {"output_tokens": 10, "service_tier": "x", "cache_creation": {"ephemeral": 7}}
    (part,) = read(line("assistant", message={"usage": usage, "model": "m"}))
    assert (part.tokens, part.model) == (91_015, "m")
    wrong = {"input_tokens": True, "cache_read_input_tokens": "5", "output_tokens": -3}
    assert read(line("assistant", message={"usage": wrong}))[0].tokens == 0


@pytest.mark.parametrize("kind", ["progress", "system", "attachment", "summary", "queue-operation", "", None, 5, []])
def test_other_kinds_of_records_say_nothing(kind):
    assert read(json.dumps({"type": kind, "message": {"role": "user", "content": "x"}})) == []


@pytest.mark.parametrize("time", [None, "", "yesterday", 5, "2026-13-45T00:00:00Z", "[trimmed for fixture]", []])
def test_a_time_that_is_missing_is_that_of_the_record_before(time):
    first, second = read(line(), line(timestamp=time))
    assert second.at == first.at


@pytest.mark.parametrize(
    "time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "0001-01-01", "9999-12-31T23:59:59-12:00"]
)
def test_a_time_no_session_can_have_is_none(time):
    """Such a time overflows in another time zone, and a daily log's name needs four digits."""
    first, second = read(line(), line(timestamp=time))
    assert second.at == first.at


def test_a_time_without_a_zone_is_utc():
    assert read(line(timestamp="2026-11-21T14:03:22"))[0].at == datetime(2026, 11, 21, 14, 3, 22, tzinfo=UTC)


# Codex


def codex(kind: str, second: int, **payload) -> str:
    return json.dumps({"timestamp": f"2026-11-21T14:03:{second:02}Z", "type": kind, "payload": payload})


def test_a_session_of_codex():
    said = read(
        codex("session_meta", 0, id="s-9"),
        codex("turn_context", 1, turn_id="t-9"),
        codex("response_item", 2, type="message", role="user", content=[{"type": "input_text", "text": "해줘"}]),
        codex("response_item", 3, type="message", role="developer", content=[{"text": "instructions"}]),
        codex("response_item", 4, type="function_call", name="exec", call_id="c", arguments='{"cmd": "ls"}'),
        codex("response_item", 5, type="function_call_output", call_id="c", output="a b"),
        codex("response_item", 6, type="custom_tool_call", name="apply_patch", call_id="d", input="*** Begin Patch"),
        codex("response_item", 7, type="message", role="assistant", content=[{"text": "했습니다"}]),
    )
    assert [(part.role, part.text) for part in said] == [
        (Role.USER, "해줘"),
        (Role.CALL, ""),
        (Role.RESULT, "a b"),
        (Role.CALL, ""),
        (Role.ASSISTANT, "했습니다"),
    ]
    assert {part.session for part in said} == {"s-9"}
    assert said[1].input == {"cmd": "ls", "command": "ls"}
    assert said[3].input == {"command": "*** Begin Patch"}
    assert said[0].turn == "t-9", "the id its hooks give the turn"


# Recorded sessions


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_line_that_is_damaged_takes_no_other_with_it(ending):
    lines = EVERY_EVENT_TRANSCRIPT.read_text(encoding="utf-8").split("\n")
    whole = read(*lines)
    for number in range(0, len(lines), 2):
        cut = lines[number][: len(lines[number]) // 2]
        damaged = [f"{line}{ending}" for line in [*lines[:number], cut, *lines[number + 1 :]]]
        left = [part for index, line in enumerate(lines) if index != number for part in records([line])]
        texts = [part.text for part in read(*damaged)]
        assert [text for text in (part.text for part in left) if text not in texts] == []
    joined = "".join(lines)
    assert [part.text for part in read(joined)] == [part.text for part in whole]
