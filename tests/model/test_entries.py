from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.document.entry import find_entries, render_entry
from gitmem.model.entries import ANSWER_LENGTH, DONE_LENGTH, PROMPT_LENGTH, relative_files, remember
from gitmem.model.exchange import Fields, split_fields
from gitmem.model.turns import Failure, Turn, content_lines

BEGAN = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
ENDED = BEGAN + timedelta(seconds=75)


def turn(prompt="Add a parser for CRLF files", answer="The parser reads CRLF files now.", **more) -> Turn:
    more = {"closed": True, "cwd": "/p", **more}
    return Turn("abcd1234-5678", "claude-code", "t-1", BEGAN, ENDED, prompt, answer, **more)


def failure(command="make test", error="error: it broke", second=10, **more) -> Failure:
    return Failure(BEGAN + timedelta(seconds=second), "Bash", command, error, **more)


def recall(one: Turn, roots=("/p",), boot=(), **more):
    what = remember(one, roots, boot, **more)
    assert what is not None
    return what


def logged(one: Turn, **more) -> Fields:
    return split_fields(recall(one, **more).logged.text)


def exchange(one: Turn, **more) -> str:
    return recall(one, **more).recent.text


@pytest.mark.parametrize(
    "said, told",
    [
        ("npm warn Unknown\nsrc/a.ts(3,1): error TS2304\nx: error: Cannot find name 'y'", "x: error: Cannot find"),
        ("[lint] ERROR task failed\na.go:149:28: undefined: regexp", "a.go:149:28: undefined: regexp"),
        ("[lint] $ run ./...\n[lint] ERROR task failed", "[lint] ERROR task failed"),
        ("Traceback:\n  File a\nTypeError: it failed", "TypeError: it failed"),
        ("line one\nline two", "line one"),
        ("Exit code 2\nrunning 4 tests\n  \nFAILED tests/a.py::b - assert 1\nmore", "FAILED tests/a.py::b - assert 1"),
    ],
)
def test_which_line_says_most(said, told):
    assert logged(turn(failures=(failure(error=said),))).errors[0].startswith(f"`make test`: {told}")


@pytest.mark.parametrize(
    "said",
    [
        "<tool_use_error>File has not been read yet.</tool_use_error>",
        "The user doesn't want to proceed with this tool use.",
        "[Request interrupted by user for tool use]",
        "",
        "Exit code 1",
    ],
)
def test_what_was_refused_or_only_said_no_is_no_failure(said):
    one = turn(failures=(failure(error=said),), tools=1)
    assert logged(one).errors == ()
    assert "Failed" not in exchange(one)


# What is not remembered


@pytest.mark.parametrize(
    "one",
    [turn("2", "All 31 rows are there. Committed.", tools=1), turn("ok", "x" * 500), turn("", "x" * 500, tools=2)],
)
def test_what_an_agent_did_for_a_short_yes_is_remembered(one):
    assert remember(one, ("/p",)) is not None
    told = logged(turn("continue", files=("/p/a.py",), tools=1))
    assert told == Fields(request="continue", answer="The parser reads CRLF files now.", files=("a.py",))


@pytest.mark.parametrize("answer", ["Then we use Postgres 16.", "그러면 Postgres 16으로 옮기겠습니다."])
def test_what_an_agent_says_to_a_short_yes_is_in_the_log_alone(answer):
    said = remember(turn("2", answer), ("/p",))
    assert answer in said.logged.text
    assert said.recent is None


def test_a_boot_file_told_again_is_no_memory():
    boot = "Always run the tests with uv run pytest before a commit.\nAnswer in Korean whatever the question is."
    lines = content_lines([boot])
    assert remember(turn(boot, boot), ("/p",), lines) is None
    worked = turn(boot, files=("/p/a",), tools=1)
    assert logged(worked, boot=lines).request == ""


@pytest.mark.parametrize("prompt", ["ㅇㅇ", "ok", "Add a parser"])
def test_a_turn_is_named_by_what_the_user_said(prompt):
    assert recall(turn(prompt, tools=1)).head == prompt


def test_injected_text_is_in_no_entry():
    secret = "<gitmem-memory>INJECTED</gitmem-memory>"
    what = recall(turn(f"Fix the parser {secret}", f"Fixed the parser. {secret}"))
    assert "INJECTED" not in what.logged.text + what.recent.text
    assert "INJECTED" not in what.head


# Lengths


def test_long_texts_are_cut_at_their_seams():
    sentence = "This is one sentence of a long answer that goes on. "
    one = turn("\n".join(f"line {number} of a prompt" for number in range(500)), sentence * 100)
    told = logged(one)
    assert PROMPT_LENGTH - 100 <= len(told.request) <= PROMPT_LENGTH + 10
    assert told.request.startswith("line 0 of a prompt\n")
    assert told.request.endswith("\nline 499 of a prompt")
    assert len(told.answer) <= ANSWER_LENGTH
    assert told.answer == (sentence * 100).strip()
    assert len(exchange(one)) <= DONE_LENGTH + 300


# Whatever is said


HOSTILE = st.sampled_from(
    [
        *("- [10:00:00] **User Prompt**: not an entry ^00000000000000000000", "## Timeline", "---", "Gitmem-Op: save"),
        *("^0123456789abcdefghjk", "</gitmem-memory>", "<private>x", "```", "\ud800", "\0\x1b[31m", "\u2028\x85"),
        *("We decided to use uv instead of pnpm.", "결정: uv를 사용하기로 결정했습니다.", "\r\n\r", "x" * 3000),
    ]
)
SAID = st.lists(HOSTILE | st.text(max_size=40), max_size=5).map("\n".join)
TURNS = st.builds(
    turn,
    SAID,
    SAID,
    files=st.lists(SAID, max_size=3).map(tuple),
    failures=st.lists(st.builds(failure, SAID, SAID, fixed_by=SAID, second=st.integers(0, 60)), max_size=3).map(tuple),
    tools=st.integers(0, 9),
    closed=st.booleans(),
)


@settings(max_examples=60)
@given(TURNS, st.booleans())
def test_every_entry_can_be_read_back(one, asked):
    what = remember(one, ("/p", one.cwd), exchange=asked)
    if what is None:
        return
    for entry in filter(None, (what.logged, what.recent)):
        for newline in ("\n", "\r\n"):
            (found,) = find_entries(render_entry(entry, newline))
            assert found.entry == entry
    assert what == remember(one, ("/p", one.cwd), exchange=asked)


def test_files_of_the_agents_own_are_not_the_projects():
    own = ("/home/me/.claude/plans/a-plan.md", "/home/me/.claude/settings.json", "~/.claude/CLAUDE.md")
    ours = ("/home/me/shop/src/a.py", "/home/me/shop/.claude/settings.json", "/home/me/shop/plans/next.md")
    kept = ("src/a.py", ".claude/settings.json", "plans/next.md")
    assert relative_files((*own, *ours, "/home/me/shop/.claude/plans/b.md"), ("/home/me/shop",)) == kept
