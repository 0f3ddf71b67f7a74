"""What of a session lasts."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.learn.extract import files_named, find_facts, find_fixes
from gitmem.model.fact import fact_keywords
from gitmem.model.turns import Turn

WHEN = datetime(2026, 1, 11, 10, 11, tzinfo=UTC)


def turn(prompt: str = "", answer: str = "", files: tuple[str, ...] = (), **more) -> Turn:
    return Turn("s", "claude-code", "t", WHEN, WHEN, prompt, answer, files, cwd="/p", **more)


def found(prompt: str = "", answer: str = "", files: tuple[str, ...] = (), **more) -> list[tuple[str, str]]:
    return [(one.kind.value, one.text) for one in find_facts([turn(prompt, answer, files, **more)], ("/p",))]


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
        "so we only write to the cache if the digest differs, right?",
        "always " + "x" * 400,
        "plan\n" * 600 + "Always run the linter before committing.",
    ],
)
def test_what_is_asked_planned_quoted_or_not_understood_alone_is_none(said):
    assert found(said) == []


def test_what_the_boot_files_say_is_no_news():
    boot = frozenset({"always run the linter before committing"})
    assert find_facts([turn("Always run the linter before committing.")], (), boot) == []


def test_an_issue_is_mended_by_what_is_about_the_same():
    [fix] = find_fixes([turn(answer="The index on NFS mounts is fixed now.")])
    assert fix.mends("The index breaks on NFS mounts.")
    assert not fix.mends("The parser is slow on large files.")


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


def test_sentences_of_the_agent_are_no_facts():
    answer = "All changes are in place. We decided to use Redis instead of Memcached. Known issue: NFS is slow."
    assert find_facts([turn("Go on with it.", answer, said=("Decision: keep it in Redis.",))], ("/p",)) == []


@pytest.mark.parametrize("prompt", ["Use pagination.", "Inform, don't ask.", "2번으로 하자", "option 2"])
def test_what_lacks_its_subject_is_none(prompt):
    assert find_facts([turn("What now?", "Done."), turn(prompt)], ("/p",)) == []


def test_a_choice_is_a_fact_with_its_reason():
    turns = [
        turn("How do we count?", "Where should visits be counted?\n\n1. In a counter in Redis\n2. In the database\n"),
        turn("option 1, because it is one line", "Done."),
    ]
    assert [one.text for one in find_facts(turns, ("/p",))] == [
        "Where should visits be counted? In a counter in Redis.\n\n**Why:** It is one line."
    ]
