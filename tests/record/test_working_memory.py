"""The working memory of a session survives a crash, counts nothing twice, and ends with the session."""

import json
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import IO, Any

import pytest

from gitmem.model.events import HookEvent, HookKind
from gitmem.model.working import HypothesisStatus, PlanStep, decide, note, set_plan, start_task
from gitmem.platform import safe_open
from gitmem.record.working_memory import (
    FOLDER,
    add_hypothesis,
    apply_events,
    brief_session,
    change_working,
    find_working,
    forget_working,
    read_working,
    running,
    settle_hypothesis,
)
from gitmem.store.store import Store
from tests.world import Crash, World

START = datetime(2026, 11, 21, 10, tzinfo=UTC)
AT = START.isoformat()


@pytest.fixture
def store(world: World) -> Store:
    world.clock.now = START
    return world.store


def event(kind: HookKind, number: int, session: str = "s1", **more: object) -> HookEvent:
    at = START + timedelta(minutes=number)
    return HookEvent(kind, session, at, "claude-code", source=f"e{number}", **more)


def events() -> list[HookEvent]:
    return [
        event(HookKind.PROMPT, 1, text="The loader crashes on empty files, fix it 🎉"),
        event(HookKind.TOOL, 2, tool="TodoWrite", steps=(("read", "completed", ""), ("mend", "in_progress", ""))),
        event(HookKind.TOOL_FAILED, 3, tool="Bash", command="pytest -x", text="E   KeyError: 'a'"),
        event(HookKind.TOOL, 4, tool="Edit", files=("src/로더.py",)),
    ]


def test_what_was_written_is_read_again(store: Store) -> None:
    apply_events(store, events())
    memory = change_working(store, "s1", lambda memory: add_hypothesis(memory, "The cache is stale", 0.4, ["dates"]))
    memory = change_working(store, "s1", lambda memory: add_hypothesis(memory, "Two writers", 0.9))
    memory = change_working(store, "s1", lambda memory: settle_hypothesis(memory, "h2", HypothesisStatus.CONFIRMED, AT))
    memory = change_working(store, "s1", lambda memory: decide(memory, "Use a lock", AT, "safe"))
    assert read_working(store, "s1") == memory
    assert len(memory.decisions) == 2
    assert memory.statistics.tools == 3


def _at_once(*_: object, **__: object) -> None:
    raise Crash


def _half_written(path: str | int, mode: str = "r", **more: Any) -> IO[Any]:
    file = open(path, mode, **more)  # noqa: SIM115
    if "w" not in mode:
        return file
    file.write(b'{"working": {"ses')
    file.close()
    raise Crash


def _when_done(one: str, other: str, done: Callable[[str, str], None] = os.replace) -> None:
    done(one, other)
    raise Crash


KILLS = {
    "before the folder": (os, "makedirs", _at_once),
    "before the file": (safe_open, "open", _at_once),
    "in the file": (safe_open, "open", _half_written),
    "before the rename": (os, "replace", _at_once),
    "after the rename": (os, "replace", _when_done),
}


@pytest.mark.parametrize("kill", KILLS)
def test_a_kill_at_each_step_loses_and_doubles_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, kill: str
) -> None:
    apply_events(store, events()[:2])
    before = read_working(store, "s1")
    owner, name, instead = KILLS[kill]
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, instead, raising=False)
        with pytest.raises(Crash):
            apply_events(store, events())
    if kill != "after the rename":
        assert read_working(store, "s1") == before
    apply_events(store, events())
    memory = read_working(store, "s1")
    assert memory is not None
    assert (memory.statistics.prompts, memory.statistics.tools, memory.statistics.errors) == (1, 3, 1)
    assert [one.session for one in running(store)] == ["s1"]
    forget_working(store, "s1")
    assert [name for name in os.listdir(os.path.join(store.private, FOLDER)) if ".json" in name] == []


def test_it_is_private_and_gone_with_its_session(store: Store) -> None:
    apply_events(store, [*events(), event(HookKind.PROMPT, 9, "s2", text="another")])
    assert {memory.session for memory in running(store)} == {"s1", "s2"}
    assert not store.files.edited()
    forget_working(store, "s1")
    assert [memory.session for memory in running(store)] == ["s2"]


def test_a_broken_file_is_begun_anew(store: Store) -> None:
    apply_events(store, events()[:1])
    folder = os.path.join(store.private, FOLDER)
    (name,) = [name for name in os.listdir(folder) if name.endswith(".json")]
    for text in ("{", "[]", json.dumps({"working": {"session": 1}, "events": []})):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        assert read_working(store, "s1") is None
    change_working(store, "s1", lambda memory: start_task(memory, "again", AT))
    assert find_working(store, "").task is not None


def test_secrets_are_not_kept(store: Store) -> None:
    secret = "ghp_" + "R4nd0mT0kenF0rTestsOnlyAbCdEfGhIjKlM"
    change_working(store, "s1", lambda memory: note(memory, f"the token is {secret}"))
    with open(os.path.join(store.private, FOLDER, "s1.json"), encoding="utf-8") as file:
        assert secret not in file.read()


def test_the_brief_says_task_plan_failures_and_stays_within_its_budget(store: Store) -> None:
    apply_events(store, events()[:3])
    said = brief_session(store, "s1", events())
    assert said.splitlines() == [
        "Task (bug_fix, active): The loader crashes on empty files, fix it 🎉",
        "Plan: 1 of 2 steps done; now: mend",
        "Failed: `pytest -x`: KeyError: 'a'",
        "Changed: src/로더.py",
        "Last: Edit src/로더.py",
        "Done: read",
    ]
    steps = [PlanStep("read", "completed"), PlanStep("mend", "in_progress"), PlanStep("test"), PlanStep("commit")]
    change_working(store, "s1", lambda memory: set_plan(memory, steps))
    said = brief_session(store, "s1", ())
    assert said.splitlines()[1:3] == ["Plan: 1 of 4 steps done; now: mend", "To do: test; commit"]
    assert find_working(store, "s1").pending == ("mend", "test", "commit", "Run `pytest -x` again")
    change_working(store, "s1", lambda memory: set_plan(memory, [PlanStep("x" * 290)] * 50))
    assert len(brief_session(store, "s1", ())) <= 4 * 300
    assert brief_session(store, "unknown", ()) == ""


def test_a_session_that_ends_leaves_a_writer_its_temporary_file(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    change_working(store, "s1", lambda memory: note(memory, "found"))
    ending = threading.Thread(target=forget_working, args=(store, "s1"))
    rename = os.replace

    def ends_meanwhile(source: str, target: str) -> None:
        if source.endswith(".new") and ending.ident is None:
            ending.start()
            ending.join(0.2)
        rename(source, target)

    monkeypatch.setattr(os, "replace", ends_meanwhile)
    change_working(store, "s1", lambda memory: note(memory, "more"))
    ending.join()
    assert running(store) == []
