import json
from pathlib import Path

import pytest

from gitmem.hosts.registry import read_lines
from gitmem.learn.end import keep_transcript
from gitmem.record.read import context_used, in_context
from gitmem.store import transcripts

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7bq\n" * 8 + "-----END RSA PRIVATE KEY-----"


def line(kind: str, text: object, second: int = 0, **more: object) -> str:
    message: dict[str, object] = {"role": kind, "content": text, **dict(more.pop("message", {}))}  # type: ignore[call-overload]
    at = f"2026-10-03T09:00:{second:02}.000Z"
    return json.dumps(
        {"type": kind, "timestamp": at, "sessionId": "s-1", "message": message} | more, ensure_ascii=False
    )


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "전사 of a session.jsonl"


def write(path: Path, *lines: str) -> str:
    path.write_bytes("".join(f"{one}\n" for one in lines).encode("utf-8", "surrogatepass"))
    return str(path)


# Reading


@pytest.mark.parametrize("name", ["", "/no/such", "a\0b", "\ud800", "x" * 5_000])
def test_what_is_not_there_has_no_lines(name):
    assert list(read_lines(name)) == []
    assert context_used(name) == 0.0
    assert not in_context(name, "x")


# The transcript


@pytest.mark.parametrize("lines", [[], ["not json"], ["{}"], [line("assistant", "only an answer")]])
def test_nothing_that_a_user_said_is_no_session(world, path, lines):
    assert keep_transcript(world.store, "s-1", write(path, *lines)) is None
    assert transcripts.sessions(world.store) == []


def test_a_subagents_transcript_is_not_its_sessions(world, path):
    keep_transcript(world.store, "s-1", write(path, line("user", "the question"), line("assistant", "a", 1)))
    assert keep_transcript(world.store, "s-1", write(path, line("user", "sub prompt", isSidechain=True))) is None
    assert "the question" in "".join(transcripts.read(world.store, "s-1") or ())


def test_every_stored_line_is_json_and_holds_no_secret(world, path):
    said = (
        f'use "{TOKEN}"\n{PEM}\npassword = "hunter2-{TOKEN[4:12]}" <private>PRIVATE "\\" {{</private> <private>PRIVATE'
    )
    long = "x " * 3_000 + said + " y" * 3_000
    given = {"command": said, "a": {"b": [said, long]}, said: 1}
    call = {"type": "tool_use", "id": "c", "name": "Bash", "input": given}
    result = {"type": "tool_result", "tool_use_id": "c", "content": said}
    records = (said, [result], [{**result, "content": long}])
    kept = write(path, line("assistant", [call]), *(line("user", one) for one in records))
    keep_transcript(world.store, "s-1", kept)
    stored = transcripts.read(world.store, "s-1") or []
    assert len(stored) == 4
    for one in stored:
        assert isinstance(json.loads(one), dict)
    everything = "".join(stored)
    assert "[REDACTED" in everything
    for secret in (TOKEN, TOKEN[4:], "MIIEpAIBAAKCAQEA7bq", "hunter2", "PRIVATE"):
        assert secret not in everything, secret


# How full the context is


def used(path: Path, tokens: int, *, model="claude", before=0, after=b"") -> float:
    usage = ({"usage": {"input_tokens": count}, "model": model} for count in (before, tokens))
    write(path, *(line("assistant", "x", message=one) for one in usage))
    path.write_bytes(path.read_bytes() + after)
    return context_used(str(path))


def test_how_full_the_context_is(path):
    subagent = line("assistant", "sub", isSidechain=True, message={"usage": {"input_tokens": 5}}).encode()
    assert used(path, 100_000) == 0.5
    assert used(path, 50_000, before=150_000) == 0.25, "after a compaction"
    assert used(path, 500_000, model="claude-x[1m]") == 0.5
    assert used(path, 500_000) == 0.5, "no window of 200,000 holds that"
    assert used(path, 100_000, before=300_000) == 0.1
    assert used(path, 5_000_000) == 1.0
    for after in (b'{"type": "assistant", "mess', subagent, b"x" * 200_000):
        assert used(path, 100_000, after=after) == 0.5


# What a session still knows
