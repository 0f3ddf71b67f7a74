"""What real clients sent and wrote, through capture: the same turn whichever host it was told by."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.hosts.all import read_payload, read_transcript
from gitmem.memory.capture.session_end import read_lines
from gitmem.model.session.events import parse_payload
from gitmem.model.session.replay import hook_events
from gitmem.model.session.transcript import Unread
from gitmem.model.session.turns import fold

AT = datetime(2026, 11, 22, 16, 42, tzinfo=UTC)
PROMPT, ANSWER = "PROMPT-ONE 첫 요청", "DONE-ONE: 결정: **uv**, not pip."
HOSTS = ["codex", "gemini"]
SAYS_FAILURES = {"gemini"}  # by hooks; Codex does not


def events_of(payloads, host):
    for number, payload in enumerate(payloads):
        label, read = read_payload(payload, host, "")
        event = parse_payload(read, AT + timedelta(seconds=number), label) if read is not None else None
        if event is not None:
            yield event


@pytest.mark.parametrize("host", HOSTS)
def test_recorded_payloads_become_the_turn_that_was(recorded_payloads, host):
    events = list(events_of(recorded_payloads(host), host))
    assert {event.session for event in events} == {events[0].session}
    assert {event.host for event in events} == {host}
    (turn,) = fold(events)
    assert turn.prompt == PROMPT
    assert turn.answer.endswith(ANSWER)
    assert turn.closed
    assert [Path(name).name for name in turn.files] == ["notes.md"]
    assert turn.tools == 4
    failed = [failure.command for failure in turn.failures]
    assert failed == (["ls /no/such/dir"] if host in SAYS_FAILURES else [])
    assert "CONTEXT-MARK" not in turn.prompt + turn.answer


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("named", [True, False])
def test_a_recorded_transcript_becomes_the_turn_that_was(recorded_transcript, host, named, tmp_path):
    path = tmp_path / "copied.jsonl"  # so that only its content, or the name of the host, says whose it is
    path.write_bytes(Path(recorded_transcript(host)).read_bytes())
    unread = Unread()
    records = list(read_transcript(str(path), read_lines, unread, host if named else ""))
    (turn,) = fold(hook_events(records, UTC, host))
    assert (turn.prompt, turn.answer, turn.host) == (PROMPT, ANSWER, host)
    assert [Path(name).name for name in turn.files] == ["notes.md"]
    assert [failure.command for failure in turn.failures] == ["ls /no/such/dir"]
    assert turn.tools == 4
    assert unread.lines == 0
    assert not any("CONTEXT-MARK" in record.text for record in records)


@pytest.mark.parametrize("host", HOSTS)
def test_hooks_and_transcript_tell_the_same_session(recorded_payloads, recorded_transcript, host):
    told = {event.session for event in events_of(recorded_payloads(host), host)}
    read = {record.session for record in read_transcript(recorded_transcript(host), read_lines)}
    assert read == told
