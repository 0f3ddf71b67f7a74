"""A finished session's tasks become episodes, each a view of its exchanges, with what they taught."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.background import process_spool
from gitmem.history.undo import undo
from gitmem.hosts.registry import read_transcript
from gitmem.learn.end import replay
from gitmem.learn.episodes import episodes_of, noting_growth, save_episodes
from gitmem.model.episode import episode_id, episode_path, parse_episode, render_episode
from gitmem.model.exchange import Exchange
from gitmem.model.fact import FactStatus, parse_fact, render_fact
from gitmem.model.outcome import Outcome
from gitmem.model.transcript import Record, Role
from gitmem.model.turns import Failure, Run, Turn
from gitmem.model.working import PlanStep, WorkingMemory, decide, note, set_plan, start_task
from gitmem.record.read import turns_of
from gitmem.record.working_memory import TOKENS as BRIEF
from gitmem.record.working_memory import brief_episode, change_working, running
from gitmem.search.engine import answer
from gitmem.store.known_facts import known_facts
from gitmem.store.learned import known_patterns, last_episode, read_episode
from gitmem.store.store import Store
from gitmem.tell.cleanup import clean_up
from gitmem.tell.outcome_counts import add_shown
from gitmem.text.words import estimate_tokens
from tests.agent import BEGAN, Recorder


def paths_of(world) -> list[str]:
    root = Path(world.store.root)
    return sorted(path.relative_to(root).as_posix() for path in root.glob("episodes/*/*/*.md"))


def test_a_sessions_file_links_what_it_taught_and_a_search_does_not_find_the_links(world, recorder):
    recorder.turn(4, "From now on we use uv instead of pnpm for builds.", "Noted.", fix="uv sync")
    replay(world.store, recorder.write())
    file = next(Path(world.store.root).glob("sessions/*/*/*.md"))
    links = re.findall(r"(?m)^- [a-z-]+: \[[^]]+\]\((.+)\)$", file.read_text("utf-8").partition("\n## Links\n")[2])
    facts = {one.path for one in known_facts(world.store) if one.session == "s-rec"}
    assert facts
    made = (*paths_of(world), *facts, known_patterns(world.store)[0].path)
    assert sorted(links) == sorted(f"../../../{one}" for one in made)
    hits = answer(world.store, "episodes decision patterns").hits
    assert not [hit for hit in hits if hit.path.startswith(("sessions/", "facts/"))]
    for path in facts:
        data = world.store.read(path)
        fact = parse_fact(data, path)
        link = f"\n\n## Links\n\n- session: [2026-10-03](../../{file.relative_to(world.store.root).as_posix()})\n"
        assert data.decode().endswith(f"{fact.text}{link}")
        edited = render_fact(fact._replace(text="Something else.", status=FactStatus.RETIRED)).decode()
        assert edited.endswith(f"\n---\nSomething else.{link}")
    recorder.turn(5, "And its changelog, too", "It is written.", fix="make clean")
    world.store = Store(world.store.root, world.store.context)
    replay(world.store, recorder.write())
    assert file.read_text("utf-8").count("## Links") == 1
    assert all((file.parent / one).is_file() for one in links)


def test_a_cleanup_takes_the_links_to_what_it_removes_out_of_the_sessions_file(world, recorder, bare_git):
    recorder.turn(4, "From now on we use uv instead of pnpm for builds.", "Noted.", fix="uv sync")
    replay(world.store, recorder.write())
    [file], root = Path(world.store.root).glob("sessions/*/*/*.md"), Path(world.store.root)
    before = file.read_text("utf-8")
    for path in paths_of(world):
        told = {f"2026-10-0{day}T00:00:00Z!": 0.0 for day in range(1, 4)}
        add_shown(world.store, {read_episode(world.store, path).id: told}, "Count")
    world.clock.now += timedelta(days=400)
    cleaned = clean_up(Store(world.store.root, world.store.context))
    assert cleaned.episodes
    kept = [line for line in before.splitlines() if not any(path in line for path in cleaned.episodes)]
    assert file.read_text("utf-8").splitlines() == kept
    undo(world.store, revision=cleaned.commit)
    assert file.read_text("utf-8") == before
    assert bare_git(root, "status", "--porcelain") == ""


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("old", [False, True])
def test_an_episode_is_named_for_people_and_once_cleared_does_not_come_back(world, recorder, bare_git, old):
    replay(world.store, recorder.write())
    root, (path,) = Path(world.store.root), paths_of(world)
    episode = read_episode(world.store, path)
    assert path == f"episodes/2026/10/{episode.id}-crlf-파서를-추가해줘.md"
    if old:
        bare_git(root, "mv", path, path := f"episodes/2026/10/{episode.id}.md")
        bare_git(root, "commit", "-qm", "As it was named")
    recorder.turn(4, "And its tests, too", "They are written.")
    world.store = Store(world.store.root, world.store.context)
    replay(world.store, recorder.write())
    assert paths_of(world) == [path]
    assert len(read_episode(world.store, path).exchanges) == len(episode.exchanges) + 1
    bare_git(root, "rm", "-q", path)
    bare_git(root, "commit", "-qm", "Clear it")
    recorder.turn(5, "And its changelog, too", "It is written.")
    world.store = Store(world.store.root, world.store.context)
    replay(world.store, recorder.write())
    assert paths_of(world) == []


def test_a_live_sessions_plan_stands_once_and_each_task_has_its_notes(world, tmp_path):
    recorder = Recorder(tmp_path / "s-live.jsonl", "s-live")
    world.clock.now = BEGAN + timedelta(minutes=1)
    todos = {"todos": [{"content": "read it", "status": "completed"}, {"content": "mend it", "status": "pending"}]}
    for number, prompt in enumerate(("Make the parser of numbers build", "Write the documentation of dates"), 1):
        recorder.turn(number, prompt, f"The build of part {number} works now.", fix="uv sync")
        if number == 1:
            call = {"type": "tool_use", "id": "t-plan", "name": "TodoWrite", "input": todos}
            recorder.record("assistant", [call])
            at = recorder.record("user", [{"type": "tool_result", "tool_use_id": "t-plan", "content": "ok"}])
            recorder.deliver("PostToolUse", at, "p-1", tool_name="TodoWrite", tool_use_id="t-plan", tool_input=todos)
        recorder.live(world.store)
        recorder.payloads.clear()
        process_spool(Store(world.store.root, world.store.context), lambda _: True)
        change_working(world.store, "s-live", lambda memory, n=number: note(memory, f"part {n} has a mark"))
    recorder.deliver("SessionEnd", recorder.record("user", "bye", isMeta=True), "")
    recorder.write()
    recorder.live(world.store)
    process_spool(Store(world.store.root, world.store.context), lambda _: False)
    first, second = sorted((read_episode(world.store, path) for path in paths_of(world)), key=lambda one: one.created)
    assert first.plan == ("[x] read it", "[ ] mend it")
    assert (first.tips[-1], second.tips[-1]) == ("part 1 has a mark", "part 2 has a mark")
    assert second.plan == ()
    assert running(world.store) == []


def test_a_finished_session_that_is_resumed_is_told_its_last_task(world, recorder):
    recorder.turn(4, "Rename the reader everywhere", "It is called source now. Decision: use one name for it.")
    replay(world.store, recorder.write())
    last = last_episode(world.store, "s-rec")
    assert last.task == "Rename the reader everywhere"
    assert last_episode(world.store, "s-other") is None
    open_steps = last._replace(
        plan=("[x] find them", "[ ] rename them"),
        gotchas=("KeyError: nothing fixed it", "x"),
        decisions=("use one name for it.",),
    )
    assert brief_episode(open_steps).splitlines()[:3] == [
        "Task (refactor, open): Rename the reader everywhere",
        "To do: rename them",
        "Decided: use one name for it.",
    ]
    assert estimate_tokens(brief_episode(last._replace(decisions=("a long one " * 20,) * 6))) <= BRIEF


def test_a_second_telling_and_one_after_an_undo_add_nothing(world, recorder, bare_git):
    transcript = recorder.write()
    replay(world.store, transcript)
    root = Path(world.store.root)
    tip = bare_git(root, "rev-parse", "HEAD")
    turns = turns_of(read_transcript(transcript), "s-rec", "claude-code")
    assert save_episodes(world.store, "s-rec", "claude-code", turns) is None
    assert bare_git(root, "rev-parse", "HEAD") == tip
    undo(world.store, session="s-rec")
    assert paths_of(world) == []
    replay(world.store, transcript)
    assert paths_of(world) == []


def test_a_task_that_goes_on_keeps_its_episode_unless_a_user_changed_it(world, recorder, bare_git):
    replay(world.store, recorder.write())
    [path] = paths_of(world)
    recorder.turn(4, "and make it faster", "It is twice as fast now, as it reads blocks.")
    replay(world.store, recorder.write())
    assert paths_of(world) == [path]
    longer = read_episode(world.store, path)
    assert len(longer.exchanges) == 4
    assert longer.task.startswith("CRLF")
    file = Path(world.store.root) / path
    file.write_text(file.read_text("utf-8").replace("## Solution\n", "## Solution\n\nBy hand.\n"), "utf-8")
    recorder.turn(5, "and now its tests", "It has tests of an empty file.")
    replay(world.store, recorder.write())
    assert "By hand." in file.read_text("utf-8")
    assert read_episode(world.store, path).exchanges == longer.exchanges


def test_a_secret_of_the_session_is_in_no_episode(world, recorder):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    recorder.turn(
        4,
        f"Deploy it with {token} <private>and my birthday</private>",
        f"<private>We decided to use PRIVATE instead of pnpm.</private> {token}",
    )
    replay(world.store, recorder.write())
    told = "".join(world.text(path) for path in paths_of(world))
    assert "Deploy it" in told
    assert token not in told
    assert "birthday" not in told
    assert "PRIVATE" not in told


AT = datetime(2026, 11, 18, 9, 12, 40, tzinfo=UTC)
SAID = ((1, 20_000), (2, 25_000), (10, 4_000), (11, 6_000))  # minute and tokens in the context, compacted once
LINK = "sessions/2026/11/20261118_091240-s.md"


def turn(number: int, prompt: str, answer: str = "Changed the loader so that it reads blocks.", **more) -> Turn:
    at = AT + timedelta(minutes=number)
    given = {"tools": 1} | more
    return Turn("s", "claude-code", f"t{number}", at, at, prompt, answer, closed=True, **given)


def told(turns: list[Turn], **more):
    own = [Exchange(one.exchange_id, "2026-11-18 09:16:48", (), one.answer, files=one.files) for one in turns]
    return episodes_of(turns, own, LINK, **more)


FAILS = Run("pytest", "1 failed", failed=True)


@pytest.mark.parametrize(
    "more, outcome",
    [
        ({}, None),
        ({"runs": (FAILS, Run("pytest", "3 passed", failed=False))}, Outcome.SUCCESS),
        ({"runs": (FAILS,)}, Outcome.FAILED),
        ({"runs": (Run("git commit -m x", "", failed=False),)}, None),
        ({"runs": (FAILS,), "interrupted": True}, Outcome.INTERRUPTED),
    ],
)
def test_an_outcome_needs_a_sign(more, outcome):
    [episode] = told([turn(1, "Fix the loader", files=("a.py",), **more)])
    assert episode.outcome is outcome
    assert parse_episode(render_episode(episode)) == episode


def test_time_and_tokens_are_those_of_the_task_and_of_its_slowest_fix():
    error = "ModuleNotFoundError: No module named 'yaml'"
    failure = Failure(AT, "Bash", "pytest", error, "pytest", "uv sync", fixed_at=AT + timedelta(seconds=90))
    long = turn(1, "Run the tests", failures=(failure,))
    turns = [
        long._replace(ended=long.started + timedelta(minutes=4)),
        turn(9, "Write a README for the API", files=("README.md",)),
    ]
    said = [Record(Role.ASSISTANT, AT + timedelta(minutes=at), "s", tokens=tokens) for at, tokens in SAID]
    aside = Record(Role.ASSISTANT, AT + timedelta(minutes=2), "s", tokens=90_000, sidechain=True)
    grown: list[tuple[datetime, int]] = []
    assert len(list(noting_growth([*said[:1], aside, *said[1:]], grown))) == len(SAID) + 1
    first, second = told(turns, grown=grown)
    assert (first.seconds, first.tokens, first.mended_in) == (240, 5_000, 90)
    assert (second.seconds, second.tokens, second.mended_in) == (0, 2_000, 0)
    assert parse_episode(render_episode(first)) == first


def test_the_working_memory_of_its_task_flows_into_an_episode():
    memory = start_task(WorkingMemory("s", AT.isoformat(), turn="t1"), "Fix the loader", AT.isoformat())
    memory = set_plan(memory, [PlanStep("read it", "completed"), PlanStep("mend it")])
    memory = note(decide(memory, "Use mmap", AT.isoformat(), "files are large"), "The file has a BOM")
    other = set_plan(start_task(memory._replace(turn="t9"), "Write docs", AT.isoformat()), [PlanStep("other")])
    [episode] = told([turn(1, "Fix the loader")], working=[set_plan(memory, memory.steps[:1]), memory, other])
    assert other.earlier[0].steps == memory.steps
    assert told([turn(1, "Fix the loader")], working=[*other.earlier, other]) == [episode]
    assert episode.plan == ("[x] read it", "[ ] mend it")
    assert episode.decisions == ("Use mmap (files are large)",)
    assert episode.tips == ("The file has a BOM",)
    assert parse_episode(render_episode(episode)) == episode


def test_the_file_of_an_episode_follows_from_its_session_and_names_its_task():
    [episode] = told([turn(1, "Fix the loader: 'a' & [b]", files=("a.py",))])
    assert episode.id == episode_id("s", episode.exchanges[0])
    assert episode.id[0] == "e"
    assert episode_path(episode) == f"episodes/2026/11/{episode.id}-fix-the-loader-a-b.md"
    assert f"](../../../{LINK}) {episode.exchanges[0]}" in render_episode(episode).decode()
    assert parse_episode(b"---\nkind: concept\nid: k1\n---\n") is None
    assert parse_episode(b"---\nkind: episode\nid: e1\ncreated: soon\n---\n") is None


def test_what_a_user_writes_into_the_sections_is_read():
    [episode] = told([turn(1, "Fix the loader", files=("a.py",))])
    data = render_episode(episode).replace(b"## Solution\n\n", b"## Solution\n\nBy hand: ")
    changed = parse_episode(data + b"\n## Tips\n\n- Mind the gap\n\n## Other\n- x\n")
    assert changed is not None
    assert changed.solution.startswith("By hand: ")
    assert changed.tips == ("Mind the gap",)
