"""What real clients sent and wrote, through capture: the same turn whichever host it was told by."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.hosts.registry import find_host, read_payload, read_transcript
from gitmem.model.transcript import Role, Unread, hook_events
from gitmem.model.turns import fold
from gitmem.record.read import parse_payload
from tests.recorded import payloads_of

AT = datetime(2026, 11, 22, 16, 42, tzinfo=UTC)
PROMPT, ANSWER = "PROMPT-ONE 첫 요청", "DONE-ONE: 결정: **uv**, not pip."
HOSTS = ["cline", "codex", "copilot", "droid", "gemini", "qwen"]
OTHER_SESSION = {"copilot"}  # in hooks than in the transcript
ERROR = "ls: cannot access '/no/such/dir': No such file or directory"
SAYS_FAILURES = {"cline", "copilot", "gemini", "qwen"}  # by hooks; Codex does not
WITHOUT_ANSWER = {"copilot", "droid"}  # in hooks; the transcript has it
WITHOUT_PROMPT = {"cline", "droid"}  # in hooks of a run without a screen
CLINE = {"agent_start": "TaskStart", "tool_result": "PostToolUse", "agent_end": "TaskComplete"}


def events_of(payloads, host):
    asked = find_host(host).events
    for number, payload in enumerate(payloads):
        given = payload.get("hook_event_name") or CLINE.get(str(payload.get("hookName")))
        if given not in asked:
            continue
        label, read = read_payload(payload, host, asked[given].partition(".")[0], ({}, "/h"))
        event = parse_payload(read, AT + timedelta(seconds=number), label) if read is not None else None
        if event is not None:
            yield event


@pytest.mark.parametrize("host", HOSTS)
def test_recorded_payloads_become_the_turn_that_was(host):
    events = list(events_of(payloads_of(host), host))
    assert {event.session for event in events} == {events[0].session}
    assert {event.host for event in events} == {host}
    (turn,) = fold(events)
    assert turn.prompt == ("" if host in WITHOUT_PROMPT else PROMPT)
    assert turn.answer.endswith("" if host in WITHOUT_ANSWER else ANSWER)
    assert turn.closed
    assert [Path(name).name for name in turn.files] == ["notes.md"]
    assert turn.tools == 4  # droid has none for the one that failed, and one more that looked for a tool
    failed = [failure.command for failure in turn.failures]
    assert failed == (["ls /no/such/dir"] if host in SAYS_FAILURES else [])
    assert all(failure.error.strip() == ERROR for failure in turn.failures), "in the command's words alone"
    assert "CONTEXT-MARK" not in turn.prompt + turn.answer


@pytest.mark.parametrize("host", HOSTS)
def test_delivered_twice_it_is_the_same_turn(host):
    """As hooks of the project and of the user, or a plugin beside them, deliver it."""
    events = list(events_of(payloads_of(host), host))
    again = [event._replace(at=event.at + timedelta(seconds=0.2)) for event in events]
    (once,), (twice,) = fold(events), fold([*events, *again])
    assert twice._replace(ended=once.ended, sources=once.sources) == once


@pytest.mark.parametrize("host", [*HOSTS, "pi", "opencode", "kilo"])
@pytest.mark.parametrize("named", [True, False])
def test_a_recorded_transcript_becomes_the_turn_that_was(recorded_transcript, host, named, tmp_path):
    path, unread = recorded_transcript(host), Unread()
    if path.endswith(".jsonl"):  # a copy, of which only its content, or the name of the host, says whose it is
        path = str(shutil.copy(path, tmp_path / "copied.jsonl"))
    else:
        assert path.endswith(".messages.json") or "#" in path
    records = list(read_transcript(path, unread, host if named else ""))
    (turn,) = fold(hook_events(records, host))
    assert (turn.prompt, turn.answer, turn.host) == (PROMPT, ANSWER, host)
    assert [Path(name).name for name in turn.files] == ["notes.md"]
    assert [(failure.command, failure.error.strip()) for failure in turn.failures] == [("ls /no/such/dir", ERROR)]
    assert turn.tools == 4 + (host == "droid")  # which looked for a tool first
    assert unread.lines == 0
    assert turn.cwd == "/W/project" or host not in {"cline", "opencode", "kilo"}
    assert all(record.injected for record in records if host == "cline" and "CONTEXT-MARK" in record.text)
    # Qwen Code puts what hooks add after a tool behind its output, without a mark.
    told = [one for one in records if not one.injected and (one.role is not Role.RESULT or host != "qwen")]
    assert not any("CONTEXT-MARK" in record.text for record in told)


@pytest.mark.parametrize("host", [host for host in HOSTS if host not in OTHER_SESSION])
def test_a_turn_has_the_same_session_and_id_by_hooks_and_by_transcript(recorded_transcript, host):
    (told,) = fold(events_of(payloads_of(host), host))
    (read,) = fold(hook_events(read_transcript(recorded_transcript(host)), host))
    assert told.session == read.session
    assert told.exchange_id == read.exchange_id or host in WITHOUT_PROMPT
