import json
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.hosts.host import read_records as records
from gitmem.sessions.transcript import Record, Role, l1_lines
from gitmem.text.fence import FENCE
from tests.recorded import EVERY_EVENT_TRANSCRIPT, SESSIONS, transcript_of

AT = datetime(2026, 11, 21, 14, 3, 22, 500_000, tzinfo=UTC)


def part(role: str, text="", **more) -> Record:
    return Record(Role(role), AT, "s", text, **more)


def lines(*parts: Record, chars=2_000) -> list[dict]:
    return [json.loads(line) for line in l1_lines(parts, chars)]


def test_a_line_of_each_role():
    assert lines(
        part("user", "고쳐줘 ☕"),
        part("assistant", " I look.\n"),
        part("call", tool="Bash", tool_id="1", input={"command": "make", "timeout": 5, "deep": {"a": [1]}}),
        part("result", "error: no", tool_id="1", failed=True),
        part("result", "fine", tool_id="2", sidechain=True),
        part("summary", "before", injected=True),
    ) == [
        {"at": "2026-11-21T14:03:22.500+00:00", "role": "user", "text": "고쳐줘 ☕"},
        {"at": "2026-11-21T14:03:22.500+00:00", "role": "assistant", "text": "I look."},
        {
            "at": "2026-11-21T14:03:22.500+00:00",
            "role": "call",
            "tool": "Bash",
            "id": "1",
            "input": {"command": "make", "timeout": 5, "deep": {"a": [1]}},
        },
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


def test_a_line_is_one_line():
    for line in l1_lines([part("user", "a\nb\r\nc\u2028d\x00e")], 2_000):
        assert "\n" not in line
        assert "\r" not in line
        assert json.loads(line)["text"] == "a\nb\r\nc\u2028d\x00e"


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


def test_inputs_nested_to_the_depth_that_can_be_read():
    for depth in range(10, 1_100):
        text = '{"a":' * depth + "1" + "}" * depth
        try:
            value = json.loads(text)
        except RecursionError:
            break
        found = lines(part("call", input=value, tool_id="1"), part("user", "the next"))
        assert found[-1]["text"] == "the next"


JSON = st.recursive(
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
            input=st.none() | st.dictionaries(st.text(max_size=5), JSON, max_size=3),
            injected=st.booleans(),
        )
    ),
    st.integers(0, 50),
)
def test_every_line_is_json(parts, chars):
    for line in lines(*parts, chars=chars):
        assert set(line) <= {"at", "role", "agent", "text", "tool", "id", "input", "failed"}


def test_recorded_sessions():
    for path in [*SESSIONS, EVERY_EVENT_TRANSCRIPT, transcript_of("claude"), transcript_of("codex")]:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            found = lines(*records(file))
        assert found, path
        said = json.dumps([line for line in found if line["role"] == "user"], ensure_ascii=False)
        assert "<system-reminder>" not in said
        assert "<task-notification>" not in said
        assert "<environment_context>" not in said
