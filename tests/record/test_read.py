"""What the spool of the hooks holds, and what of it only a transcript knows."""

from datetime import UTC, datetime

from gitmem.background import process_spool
from gitmem.record.read import Pending, read_pending, with_last_answers
from gitmem.store.spool import HookSpool
from tests.agent import Recorder
from tests.started import session_start


def killed(recorder: Recorder, world, *, after_answer: bool) -> None:
    """Deliver a session that was killed in its last turn, before its Stop hook ran."""
    at = recorder.record("user", "Why does the index break?", promptId="p-9")
    recorder.deliver("UserPromptSubmit", at, "p-9", prompt="Why does the index break?")
    if after_answer:
        recorder.record("assistant", [{"type": "text", "text": "Its lock is stale on NFS."}])
    else:
        recorder.record("assistant", [{"type": "text", "text": "Its lock is stale on NFS."}])
        recorder.record("assistant", [{"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "ls"}}])
    recorder.write()
    recorder.payloads = recorder.payloads[-1:]
    recorder.live(world.store)


def test_a_killed_session_s_last_answer_is_told_at_the_next_start(recorder, world) -> None:
    killed(recorder, world, after_answer=True)
    pending = read_pending(world.store, lambda _: False)
    (turn,) = with_last_answers(pending)
    assert (pending.turns[0].answer, turn.answer) == ("", "Its lock is stale on NFS.")
    text = session_start(world.store, (turn,), None, ())
    assert "Done: Its lock is stale on NFS." in text


def test_a_session_killed_in_a_tool_call_is_told_with_its_last_words_and_saved_as_interrupted(recorder, world) -> None:
    killed(recorder, world, after_answer=False)
    (turn,) = with_last_answers(read_pending(world.store, lambda _: False))
    assert (turn.answer, turn.interrupted) == ("Its lock is stale on NFS.", True)
    assert "Its lock is stale on NFS." in session_start(world.store, (turn,), None, ())
    process_spool(world.store, lambda _: False)
    assert "Its lock is stale on NFS." in session_start(world.store, (), None, ())
    assert "**Outcome:** interrupted" in world.text("daily/2026/10/2026-10-03.md")


def test_an_answer_of_the_turn_before_is_not_that_of_a_killed_one(recorder, world) -> None:
    recorder.record("user", "How many?", promptId="p-8")
    at = recorder.record("assistant", [{"type": "text", "text": "Three."}])
    recorder.write()
    recorder.payloads = []
    recorder.deliver("UserPromptSubmit", at + 1, "p-9", prompt="Why does the index break?")
    recorder.live(world.store)
    (turn,) = with_last_answers(read_pending(world.store, lambda _: False))
    assert turn.answer == ""


def test_a_session_that_still_runs_is_not_read(recorder, world) -> None:
    killed(recorder, world, after_answer=True)
    world.clock.now = recorder_end(recorder)
    (turn,) = with_last_answers(read_pending(world.store, lambda _: True))
    assert turn.answer == ""


def recorder_end(recorder: Recorder) -> datetime:
    return datetime.fromtimestamp(recorder.payloads[-1][0], UTC)


def test_what_another_process_drains_meanwhile_is_read_as_gone(recorder, world, monkeypatch) -> None:
    class Drained(HookSpool):
        """A spool whose payloads are removed once they are read for the first time."""

        looks = 0

        def names(self) -> list[str]:
            self.looks += 1
            if self.looks == 2:
                self.remove(super().names())
            return super().names()

    killed(recorder, world, after_answer=True)
    spool = Drained(world.store.private)
    spool.accept("SubagentStop", 0, b'{"hook_event_name": "SubagentStop", "session_id": "s-rec"}')
    spool.accept("Stop", 0, b"{}")
    monkeypatch.setattr("gitmem.record.read.HookSpool", lambda _: spool)
    pending = read_pending(world.store, lambda _: False)
    assert pending == Pending((), (), (), (), ())
