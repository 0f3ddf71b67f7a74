"""Transcripts: their objects, records, lines of L1, and the events that hooks would have delivered."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.hosts.registry import read_records as records
from gitmem.model.events import HookKind
from gitmem.model.transcript import Record, Role, hook_events, l1_lines, objects
from gitmem.model.transcript import records as claude_records
from gitmem.model.turns import fold
from gitmem.text.terminal import FENCE
from tests.recorded import EVERY_EVENT_TRANSCRIPT

STAMP = "2026-11-21T14:03:22.500Z"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = ("type", "message", "payload", "timestamp", "sessionId", "uuid", "promptId", "isMeta", "isSidechain", "cwd")
PARTS = st.dictionaries(
    st.sampled_from([*NAMES, "isCompactSummary", "role", "content", "usage"]),
    JSON
    | st.sampled_from(["user", "assistant", "response_item", "session_meta", "message", STAMP])
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
        {"type": kind, "uuid": "u-1", "timestamp": STAMP, "sessionId": "s-1", "cwd": "/p", "message": message, **more},
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
@given(
    st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=3), max_size=4), st.sampled_from(["", " ", ",", "\r"])
)
def test_whole_objects_are_all_found(items, between):
    assert list(objects(between.join(json.dumps(item) for item in items))) == items


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(PARTS, max_size=3))
def test_a_record_of_any_form_costs_nothing_but_itself(items):
    found = list(claude_records([*(json.dumps(item) for item in items), line(content="the last")]))
    assert found[-1].text == "the last"
    assert all(isinstance(part.role, Role) and part.at.tzinfo for part in found)


# Records


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


def test_what_nobody_said_is_marked_and_other_kinds_of_records_say_nothing():
    for kind in ("progress", "system", "attachment", "summary", "queue-operation", "", None, 5, []):
        assert read(json.dumps({"type": kind, "message": {"role": "user", "content": "x"}})) == []
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


# The last ones overflow in another time zone, and a daily log's name needs four digits.
TIMES = [None, "", "yesterday", 5, "2026-13-45T00:00:00Z", "[trimmed for fixture]", []]
TIMES += ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "0001-01-01", "9999-12-31T23:59:59-12:00"]


@pytest.mark.parametrize("time", TIMES)
def test_a_time_that_is_missing_or_that_no_session_can_have_is_that_of_the_record_before(time):
    first, second = read(line(timestamp="2026-11-21T14:03:22"), line(timestamp=time))
    assert second.at == first.at == datetime(2026, 11, 21, 14, 3, 22, tzinfo=UTC), "a time without a zone is UTC"


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


# Lines of L1

AT = datetime(2026, 11, 21, 14, 3, 22, 500_000, tzinfo=UTC)


def part(role: str, text="", **more) -> Record:
    return Record(Role(role), AT, "s", text, **more)


def lines(*parts: Record, chars=2_000) -> list[dict]:
    return [json.loads(line) for line in l1_lines(parts, chars)]


def test_a_line_of_each_role():
    given = {"command": "make", "timeout": 5, "deep": {"a": [1]}}
    assert lines(
        part("user", "고쳐줘 ☕"),
        part("assistant", " I look.\n"),
        part("call", tool="Bash", tool_id="1", input=given),
        part("result", "error: no", tool_id="1", failed=True),
        part("result", "fine", tool_id="2", sidechain=True),
        part("summary", "before", injected=True),
    ) == [
        {"at": "2026-11-21T14:03:22.500+00:00", "role": "user", "text": "고쳐줘 ☕"},
        {"at": "2026-11-21T14:03:22.500+00:00", "role": "assistant", "text": "I look."},
        {"at": "2026-11-21T14:03:22.500+00:00", "role": "call", "tool": "Bash", "id": "1", "input": given},
        {"at": "2026-11-21T14:03:22.500+00:00", "role": "result", "id": "1", "text": "error: no", "failed": True},
        {"at": "2026-11-21T14:03:22.500+00:00", "role": "result", "agent": "sub", "id": "2", "text": "fine"},
        {"at": "2026-11-21T14:03:22.500+00:00", "role": "summary", "text": "before"},
    ]


@pytest.mark.parametrize("tool", ["mcp__gitmem__memory_search", "mcp__plugin_gitmem_gitmem__memory_get"])
def test_what_gitmems_own_tools_told_is_left_out(tool):
    call = part("call", tool=tool, tool_id="1", input={"query": "x"})
    told = part("result", "recalled", tool_id="1")
    other = part("call", tool="mcp__notgitmem__memory_search", tool_id="2", input={})
    kept = part("result", "found", tool_id="2")
    assert [line["text"] for line in lines(call, told, other, kept) if line["role"] == "result"] == ["", "found"]


@pytest.mark.parametrize("role", ["user", "result"])
@pytest.mark.parametrize("name", [FENCE, "system-reminder"])
def test_what_was_injected_is_left_out(role, name):
    (line,) = lines(part(role, f"said <{name}>INJECTED</{name}>", tool_id="1"))
    assert line["text"] == "said"
    assert lines(part("user", f"<{name}>INJECTED</{name}>"), part("user", "x", injected=True)) == []


@pytest.mark.parametrize("chars", [0, 1, 2, 100, 2_000])
def test_a_long_result_keeps_its_beginning_and_its_end(chars):
    text = "".join(f"<{number}>" for number in range(2_000))
    (line,) = lines(part("result", text, tool_id="1"), chars=chars)
    head, told, tail = line["text"].split("\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) == chars
    assert f"{len(text) - chars:,}" in told


def test_long_inputs_are_shortened_each():
    (line,) = lines(part("call", tool="Write", tool_id="1", input={"content": "x" * 9_000, "a": {"b": ["y" * 9_000]}}))
    assert len(line["input"]["content"]) < 2_100
    assert len(json.dumps(line["input"]["a"])) < 2_200
    assert lines(part("call", tool="T", tool_id="1", input=None))[0]["input"] == {}


def test_secrets_go_before_a_text_is_shortened():
    """Where the middle is left out, the end of a private passage could stand without its beginning."""
    long = "a" * 500 + "<private>" + "SECRET " * 900 + "</private>" + "z" * 300

    def clean(text: str) -> str:
        return re.sub("<private>.*</private>", "", text)

    parts = [part("result", long, tool_id="1"), part("call", input={"a": long, "b": [long] * 3}, tool_id="2")]
    for line in l1_lines(parts, 600, clean):
        assert "SECRET" not in line
        assert "aaa" in line
        assert "zzz" in line


@pytest.mark.slow
def test_inputs_nested_to_the_depth_that_can_be_read():
    for depth in range(10, 1_100):
        text = '{"a":' * depth + "1" + "}" * depth
        try:
            value = json.loads(text)
        except RecursionError:
            break
        found = lines(part("call", input=value, tool_id="1"), part("user", "the next"))
        assert found[-1]["text"] == "the next"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(
    st.lists(
        st.builds(
            part,
            st.sampled_from([role.value for role in Role]),
            st.text() | st.just("<system-reminder>x"),
            input=st.none() | st.dictionaries(st.text(max_size=5), VALUES, max_size=3),
            injected=st.booleans(),
        )
    ),
    st.integers(0, 50),
)
def test_every_line_is_json_and_one_line(parts, chars):
    for line in l1_lines(parts, chars):
        assert not {"\n", "\r"} & {*line}
        assert set(json.loads(line)) <= {"at", "role", "agent", "text", "tool", "id", "input", "failed"}


# Events

BEGAN = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
PROMPT, TOOL, FAILED, STOP = HookKind.PROMPT, HookKind.TOOL, HookKind.TOOL_FAILED, HookKind.STOP


def timed(role: str, second: int, text="", **more) -> Record:
    return Record(Role(role), BEGAN + timedelta(seconds=second), "s", text, **more)


def call(second: int, tool_id: str, tool="Bash", sidechain=False, **given) -> Record:
    return timed("call", second, tool=tool, tool_id=tool_id, input=given, sidechain=sidechain)


def replayed(*parts: Record):
    return list(hook_events(parts))


def kinds(*parts: Record):
    return [(event.kind, event.text) for event in replayed(*parts)]


def test_a_session():
    found = replayed(
        timed("user", 0, "fix it", turn="p-1", cwd="/p"),
        timed("assistant", 1, "I look."),
        call(2, "1", command="make"),
        timed("result", 3, "error: no", tool_id="1", failed=True),
        call(4, "2", "Edit", file_path="/p/a.py"),
        timed("result", 5, "ok", tool_id="2"),
        timed("assistant", 6, "Fixed."),
        timed("user", 9, "thanks, now tests", turn="p-2"),
    )
    assert [(event.kind, event.text) for event in found] == [
        (PROMPT, "fix it"),
        (HookKind.SAID, "I look."),
        (FAILED, "error: no"),
        (TOOL, ""),
        (STOP, "Fixed."),
        (PROMPT, "thanks, now tests"),
    ]
    assert [event.turn for event in found] == ["p-1"] * 5 + ["p-2"]
    assert [event.at.second for event in found] == [0, 1, 3, 5, 6, 9]
    assert (found[2].command, found[3].files, found[0].cwd) == ("make", ("/p/a.py",), "/p")
    first, second = fold(found)
    assert (first.answer, first.closed, second.closed) == ("Fixed.", True, False)


def test_what_nobody_said_begins_no_turn():
    found = kinds(
        timed("user", 0, "a b", turn="t"),
        timed("user", 1, "<task-notification>x</task-notification>", turn="u"),
        timed("user", 2, "meta", injected=True),
        timed("user", 3, "sub prompt", sidechain=True),
        timed("summary", 4, "what was before", injected=True),
        timed("user", 5, "[Request interrupted by user]"),
    )
    assert found == [(PROMPT, "a b"), (HookKind.INTERRUPTED, "[Request interrupted by user]")]


def test_what_a_subagent_says_is_no_answer():
    found = kinds(
        timed("user", 0, "a b"),
        timed("assistant", 1, "main"),
        timed("assistant", 2, "sub", sidechain=True),
        call(3, "9", "Edit", sidechain=True, file_path="/p/a"),
        timed("result", 4, tool_id="9", sidechain=True),
    )
    assert found == [(PROMPT, "a b"), (TOOL, ""), (STOP, "main")]


def test_results_without_a_call_and_calls_without_a_result():
    assert kinds(
        timed("result", 1, "x", tool_id="no"),
        call(2, "1"),
        timed("result", 3, tool_id="1"),
        timed("result", 4, tool_id="1"),
    ) == [(TOOL, "")]
