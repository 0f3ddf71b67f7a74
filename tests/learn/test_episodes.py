"""A finished session's tasks become episodes, each a view of its exchanges, with what they taught (spec M2)."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.background import process_spool
from gitmem.history.undo import undo
from gitmem.learn.end import read_records, replay
from gitmem.learn.episodes import episodes_of, noting_growth, save_episodes, tasks_in
from gitmem.learn.lessons import clean_up
from gitmem.model.episode import episode_id, episode_path, last_episode, parse_episode, read_episode, render_episode
from gitmem.model.exchange import Exchange
from gitmem.model.fact import FactStatus, parse_fact, render_fact
from gitmem.model.outcome import Outcome
from gitmem.model.transcript import Record, Role
from gitmem.model.turns import Failure, Run, TaskType, Turn
from gitmem.model.working import PlanStep, TaskStatus, WorkingMemory, decide, end_task, note, set_plan, start_task
from gitmem.record.exchanges import turns_of
from gitmem.record.working_memory import TOKENS as BRIEF
from gitmem.record.working_memory import brief_episode, change_working, running
from gitmem.search.engine import answer
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.tell.known_errors import known_patterns
from gitmem.tell.outcome_counts import add_told
from gitmem.text.words import estimate_tokens
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


def test_a_cleanup_takes_the_links_to_what_it_removes_out_of_the_sessions_file(desk, recorder, bare_git):
    recorder.turn(4, "From now on we use uv instead of pnpm for builds.", "Noted.", mend="uv sync")
    replay(desk.store, recorder.write())
    [file], root = Path(desk.store.root).glob("sessions/*/*/*.md"), Path(desk.store.root)
    before = file.read_text("utf-8")
    for path in paths_of(desk):
        told = {f"2026-10-0{day}T00:00:00Z!": 0.0 for day in range(1, 4)}
        add_told(desk.store, {read_episode(desk.store, path).id: told}, "Count")
    desk.clock.now += timedelta(days=400)
    cleaned = clean_up(Store(desk.store.root, desk.store.context))
    assert cleaned.episodes
    kept = [line for line in before.splitlines() if not any(path in line for path in cleaned.episodes)]
    assert file.read_text("utf-8").splitlines() == kept
    undo(desk.store, revision=cleaned.commit)
    assert file.read_text("utf-8") == before
    assert bare_git(root, "status", "--porcelain") == ""


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


def test_follow_ups_are_of_the_task_before_them():
    turns = [turn(1, "Fix the loader"), turn(2, "still broken"), turn(3, "ok"), turn(4, "Write a README for the API")]
    assert [len(task) for task in tasks_in(turns)] == [3, 1]
    assert tasks_in([turn(1, "still broken")]) == [[turn(1, "still broken")]]


def test_a_question_and_what_speaks_of_the_same_go_on_with_a_task_until_a_commit():
    asks = turn(2, "Why does the cache need a lock?", "Two writers would mix their rows.")
    turns = [turn(1, "Write the cache to disk", files=("cache.py",)), asks, turn(3, "Let the cache lock its rows")]
    assert [len(task) for task in tasks_in(turns)] == [3]
    commit = (Run("git add -A && git commit -m 'Write the cache'", "", failed=False),)
    done = [turns[0]._replace(runs=commit), *turns[1:]]
    assert [len(task) for task in tasks_in(done)] == [1, 2]
    other = turn(4, "Draw a logo with a blue fish", files=("logo.svg",))
    assert [len(task) for task in tasks_in([*turns, other])] == [3, 1]
    assert [len(task) for task in tasks_in([*turns, other._replace(files=("cache.py",))])] == [4]


def test_a_reply_to_a_question_and_to_a_list_and_what_comes_after_no_answer_go_on():
    first = turn(1, "Fix the loader", "Done. Shall I write a test?", files=("a.py",))
    assert len(tasks_in([first, turn(2, "Write the README of the parser instead")])) == 1
    listed = first._replace(answer="Left are:\n1. the lock\n2. the cache")
    assert len(tasks_in([listed, turn(2, "skip 1 and do 2")])) == 1
    assert len(tasks_in([listed, turn(2, "Write chapter 7 of the handbook")])) == 2
    assert len(tasks_in([first._replace(answer=""), turn(2, "my user is ann")])) == 1
    assert len(tasks_in([first._replace(answer=""), turn(2, "Write chapter 7 of the handbook")])) == 2


def test_a_dont_about_what_an_answer_proposes_goes_on_with_its_task():
    first = turn(1, "Deploy the gateway", "The broker holds the lock. Restarting the broker would free it.")
    assert len(tasks_in([first, turn(2, "Please don't restart the broker, others use it; find another way")])) == 1
    assert len(tasks_in([first, turn(2, "브로커 broker는 다시 띄우지 마. 다른 방법을 찾아 줘")])) == 1
    assert len(tasks_in([first, turn(2, "Don't format tables in the handbook; use lists of words there")])) == 2


def test_a_question_after_thanks_may_begin_another_task():
    first = turn(1, "Read the list of books", "All books are read from the list.", files=("a.py",))
    asks = "Could the browser read a barcode of the books with its camera?"
    assert len(tasks_in([first, turn(2, asks)])) == 1
    assert len(tasks_in([first, turn(2, f"Thanks. {asks}")])) == 2


def test_work_in_another_folder_is_another_task():
    first = turn(1, "Fix the loader", cwd="/a/app", files=("a.py",))
    more = turn(2, "The loader still reads no rows of the loader")
    assert len(tasks_in([first, more._replace(cwd="/a/app/src")])) == 1
    assert len(tasks_in([first, more._replace(cwd="/a/application")])) == 2


def test_a_solution_tells_the_last_results_that_changed_something():
    one = turn(1, "Fix the loader", "Great, that's it! The loader skips empty rows.", files=("a.py",))
    two = turn(2, "and the lexer", "The lexer skips them, too.", files=("b.py",))
    [episode] = told([one, two, turn(3, "and why?", "They came from a bad export.")])
    assert episode.solution == "The loader skips empty rows; and the lexer → The lexer skips them, too"


def test_a_short_result_is_told_beside_another_though_its_summary_names_only_files():
    found = turn(1, "Install it on the phone", "The phone has a release build, which a debug build can't replace.")
    suffix = turn(2, "keep that one, find another way", "It has a suffix of its own.", files=("build.gradle",))
    own = [
        Exchange(one.exchange_id, "2026-11-18 09:16:48", (), summary, files=one.files)
        for one, summary in ((found, found.answer), (suffix, "keep that one → changed build.gradle"))
    ]
    [episode] = episodes_of([found, suffix], own, LINK)
    assert episode.solution.endswith("; keep that one, find another way → It has a suffix of its own")


def test_a_no_to_what_a_result_proposes_stands_behind_it():
    built = turn(1, "Build the app", "It builds with Java 17. Best set that for all.", files=("a.py",))
    refusal = turn(2, "don't set Java for all, others need 11", "")
    [episode] = told([built, refusal])
    assert episode.solution == "It builds with Java 17. Best set that for all; don't set Java for all, others need 11"


def test_what_a_result_leaves_open_the_last_answer_tells():
    refused = (Failure(AT, "Bash", "a", "gh release create", "error: not logged in"),)
    bundle = turn(1, "Make a draft of the release", "The bundle is there, the draft is not.", files=("a.py",))
    again = turn(2, "and again, I logged in", "The draft is there, with the bundle.")
    [episode] = told([bundle, again])
    assert episode.solution == "The bundle is there, the draft is not"
    [episode] = told([bundle._replace(failures=refused), again])
    assert episode.solution.endswith("; and again, I logged in → The draft is there, with the bundle")


def test_what_comes_after_a_rejected_result_is_told():
    first = turn(1, "Add the nightly job", "The job runs at midnight.", files=("a.py",))
    guess = turn(2, "and let it retry", "It retries five times.", files=("b.py",))
    restart = turn(3, "still not working", "The worker held the old code; a restart helped.")
    [episode] = told([first, guess, restart, turn(4, "and log it", "It logs its runs.", files=("c.py",))])
    assert "It retries" not in episode.solution
    assert "The worker held the old code; a restart helped; and log it" in episode.solution


def test_of_a_result_and_a_request_that_begin_with_few_words_more_is_told():
    long = f"The memory ran out, since rows are sorted before they are written{', and so are columns' * 9}."
    [episode] = told([turn(1, f"Good morning! {long}", f"The build passes. {long}", files=("a.py",))])
    assert episode.task.startswith("Good morning! The memory ran out")
    assert episode.solution.startswith("The build passes. The memory ran out")


def test_of_an_answer_with_headings_the_section_about_the_request_is_told():
    answer = "Both are done:\n\n## Lexer\n\nIt skips blanks.\n\n## Tests of the loader\n\nThey cover empty files."
    [episode] = told([turn(1, "The loader lacks tests of empty files", answer, files=("a.py",))])
    assert episode.solution == "They cover empty files"


def test_a_request_that_says_too_little_or_only_commits_is_of_the_task_before():
    commits = {"runs": (Run("git commit -qam x", "", failed=False),)}
    turns = [
        turn(1, "Let the loader read gzip files", files=("a.py",), **commits),
        turn(2, "add it", "`--gzip` is there.", files=("b.py",)),
        turn(3, "rarely. commit what we have", "Committed as `a1b2c3d`.", **commits),
        turn(4, "Which port does the gateway listen on?", "8420.", tools=2),
    ]
    assert [len(task) for task in tasks_in(turns)] == [3, 1]
    [episode] = told(turns[:3])
    assert episode.solution == "Changed the loader so that it reads blocks; add it → `--gzip` is there"


def test_mere_talk_is_no_episode():
    talk = turn(1, "What is a mutex?", "A lock that one thread holds.")._replace(tools=0)
    assert told([talk]) == []
    looked = talk._replace(tools=1)
    assert told([looked]) == []
    [episode] = told([looked, turn(2, "perfect, thanks", "You are welcome.")])
    assert episode.outcome is Outcome.SUCCESS
    assert len(told([looked._replace(files=("a.py",))])) == 1


FAILS = Run("pytest", "1 failed", failed=True)


@pytest.mark.parametrize(
    "more, outcome",
    [
        ({}, None),
        ({"runs": (FAILS, Run("pytest", "3 passed", failed=False))}, Outcome.SUCCESS),
        ({"runs": (FAILS,)}, Outcome.FAILED),
        ({"runs": (Run("git commit -m x", "", failed=False),)}, Outcome.SUCCESS),
        ({"runs": (Run("git commit -m x", "", failed=True),)}, None),
        ({"runs": (FAILS,), "interrupted": True}, Outcome.INTERRUPTED),
    ],
)
def test_an_outcome_needs_a_sign(more, outcome):
    [episode] = told([turn(1, "Fix the loader", files=("a.py",), **more)])
    assert episode.outcome is outcome
    assert parse_episode(render_episode(episode)) == episode


@pytest.mark.parametrize("answer", ["Committed `1a2b3c4`.", "Done; 12 tests pass.", "`1a2b3c4`로 커밋했습니다."])
def test_that_something_is_done_is_no_result(answer):
    commit = (Run("git commit -qam x", "", failed=False),)
    assert told([turn(1, "Rename the loader", answer, files=("a.py",), runs=commit)]) == []
    later = turn(2, "commit it", answer, runs=commit)
    [episode] = told([turn(1, "Rename the loader", files=("a.py",)), later])
    assert episode.solution == "Changed the loader so that it reads blocks"


def test_a_no_to_a_question_of_the_agent_rejects_no_result():
    for asks in ("Shall I set that for all projects?", "I can set that for all projects if you like."):
        built = turn(1, "Build the app", f"It builds with Java 17. {asks}", files=("a.py",))
        for said in ("no, others need 11, that doesn't work", "no leave it", "아니 다른 데서 11 써서 안 돼"):
            [episode] = told([built, turn(2, said, "It stays as it is.")])
            assert episode.outcome is not Outcome.FAILED


def test_a_run_that_fails_where_nothing_was_changed_is_no_failed_task():
    failed = (Run("pytest -q", "1 failed", failed=True),)
    look = turn(1, "Reproduce the crash of the loader", "It crashes on an empty file.", runs=failed)
    done = look._replace(runs=(*failed, Run("npm ci", "", failed=False)))
    [episode] = told([done])
    assert (episode.outcome, episode.solution) == (None, "It crashes on an empty file")
    [episode] = told([done._replace(files=("a.py",))])
    assert episode.outcome is Outcome.FAILED


def test_a_declined_call_and_a_no_to_a_question_reject_nothing():
    declined = Failure(AT, "Bash", "a", "git push", "The user doesn't want to proceed with this tool use.")
    asked = turn(1, "Fix the loader", "Fixed it. Shall I push it?", files=("a.py",), failures=(declined,))
    [episode] = told([asked, turn(2, "no, I do that", "Good.")])
    assert (episode.gotchas, episode.changes, episode.outcome) == ((), (), None)


def test_what_a_request_says_behind_its_pick_is_told_with_the_option():
    listed = "Reading takes most of it. Ways:\n\n1. a queue in front\n2. threads that read\n\nWhich one?"
    offer = turn(1, "Speed up the import", listed)
    [episode] = told([offer, turn(2, "2. and never lock the table", "The import uses threads.", files=("a.py",))])
    assert episode.solution == "threads that read. and never lock the table \u2192 The import uses threads"


def test_a_rejected_option_is_no_solution():
    offer = turn(1, "Speed up the import", "Option 1: a queue. Option 2: threads. Which one do you want?")
    queue = turn(2, "2", "The import uses threads now.", files=("a.py",))
    [episode] = told([offer, queue])
    assert episode.solution == "The import uses threads now"
    listed = "Reading takes most of it. Ways:\n\n1. a queue in front\n2. threads that read\n\nShall I go on?"
    [episode] = told([offer._replace(answer=listed), queue])
    assert episode.solution == "Reading takes most of it; threads that read → The import uses threads now"
    found = offer._replace(answer=listed, files=("a.py",))
    [episode] = told([found, queue._replace(prompt="1", files=(), answer="The queue is in, and it is quick.")])
    assert episode.solution == "Reading takes most of it; a queue in front → The queue is in, and it is quick"
    [episode] = told([queue._replace(prompt="Speed up the import"), turn(3, "that's wrong, undo it", "", tools=0)])
    assert (episode.solution, episode.outcome) == ("", Outcome.INTERRUPTED)
    assert episode.gotchas == ("Rejected by the person: The import uses threads now.",)


def test_what_the_person_says_next_is_the_outcome_and_a_change_of_course():
    turns = [
        turn(1, "Fix the loader of empty files", "Added a check to `parse_file`."),
        turn(2, "그거 아니야, 로그인이야", "Fixed `login` for empty passwords."),
        turn(3, "perfect", "Good."),
    ]
    [episode] = told(turns[:2] + turns[2:])
    assert episode.type is TaskType.BUG_FIX
    assert episode.changes == ("그거 아니야, 로그인이야",)
    assert episode.gotchas == ("Rejected by the person: Added a check to `parse_file`.",)
    [broken] = told([turns[0], turn(2, "still broken", "See `c0ffee1` and `dead`.", interrupted=True)])
    assert (broken.outcome, broken.solution) == (Outcome.INTERRUPTED, "")
    assert broken.gotchas == ("Rejected by the person: Added a check to `parse_file`.",)


def test_a_mend_in_the_agents_words_is_quoted():
    failures = (Failure(AT, "Bash", "a", "go test", "./a.go:9:2: undefined: regexp", "go test", "/app/a.go"),)
    said = "The `regexp` import was needed."
    [episode] = told([turn(1, "Run the tests", said, files=("/app/a.go",), failures=failures)])
    assert episode.tips[0] == f'undefined: regexp: "{said}" mended it'


def test_a_mend_is_known_by_the_function_that_the_error_calls():
    error = "store_test.go:3: readRows() returned 1 rows, want 2"
    failures = (Failure(AT, "Bash", "a", "go test", error, "go test", "change `store.go`"),)
    said = "All good. I replaced the loop of `readRows()` by a scan."
    [episode] = told([turn(1, "Run the tests", said, files=("store.go",), failures=failures)])
    assert episode.tips[0].endswith('"I replaced the loop of `readRows()` by a scan." mended it')


def test_a_task_that_nothing_came_of_is_no_episode():
    turns = [
        turn(1, "List the files", "", interrupted=True),
        turn(2, "Implement dark mode", "Dark mode follows the system.", files=("a.css",)),
    ]
    assert [one.task for one in told(turns)] == ["Implement dark mode"]
    failures = (Failure(AT, "Bash", "a", "make", "ld: cannot find -lz"),)
    assert len(told([turn(1, "Build it", "", failures=failures, interrupted=True)])) == 1


def test_errors_are_told_with_what_mended_them_and_what_did_not():
    error = "Exit code 1\nModuleNotFoundError: No module named 'yaml'"
    failures = (
        Failure(AT, "Bash", "a", "pytest", error, "pytest", "uv sync"),
        Failure(AT, "Bash", "b", "npm test", "npm ERR! code ENOENT"),
    )
    runs = (
        Run("pytest", error, failed=True),
        Run("uv sync", "", failed=False),
        Run("pytest", "3 passed", failed=False),
    )
    [episode] = told([turn(1, "Run the tests", failures=failures, runs=runs, used=("Bash", "Bash", "Edit"))])
    assert [one.type for one in episode.errors] == ["ModuleNotFoundError", "ENOENT"]
    assert episode.problem == "ModuleNotFoundError: No module named 'yaml'"
    assert episode.tips[0].endswith("`uv sync` mended it")
    assert episode.gotchas[0].endswith("nothing mended it")
    assert episode.tools == (("Bash", 2), ("Edit", 1))
    assert episode.steps == 1
    assert parse_episode(render_episode(episode)) == episode


def test_time_and_tokens_are_those_of_the_task_and_of_its_slowest_mend():
    error = "ModuleNotFoundError: No module named 'yaml'"
    failure = Failure(AT, "Bash", "a", "pytest", error, "pytest", "uv sync", fixed_at=AT + timedelta(seconds=90))
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


def test_what_an_agent_or_a_person_abandons_failed():
    memory = start_task(WorkingMemory("s", AT.isoformat(), turn="t1"), "Fix the loader", AT.isoformat())
    [episode] = told([turn(1, "Fix the loader")], working=[end_task(memory, TaskStatus.ABANDONED)])
    assert episode.outcome is Outcome.FAILED


def test_thanks_stay_the_outcome_if_only_a_follow_up_came_after_them():
    fixed = turn(1, "Fix the loader", files=("a.py",))
    [episode] = told([fixed, turn(2, "perfect, commit it")])
    assert episode.outcome is Outcome.SUCCESS
    [episode] = told([fixed, turn(2, "still broken")])
    assert episode.outcome is None


def test_the_file_of_an_episode_follows_from_its_session_and_names_its_task():
    [episode] = told([turn(1, "Fix the loader: 'a' & [b]", files=("a.py",))])
    assert episode.id == episode_id("s", episode.exchanges[0])
    assert episode.id[0] == "e"
    assert episode_path(episode) == f"episodes/2026/11/{episode.id}-fix-the-loader-a-b.md"
    assert f"](../../../{LINK}) {episode.exchanges[0]}" in render_episode(episode).decode()
    assert parse_episode(b"---\nkind: concept\nid: k1\n---\n") is None
    assert parse_episode(b"---\nkind: episode\nid: e1\ncreated: soon\n---\n") is None


def test_what_a_person_writes_into_the_sections_is_read():
    [episode] = told([turn(1, "Fix the loader", files=("a.py",))])
    data = render_episode(episode).replace(b"## Solution\n\n", b"## Solution\n\nBy hand: ")
    changed = parse_episode(data + b"\n## Tips\n\n- Mind the gap\n\n## Other\n- x\n")
    assert changed is not None
    assert changed.solution.startswith("By hand: ")
    assert changed.tips == ("Mind the gap",)


def test_a_task_of_which_only_changed_files_are_known_is_no_episode_unless_its_end_is_shown():
    (named,) = (turn(1, "Run all the steps", "changed notes.md", files=("notes.md",)),)
    assert told([named]) == []
    assert told([named._replace(answer="Run all → notes.md, a.py 수정")]) == []
    [thanked] = told([named, turn(2, "perfect, thanks", "Good.")])
    assert thanked.outcome is Outcome.SUCCESS
    [said] = told([named._replace(answer="changed notes.md so that it lists all steps")])
    assert said.solution.startswith("changed notes.md so that")
