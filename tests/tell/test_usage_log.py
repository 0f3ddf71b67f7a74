"""What was given is noted in a file a day, which old files leave and broken lines do not harm."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.tell.usage_log import (
    BEGINS,
    ShownText,
    parse_counts,
    record,
    shown_to,
    total,
    with_shown,
)
from tests.agent import given_texts

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def note(days: int, session: str = "s") -> ShownText:
    return ShownText(NOW + timedelta(days=days), session, "prompt", (f"x{days}",), 40)


def test_it_is_read_back_in_order_and_kept_for_ninety_days(tmp_path):
    for days in (0, 1, 90):
        record(str(tmp_path), note(days))
    assert [one.ids for one in given_texts(str(tmp_path))] == [("x0",), ("x1",), ("x90",)]
    record(str(tmp_path), note(91))
    assert [one.ids for one in given_texts(str(tmp_path))] == [("x1",), ("x90",), ("x91",)]
    assert given_texts(str(tmp_path))[0] == note(1)


def test_where_it_cannot_be_written_nothing_fails(tmp_path):
    (tmp_path / "given").write_text("a file")
    record(str(tmp_path), note(0))
    assert shown_to(str(tmp_path), "s", NOW) == set()


def test_a_session_whose_name_is_no_unicode_was_told_nothing(tmp_path):
    record(str(tmp_path), note(0))
    assert shown_to(str(tmp_path), "\ud800", NOW) == set()


verdicts = st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0]))


tellings = st.dictionaries(st.sampled_from(["e1", "e2"]), st.dictionaries(st.sampled_from("abcd"), verdicts))


@given(tellings, tellings, tellings)
def test_joining_machines_is_the_same_in_any_order_and_twice(one, two, three):
    files = [with_shown(b"", told) for told in (one, two, three)]
    assert total(files) == total(files[::-1]) == total([*files, *files])
    joined = with_shown(with_shown(files[0], two), three)
    assert total([joined]) == total(files)
    assert with_shown(joined, two) == joined


@pytest.mark.parametrize("data", [b"[", b"[]", b'{"a": 1}', b'{"a": {"b": true}}', b"\xff"])
def test_a_file_that_says_nothing_counts_nothing(data):
    assert not any(count.usefulness != BEGINS for count in total([data]).values())
    assert set(parse_counts(data)) <= {"a"}
