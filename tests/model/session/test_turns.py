from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.ids import TIME_LENGTH, is_id, milliseconds_of
from gitmem.model.session.events import HookEvent, HookKind
from gitmem.model.session.turns import Turn, derived_id, fold, program

BEGAN = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)


def event(kind: str, second: float, turn="t", text="", session="s", **more) -> HookEvent:
    at = BEGAN + timedelta(seconds=second)
    return HookEvent(HookKind(kind), session, at, "claude-code", turn=turn, text=text, **more)


def prompt(second, text="ask", turn="t", **more):
    return event("UserPromptSubmit", second, turn, text, **more)


def tool(second, command="", turn="t", *, name="Bash", **more):
    return event("PostToolUse", second, turn, tool=name, command=command, **more)


def failed(second, command, error="error: no", turn="t", *, name="Bash", **more):
    return event("PostToolUseFailure", second, turn, error, tool=name, command=command, **more)


def stop(second, text="done", turn="t", **more):
    return event("Stop", second, turn, text, **more)


def one(*events) -> Turn:
    (turn,) = fold(events)
    return turn


def test_nothing():
    assert fold([]) == []
    assert fold([event("SessionStart", 0), event("SessionEnd", 1), event("PreCompact", 2)]) == []


def test_a_turn():
    turn = one(
        prompt(0, "고쳐줘", cwd="/p", source="a.json"),
        tool(1, "uv run pytest", tool_id="1", source="b.json"),
        tool(2, name="Edit", files=("/p/a.py",), tool_id="2"),
        tool(3, name="Write", files=("/p/b.py", "/p/a.py"), tool_id="3"),
        stop(4, "고쳤습니다"),
    )
    assert (turn.session, turn.key, turn.prompt, turn.answer) == ("s", "t", "고쳐줘", "고쳤습니다")
    assert (turn.files, turn.tools, turn.closed, turn.cwd) == (("/p/a.py", "/p/b.py"), 3, True, "/p")
    assert (turn.started, turn.ended) == (BEGAN, BEGAN + timedelta(seconds=4))
    assert turn.sources[:2] == ("a.json", "b.json")


def test_a_turn_without_its_answer_is_open_until_the_next_begins():
    assert not one(prompt(0), tool(1)).closed
    first, second = fold([prompt(0), tool(1), prompt(2, "other", "u")])
    assert (first.closed, second.closed) == (True, False)


def test_a_turn_of_a_subagent_breaks_nothing_off():
    first, second = fold([prompt(0), tool(1, turn="u", agent="a1"), tool(2)])
    assert (first.key, first.closed, first.tools) == ("t", False, 1)
    assert (second.key, second.closed) == ("u", False)


def test_turns_of_sessions_do_not_mix():
    turns = fold([prompt(0, "a"), prompt(1, "b", session="r"), stop(2, "A"), stop(3, "B", session="r")])
    assert [(turn.session, turn.prompt, turn.answer) for turn in turns] == [("s", "a", "A"), ("r", "b", "B")]


def test_a_turn_without_its_beginning():
    turn = one(tool(5, files=("a",), name="Edit"), stop(6, "done"))
    assert (turn.prompt, turn.answer, turn.files, turn.closed) == ("", "done", ("a",), True)


def test_an_answer_that_says_nothing_leaves_the_one_before():
    assert one(prompt(0), stop(1, "first"), stop(2, "")).answer == "first"
    assert one(prompt(0), stop(1, "first"), stop(2, "second")).answer == "second"


# Failures


def test_a_failure_and_what_then_worked():
    turn = one(
        prompt(0),
        failed(1, "uv run pytest -q", tool_id="1"),
        tool(2, "git status", tool_id="2"),
        tool(3, "uv run pytest tests/b", tool_id="3"),
        tool(4, "timeout 60 pytest -q", tool_id="4"),
    )
    assert [(failure.command, failure.fixed_by) for failure in turn.failures] == [
        ("uv run pytest -q", "timeout 60 pytest -q")
    ]


def test_what_changed_between_a_failure_and_the_same_command():
    turn = one(
        prompt(0),
        failed(1, "pytest", tool_id="1"),
        tool(2, "git status", tool_id="2"),
        tool(3, "uv sync", tool_id="3"),
        tool(4, "python report.py > out.txt", tool_id="4"),
        failed(5, "pytest", tool_id="5"),
        tool(6, name="Edit", files=("a.py",), changes=("change `a.py`: `- x` `+ y`",), tool_id="6"),
        tool(7, "pytest", tool_id="7"),
        tool(8, "npm ci", tool_id="8"),
    )
    first, second = turn.failures
    assert (first.meanwhile, first.again, first.fixed_by) == ("uv sync\nchange `out.txt`", True, "pytest")
    assert (second.meanwhile, second.again) == ("change `a.py`: `- x` `+ y`", False)
    assert [run.after for run in turn.runs] == [(), (), (), (), (), ("change `a.py`: `- x` `+ y`",), ()]


def test_what_was_never_tried_again_is_open():
    assert one(failed(1, "make"), tool(2, "ls")).failures[0].fixed_by == ""


def test_what_worked_before_it_failed_mended_nothing():
    assert one(tool(1, "make"), failed(2, "make")).failures[0].fixed_by == ""


