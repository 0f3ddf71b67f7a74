"""A session of each host, from what its hooks delivered and its transcript tells: remembered once, under its name."""

import json
import shutil
from pathlib import Path
from threading import Timer

import pytest

from gitmem.background import process_spool
from gitmem.document.entry import find_entries
from gitmem.hosts.registry import find_host
from gitmem.learn.end import replay
from gitmem.record.read import read_pending
from gitmem.store.spool import HookSpool
from tests.recorded import TRANSCRIPTS, payloads_of

# The session of the payloads with Claude Code's names is another one than the one of the transcript.
COPILOT = ("404b1c61-9e16-459d-b0a1-499c37a0baca", "bc475e9f-a39c-4791-a3f5-50029a627904")
BY_CLAUDES_HOOKS = ["codex", "copilot", "droid", "qwen"]
BY_THEIR_OWN = [*BY_CLAUDES_HOOKS, "gemini"]
PROMPT, ANSWER = "PROMPT-ONE 첫 요청", "DONE-ONE: 결정: **uv**, not pip."


@pytest.fixture
def deliver(world, tmp_path):
    """Give a function that delivers a recorded session, under the name of the host whose hooks did it."""

    def do(host: str, named: str, *, until: str = "") -> None:
        home = tmp_path / "home-of-host"
        shutil.copytree(TRANSCRIPTS / host, home, dirs_exist_ok=True)
        spool, events = HookSpool(world.store.private), find_host(host).events
        for payload in payloads_of(host):
            text = json.dumps(payload).replace("/W/home", home.as_posix()).replace(*COPILOT)
            event = str(payload.get("hook_event_name", ""))
            if event in events:
                spool.accept(event, 4711, text.encode(), named)
            if event and event == until:
                return

    return do


def exchanges(world) -> list[str]:
    texts = (path.read_text(encoding="utf-8") for path in Path(world.store.root).glob("daily/*/*/*.md"))
    return [found.entry.text for text in texts for found in find_entries(text) if found.entry.label == "Exchange"]


@pytest.mark.parametrize(
    "host, named", [*((host, host) for host in BY_THEIR_OWN), *((host, "claude") for host in BY_CLAUDES_HOOKS)]
)
@pytest.mark.few(1)
def test_a_session_is_remembered_once_under_the_name_of_its_host(world, deliver, host, named, bare_git):
    deliver(host, named)
    process_spool(world.store, lambda _: False)
    (exchange,) = exchanges(world)
    assert PROMPT in exchange
    assert "uv" in exchange
    assert not HookSpool(world.store.private).names()
    hosts = bare_git(Path(world.store.root), "log", "--format=%(trailers:key=Gitmem-Host,valueonly)").split()
    assert set(hosts) == {host}


@pytest.mark.parametrize("host", ["copilot", "droid"])
def test_what_hooks_leave_out_is_read_from_the_transcript_when_the_turn_ends(world, deliver, host):
    deliver(host, "claude", until="Stop")
    (turn,) = read_pending(world.store, lambda _: True).turns
    assert (turn.prompt, turn.answer, turn.host) == (PROMPT, ANSWER, host)


def test_an_answer_that_is_written_a_moment_after_the_hook_is_waited_for(world, deliver, tmp_path):
    deliver("copilot", "copilot", until="Stop")
    (path,) = (tmp_path / "home-of-host").rglob("events.jsonl")
    aside = path.rename(path.with_suffix(".later"))
    writer = Timer(0.3, aside.rename, [path])
    writer.start()
    process_spool(world.store, lambda _: True)
    writer.join()
    (exchange,) = exchanges(world)
    assert "uv" in exchange


@pytest.mark.parametrize("host", BY_THEIR_OWN)
@pytest.mark.few(2)
def test_a_session_that_two_hosts_deliver_and_an_import_bring_is_there_once(world, deliver, host, tmp_path):
    deliver(host, host)
    if host in BY_CLAUDES_HOOKS:
        deliver(host, "claude")
    process_spool(world.store, lambda _: False)
    first = exchanges(world)
    assert len(first) == 1
    (path, *_) = sorted((tmp_path / "home-of-host").rglob("*.jsonl"))
    replay(world.store, str(path))
    assert exchanges(world) == first
