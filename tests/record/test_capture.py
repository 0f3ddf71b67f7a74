import collections
import os
import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from gitmem.background import process_spool
from gitmem.document.entry import find_entries
from gitmem.document.ids import tail_of
from gitmem.learn.facts import keep_turn
from gitmem.model.exchange import split_fields
from gitmem.record.capture import capture
from gitmem.record.read import read_pending
from gitmem.store.findings import FailureLog
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store
from tests.agent import Agent
from tests.own_settings import own_settings
from tests.world import World

TODAY = "daily/2026/11/2026-11-21.md"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
LONG_ANSWER = "The parser reads files with CRLF now, and its tests pass. " * 5


class Memory(World):
    """The store, and what it holds; `alive` are the hosts that run."""

    alive: tuple[int, ...] = (4711,)

    def drain(self):
        """What a detached drain does, each in a process of its own."""
        done = process_spool(self.reopen(), self.alive.__contains__)
        failures = FailureLog(self.store.private).failures()
        assert [failure for failure in failures if failure.command != "transcript"] == []
        assert self.git("status", "--porcelain") == ""
        return done

    def subjects(self) -> list[str]:
        return super().subjects("gitmem")[-3::-1]

    def waiting(self) -> list[str]:
        return HookSpool(self.store.private).names()

    def entries(self, path="memory.md"):
        return [found.entry for found in find_entries(self.text(path))]

    def texts(self, label: str, path="memory.md") -> list[str]:
        return [entry.text for entry in self.entries(path) if entry.label == label]

    def told(self, part: str) -> list[str]:
        """What today's log tells of its exchanges: their requests, their answers, or all errors or files."""
        values = [getattr(split_fields(text), part) for text in self.texts("Exchange", TODAY)]
        flat = [one for value in values for one in (value if isinstance(value, tuple) else [value])]
        return [one for one in flat if one]

    def everywhere(self) -> str:
        """Every byte of the store: files, the private folder, and what git keeps."""
        files = [path.read_bytes() for path in self.root.rglob("*") if path.is_file() and path.suffix != ".pack"]
        objects = self.git("cat-file", "--batch-all-objects", "--batch-check").splitlines()
        contents = [self.git("cat-file", "-p", line.split()[0]) for line in objects if "tree" not in line]
        return b"\n".join(files).decode("utf-8", "replace") + "\n".join(contents)

    def once(self) -> None:
        """Assert that nothing is there twice."""
        for path in self.root.glob("daily/*/*/*.md"):
            digests = [tail_of(found.entry.id) for found in find_entries(path.read_text(encoding="utf-8"))]
            assert [digest for digest, count in collections.Counter(digests).items() if count > 1] == []
        digests = [tail_of(entry.id) for entry in self.entries()]
        assert len(set(digests)) == len(digests)
        assert len(self.texts("State")) <= 1


@pytest.fixture
def host(world) -> Agent:
    return Agent(world)


@pytest.fixture
def memory(world) -> Memory:
    return Memory(world.root, world.context)


def test_a_turn_is_one_commit_of_the_log_and_of_memory(host, memory, world):
    host.deliver("SessionStart", source="startup")
    host.prompt("CRLF 파서를 추가해줘")
    host.fail("make test", "error: it broke", second=0.5)
    host.edit("한글 파일.py")
    host.tool("ok", second=1.5, command="make test -v")
    host.stop("파서를 추가했습니다. 빌드는 pnpm 대신 uv를 사용하기로 결정했습니다.")
    memory.drain()
    assert memory.subjects() == ["Exchange: CRLF 파서를 추가해줘"]
    (text,) = memory.texts("Exchange")
    assert text.split("\n")[0] == "CRLF 파서를 추가해줘"
    assert "파일: 한글 파일.py" in text
    assert "change `한글 파일.py`" in text
    assert memory.told("request") == ["CRLF 파서를 추가해줘"]
    assert memory.texts("Decision") == memory.texts("Decision", TODAY) == []
    trailers = memory.git("log", "-1", "--format=%(trailers)")
    assert "Gitmem-Op: turn" in trailers
    assert "Gitmem-Session: sess-1" in trailers
    assert "Gitmem-Host: claude-code" in trailers
    assert len([line for line in trailers.splitlines() if line.startswith("Gitmem-Entry")]) == 1
    assert [name.split("-")[0] for name in memory.waiting()] == ["SessionStart"]
    assert memory.git("log", "-1", "--format=%ad", "--date=format:%M:%S") == "03:24"


def test_many_turns_are_captured_in_more_than_one_pass(host, memory, monkeypatch):
    monkeypatch.setattr("gitmem.record.capture.BATCH_BYTES", 1_000)
    for number in range(8):
        host.turn(f"ask number {number}", f"t-{number}", 10 * number)
    memory.drain()
    assert len(memory.subjects()) == 8
    assert memory.waiting() == []


