"""The drain behind a hook killed at each of its steps: after the next one everything is there once.

What a host delivered stays in the spool until its commit is synced; a host that is killed itself is found out by the
next session's start.
"""

import collections
import itertools
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.document.entry import find_entries
from gitmem.document.ids import tail_of
from gitmem.git.trust import GITMEM
from gitmem.model.exchange import split_fields
from gitmem.store.transcripts import REF, ref_name_of
from tests.faults.conftest import Project, Victim, Victims

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

DRAIN = ("hook", "claude", "--drain")
QUIET = "maintenance:\n  automatic: false\n"  # nothing goes on behind a drain that is killed
ROTATES_SOON = f"{QUIET}rotation:\n  threshold_tokens: 300\n  carryover_tokens: 60\n"
MOST_STEPS = 2_000
KILLS_IN_A_PROJECT = 8
LIVES = os.getpid()
OWN = f"{REF}/{ref_name_of(GITMEM.email)}"  # the ref of the transcripts


class Session:
    """A host's session with a transcript of unique texts."""

    _numbers = itertools.count(1)

    def __init__(self, project: Project, folder: Path) -> None:
        self.project = project
        self.number = next(self._numbers)
        self.name = f"sess-{self.number}"
        self.transcript = folder / f"{self.name}.jsonl"
        self.asked: list[str] = []
        self._events = itertools.count()
        self._at = time.time() - 30

    def deliver(self, kind: str, turn: int = 0, owner: int = LIVES, **more: object) -> None:
        """Put an event into the spool, as the shell does."""
        folder = self.project.private / "spool" / "hooks"
        folder.mkdir(parents=True, exist_ok=True)
        payload = {"hook_event_name": kind, "session_id": self.name, "cwd": str(self.project.root)}
        payload |= {"prompt_id": f"p-{turn}", "transcript_path": str(self.transcript), **more}
        path = folder / f"{kind}-{owner}-{os.getpid()}-{self.number * 1000 + next(self._events)}.json"
        with path.open("xb") as file:
            file.write(json.dumps(payload, ensure_ascii=False).encode())
        self._at += 0.01
        os.utime(path, (self._at, self._at))

    def turn(self, turn: int, owner: int = LIVES, *, answered: bool = True) -> None:
        asked = f"Decision: use tool{self.number}-{turn} instead of pnpm."
        self.asked.append(asked)
        self.deliver("UserPromptSubmit", turn, owner, prompt=asked)
        given = {"tool_name": "Edit", "tool_input": {"file_path": f"{self.project.root}/s{self.number}-{turn}.py"}}
        self.deliver("PostToolUse", turn, owner, tool_use_id=f"t-{turn}", **given)
        self._write("user", asked, turn)
        if answered:
            answer = f"세션 {self.number} gives answer {turn}."
            self.deliver("Stop", turn, owner, last_assistant_message=answer)
            self._write("assistant", answer, turn)

    def _write(self, role: str, text: str, turn: int) -> None:
        item = {"type": role, "promptId": f"p-{turn}", "sessionId": self.name, "timestamp": "2026-11-21T10:00:00Z"}
        with self.transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(item | {"message": {"role": role, "content": text}}, ensure_ascii=False) + "\n")


