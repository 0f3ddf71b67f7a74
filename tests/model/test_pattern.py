"""A bug pattern's file: read, written, and joined with what another machine learned (docs/format.md)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.merge.documents import MergeStatus, merge
from gitmem.model.error import ErrorSignature, read_error
from gitmem.model.error_occurrence import ErrorOccurrence
from gitmem.model.pattern import BugPattern, begun, parse_pattern, render_pattern, seen_again

AT = datetime(2026, 10, 2, 9, 0, tzinfo=UTC)
ERROR = read_error("ModuleNotFoundError: No module named 'yaml'")
assert ERROR is not None


def sight(
    number: int, fix: str = "", tried: tuple[str, ...] = (), error: ErrorSignature = ERROR, cause: str = ""
) -> ErrorOccurrence:
    files = (f"a{number}.py",)
    return ErrorOccurrence(
        f"x{number:010}", AT + timedelta(hours=number), error, "pytest", fix, tried, files, cause=cause
    )


def learned(*sights: ErrorOccurrence) -> BugPattern:
    pattern = begun(sights[0])
    for one in sights[1:]:
        pattern = seen_again(pattern, one)
    return pattern


def test_a_pattern_is_read_as_it_was_written():
    pattern = learned(sight(1, "`uv sync`", ("`pip install pyyaml`",)), sight(2), sight(3, "`uv sync`"))
    data = render_pattern(pattern)
    assert parse_pattern(data) == pattern._replace(source=data)
    text = data.decode()
    assert text.count("# ModuleNotFoundError: No module named 'yaml'") == 1
    assert "- Mended by: `uv sync`" in text
    assert "- Did not help: `pip install pyyaml`" in text


def test_the_id_follows_from_type_and_masked_message():
    again = read_error("E   ModuleNotFoundError: No module named 'yaml'")
    assert again is not None
    assert begun(sight(1)).id == begun(sight(7, error=again)).id
    assert begun(sight(1)).id[0] == "b"
    assert begun(sight(1)).id != begun(sight(1, error=ErrorSignature("ModuleNotFoundError", "of another"))).id


def test_a_changed_file_without_its_lines_is_no_solution():
    assert learned(sight(1, "change `src/a.py`")).best() is None
    assert learned(sight(1, "change `src/a.py`: `+ import yaml`")).best() is not None


def test_a_solution_that_worked_for_the_program_that_failed_goes_first():
    mypy = sight(3, "`mypy --install-types`")._replace(command="mypy")
    pattern = learned(sight(1, "`uv sync`"), sight(2, "`uv sync`"), mypy)
    assert [one.commands for one in pattern.solutions] == [("pytest",), ("mypy",)]
    found = [pattern.best(command) for command in ("", "cd a && uv run pytest -q", "mypy .", "make")]
    assert [one.text for one in found if one] == ["`uv sync`", "`uv sync`", "`mypy --install-types`", "`uv sync`"]


def test_causes_are_kept_once_with_the_exchanges_that_say_them():
    causes = "The lock file was stale.", "the lock  file was stale.", "", "Python is too old."
    pattern = learned(*(sight(number, cause=cause) for number, cause in enumerate(causes)))
    assert [(one.text, len(one.said)) for one in pattern.causes] == [
        ("The lock file was stale.", 2),
        ("Python is too old.", 1),
    ]
    data = render_pattern(pattern)
    assert parse_pattern(data) == pattern._replace(source=data)
    assert "- Cause: The lock file was stale.\n" in data.decode()


def test_what_a_user_wrote_into_the_file_stays():
    data = render_pattern(learned(sight(1, "`uv sync`"))).replace(b"# Module", b"Mine.\n\n# Module")
    pattern = parse_pattern(data)
    assert pattern is not None
    again = render_pattern(seen_again(pattern, sight(2, "`uv lock`"))).decode()
    assert "Mine.\n" in again
    assert again.count("Mended by: ") == 2
    assert render_pattern(pattern) == data


sights = st.lists(
    st.builds(
        sight,
        st.integers(1, 9),
        st.sampled_from(["", "`uv sync`", "`uv lock`"]),
        st.lists(st.sampled_from(["`make`", "`uv lock`"]), max_size=2, unique=True).map(tuple),
        cause=st.sampled_from(["", "It is new.", "It is old."]),
    ),
    max_size=4,
)


def after(data: bytes, more: list[ErrorOccurrence]) -> bytes:
    pattern = parse_pattern(data) if data else None
    for one in more:
        pattern = begun(one) if pattern is None else seen_again(pattern, one)
    return render_pattern(pattern) if pattern else data


def said(data: bytes) -> dict[str, object]:
    """Return all that a file says, regardless of order."""
    pattern = parse_pattern(data)
    assert pattern is not None
    solutions = {one.text: (set(one.worked), set(one.failed)) for one in pattern.solutions}
    causes = {(one.text, exchange) for one in pattern.causes for exchange in one.said}
    return {
        "seen": set(pattern.seen),
        "solutions": solutions,
        "causes": causes,
        "files": set(pattern.files),
        "last": pattern.updated,
    }


@settings(deadline=None, max_examples=60)
@given(before=sights, ours=sights, theirs=sights)
@pytest.mark.slow
def test_two_machines_patterns_join_whichever_comes_first_and_lose_nothing(before, ours, theirs):
    base = after(b"", before)
    one, other = after(base, ours or [sight(1)]), after(base, theirs or [sight(2)])
    merged = merge("patterns/bugs/b.md", base or None, one, other)
    assert merged == merge("patterns/bugs/b.md", base or None, other, one)
    assert merged.status is not MergeStatus.REVIEW
    data = merged.data
    assert data is not None
    for side in (one, other):
        assert merge("patterns/bugs/b.md", side, data, side).data == data  # a second merge changes nothing
    now, sides = said(data), [said(one), said(other)]
    assert now["seen"] == sides[0]["seen"] | sides[1]["seen"]
    assert now["files"] == sides[0]["files"] | sides[1]["files"]
    assert now["causes"] == sides[0]["causes"] | sides[1]["causes"]
    assert now["last"] == max(side["last"] for side in sides)
    for side in sides:
        for text, (worked, failed) in side["solutions"].items():
            all_worked, all_failed = now["solutions"][text]
            assert worked <= all_worked
            assert failed <= all_failed | all_worked
