"""What is private is in no object that is pushed; pauses record nothing; facts move between layers."""

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.background import process_spool
from gitmem.cli.recall_hooks import PROMPT, help_for, sign_of_use
from gitmem.document.entry import MemoryType
from gitmem.document.event import Save
from gitmem.document.ids import make_id
from gitmem.errors import RefusedError
from gitmem.mcp.reads import memory_get, memory_search
from gitmem.record.save import save
from gitmem.store import layers
from gitmem.store.layers import store_for_session
from gitmem.store.remotes import add_remote
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store
from tests.agent import Recorder
from tests.command_line import Runner
from tests.mcp.conftest import call_on

SECRET = "The customer Zephyrine leaves in March"
OPEN = "The importer reads its settings"


def session(store: Store, tmp_path, name: str, said: str, folder: str = "") -> None:
    """Deliver a whole session as its host does, and process it."""
    recorder = Recorder(tmp_path / f"{name}.jsonl", name)
    recorder.turn(1, f"From now on remember: {said}.", f"Done. {said}. From now on we use pnpm for {said}.")
    path = str(recorder.write())
    common = {"session_id": name, "cwd": folder or str(tmp_path), "transcript_path": path}
    spool = HookSpool(store.private)
    for event, more in (
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": f"From now on remember: {said}."}),
        ("Stop", {"last_assistant_message": f"Done. {said}."}),
        ("SessionEnd", {"reason": "exit"}),
    ):
        spool.accept(event, 0, json.dumps({"hook_event_name": event, **common, **more}).encode())
    process_spool(store)


def objects(git, folder) -> str:
    """Return all objects of a repository as text, with their paths."""
    ids = [line.split()[0] for line in git(folder, "cat-file", "--batch-all-objects", "--batch-check").splitlines()]
    return "\n".join(git(folder, "cat-file", "-p", one) for one in ids)


@pytest.fixture
def runner(world) -> Runner:
    return Runner(Path(world.store.root).parent, dict(world.store.context.environ))


@pytest.mark.parametrize("how", ["all", "session", "folder"])
@pytest.mark.few(1)
def test_a_private_session_is_in_no_object_that_is_pushed(world, runner, tmp_path, bare_git, how):
    store = world.store
    remote = tmp_path / "remote.git"
    bare_git(tmp_path, "init", "-q", "--bare", str(remote))
    add_remote(store, "origin", str(remote))
    assert runner("config", "sync.transcripts", "true", "--here")[0] in {0, 2}
    if how == "folder":
        (tmp_path / "secret").mkdir()
        runner("config", "private.folders", f"['{tmp_path}/sec*']", "--user")
        store = Store(store.root, store.context)
    else:
        layers.set_private(store, "" if how == "all" else "s-private", on=True)
    session(store, tmp_path, "s-private", SECRET, str(tmp_path / "secret") if how == "folder" else "")
    layers.set_private(store, "", on=False)
    session(store, tmp_path, "s-open", OPEN)
    assert runner("sync")[0] == 0
    everything = objects(bare_git, remote) + objects(bare_git, store.root)
    assert OPEN in everything
    assert "Zephyrine" not in everything
    assert "zephyrine" not in everything.casefold()
    private = layers.private_store(store)
    assert "Zephyrine" in objects(bare_git, private.root)
    assert "Zephyrine" in runner("--private", "search", "Zephyrine")[1]
    (hit, *_) = json.loads(runner("search", "Zephyrine", "--json")[1])
    assert hit["path"].startswith("private:")
    assert "Zephyrine" in runner("get", hit["path"])[1]
    told = memory_search(call_on(store), query="Zephyrine", limit=5)[0].text
    assert "private:" in told
    assert "Zephyrine" in memory_get(call_on(store), path=hit["path"])
    with pytest.raises(RefusedError):
        add_remote(private, "origin", str(remote))


def test_nothing_of_a_pause_is_recorded(world, tmp_path, bare_git):
    layers.pause(world.store, None)
    session(world.store, tmp_path, "s-paused", SECRET)
    assert HookSpool(world.store.private).names() == []
    world.clock.now += timedelta(hours=2)
    assert layers.resume(world.store)
    assert not layers.resume(world.store)
    assert "Zephyrine" not in objects(bare_git, world.store.root)


def test_a_pause_is_said_where_recording_is(world, runner):
    layers.pause(world.store, None)
    assert json.loads(runner("status", "--json")[1])["paused"] is True
    assert sign_of_use(world.store, (), "", recorded=True).endswith("; paused; 'gitmem resume' records again")
    layers.resume(world.store)
    assert sign_of_use(world.store, (), "", recorded=True).endswith("; recording")


def test_private_mode_is_said_where_recording_is(world, runner):
    assert json.loads(runner("status", "--json")[1])["private"] is False
    runner("private", "on")
    told = json.loads(runner("status", "--json")[1])
    assert (told["private"], told["paused"]) == (True, False)
    words = "private: kept on this machine alone ('gitmem private off' ends it)"
    assert f"recording   {words}\n" in runner("status")[1]
    assert f"Sessions are {words}." in runner("doctor")[1]
    assert sign_of_use(world.store, (), "", "s-1", recorded=True).endswith(f"; {words}")
    runner("private", "off")
    layers.set_private(world.store, "s-1", on=True)
    assert sign_of_use(world.store, (), "", "s-1", recorded=True).endswith(words)
    assert sign_of_use(world.store, (), "", "s-2", recorded=True).endswith("; recording")


def test_a_prompt_is_told_from_the_private_store_where_the_teams_says_nothing(world):
    prompt = {"session_id": "later", "prompt": "Which account deploys the billing service to the staging cluster?"}
    assert help_for(world.store, PROMPT, prompt) == ""
    private = store_for_session(world.store, "", private=True)
    text = "The billing service is deployed to the staging cluster by the account zebra."
    save(private, Save(make_id(1, bytes(10)), world.store.context.clock(), text, MemoryType.NOTE))
    assert "zebra" in help_for(world.store, PROMPT, prompt)
    assert help_for(world.store, PROMPT, prompt) == "", "a session is told it once"


@pytest.mark.parametrize("value, expected", [("0", False), ("1", True)])
def test_an_agent_whose_environment_says_so_has_private_sessions(world, value, expected):
    root = str(Path(world.store.root).parent)
    payload = {"hook_event_name": "SessionStart", "session_id": "by-environment", "cwd": root, "source": "startup"}
    command = [sys.executable, "-m", "gitmem", "hook", "claude"]
    environ = {**world.store.context.environ, "GITMEM_PRIVATE": value}
    subprocess.run(command, cwd=root, env=environ, input=json.dumps(payload).encode(), check=True, timeout=60)
    assert layers.is_private(world.store, "by-environment") is expected
