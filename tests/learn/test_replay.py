import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.background import process_spool
from gitmem.document.entry import find_entries
from gitmem.learn.end import replay
from gitmem.model.exchange import split_fields
from gitmem.record import capture
from gitmem.record.fact_edits import waiting_pairs
from gitmem.store import transcripts
from gitmem.store.findings import FailureLog
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store
from tests.agent import Recorder
from tests.own_settings import own_settings
from tests.recorded import EVERY_EVENT, EVERY_EVENT_TRANSCRIPT, SESSIONS, payloads_in, transcript_of

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def again(world) -> Store:
    world.store = Store(world.store.root, world.store.context)
    return world.store


def tips(world, bare_git) -> list[str]:
    root = Path(world.store.root)
    assert bare_git(root, "status", "--porcelain") == ""
    return bare_git(root, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads").splitlines()


def entries(world, day="daily/2026/10/2026-10-03.md") -> list:
    return [found.entry for found in find_entries(world.text(day))]


def requests(world) -> list[str]:
    found = (split_fields(entry.text).request for entry in entries(world) if entry.label == "Exchange")
    return [request for request in found if request]


def test_a_session_with_its_own_times(world, bare_git, recorder):
    done = replay(world.store, recorder.write())
    assert (done.turns, done.saved, done.sessions, done.transcript) == (3, 3, ("s-rec",), True)
    root = Path(world.store.root)
    subjects = bare_git(root, "log", "--format=%s %ad", "--date=short").splitlines()
    assert "Exchange: CRLF 파서를 추가해줘 2026-10-03" in subjects
    assert requests(world) == ["CRLF 파서를 추가해줘", "ok", "And write its docs"]
    assert "uv를 사용하기로" in world.text("memory.md")
    said = transcripts.read(world.store, "s-rec")
    assert said is not None
    assert {json.loads(line)["role"] for line in said} == {"user", "assistant", "call", "result"}
    (stored,) = transcripts.sessions(world.store)
    assert stored.path == "sessions/2026/10/20261003_090001-s-rec.l1.jsonl"
    tips(world, bare_git)


def test_what_was_replayed_is_not_captured_again(world, bare_git, recorder):
    replay(world.store, recorder.write())
    before = tips(world, bare_git)
    recorder.live(world.store)
    process_spool(again(world))
    assert HookSpool(world.store.private).names() == []
    assert tips(world, bare_git) == before


def test_a_session_that_took_over_the_history_of_another(world, bare_git, recorder, tmp_path):
    """Resumed by an older Claude Code: a new file begins with the lines of the old one, under the old session's id."""
    first = recorder.write()
    resumed = type(recorder)(tmp_path / "resumed.jsonl", "s-two", recorder.project)
    resumed.turn(9, "A question after the resume", "An answer after it.")
    resumed.lines = [*recorder.lines, *resumed.lines]
    second = resumed.write()
    for _ in range(2):
        for path in (first, second):
            replay(again(world), path)
    before = tips(world, bare_git)
    done = [replay(again(world), path) for path in (first, second)]
    assert [one.saved for one in done] == [0, 0]
    assert tips(world, bare_git) == before


def test_a_transaction_ends_before_its_versions_of_the_log_fill_the_memory(world, recorder, monkeypatch):
    monkeypatch.setattr(capture, "BATCH_BYTES", 3_000)
    planned, transact = [], capture.transact

    def spy(store, plan, **how):
        outcome = transact(store, plan, **how)
        planned.append(len(outcome.commits))
        return outcome

    monkeypatch.setattr(capture, "transact", spy)
    for number in range(6):
        recorder.turn(9 + number, f"question number {number}", "A word of the answer. " * 50)
    assert replay(world.store, recorder.write()).saved == sum(planned)
    assert len(planned) > 2
    assert all(planned)
    assert replay(world.store, recorder.write()).saved == 0


def test_transcripts_can_be_left_out(world, recorder):
    own_settings(world.store.context, "transcripts:\n  enabled: false\n")
    done = replay(again(world), recorder.write())
    assert (done.saved, done.transcript) == (3, False)
    assert transcripts.sessions(world.store) == []


# Files that are none, or damaged


def after_the_first(line: bytes):
    return lambda data: data.replace(b"\n", b"\n" + line + b"\n", 1)


# What is done to a transcript, and how many of its lines cannot be read then.
MUTATIONS = {
    "crlf": (lambda data: data.replace(b"\n", b"\r\n"), 0),
    "bom": (lambda data: b"\xef\xbb\xbf" + data, 0),
    "no final newline": (lambda data: data.rstrip(b"\n"), 0),
    "two objects on a line": (lambda data: data.replace(b"\n", b"", 3), 0),
    "all objects on a line": (lambda data: data.replace(b"\n", b""), 0),
    "blank lines": (lambda data: data.replace(b"\n", b"\n\n \n"), 0),
    "noise between": (lambda data: data.replace(b"\n", b'\n\0\xff\xfe noise {"a\n'), None),
    "half": (after_the_first(b'{"type": "user", "mess'), 1),
    "noise": (after_the_first(b"noise\n{}\n\0\xff"), 2),
    "and more": (after_the_first(b'{"type": "system"} and more\n'), 1),
    "a large line": (after_the_first(b"x" * 960_000), 1),
    "a huge line": (after_the_first(b"x" * (17 * 1024 * 1024)), 1),
    "a huge record": (after_the_first(b'{"type": "system", "content": "' + "한".encode() * 320_000 + b'"}'), 0),
}


@pytest.mark.parametrize("mutate, unread", MUTATIONS.values(), ids=MUTATIONS)
@pytest.mark.few(2)
def test_what_can_be_read_is_kept_and_the_other_lines_are_counted_and_told(world, recorder, mutate, unread):
    path = Path(recorder.write())
    path.write_bytes(mutate(path.read_bytes()))
    done = replay(world.store, str(path))
    unread = len(recorder.lines) if unread is None else unread
    assert (done.turns, done.saved, done.unread) == (3, 3, unread)
    assert len(transcripts.read(world.store, "s-rec") or ()) == len(recorder.lines)
    lines = "1 line" if unread == 1 else f"{unread} lines"
    assert done.notices == ((f"{path}: {lines} could not be read; everything else is saved.",) if unread else ())


@pytest.mark.parametrize(
    "source", [EVERY_EVENT_TRANSCRIPT, transcript_of("gemini"), SESSIONS[0]], ids=["claude", "gemini", "long"]
)
@pytest.mark.few(1)
def test_recorded_sessions_cut_off_anywhere(world, bare_git, tmp_path, source):
    data = source.read_bytes()
    path = tmp_path / "cut.jsonl"
    for cut in range(0, len(data), len(data) // 9):
        path.write_bytes(data[:cut] + b"\n" + data[cut + 100 :])
        replay(again(world), str(path))
    path.write_bytes(data)
    replay(again(world), str(path))
    before = tips(world, bare_git)
    assert replay(again(world), str(path)).saved == 0
    assert tips(world, bare_git) == before


# Finding them


def test_a_recorded_session_replayed_after_it_was_captured_live_adds_nothing(world, bare_git):
    """The payloads that its hooks delivered, then its transcript: the same exchanges, under the same ids."""
    transcript = EVERY_EVENT_TRANSCRIPT
    spool = HookSpool(world.store.private)
    for number, payload in enumerate(payloads_in(EVERY_EVENT)):
        if payload["session_id"] == transcript.stem and payload["hook_event_name"] != "SessionEnd":  # it was killed
            payload["transcript_path"] = str(transcript)
            name = spool.accept(payload["hook_event_name"], 0, json.dumps(payload).encode())
            at = world.clock.now.timestamp() + number
            os.utime(os.path.join(spool.folder, name), (at, at))
    process_spool(again(world))
    early = {entry.id for path in Path(world.store.root).glob("daily/*/*/*.md") for entry in entries_of(path)}
    world.clock.now += timedelta(hours=2)  # then the session is over
    process_spool(again(world))
    live = [entry.id for path in Path(world.store.root).glob("daily/*/*/*.md") for entry in entries_of(path)]
    assert early
    assert early <= set(live)
    before = tips(world, bare_git)
    done = replay(again(world), str(transcript))
    assert (done.saved, tips(world, bare_git)) == (0, before)
    assert len(live) == len(set(live))


def entries_of(path: Path) -> list:
    found = [found.entry for found in find_entries(path.read_text(encoding="utf-8"))]
    return [entry for entry in found if entry.label == "Exchange"]


def test_a_session_without_a_transcript_is_told_as_its_hooks_did(world, recorder):
    world.clock.now = datetime.fromtimestamp(recorder.payloads[-1][0], UTC) + timedelta(hours=1)
    recorder.live(world.store)
    process_spool(again(world), lambda _: False)  # the transcript was not written
    (file,) = Path(world.store.root).glob("sessions/*/*/*.md")
    told = [entry.id for entry in entries_of(file)]
    logged = [entry.id for path in Path(world.store.root).glob("daily/*/*/*.md") for entry in entries_of(path)]
    assert told
    assert set(told) <= set(logged)
    [failure] = FailureLog(world.store.private).failures()
    assert failure.message.endswith(" is not there; its session is kept from what its hooks delivered.")
    recorder.write()
    done = replay(again(world), str(recorder.path))
    assert done.saved == 0
    assert [entry.id for entry in entries_of(file)] == told


def test_secrets_in_code_and_between_tool_calls_are_kept_nowhere(world, bare_git, recorder):
    code = f"```sh\nexport GITHUB_TOKEN={TOKEN}\n```"
    at = recorder.record("user", f"Why does it fail?\n\n{code}", promptId="p-9")
    recorder.record("assistant", [{"type": "text", "text": f"The root cause is the token {TOKEN} in the file."}])
    call = {"type": "tool_use", "id": "c-9", "name": "Bash", "input": {"command": "make"}}
    recorder.record("assistant", [call])
    recorder.record("user", [{"type": "tool_result", "tool_use_id": "c-9", "content": "ok"}], promptId="p-9")
    recorder.record("assistant", [{"type": "text", "text": f"Use this:\n\n{code}\n\n| a |\n|---|\n| {TOKEN} |"}])
    assert at
    replay(world.store, recorder.write())
    log = "".join(path.read_text(encoding="utf-8") for path in Path(world.store.root).glob("daily/*/*/*.md"))
    assert "export GITHUB_TOKEN=" in log
    assert "root cause" in log
    objects = bare_git(Path(world.store.root), "log", "-p", "--all")
    assert TOKEN not in log + objects


def test_what_two_transcripts_contradict_waits_at_once(world, tmp_path):
    for number, rule in enumerate(("indent with tabs in this project", "indent with four blanks, no longer with tabs")):
        session = Recorder(tmp_path / f"{number}.jsonl", f"s-{number}", os.path.dirname(world.store.root))
        session.turn(number, f"From now on {rule}.", "Noted.")
        replay(world.store, session.write())
    assert len(waiting_pairs(world.store)) == 1
