from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.fact.fact import FactKind
from gitmem.model.fact.find import as_statement, fact_keywords, facts_of_prompt, files_named, find_facts, find_fixes
from gitmem.model.session.turns import Run, Turn

WHEN = datetime(2026, 1, 11, 10, 11, tzinfo=UTC)


def turn(prompt: str = "", answer: str = "", files: tuple[str, ...] = (), **more) -> Turn:
    return Turn("s", "claude-code", "t", WHEN, WHEN, prompt, answer, files, cwd="/p", **more)


def found(prompt: str = "", answer: str = "", files: tuple[str, ...] = (), **more) -> list[tuple[str, str]]:
    return [(one.kind.value, one.text) for one in find_facts([turn(prompt, answer, files, **more)], ("/p",))]


@pytest.mark.parametrize(
    "said, kind",
    [
        ("Always run the linter before committing.", "rule"),
        ("please never push to main directly", "rule"),
        ("From now on, write the tests first.", "rule"),
        ("don't commit generated files without asking", "rule"),
        ("The parser should never load the whole file.", "rule"),
        ("커밋 전에는 항상 테스트를 실행하세요", "rule"),
        ("앞으로는 main 브랜치에 직접 푸시하지 마세요.", "rule"),
        ("I prefer small commits with a body.", "preference"),
        ("my github user is khaong", "preference"),
        ("저는 짧은 함수를 선호합니다.", "preference"),
        ("Let's use uv instead of pip for the build.", "decision"),
        ("use zod, not yup", "decision"),
        ("We decided to keep the old parser because of the plugins.", "decision"),
        ("npm 말고 pnpm 써줘", "decision"),
        ("The validation package is the single source of truth for names.", "core-logic"),
        ("brews is being phased out in favor of homebrew_casks", "core-logic"),
        ("We deploy with Fly from the release branch.", "core-logic"),
    ],
)
def test_what_a_person_states_as_standing(said, kind):
    assert [one for one, _ in found(said)] == [kind]


@pytest.mark.parametrize(
    "said",
    [
        "fix the tests",
        "can you always run the linter?",
        "it never works on my machine",
        "let's go with option 2",
        "let's use that instead",
        "should we use uv instead of pip?",
        "never mind",
        "I think we should always use uv",
        "use this one, not that",
        "for now, never run the slow tests",
        "If we use uv, drop pnpm",
        "> Always obey.",
        '"Always run the linter" is what the docs say',
        "```\nAlways run the linter before committing.\n```",
        "/review always run the linter before committing",
        "always do it",
        "are we always running the tests",
        "지금은 항상 테스트를 실행하세요",
        "but we only commit to the shadow branch if file changes happen, right?",
        "always " + "x" * 400,
        "plan\n" * 600 + "Always run the linter before committing.",
    ],
)
def test_what_is_asked_planned_quoted_or_not_understood_alone_is_none(said):
    assert found(said) == []


def test_an_answer_tells_decisions_and_open_issues():
    answer = "Done. Decision: keep the cache in Redis because of its TTLs. Known issue: the index breaks on NFS."
    assert found("go", answer) == [
        ("decision", "Keep the cache in Redis because of its TTLs."),
        ("issue", "The index breaks on NFS."),
    ]


def test_a_decision_said_in_mid_turn_counts_and_a_problem_there_does_not():
    said = ("We decided to keep the counter in Redis instead of the database.", "The index test is still failing.")
    assert found("go", "Done.", said=said) == [
        ("decision", "We decided to keep the counter in Redis instead of the database."),
    ]


def test_a_topic_under_the_heading_of_decisions_is_none():
    answer = "## Decisions\n\n- Whether auto-commit would trigger and why not.\n- Commits are made by the hook alone."
    assert found("go", answer) == [("decision", "Commits are made by the hook alone.")]


def test_a_problem_counts_as_solved_once_the_person_says_so():
    problem = "The chart puts midnight events on the previous day."
    turns = [
        turn(problem, "Use `date-fns-tz` to convert the time zone explicitly."),
        turn("That fixed it. Thanks.", "Good."),
    ]
    solution = f"{problem}\n\n**How:** Use `date-fns-tz` to convert the time zone explicitly."
    assert [one.text for one in find_facts(turns, ("/p",)) if one.kind.value == "solution"] == [solution]
    assert not [one for one in find_facts(turns[:1], ("/p",)) if one.kind.value == "solution"]


def test_what_an_answer_changed_or_warns_of():
    answer = (
        "Sessions are now kept in Redis instead of the database.\n\n"
        "One thing to watch: without a reference the garbage collector cancels the task."
    )
    assert sorted(found("go", answer)) == [
        ("core-logic", "Sessions are now kept in Redis instead of the database."),
        ("core-logic", "Without a reference the garbage collector cancels the task."),
    ]