class Sessions:
    """All sessions of a project, and the entries they must leave."""

    def __init__(self, project: Project, folder: Path, victims: Victims) -> None:
        self.project = project
        self.folder = folder
        self.victims = victims
        self.all: list[Session] = []

    def new(self) -> Session:
        self.all.append(Session(self.project, self.folder))
        return self.all[-1]

    def whole(self, turns: int = 2) -> Session:
        """A session from its start to its end."""
        session = self.new()
        session.deliver("SessionStart", source="startup")
        for turn in range(turns):
            session.turn(turn)
        session.deliver("SessionEnd", reason="other")
        return session

    def drain(self, **how: object) -> Victim:
        return self.victims.run(self.project.root, *DRAIN, **how)

    def settle(self, where: str) -> None:
        """Drain after a kill, once leftovers are old enough; check that all is there once."""
        self.once(where)
        self.project.age()
        done = self.drain()
        assert (done.code, done.out, done.err) == (0, "", ""), (where, done)
        self.complete(where)

    def entries(self, label: str) -> list[str]:
        files = self.project.files()
        logs = (text for path, text in files.items() if path.startswith("daily/"))
        entries = [entry for text in logs for entry in entries_of(text)]
        if label.islower():  # of exchanges: `request`, `answer`
            told = (getattr(split_fields(entry.text), label) for entry in entries if entry.label == "Exchange")
            return [text for text in told if text]
        return [entry.text for entry in entries if entry.label == label]

    def once(self, where: str) -> None:
        """Assert that the tip holds nothing twice, and each turn whole or not at all."""
        for path, text in self.project.files().items():
            counted = collections.Counter(tail_of(entry.id) for entry in entries_of(text))
            assert [digest for digest, count in counted.items() if count > 1] == [], (where, path)
        assert len(self.entries("request")) == len(self.entries("answer")), where

    def complete(self, where: str) -> None:
        asked = sorted(text for session in self.all for text in session.asked)
        assert sorted(self.entries("request")) == asked, where
        facts = [path for path in self.project.files() if path.startswith("facts/decision/")]
        assert len(facts) == len(asked), where
        rolling = [text for path, text in self.project.files().items() if path == "memory.md" or "archive/" in path]
        exchanges = {
            entry.text.split("\n")[0] for text in rolling for entry in entries_of(text) if entry.label == "Exchange"
        }
        assert exchanges == set(asked), where
        ops = self.project.git("log", "--format=%(trailers:key=Gitmem-Op,valueonly,separator=)").split()
        assert ops.count("turn") == len(asked), where
        assert self.waiting() == [], (where, self.failures())
        stored = self.project.git("ls-tree", "-r", "--name-only", OWN).split("\n")
        assert sorted(path.rpartition("-sess-")[2] for path in stored) == sorted(
            f"{session.number}.l1.jsonl" for session in self.all
        ), where
        self.project.check_repository()
        self.project.check_in_step()
        self.project.check_tidy()

    def waiting(self) -> list[str]:
        return sorted(path.name for path in (self.project.private / "spool" / "hooks").glob("*.json"))

    def failures(self) -> str:
        log = self.project.private / "log" / "gitmem.log"
        return log.read_text(encoding="utf-8") if log.exists() else ""


@pytest.fixture
def begin(projects: Callable[..., Project], tmp_path: Path, victims: Victims) -> Callable[..., Sessions]:
    """Give a function that makes a project without sessions."""
    numbers = itertools.count(1)

    def make(settings: str = QUIET) -> Sessions:
        number = next(numbers)
        project = projects(f"project-{number}")
        project.configure(settings)
        folder = tmp_path / f"transcripts 한글 {number}"
        folder.mkdir()
        return Sessions(project, folder, victims)

    return make


@pytest.fixture
def sessions(begin: Callable[..., Sessions]) -> Sessions:
    return begin()


def entries_of(text: str) -> list:
    return [found.entry for found in find_entries(text)]


def sampled(fast: int, group: int, alone: int) -> pytest.MarkDecorator:
    marks = (pytest.mark.slow, pytest.mark.timeout(900))
    return pytest.mark.parametrize(
        "how, every",
        [
            ("alone", fast),
            pytest.param("alone", alone, marks=(*marks, pytest.mark.long)),
            pytest.param("group", group, marks=marks),
        ],
    )


def kill_at_each_step(begin: Callable[[], Sessions], how: str, steps: range, turns: int) -> Sessions:
    """Kill drains of a session at these steps, until one comes to its end; return the sessions of that one.

    Every few kills begin in a new project: in one, each would be slower than the one before it.
    """
    for kill, step in enumerate(steps):
        if kill % KILLS_IN_A_PROJECT == 0:
            sessions = begin()
            sessions.whole(turns)
            assert sessions.drain().code == 0
            sessions.complete("before")
        sessions.whole(turns)
        victim = sessions.drain(at=step, how=how)
        if not victim.killed:
            assert step > 50
            sessions.complete("to its end")
            return sessions
        sessions.settle(f"step {step}: killed when about to {victim.steps[-1]}")
    raise AssertionError("the drain does not come to its end")


