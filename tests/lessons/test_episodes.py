"""A finished session's tasks become episodes, each a view of its exchanges (spec M2)."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.facts.fact import FactStatus, parse_fact, render_fact
from gitmem.history.undo import undo
from gitmem.lessons.episode import last_episode, read_episode
from gitmem.lessons.episodes import save_episodes
from gitmem.lessons.known_errors import known_patterns
from gitmem.search.engine import answer
from gitmem.sessions.background import process_spool
from gitmem.sessions.end import read_records, replay
from gitmem.sessions.exchanges import turns_of
from gitmem.sessions.memory import TOKENS as BRIEF
from gitmem.sessions.memory import brief_episode, change_working, running
from gitmem.sessions.turns import TaskType
from gitmem.sessions.working import note
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.text.stems import estimate_tokens
from tests.desk import BEGAN, Recorder


def paths_of(desk) -> list[str]:
    root = Path(desk.store.root)
    return sorted(path.relative_to(root).as_posix() for path in root.glob("episodes/*/*/*.md"))


def test_each_task_of_a_session_becomes_an_episode_in_one_commit(desk, recorder, bare_git):
    recorder.turn(4, "Rename the reader everywhere", "It is called source now.", mend="uv sync")
    replay(desk.store, recorder.write())
    paths = paths_of(desk)
    assert len(paths) == 2
    assert all(path.startswith("episodes/2026/10/e") for path in paths)
    first = next(one for path in paths if (one := read_episode(desk.store, path)).task.startswith("CRLF"))
    assert first.type is TaskType.FEATURE
    assert first.outcome is None  # nothing shows one
    assert first.session == "s-rec"
    assert first.files == ("f1.py", "f2.py", "f3.py")
    assert len(first.exchanges) == 3  # "And write its docs" goes on with it
    assert dict(first.tools)["Bash"] >= 2
    assert [error.message for error in first.errors] == ["it broke"]
    assert first.gotchas == ()
    assert not any("mended it" in tip for tip in first.tips)  # which lines were changed is not told
    second = next(one for path in paths if (one := read_episode(desk.store, path)).id != first.id)
    assert second.tips == ("it broke: `uv sync` mended it",)
    [pattern] = known_patterns(desk.store)
    assert pattern.episodes == (second.id,)
    sessions = desk.text(next(Path(desk.store.root).glob("sessions/*/*/*.md")).relative_to(desk.store.root).as_posix())
    assert all(f"^{identifier}" in sessions for identifier in first.exchanges)
    root = Path(desk.store.root)
    assert bare_git(root, "status", "--porcelain") == ""
    ops = bare_git(root, "log", "--format=%(trailers:key=Gitmem-Op,valueonly,separator=)").split()
    assert ops.count("episode") == 1


def test_a_sessions_file_links_what_it_taught_and_a_search_does_not_find_the_links(desk, recorder):
    recorder.turn(4, "From now on we use uv instead of pnpm for builds.", "Noted.", mend="uv sync")
    replay(desk.store, recorder.write())
    file = next(Path(desk.store.root).glob("sessions/*/*/*.md"))
    links = re.findall(r"(?m)^- [a-z-]+: \[[^]]+\]\((.+)\)$", file.read_text("utf-8").partition("\n## Links\n")[2])
    facts = {one.path for one in known_facts(desk.store) if one.session == "s-rec"}
    assert facts
    made = (*paths_of(desk), *facts, known_patterns(desk.store)[0].path)
    assert sorted(links) == sorted(f"../../../{one}" for one in made)
    hits = answer(desk.store, "episodes decision patterns").hits
    assert not [hit for hit in hits if hit.path.startswith(("sessions/", "facts/"))]
    for path in facts:
        data = desk.store.read(path)
        fact = parse_fact(data, path)
        link = f"\n\n## Links\n\n- session: [2026-10-03](../../{file.relative_to(desk.store.root).as_posix()})\n"
        assert data.decode().endswith(f"{fact.text}{link}")
        edited = render_fact(fact._replace(text="Something else.", status=FactStatus.RETIRED)).decode()
        assert edited.endswith(f"\n---\nSomething else.{link}")
    recorder.turn(5, "And its changelog, too", "It is written.", mend="make clean")
    desk.store = Store(desk.store.root, desk.store.context)
    replay(desk.store, recorder.write())
    assert file.read_text("utf-8").count("## Links") == 1
    assert all((file.parent / one).is_file() for one in links)


@pytest.mark.parametrize("old", [False, True])
def test_an_episode_is_named_for_people_and_once_cleared_does_not_come_back(desk, recorder, bare_git, old):
    replay(desk.store, recorder.write())
    root, (path,) = Path(desk.store.root), paths_of(desk)
    episode = read_episode(desk.store, path)
    assert path == f"episodes/2026/10/{episode.id}-crlf-파서를-추가해줘.md"
    if old:
        bare_git(root, "mv", path, path := f"episodes/2026/10/{episode.id}.md")
        bare_git(root, "commit", "-qm", "As it was named")
    recorder.turn(4, "And its tests, too", "They are written.")
    desk.store = Store(desk.store.root, desk.store.context)
    replay(desk.store, recorder.write())
    assert paths_of(desk) == [path]
    assert len(read_episode(desk.store, path).exchanges) == len(episode.exchanges) + 1
    bare_git(root, "rm", "-q", path)
    bare_git(root, "commit", "-qm", "Clear it")
    recorder.turn(5, "And its changelog, too", "It is written.")
    desk.store = Store(desk.store.root, desk.store.context)
    replay(desk.store, recorder.write())
    assert paths_of(desk) == []


def test_a_live_sessions_plan_stands_once_and_each_task_has_its_notes(desk, tmp_path):
    recorder = Recorder(tmp_path / "s-live.jsonl", "s-live")
    desk.clock.now = BEGAN + timedelta(minutes=1)
    todos = {"todos": [{"content": "read it", "status": "completed"}, {"content": "mend it", "status": "pending"}]}
    for number, prompt in enumerate(("Make the parser of numbers build", "Write the documentation of dates"), 1):
        recorder.turn(number, prompt, f"The build of part {number} works now.", mend="uv sync")
        if number == 1:
            call = {"type": "tool_use", "id": "t-plan", "name": "TodoWrite", "input": todos}
            recorder.record("assistant", [call])
            at = recorder.record("user", [{"type": "tool_result", "tool_use_id": "t-plan", "content": "ok"}])
            recorder.deliver("PostToolUse", at, "p-1", tool_name="TodoWrite", tool_use_id="t-plan", tool_input=todos)
        recorder.live(desk.store)
        recorder.payloads.clear()
        process_spool(Store(desk.store.root, desk.store.context), lambda _: True)
        change_working(desk.store, "s-live", lambda memory, n=number: note(memory, f"part {n} has a mark"))
    recorder.deliver("SessionEnd", recorder.record("user", "bye", isMeta=True), "")
    recorder.write()
    recorder.live(desk.store)
    process_spool(Store(desk.store.root, desk.store.context), lambda _: False)
    first, second = sorted((read_episode(desk.store, path) for path in paths_of(desk)), key=lambda one: one.created)
    assert first.plan == ("[x] read it", "[ ] mend it")
    assert (first.tips[-1], second.tips[-1]) == ("part 1 has a mark", "part 2 has a mark")
    assert second.plan == ()
    assert running(desk.store) == []


def test_a_finished_session_that_is_resumed_is_told_its_last_task(desk, recorder):
    recorder.turn(4, "Rename the reader everywhere", "It is called source now. Decision: use one name for it.")
    replay(desk.store, recorder.write())
    last = last_episode(desk.store, "s-rec")
    assert last.task == "Rename the reader everywhere"
    assert last_episode(desk.store, "s-other") is None
    open_steps = last._replace(plan=("[x] find them", "[ ] rename them"), gotchas=("KeyError: nothing mended it", "x"))
    assert brief_episode(open_steps).splitlines()[:4] == [
        "Task (refactor, open): Rename the reader everywhere",
        "To do: rename them",
        "Failed: KeyError: nothing mended it",
        "Decided: use one name for it.",
    ]
    assert estimate_tokens(brief_episode(last._replace(decisions=("a long one " * 20,) * 6))) <= BRIEF


def test_links_of_an_episode_lead_to_the_sessions_file(desk, recorder):
    replay(desk.store, recorder.write())
    path = Path(desk.store.root) / paths_of(desk)[0]
    link = path.read_text("utf-8").rpartition("](")[2].partition(")")[0]
    assert (path.parent / link).resolve().is_file()


def test_a_second_telling_and_one_after_an_undo_add_nothing(desk, recorder, bare_git):
    transcript = recorder.write()
    replay(desk.store, transcript)
    root = Path(desk.store.root)
    tip = bare_git(root, "rev-parse", "HEAD")
    turns = turns_of(read_records(transcript), "s-rec", "claude-code")
    assert save_episodes(desk.store, "s-rec", "claude-code", turns) is None
    assert bare_git(root, "rev-parse", "HEAD") == tip
    undo(desk.store, session="s-rec")
    assert paths_of(desk) == []
    replay(desk.store, transcript)
    assert paths_of(desk) == []


def test_a_task_that_goes_on_keeps_its_episode_unless_a_person_changed_it(desk, recorder, bare_git):
    replay(desk.store, recorder.write())
    [path] = paths_of(desk)
    recorder.turn(4, "and make it faster", "It is twice as fast now, as it reads blocks.")
    replay(desk.store, recorder.write())
    assert paths_of(desk) == [path]
    longer = read_episode(desk.store, path)
    assert len(longer.exchanges) == 4
    assert longer.task.startswith("CRLF")
    file = Path(desk.store.root) / path
    file.write_text(file.read_text("utf-8").replace("## Solution\n", "## Solution\n\nBy hand.\n"), "utf-8")
    recorder.turn(5, "and now its tests", "It has tests of an empty file.")
    replay(desk.store, recorder.write())
    assert "By hand." in file.read_text("utf-8")
    assert read_episode(desk.store, path).exchanges == longer.exchanges


def test_a_secret_of_the_session_is_in_no_episode(desk, recorder):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    recorder.turn(
        4,
        f"Deploy it with {token} <private>and my birthday</private>",
        f"<private>We decided to use PRIVATE instead of pnpm.</private> {token}",
    )
    replay(desk.store, recorder.write())
    told = "".join(desk.text(path) for path in paths_of(desk))
    assert "Deploy it" in told
    assert token not in told
    assert "birthday" not in told
    assert "PRIVATE" not in told