def test_a_pick_of_the_answer_before_is_the_text_of_the_option():
    turns = [
        turn("How do we count?", "Which way?\n\n1. Keep the counter in Redis for a day\n2. Count in the database\n"),
        turn("option 1, because it is one line", "Done."),
    ]
    assert [one.text for one in find_facts(turns, ("/p",))] == [
        "Keep the counter in Redis for a day.\n\n**Why:** It is one line."
    ]


def test_a_fix_says_what_was_wrong_and_was_carried_out():
    answer = (
        "**Bug:** `list()` only read `cp.first`, ignoring the ids of archived sessions.\n\n"
        "**Fix:** Changed `list()` to read all ids of a checkpoint.\n"
    )
    [one] = find_facts([turn("fix it", answer, ("/p/src/a.py", "/elsewhere/b.py"))], ("/p",))
    assert one.kind is FactKind.SOLUTION
    assert one.text == (
        "`list()` only read `cp.first`, ignoring the ids of archived sessions.\n\n"
        "**How:** Changed `list()` to read all ids of a checkpoint."
    )
    assert one.files == ("src/a.py",)
    assert found("fix it", answer) == []  # nothing was changed: it was proposed


def test_commands_that_worked_are_told_once():
    runs = (Run("make test 2>&1 | tail -3", "", failed=False), Run("make test", "ok", failed=False))
    assert found("go on with it", "", (), runs=runs) == [("pattern", "Tests run with `make test`.")]


def test_what_the_boot_files_say_is_no_news():
    boot = frozenset({"always run the linter before committing"})
    assert find_facts([turn("Always run the linter before committing.")], (), boot) == []


def test_an_issue_is_mended_by_what_is_about_the_same():
    [fix] = find_fixes([turn(answer="The index on NFS mounts is fixed now.")])
    assert fix.mends("The index breaks on NFS mounts.")
    assert not fix.mends("The parser is slow on large files.")


def test_a_statement_is_written_one_way():
    said = ("use uv, not pnpm", "Use uv,  not pnpm.", "please use uv, not pnpm!", "And use uv, not pnpm …")
    assert {as_statement(one) for one in said} == {"Use uv, not pnpm."}
    assert found("brews is phased out, check https://x.y for more info") == [("core-logic", "Brews is phased out.")]
    assert as_statement("uv를 쓴다。") == "uv를 쓴다。"


@pytest.mark.parametrize(
    "said, statement",
    [
        ("No version field — the reader guesses the format.", "No version field — the reader guesses the format."),
        ("and no tabs in YAML", "No tabs in YAML."),
        ("No, use uv.", "Use uv."),
        ("no never push to main", "Never push to main."),
    ],
)
def test_a_no_that_negates_stays(said, statement):
    assert as_statement(said) == statement


def test_a_decision_that_begins_with_no_keeps_it():
    assert found("go", "Decision: **No** version field — old readers reject it.") == [
        ("decision", "No version field — old readers reject it."),
    ]


def test_files_a_text_names():
    files = ("src/a.py", "lib/b.py", "/tmp/c.py")
    assert files_named("In a.py and lib/b.py, not /tmp/c.py or d.py.", files) == ("src/a.py", "lib/b.py")


@given(st.text(max_size=400), st.text(max_size=400))
def test_whatever_is_said_gives_facts_that_can_be_kept(prompt, answer):
    for one in find_facts([turn(prompt, answer, ("/p/a.py",))], ("/p",)):
        assert one.text.strip()
        assert 0 < one.confidence <= 1
        assert len(fact_keywords(one.text)) <= 8


HOSTILE = ["we want to use ", "now only ", "because ", "— we ", "로 하자, ", "1. ", "- **a**: "]


@pytest.mark.parametrize("piece", HOSTILE)
def test_steps_grow_with_the_length_of_hostile_turns(grows_linearly, piece):
    def read(text: str) -> object:
        turns = [turn(text, f"Which?\n1. a\n2. b\n{text}", said=(text,)), turn(f"Good. {text[:2_000]}", text)]
        return find_facts(turns, ("/p",))

    lines = piece * 20 + ".\n"
    assert grows_linearly(read, lambda size: lines * (size // len(lines)))


def test_a_pick_whose_options_are_not_known_is_no_fact_and_a_name_keeps_its_case():
    now = datetime(2026, 11, 21, tzinfo=UTC)

    def said(prompt: str) -> list[str]:
        turn = Turn("s", "claude-code", "t", now, now, prompt, "알겠습니다.", closed=True)
        return [found.text for found in facts_of_prompt(turn, "", ())]

    assert said("2번으로 하자") == []
    assert said("main 브랜치에 직접 푸시하지 마") == ["main 브랜치에 직접 푸시하지 마."]
