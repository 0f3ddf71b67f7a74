import json
import os
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.background import do_upkeep, do_upkeep_alone, process_spool
from gitmem.document.entry import MemoryType, find_entries
from gitmem.document.ids import MEMORY
from gitmem.errors import GitmemError, NotSavedError
from gitmem.git.lock import alone
from gitmem.health import document_checks as changed
from gitmem.learn import end as session_end
from gitmem.model.exchange import split_fields
from gitmem.record.read import IDLE, context_used, in_context, read_pending
from gitmem.store import transcripts
from gitmem.store.day_log import DayLog
from gitmem.store.findings import FailureLog, failure_of
from gitmem.store.layers import private_store, set_private
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store
from tests.agent import Agent
from tests.own_settings import own_settings
from tests.started import session_start

ALIVE, DEAD = 4711, 4712


class Session(Agent):
    """A session that delivers events and has a transcript."""

    def __init__(self, world, folder: Path, name="sess-1", owner=ALIVE) -> None:
        super().__init__(world, name, owner)
        self.path = folder / f"{name}.jsonl"
        self.path.touch()
        self.transcript = str(self.path)

    def say(self, role: str, text: object, tokens: int = 0, **more: object) -> None:
        message: dict[str, object] = {"role": role, "content": text}
        if tokens:
            message["usage"] = {"input_tokens": tokens}
        at = self.world.clock.now.isoformat()
        item = {"type": role, "uuid": f"u-{os.path.getsize(self.path)}", "sessionId": self.session, "timestamp": at}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(item | {"message": message} | more, ensure_ascii=False) + "\n")

    def turn(self, turn: str, second=0.0, answer="It is done, all of it.", tokens=0) -> None:
        self.deliver("UserPromptSubmit", turn, second, prompt=f"question {turn} of the day")
        self.say("user", f"question {turn} of the day", promptId=turn)
        self.deliver("Stop", turn, second + 1, last_assistant_message=answer)
        self.say("assistant", answer, tokens)


@pytest.fixture
def session(world, tmp_path) -> Session:
    return Session(world, tmp_path)


def drain(world):
    world.store = Store(world.store.root, world.store.context)
    return process_spool(world.store, lambda process: process != DEAD)


def waiting(world) -> list[str]:
    return sorted(name.split("-")[0] for name in HookSpool(world.store.private).names())


def told(world, label: str = "") -> list[str]:
    """The requests that the daily logs tell of; with a label, the texts of the entries that have it."""
    found = []
    for path in sorted(Path(world.store.root).glob("daily/*/*/*.md")):
        entries = [one.entry for one in find_entries(path.read_text(encoding="utf-8"))]
        if label:
            found += [entry.text for entry in entries if entry.label == label]
        else:
            found += [split_fields(entry.text).request for entry in entries if entry.label == "Exchange"]
    return [text for text in found if text]


def ops(world, bare_git) -> list[str]:
    root = Path(world.store.root)
    assert bare_git(root, "status", "--porcelain") == ""
    return bare_git(root, "log", "--format=%(trailers:key=Gitmem-Op,valueonly,separator=)", "--reverse").split()[1:]


# Whether a session is over


def test_a_session_goes_on_while_its_host_runs(world, session):
    session.deliver("SessionStart")
    session.deliver("UserPromptSubmit", "t-1", 1, prompt="a question")
    (found,) = read_pending(world.store, lambda _: True).sessions
    assert (found.name, found.over, found.transcript) == ("sess-1", False, str(session.path))
    assert read_pending(world.store, lambda _: False).over() == {"sess-1"}
    world.clock.now += IDLE + timedelta(seconds=2)
    assert read_pending(world.store, lambda _: True).over() == {"sess-1"}


@pytest.mark.parametrize(
    "delivered, over",
    [
        ([(ALIVE, "SessionStart"), (ALIVE, "SessionEnd")], True),
        ([(ALIVE, "SessionStart"), (ALIVE, "SessionEnd"), (ALIVE, "SessionStart")], False),
        ([(DEAD, "SessionStart"), (ALIVE, "UserPromptSubmit")], False),  # the last process to deliver counts
    ],
)
def test_a_session_is_over_after_its_end_unless_it_began_again(world, session, delivered, over):
    for second, (session.owner, event) in enumerate(delivered):
        session.deliver(event, second=second, prompt="x", source="resume")
    assert bool(read_pending(world.store, lambda process: process != DEAD).over()) is over


# The end