def test_a_file_that_could_be_edited_in_the_end():
    turn = one(failed(1, "", name="Edit", files=("a.py",)), tool(2, name="Edit", files=("a.py",)))
    assert turn.failures[0].command == "a.py"
    assert turn.failures[0].fixed_by == "a.py"


def test_failures_are_bounded():
    assert len(one(*(failed(n, f"c{n}", tool_id=str(n)) for n in range(100))).failures) <= 20


@pytest.mark.parametrize(
    "command, named",
    [
        ("make", "make"),
        ("git commit -m x", "git commit"),
        ("cd /x && CI=1 uv run pytest", "uv run"),
        ("python -m pytest", "python pytest"),
        ("A=b C=d cargo test --all", "cargo test"),
        ("", ""),
        ("   ", ""),
        ("ls /no/such", "ls"),
        ("&&", ""),
        ("한글 명령", "한글 명령"),
    ],
)
def test_the_program_of_a_command(command, named):
    assert program(command) == named


# Hosts without ids of turns


def test_a_turn_goes_from_prompt_to_prompt():
    turns = fold(
        [prompt(0, "a", ""), tool(1, turn="", tool_id="1"), stop(2, "A", ""), prompt(60, "b", ""), stop(61, "B", "")]
    )
    assert [(turn.prompt, turn.answer, turn.tools) for turn in turns] == [("a", "A", 1), ("b", "B", 0)]


def test_a_prompt_delivered_twice_is_one():
    assert one(prompt(0, "a", ""), prompt(0.3, "a", "")).prompt == "a"
    assert one(prompt(0, "a", ""), stop(1, "A", ""), prompt(1.5, "a", "")).answer == "A"


def test_the_same_question_later_is_another():
    turns = fold([prompt(0, "a", ""), stop(1, "A", ""), prompt(100, "a", ""), stop(101, "B", "")])
    assert [turn.answer for turn in turns] == ["A", "B"]
    assert len({turn.key for turn in turns}) == 2


# Order and doubles


_KINDS = ["UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop"]


@st.composite
def events(draw):
    """Events as a host delivers them: each at its own time, a tool's use with an id."""
    found = []
    for second in draw(st.lists(st.integers(0, 400), unique=True, max_size=14)):
        kind = draw(st.sampled_from(_KINDS))
        found.append(
            event(
                kind,
                second,
                draw(st.sampled_from(["t", "u", "v"])),
                draw(st.sampled_from(["", "한글", "x"])) if kind != "PostToolUse" else "",
                draw(st.sampled_from(["s", "r"])),
                tool=draw(st.sampled_from(["Bash", "Edit"])) if "Tool" in kind else "",
                tool_id=f"id-{second}" if "Tool" in kind else "",
                command=draw(st.sampled_from(["", "make a", "make b"])) if "Tool" in kind else "",
                files=draw(st.sampled_from([(), ("a",), ("b", "a")])) if kind == "PostToolUse" else (),
                agent=draw(st.sampled_from(["", "", "sub"])),
                source=f"{second}.json",
            )
        )
    return found


@given(events(), st.randoms())
def test_the_order_of_delivery_does_not_matter(delivered, random):
    shuffled = list(delivered)
    random.shuffle(shuffled)
    assert fold(shuffled) == fold(delivered)


@given(events(), st.randoms(), st.data())
def test_what_is_delivered_twice_happens_once(delivered, random, data):
    """The second delivery comes in the same moment, as from two hosts that read the same hooks."""
    again = data.draw(st.lists(st.sampled_from(delivered), max_size=8)) if delivered else []
    both = [*delivered, *(copy._replace(source=f"again-{copy.source}") for copy in again)]
    random.shuffle(both)

    def without_sources(turns):
        return [turn._replace(sources=()) for turn in turns]

    assert without_sources(fold(both)) == without_sources(fold(delivered))
    assert sorted(source for turn in fold(both) for source in turn.sources) == sorted(copy.source for copy in both)


@given(events())
def test_every_event_belongs_to_one_turn(delivered):
    turns = fold(delivered)
    assert sorted(source for turn in turns for source in turn.sources) == sorted(one.source for one in delivered)
    assert len({(turn.session, turn.key) for turn in turns}) == len(turns)
    assert [turn.started for turn in turns] == sorted(turn.started for turn in turns)


# Ids


def test_an_id_is_of_what_it_is_and_not_of_when_it_was_captured():
    turn = one(prompt(0))
    later = turn._replace(started=turn.started + timedelta(minutes=3))
    assert turn.entry_id()[TIME_LENGTH:] == later.entry_id()[TIME_LENGTH:]
    assert is_id(turn.entry_id("한글 \ud800", "x"))
    assert milliseconds_of(later.entry_id()) == milliseconds_of(turn.entry_id()) + 180_000
    ids = {turn.entry_id(), turn.entry_id("a"), turn.entry_id("a", "b"), turn.entry_id("ab")}
    ids |= {turn._replace(session="r").entry_id(), turn._replace(key="u").entry_id()}
    assert len({one[TIME_LENGTH:] for one in ids}) == 6


def test_times_of_the_edge_of_history_have_ids():
    for at in (datetime.min.replace(tzinfo=UTC), datetime(1969, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        assert is_id(derived_id(at, "x"))
