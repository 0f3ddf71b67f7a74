"""Tasks of a session, what they taught, and the file of an episode."""

from datetime import UTC, datetime, timedelta

import pytest

from gitmem.lessons.episode import episode_id, episode_path, parse_episode, render_episode
from gitmem.lessons.episodes import episodes_of, noting_growth, tasks_in
from gitmem.sessions.exchange import Exchange
from gitmem.sessions.outcome import Outcome
from gitmem.sessions.transcript import Record, Role
from gitmem.sessions.turns import Failure, Run, TaskType, Turn
from gitmem.sessions.working import PlanStep, TaskStatus, WorkingMemory, decide, end_task, note, set_plan, start_task

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


def test_work_in_another_folder_is_another_task():
    first = turn(1, "Fix the loader", cwd="/a/app", files=("a.py",))
    more = turn(2, "The loader still reads no rows of the loader")
    assert len(tasks_in([first, more._replace(cwd="/a/app/src")])) == 1
    assert len(tasks_in([first, more._replace(cwd="/a/application")])) == 2


def test_a_solution_tells_the_last_results_that_changed_something():
    one = turn(1, "Fix the loader", "The loader skips empty rows.", files=("a.py",))
    two = turn(2, "and the lexer", "The lexer skips them, too.", files=("b.py",))
    [episode] = told([one, two, turn(3, "and why?", "They came from a bad export.")])
    assert episode.solution == "The loader skips empty rows.; The lexer skips them, too."


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


def test_a_declined_call_and_a_no_to_a_question_reject_nothing():
    declined = Failure(AT, "Bash", "a", "git push", "The user doesn't want to proceed with this tool use.")
    asked = turn(1, "Fix the loader", "Fixed it. Shall I push it?", files=("a.py",), failures=(declined,))
    [episode] = told([asked, turn(2, "no, I do that", "Good.")])
    assert (episode.gotchas, episode.changes, episode.outcome) == ((), (), None)


def test_a_rejected_option_is_no_solution():
    offer = turn(1, "Speed up the import", "Option 1: a queue. Option 2: threads. Which one do you want?")
    queue = turn(2, "2", "The import uses threads now.", files=("a.py",))
    [episode] = told([offer, queue])
    assert episode.solution == "The import uses threads now."
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
    turns = [turn(1, "List the files", "", interrupted=True), turn(2, "Implement dark mode", "Done.", files=("a.css",))]
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