def test_what_was_put_aside_is_told_though_a_later_pass_fails(world, host, monkeypatch):
    monkeypatch.setattr("gitmem.record.capture.BATCH_BYTES", 1)
    for number in range(2):
        host.turn(f"ask number {number}", f"t-{number}", 10 * number)
    HookSpool(world.store.private).accept("Stop", 4711, b"{}")
    looks = [read_pending(world.store)]
    notices: list[str] = []
    with pytest.raises(IndexError):  # in place of any failure
        capture(world.store, looks.pop, notices, keep_turn)
    (notice,) = notices
    assert "kept aside" in notice


def test_boot_files_are_not_remembered(host, memory):
    line = "Always run the whole test suite with uv run pytest before you commit."
    Path(host.cwd, "CLAUDE.md").write_bytes(f"\ufeff# Rules\r\n\r\n- {line}\r\n".encode())
    Path(host.cwd, "AGENTS.md").mkdir()
    host.prompt(line)
    host.stop(f"{line}")
    memory.drain()
    assert memory.subjects() == []


# Exactly once


def payloads(host: Agent, number: int) -> list:
    """The deliveries of a turn with all it can hold, to be made in any order."""
    turn, at = f"t-{number}", 100 * number
    decision = f"We decided to use tool number {number} instead of pnpm for builds."
    return [
        lambda: host.prompt(f"한글 question {number}", turn, at),
        lambda: host.fail(f"make test{number}", f"error: broken {number}", turn, at + 1),
        lambda: host.edit(f"file{number}.py", turn, at + 2),
        lambda: host.tool(f"ok {number}", turn, at + 3, command=f"make test{number} -v"),
        lambda: host.stop(f"Answer {number} is told here. {decision}", turn, at + 4),
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.few(1)
def test_what_two_hosts_deliver_in_any_order_is_there_once(world, memory, seed):
    """Two hosts that read one project's hooks; drains come in between, and all comes once more in the end."""
    chance = random.Random(seed)
    deliveries = []
    for number in range(3):
        for owner in (4711, 4712):
            deliveries += payloads(Agent(world, owner=owner), number)
    memory.alive = {4711, 4712}
    chance.shuffle(deliveries)
    for deliver in deliveries:
        deliver()
    memory.drain()
    first = memory.text("memory.md"), memory.text(TODAY)
    chance.shuffle(deliveries)
    for index, deliver in enumerate(deliveries):
        deliver()
        if index % 5 == 0:
            memory.drain()
    memory.drain()
    memory.once()
    assert (memory.text("memory.md"), memory.text(TODAY)) == first
    assert len(memory.subjects()) == 3
    memory.alive = set()
    memory.drain()
    memory.once()
    assert memory.waiting() == []
    assert memory.text(TODAY) == first[1]
    assert memory.told("request") == [f"한글 question {number}" for number in range(3)]
    assert [text.split(":")[0] for text in memory.told("errors")] == [f"`make test{n}`" for n in range(3)]


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("seconds", [11, -2 * 86_400, -9 * 86_400, -400 * 86_400])
def test_a_second_delivery_on_another_day_adds_nothing(world, host, memory, seconds):
    """Right after midnight; or as a transcript tells it that was written where the clock was wrong, in a container."""
    world.clock.now = datetime(2026, 11, 21, 23, 59, 50).astimezone()
    host.turn("a question before midnight", "t-1")
    memory.drain()
    tip = world.store.tip
    host.turn("a question before midnight", "t-1", seconds)
    memory.drain()
    assert seconds < 0 or world.store.tip == tip, "with an old event the session counts as over"
    assert memory.told("request") == ["a question before midnight"]
    assert [str(path.relative_to(memory.root)) for path in memory.root.glob("daily/*/*/*.md")] == [TODAY]
    assert memory.waiting() == []


def test_hosts_without_ids_of_turns_deliver_twice_too(world, memory):
    first, second = Agent(world), Agent(world, owner=4712)
    memory.alive = {4711, 4712}
    for number in range(3):
        for host in (first, second):
            host.turn(
                f"question number {number}", "", 20 * number + host.owner / 100_000, f"Answer number {number} is told."
            )
            if number == 1:
                memory.drain()
    memory.drain()
    tip = world.store.tip
    for number in range(3):
        first.turn(f"question number {number}", "", 100 + 20 * number, f"Answer number {number} is told.")
    memory.drain()
    assert memory.told("request") == [f"question number {number}" for number in range(3)]
    assert memory.told("answer") == [f"Answer number {number} is told." for number in range(3)]
    assert len(memory.subjects()) == 4, "a second delivery names a file that the first did not"
    assert world.store.tip == tip
    memory.once()


# A turn that goes on after it was saved


def test_what_comes_after_a_turn_was_saved_takes_nothing_away(host, memory):
    """A subagent in the background goes on after the answer, under the same id (Claude Code's default)."""
    host.prompt("Add a parser for CRLF")
    host.edit("a.py")
    host.stop("The parser is there, a subagent still writes its tests.", background_tasks=[{"status": "running"}])
    memory.drain()
    host.edit("tests/b.py", second=30, agent_id="a1")
    host.prompt("And now the docs, please", "t-2", 60)
    host.stop("The docs are there.", "t-2", 61)
    memory.drain()
    memory.alive = set()
    memory.drain()
    first, second = memory.texts("Exchange")
    assert first.startswith("Add a parser for CRLF → The parser is there, a subagent still writes its tests.\n")
    assert "a.py" in first
    assert "tests/b.py" in first
    assert second.startswith("And now the docs")
    assert "tests/b.py" in memory.text(TODAY)
    memory.once()


def test_an_answer_that_another_hook_sent_back_is_followed_by_a_second(host, memory):
    """A Stop hook of another tool blocks: the turn goes on and ends a second time."""
    host.prompt("Add a parser for CRLF")
    host.edit("a.py")
    host.stop("The parser is there, without tests.")
    memory.drain()
    host.edit("tests/b.py", second=30)
    host.stop("Now the tests are there as well.", second=40, stop_hook_active=True)
    memory.drain()
    (text,) = memory.texts("Exchange")
    assert text.startswith("Add a parser for CRLF\nDone: ")
    assert "Now the tests are there as well." in text
    assert "a.py" in text
    assert "tests/b.py" in text
    assert memory.told("answer") == ["The parser is there, without tests.\n\nNow the tests are there as well."]
    tip = memory.store.tip
    host.stop("Now the tests are there as well.", second=40)
    memory.drain()
    assert memory.store.tip == tip
    memory.once()


# Long turns


def test_a_long_turn_is_saved_now_and_then_in_place(world, host, memory):
    host.prompt("refactor all of it")
    for number in range(5):
        host.edit(f"f{number}.py", second=number)
    memory.drain()
    assert memory.subjects() == [], "a turn that is over soon is one commit"
    world.clock.now += timedelta(seconds=90)
    memory.drain()
    assert memory.subjects() == ["Exchange: refactor all of it"]
    (before,) = [entry for entry in memory.entries() if entry.label == "Exchange"]
    host.edit("f9.py", second=0)
    memory.drain()
    host.edit("f10.py", second=1)
    world.clock.now += timedelta(seconds=30)
    memory.drain()
    assert len(memory.subjects()) == 2, "at most once a minute"
    world.clock.now += timedelta(seconds=90)
    memory.drain()
    assert len(memory.subjects()) == 3
    memory.drain()
    assert len(memory.subjects()) == 3, "nothing new"
    host.stop("All of it is another shape now.", second=30)
    memory.drain()
    (after,) = [entry for entry in memory.entries() if entry.label == "Exchange"]
    assert after.id == before.id
    assert "f9.py" in after.text
    assert "another shape" in after.text
    assert memory.told("request") == ["refactor all of it"]
    assert memory.waiting() == []
    begun = ["Exchange", "Continue", "Continue", "Complete"]
    assert memory.subjects() == [f"{word}: refactor all of it" for word in begun]
    memory.once()


# The agent writes


def test_the_agent_is_asked_to_write_memory(world, host, memory):
    own_settings(world.store.context, "save:\n  mode: ask\n")
    before = world.text("memory.md")
    host.prompt("Add a parser")
    host.edit("a.py")
    host.stop("The parser is there.")
    memory.drain()
    assert world.text("memory.md") == before
    assert memory.told("request") == ["Add a parser"]
    assert memory.told("answer") == ["The parser is there."]
    host.turn("Decision: builds run on uv instead of pnpm.", "t-2", 10)
    memory.drain()
    assert {entry.label for entry in memory.entries()} == {"Decision"}
    assert memory.waiting() == []


# Rotation


def test_a_full_memory_is_rotated_before_a_turn_is_saved(world, host, memory):
    own_settings(world.store.context, "rotation:\n  threshold_tokens: 300\n  carryover_tokens: 60\n")
    for number in range(12):
        host.turn(f"question number {number} of a long day", f"t-{number}", 10 * number, LONG_ANSWER)
        archives = set((memory.root / "archive").glob("*.md"))
        memory.drain()
        new = set((memory.root / "archive").glob("*.md")) - archives
        assert f"question number {number} " in world.text("memory.md"), "what is saved lands in the new file"
        for path in new:
            assert f"question number {number} " not in path.read_text(encoding="utf-8")
        world.clock.now += timedelta(seconds=1)
    subjects = memory.subjects()
    rotations = [index for index, subject in enumerate(subjects) if subject.startswith("Rotate")]
    assert len(rotations) >= 2
    for index in rotations:
        assert (
            next(subject for subject in subjects[index + 1 :] if not subject.startswith("Summarize"))[:8] == "Exchange"
        )
    assert len([subject for subject in subjects if subject.startswith("Exchange")]) == 12
    assert len(memory.told("request")) == 12


# Privacy


def test_secrets_and_private_text_reach_nothing(world, host, memory):
    host.prompt(f"Use {TOKEN} <private>PRIVATE-A</private> for the build")
    host.fail(
        f"curl -H 'Authorization: Bearer {TOKEN}' x <private>PRIVATE-B</private>", f"error: {TOKEN} PRIVATE<private>-C"
    )
    host.tool("t", second=1.5, command=f"curl {TOKEN}")
    host.edit(f"{TOKEN}.py")
    host.stop(f"Done with {TOKEN}. <private>PRIVATE-D\n\nWe decided to use PRIVATE-E instead of pnpm.</private>")
    memory.drain()
    assert memory.waiting() == []
    found = memory.everywhere()
    assert TOKEN not in found
    assert "PRIVATE-" not in found
    assert "[REDACTED:" in world.text("memory.md")


def test_a_secret_at_the_edge_of_what_is_kept_leaves_no_half(world, host, memory):
    for cut in (5, 12, 20):
        filler = "x " * 40
        host.fail(
            f"{'a ' * (60 - cut // 2)}{TOKEN}", f"error: {filler * 3}"[: 199 - cut] + f" {TOKEN}", second=cut / 10
        )
        host.prompt("y " * (750 - cut) + TOKEN + " and so on " * 50, f"p-{cut}", cut)
        host.stop("z" * (400 - cut) + f" {TOKEN} more.", f"p-{cut}", cut + 1)
    memory.alive = set()
    memory.drain()
    found = memory.everywhere()
    assert TOKEN[:14] not in found


# Others


def test_what_means_nothing_is_taken_away_and_what_is_no_payload_is_kept_aside(world, host, memory):
    spool = HookSpool(world.store.private)
    host.deliver("PreToolUse", "t-1")
    host.deliver("SubagentStop", "t-1")
    host.deliver("PostCompact", compact_summary="x")
    for data in (b"{}", b'{"hook_event_name": "Stop"}', b'{"contents": [{"role": "user"}]}', b'{"session_id": "s"}'):
        spool.accept("Stop", 4711, data)
    host.turn("a question", "t-1")
    done = memory.drain()
    assert memory.subjects()[0] == "Exchange: a question"
    assert memory.waiting() == []
    assert len(spool.aside()) == 4
    assert len(done) == 4


@pytest.mark.parametrize(
    "session",
    [
        *("../../x", "/etc/passwd", ".git", "a/b\\c", "x" * 5_000, "\ud800\udfff", "a\0b", "한글 세션", "-n"),
        "s\nGitmem-Op: x",
    ],
)
@pytest.mark.few(3)
def test_a_session_of_any_name(world, memory, session, tmp_path):
    before = sorted(path.name for path in tmp_path.iterdir())
    host = Agent(world, session)
    host.transcript = "/no/such\0file"
    host.deliver("SessionStart")
    host.turn("a question", "../../../t")
    host.deliver("SessionEnd", second=9)
    memory.drain()
    assert memory.subjects()[0] == "Exchange: a question"
    assert memory.waiting() == []
    ops = memory.git("log", "--reverse", "--format=%(trailers:key=Gitmem-Op,valueonly,separator=)").split()
    assert ops[2] == "turn"
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.skipif(os.name == "nt", reason="links need a right of their own there")
def test_a_turn_that_cannot_be_saved_now_holds_up_no_other(host, memory, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    host.turn("Mend the parser for yesterday", "t-1", -86_400)
    host.turn("Mend the parser for today", "t-2", 0)
    folder = memory.root / "daily" / "2026" / "11"
    folder.mkdir(parents=True)
    (folder / "2026-11-20.md").symlink_to(elsewhere / "x")
    store = Store(memory.store.root, memory.store.context)
    done = process_spool(store, memory.alive.__contains__)
    assert any("not saved yet" in notice and "2026-11-20.md" in notice for notice in done)
    assert not (elsewhere / "x").exists()
    (folder / "2026-11-20.md").unlink()
    memory.drain()
    assert sorted(memory.subjects()) == [
        "Exchange: Mend the parser for today",
        "Exchange: Mend the parser for yesterday",
    ]
    assert memory.waiting() == []


# What a user states