def test_a_turn_makes_at_most_three_commits(world, session, bare_git):
    """Of a request that states a rule, a command that fails and is fixed, and an answer that decides something."""
    before = int(bare_git(world.store.root, "rev-list", "--count", "HEAD"))
    failed = {"tool_name": "Bash", "tool_use_id": "1", "tool_input": {"command": "pytest"}}
    session.deliver("UserPromptSubmit", "p-1", 0, prompt="From now on, never deploy on Fridays. Repair the loader.")
    session.deliver("PostToolUseFailure", "p-1", 1, **failed, error="Exit code 1\nKeyError: 'port'")
    edit = {"tool_name": "Edit", "tool_use_id": "2", "tool_input": {"file_path": "/p/loader.py"}}
    session.deliver("PostToolUse", "p-1", 2, **edit, tool_response="ok")
    session.deliver("PostToolUse", "p-1", 3, **{**failed, "tool_use_id": "3"}, tool_response="1 passed")
    said = "The loader is repaired. We decided to use argon2id, not bcrypt. Known issue: the index breaks on NFS."
    session.deliver("Stop", "p-1", 4, last_assistant_message=said)
    drain(world)
    for text in ("never deploy on Fridays", "argon2id", "KeyError"):
        assert text in bare_git(world.store.root, "grep", "-h", "-e", text, "HEAD", "--", "*.md")
    assert before < int(bare_git(world.store.root, "rev-list", "--count", "HEAD")) <= before + 3


def test_a_session_that_ends_leaves_its_transcript(world, session, bare_git):
    session.deliver("SessionStart")
    session.turn("t-1", 1)
    drain(world)
    assert waiting(world) == ["SessionStart"]
    assert transcripts.sessions(world.store) == []
    session.deliver("SessionEnd", second=5, reason="other")
    drain(world)
    assert waiting(world) == []
    said = [json.loads(line) for line in transcripts.read(world.store, "sess-1") or ()]
    assert [(line["role"], line["text"]) for line in said] == [
        ("user", "question t-1 of the day"),
        ("assistant", "It is done, all of it."),
    ]
    assert ops(world, bare_git) == ["init", "turn"]
    branches = bare_git(Path(world.store.root), "for-each-ref", "--format=%(refname:short)", "refs/heads").split()
    assert branches == ["gitmem"]


def test_a_session_without_a_transcript_ends_too(world, session):
    for path in ("/no/such/file", "", "/dev/null", str(session.path.parent), "a\0b"):
        payload = {"hook_event_name": "SessionEnd", "session_id": f"s{len(path)}", "transcript_path": path}
        HookSpool(world.store.private).accept("SessionEnd", ALIVE, json.dumps(payload).encode())
    drain(world)
    assert waiting(world) == []
    assert transcripts.sessions(world.store) == []
    assert FailureLog(world.store.private).failures() == []


@pytest.mark.parametrize(
    "error, message",
    [(NotSavedError("The disk is full.", "Make room."), "The disk is full."), (KeyError("odd"), "KeyError: 'odd'")],
)
def test_what_fails_is_logged_kept_and_hinders_nothing_else(world, session, monkeypatch, error, message):
    other = Session(world, session.path.parent, "sess-2")
    for one, turn in ((session, "t-1"), (other, "t-2")):
        one.turn(turn)
        one.deliver("SessionEnd", second=5)
    real = session_end.keep_transcript

    def fails(store, name, path):
        if name == "sess-1":
            raise error
        return real(store, name, path)

    with monkeypatch.context() as patch:
        patch.setattr(session_end, "keep_transcript", fails)
        drain(world)
    assert waiting(world) == ["SessionEnd"]
    (failure,) = FailureLog(world.store.private).failures()
    assert (failure.command, failure.message) == ("hook: session end", message)
    assert ("Traceback" in failure.traceback) is not isinstance(error, GitmemError | OSError)
    assert [one.session for one in transcripts.sessions(world.store)] == ["sess-2"]
    assert len(told(world)) == 2
    drain(world)
    assert waiting(world) == []
    assert len(transcripts.sessions(world.store)) == 2


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file here that fails when it is read")
@pytest.mark.parametrize("kind", ["SessionEnd", "PreCompact"])
def test_a_transcript_that_cannot_be_read_is_tried_three_times(world, session, kind):
    session.turn("t-1")
    session.path.unlink()
    session.path.symlink_to("/proc/self/mem")
    session.deliver(kind, second=5)
    for number in (1, 2):
        drain(world)
        assert waiting(world) == [kind]
        assert len(FailureLog(world.store.private).failures()) == number
    drain(world)
    assert waiting(world) == []
    failures = FailureLog(world.store.private).failures()
    assert "It is not tried again. 'gitmem replay" in failures[-1].message
    drain(world)
    assert len(FailureLog(world.store.private).failures()) == len(failures)
    assert told(world) == ["question t-1 of the day"]
    assert not any(Path(world.store.private, "unread").iterdir())


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file here that fails when it is read")
def test_the_end_of_a_transcript_that_cannot_be_read_says_nothing():
    assert context_used("/proc/self/mem") == 0
    assert not in_context("/proc/self/mem", "marker")


def turn_commits(world) -> list[str]:
    """The subjects of the commits that wrote the daily log."""
    return world.git("log", "--format=%s", "--", "daily").splitlines()