@sampled(421, 9, 3)
def test_a_drain_killed_at_each_step(begin: Callable[..., Sessions], how: str, every: int):
    kill_at_each_step(begin, how, range(1, MOST_STEPS, every), 2)


@pytest.mark.slow
@sampled(601, 17, 5)
def test_a_drain_that_rotates(begin: Callable[..., Sessions], how: str, every: int):
    sessions = kill_at_each_step(lambda: begin(ROTATES_SOON), how, range(7, MOST_STEPS * 2, every), 3)
    assert sessions.project.archives()


def test_a_drain_killed_when_all_is_committed(sessions: Sessions):
    """Files are in place, the index is not, and no event is left that would have the next drain commit something."""
    sessions.whole()
    assert sessions.drain().code == 0
    project = sessions.project
    (project.private / "checkout").write_text(project.git("rev-parse", "HEAD~1") + "\n")
    project.git("read-tree", "HEAD~1")
    assert project.git("status", "--porcelain") != ""
    sessions.settle("in the end")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_power_cut_at_any_moment(sessions: Sessions):
    chance = random.Random(7)
    sessions.whole()
    seconds = sessions.drain().seconds
    for cut in range(20):
        sessions.whole()
        victim = sessions.drain(after=seconds * chance.uniform(0, 1.1))
        sessions.settle(f"cut {cut}: {victim}")


def test_a_host_killed_in_the_middle_of_a_turn_is_closed_at_the_next_start(sessions: Sessions):
    """Its process is gone; what it delivered is told to the next session at once, and saved behind it."""
    host = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    killed = sessions.new()
    killed.deliver("SessionStart", owner=host.pid, source="startup")
    killed.turn(0, host.pid)
    killed.turn(1, host.pid, answered=False)
    assert sessions.drain().code == 0
    assert sessions.entries("request") == killed.asked[:1], "it still runs"
    host.kill()
    host.wait()
    following = json.dumps({"hook_event_name": "SessionStart", "session_id": "next", "cwd": str(sessions.project.root)})
    done = sessions.project.gitmem("hook", "claude", stdin=following.encode())
    late = "took longer than" in sessions.failures()  # a busy machine is told a part only
    assert late or killed.asked[1] in done.said["hookSpecificOutput"]["additionalContext"]
    until = time.monotonic() + 60
    while len(sessions.waiting()) > 1 and time.monotonic() < until:
        time.sleep(0.05)
    assert [name.split("-")[0] for name in sessions.waiting()] == ["SessionStart"]
    assert sorted(sessions.entries("request")) == sorted(killed.asked)
    assert "sess" in sessions.project.git("ls-tree", "-r", "--name-only", OWN)
    sessions.project.check_repository()
    sessions.project.check_in_step()
    assert late or sessions.failures() == ""


@pytest.mark.parametrize("rounds", [1, pytest.param(15, marks=(pytest.mark.slow, pytest.mark.timeout(900)))])
def test_drains_of_several_processes_killed_now_and_then(sessions: Sessions, rounds: int):
    """While sessions deliver, three drain at once, and one of them is killed."""
    chance = random.Random(3)
    for number in range(rounds):
        sessions.whole(1)
        drains = [sessions.project.start("-m", "gitmem", *DRAIN) for _ in range(3)]
        sessions.whole(1)
        time.sleep(chance.uniform(0, 0.3))
        os.killpg(drains[number % 3].pid, 9)
        assert [drain.wait(60) for drain in drains if drain is not drains[number % 3]] == [0, 0]
        drains[number % 3].wait(60)
        sessions.once(f"round {number}")
    sessions.settle("in the end")


def test_an_unfinished_merge_keeps_the_events(sessions: Sessions):
    sessions.whole()
    before = sessions.waiting()
    marker = sessions.project.common / "MERGE_HEAD"
    marker.write_text(sessions.project.git("rev-parse", "HEAD") + "\n")
    assert sessions.drain().code == 0
    assert sessions.waiting() == before
    assert sessions.failures() != ""
    marker.unlink()
    sessions.settle("in the end")
