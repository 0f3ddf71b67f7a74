"""A bug pattern's file: read, written, and joined with what another machine learned (docs/format.md)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.merge.documents import MergeStatus, merge
from gitmem.model.error import ErrorSignature, read_error
from gitmem.model.pattern import (
    BugPattern,
    Case,
    ErrorOccurrence,
    begun,
    parse_pattern,
    render_pattern,
    unseen,
    with_occurrence,
)

AT = datetime(2026, 10, 2, 9, 0, tzinfo=UTC)
ERROR = read_error("ModuleNotFoundError: No module named 'yaml'")
assert ERROR is not None


def came(  # noqa: PLR0917
    number: int,
    change: str = "",
    tried: tuple[str, ...] = (),
    error: ErrorSignature = ERROR,
    command: str = "pytest -q",
    cause: str = "",
) -> ErrorOccurrence:
    exchange, at = f"x{number:010}", AT + timedelta(hours=number)
    vain = [Case(exchange, at, command, (one,)) for one in tried]
    last = Case(exchange, at, command, (change,) if change else (), command if change else "", cause=cause)
    return ErrorOccurrence(error, (*vain, last), (f"a{number}.py",))


def learned(*found: ErrorOccurrence) -> BugPattern:
    pattern = begun(found[0])
    for one in found[1:]:
        pattern = with_occurrence(pattern, one)
    return pattern


def test_a_pattern_is_read_as_it_was_written():
    pattern = learned(came(1, "uv sync", ("pip install pyyaml",)), came(2), came(3, "uv sync", cause="It is new."))
    data = render_pattern(pattern)
    assert parse_pattern(data) == pattern._replace(source=data)
    assert data.decode().endswith(
        "# ModuleNotFoundError: No module named 'yaml'\n\n- Came with `pytest -q`\n- Cause: It is new.\n"
        "- Fixed by: `uv sync`\n- Did not help: `pip install pyyaml`\n"
    )
    assert with_occurrence(pattern, came(3, "uv sync", cause="It is new.")) == pattern


def test_the_id_follows_from_type_and_masked_message():
    again = read_error("E   ModuleNotFoundError: No module named 'yaml'")
    assert again is not None
    assert begun(came(1)).id == begun(came(7, error=again)).id
    assert begun(came(1)).id[0] == "b"
    assert begun(came(1)).id != begun(came(1, error=ErrorSignature("ModuleNotFoundError", "of another"))).id


def test_rates_are_computed_from_the_cases():
    pattern = learned(came(1, "uv sync"), came(2, "pip install x"), came(3, "", ("pip install x",)))
    assert [(one.text, one.success_rate) for one in pattern.solutions] == [("`uv sync`", 1.0), ("`pip install x`", 0.5)]
    best = pattern.best()
    assert best is not None
    assert (best.text, best.confidence) == ("`uv sync`", pytest.approx(2 / 3))
    assert learned(came(1, "", ("pip install x",))).best() is None
    left = unseen(pattern, {"x0000000001"})
    assert left is not None
    assert left.best() is not None
    assert unseen(pattern, set(pattern.seen)) is None


def test_what_fixed_the_command_that_failed_goes_first():
    pattern = learned(came(1, "uv sync"), came(2, "uv sync"), came(3, "mypy --install-types", command="mypy ."))
    found = [pattern.best(command) for command in ("", "pytest -q", "mypy .", "make")]
    assert [one.text for one in found if one] == ["`uv sync`", "`uv sync`", "`mypy --install-types`", "`uv sync`"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"# No header\n",
        b"---\nkind: bug-pattern\n---\n",
        b"---\nid: b4f7k2m9q0x\nkind: bug-pattern\nerror: x\n---\n",
    ],
)
def test_a_document_of_another_form_is_no_pattern(data):
    assert parse_pattern(data) is None


def test_odd_fields_are_left_out():
    head = "---\nid: b4f7k2m9q0x\nkind: bug-pattern\nerror: {type: [1], message: 3}\n"
    pattern = parse_pattern(f"{head}cases: [3, {{at: x}}, {{exchange: x1, seconds: true}}]\n---\n".encode())
    assert pattern is not None
    assert pattern.seen == ("x1",)
    assert pattern.solutions == ()


occurrences = st.lists(
    st.builds(
        came,
        st.integers(1, 9),
        st.sampled_from(["", "uv sync", "uv lock"]),
        st.lists(st.sampled_from(["make gen", "uv lock"]), max_size=2, unique=True).map(tuple),
        cause=st.sampled_from(["", "It is new.", "It is old."]),
    ),
    max_size=4,
)


def after(data: bytes, more: list[ErrorOccurrence]) -> bytes:
    pattern = parse_pattern(data) if data else None
    for one in more:
        pattern = begun(one) if pattern is None else with_occurrence(pattern, one)
    return render_pattern(pattern) if pattern else data


@settings(deadline=None, max_examples=60)
@given(before=occurrences, ours=occurrences, theirs=occurrences)
@pytest.mark.slow
def test_two_machines_patterns_join_whichever_comes_first_and_lose_nothing(before, ours, theirs):
    base = after(b"", before)
    one, other = after(base, ours or [came(1)]), after(base, theirs or [came(2)])
    merged = merge("patterns/bugs/b.md", base or None, one, other)
    assert merged == merge("patterns/bugs/b.md", base or None, other, one)
    assert merged.status is not MergeStatus.REVIEW
    data = merged.data
    assert data is not None
    for side in (one, other):
        assert merge("patterns/bugs/b.md", side, data, side).data == data  # a second merge changes nothing
    now, sides = parse_pattern(data), [parse_pattern(one), parse_pattern(other)]
    assert now is not None
    assert sides[0] is not None
    assert sides[1] is not None
    assert set(now.cases) == {*sides[0].cases, *sides[1].cases}
    assert set(now.files) == {*sides[0].files, *sides[1].files}
    assert now.updated == max(side.updated for side in sides if side)