def test_a_turn_is_one_commit_with_what_the_agent_said_between_its_calls(world, session):
    call = {"type": "tool_use", "id": "call-1", "name": "Bash", "input": {"command": "make test"}}
    session.prompt("Run the tests of the reader")
    session.say("user", "Run the tests of the reader", promptId="t-1")
    session.say("assistant", [{"type": "text", "text": "I run them all."}, call])
    session.tool("call-1", command="make test")
    session.say("user", [{"type": "tool_result", "tool_use_id": "call-1", "content": "ok"}], promptId="t-1")
    session.say("assistant", "The reader's tests pass.")
    session.stop("The reader's tests pass.")
    drain(world)
    session.deliver("SessionEnd", second=5)
    drain(world)
    assert turn_commits(world) == ["Exchange: Run the tests of the reader"]
    assert "**Said:** I run them all." in "".join(told(world, "Exchange"))


def test_what_a_transcript_tells_after_its_turn_was_committed_completes_it(world, session):
    session.prompt("Run the tests of the reader")
    session.stop("The reader's tests pass.")
    drain(world)
    session.say("user", "Run the tests of the reader", promptId="t-1")
    session.say("assistant", "I run them all.")
    session.say("assistant", "The reader's tests pass.")
    session.deliver("SessionEnd", second=5)
    drain(world)
    assert turn_commits(world) == [f"{word}: Run the tests of the reader" for word in ("Complete", "Exchange")]
    assert "**Said:** I run them all." in "".join(told(world, "Exchange"))


def test_what_was_saved_before_a_compaction_is_told_after_it(world, session):
    world.save("Use uv, not pnpm", MemoryType.DECISION)
    session.turn("t-1", answer="The parser reads CRLF files now.")
    session.say("user", "Split the reader from the parser", promptId="t-2")
    session.say("assistant", "The reader is in read.py, the transcript alone says so.")
    session.deliver("PreCompact", second=5)
    drain(world)
    text = session_start(world.store, (), None, ())
    assert "Use uv, not pnpm" in text
    assert "The parser reads CRLF files now." in text
    assert "Split the reader from the parser → The reader is in read.py" in text


# Lessons

DECIDED = "We decided to use uv instead of pnpm for builds."
LEARNED = "It turned out that the cache key did not hold the platform."


def test_it_can_be_switched_off(world, session):
    own_settings(world.store.context, "save:\n  context_percent: 0\n")
    session.say("assistant", LEARNED)
    session.turn("t-1", 1, tokens=190_000)
    drain(world)
    assert told(world, "Learning") == []


def test_upkeep_looks_at_the_documents_that_status_did_not(world):
    assert changed.check_changed(world.store, (), most=1).left > 0
    do_upkeep(world.store, lambda: False)
    assert changed.check_changed(world.store, (), most=0).left == 0


def test_a_store_that_was_deleted_does_not_come_back(world):
    shutil.rmtree(world.root)
    do_upkeep(world.store, lambda: False)
    assert not FailureLog(world.store.private).record(failure_of(world.clock.now, "judge", "No answer."))
    with pytest.raises(FileNotFoundError):
        DayLog(os.path.join(world.store.private, "models"), days=1, most=1_000).add(world.clock.now, {})
    assert not world.root.exists()


def test_upkeep_reads_whose_each_memory_is_so_that_a_prompt_need_not(world):
    do_upkeep(world.store, lambda: False)
    known = Path(world.store.private, "known", "origins").read_text(encoding="utf-8")
    assert known.split("\n")[1] == world.store.tip


def test_a_private_session_that_answers_while_a_drain_goes_on_is_not_committed(world, session, tmp_path):
    set_private(world.store, "sess-2", on=True)
    private = Session(world, tmp_path, "sess-2")
    session.turn("t-1")

    def alive(_: int) -> bool:
        """Deliver a private turn once the drain has read the spool for the first time."""
        if not os.path.getsize(private.path):
            private.turn("t-secret")
        return True

    process_spool(world.store, alive)
    process_spool(world.store, alive)
    assert "question t-1 " in world.text(MEMORY)
    assert "t-secret" not in world.text(MEMORY)
    assert b"question t-secret " in (private_store(world.store).read(MEMORY) or b"")


def test_one_process_does_the_upkeep_and_once_more_what_others_left_to_it(world, monkeypatch):
    done, private = [], Path(world.store.private)
    monkeypatch.setattr("gitmem.background.do_upkeep", lambda *_: done.append("upkeep"))
    with alone(str(private / "upkeep")) as free:
        assert free
        do_upkeep_alone(world.store, lambda: False)
        do_upkeep_alone(world.store, lambda: False)
    assert done == []
    do_upkeep_alone(world.store, lambda: False)
    assert done == ["upkeep"] * 2
    do_upkeep_alone(world.store, lambda: False)
    assert done == ["upkeep"] * 3
