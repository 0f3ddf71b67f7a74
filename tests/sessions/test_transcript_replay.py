from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from gitmem.hosts.host import read_records as records
from gitmem.sessions.events import HookKind, parse_payload
from gitmem.sessions.transcript import Record, Role, hook_events
from gitmem.sessions.turns import fold
from tests.recorded import EVERY_EVENT, EVERY_EVENT_TRANSCRIPT, payloads_in

BEGAN = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
PROMPT, TOOL, FAILED, STOP = HookKind.PROMPT, HookKind.TOOL, HookKind.TOOL_FAILED, HookKind.STOP


def part(role: str, second: int, text="", **more) -> Record:
    return Record(Role(role), BEGAN + timedelta(seconds=second), "s", text, **more)


def call(second: int, tool_id: str, tool="Bash", sidechain=False, **given) -> Record:
    return part("call", second, tool=tool, tool_id=tool_id, input=given, sidechain=sidechain)


def replayed(*parts: Record):
    return list(hook_events(parts, UTC))


def kinds(*parts: Record):
    return [(event.kind, event.text) for event in replayed(*parts)]


def test_a_session():
    found = replayed(
        part("user", 0, "fix it", turn="p-1", cwd="/p"),
        part("assistant", 1, "I look."),
        call(2, "1", command="make"),
        part("result", 3, "error: no", tool_id="1", failed=True),
        call(4, "2", "Edit", file_path="/p/a.py"),
        part("result", 5, "ok", tool_id="2"),
        part("assistant", 6, "Fixed."),
        part("user", 9, "thanks, now tests", turn="p-2"),
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


def test_times_in_the_zone_that_is_asked_for():
    seoul = timezone(timedelta(hours=9))
    (event,) = hook_events([part("user", 0, "fix it", turn="p")], seoul)
    assert event.at == BEGAN
    assert event.at.hour == 23


def test_the_last_answer_ends_the_last_turn():
    assert kinds(part("user", 0, "a b", turn="t"), part("assistant", 1, "x"), part("assistant", 2, "y"))[-1] == (
        STOP,
        "y",
    )


def test_the_last_words_before_a_tool_end_a_turn_that_is_broken_off():
    begun = part("user", 0, "a b"), part("assistant", 1, "let me look"), call(2, "1"), call(3, "2")
    said = [(PROMPT, "a b"), (HookKind.SAID, "let me look")]
    assert kinds(*begun) == [*said, (STOP, "let me look"), (HookKind.INTERRUPTED, "let me look")]
    (turn,) = fold(replayed(*begun))
    assert (turn.answer, turn.interrupted) == ("let me look", True)
    assert kinds(*begun, part("user", 4, "c d")) == [*said, (PROMPT, "c d")], "the person typed again"
    escaped = part("user", 4, "[Request interrupted by user for tool use]")
    (turn,) = fold(replayed(*begun, escaped))
    assert (turn.answer, turn.interrupted) == ("let me look", True)


def test_what_nobody_said_begins_no_turn():
    found = kinds(
        part("user", 0, "a b", turn="t"),
        part("user", 1, "<task-notification>x</task-notification>", turn="u"),
        part("user", 2, "meta", injected=True),
        part("user", 3, "sub prompt", sidechain=True),
        part("summary", 4, "what was before", injected=True),
        part("user", 5, "[Request interrupted by user]"),
    )
    assert found == [(PROMPT, "a b"), (HookKind.INTERRUPTED, "[Request interrupted by user]")]


def test_what_a_subagent_says_is_no_answer():
    found = kinds(
        part("user", 0, "a b"),
        part("assistant", 1, "main"),
        part("assistant", 2, "sub", sidechain=True),
        call(3, "9", "Edit", sidechain=True, file_path="/p/a"),
        part("result", 4, tool_id="9", sidechain=True),
    )
    assert found == [(PROMPT, "a b"), (TOOL, ""), (STOP, "main")]


def test_results_without_a_call_and_calls_without_a_result():
    assert kinds(
        part("result", 1, "x", tool_id="no"),
        call(2, "1"),
        part("result", 3, tool_id="1"),
        part("result", 4, tool_id="1"),
    ) == [(TOOL, "")]


@pytest.mark.parametrize("given", [None, {}, {"command": 5}, {"command": ["ls"]}, {"file_path": None}])
def test_inputs_of_any_form(given):
    event = replayed(part("call", 1, tool="Bash", tool_id="1", input=given), part("result", 2, tool_id="1"))[0]
    assert (event.command, event.files) == ("", ())


def test_texts_are_bounded():
    (event,) = replayed(part("user", 0, "x" * 1_000_000))
    assert len(event.text) == 200_000


# Recorded sessions


def turns_of(path: Path):
    with path.open(encoding="utf-8", newline="\n") as lines:
        return fold(hook_events(records(lines), UTC))


def test_a_recorded_session_gives_the_turns_its_hooks_gave():
    """The hooks of a session and its transcript name the same turns, prompts and failures: captured twice it is one."""
    turns = {turn.key: turn for turn in turns_of(EVERY_EVENT_TRANSCRIPT)}
    live = {}
    for payload in payloads_in(EVERY_EVENT):
        event = parse_payload(payload, BEGAN, "claude-code")
        if event is not None and event.session == EVERY_EVENT_TRANSCRIPT.stem:
            live.setdefault(event.turn, []).append(event)
    prompts = {key: event.text for key, events in live.items() for event in events if event.kind is PROMPT}
    said = {key: text for key, text in prompts.items() if not text.startswith("<task-notification>")}
    assert 0 < len(said) < len(prompts)
    for key, text in said.items():
        assert turns[key].prompt == text
    failures = [event for events in live.values() for event in events if event.kind is FAILED]
    assert failures
    for event in failures:
        assert (event.tool_id, event.command) in {(one.tool_id, one.command) for one in turns[event.turn].failures}
