"""What was given is noted in a file a day, which old files leave and broken lines do not harm."""

from datetime import UTC, datetime, timedelta

from gitmem.lessons.usage_log import GivenText, known_to, record
from tests.desk import given_texts

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def given(days: int, session: str = "s") -> GivenText:
    return GivenText(NOW + timedelta(days=days), session, "prompt", (f"x{days}",), 40)


def test_it_is_read_back_in_order_and_kept_for_ninety_days(tmp_path):
    for days in (0, 1, 90):
        record(str(tmp_path), given(days))
    assert [one.ids for one in given_texts(str(tmp_path))] == [("x0",), ("x1",), ("x90",)]
    record(str(tmp_path), given(91))
    assert [one.ids for one in given_texts(str(tmp_path))] == [("x1",), ("x90",), ("x91",)]
    assert given_texts(str(tmp_path))[0] == given(1)


def test_a_line_that_was_cut_off_is_passed_over(tmp_path):
    record(str(tmp_path), given(0))
    path = tmp_path / "given" / "2026-11-21.jsonl"
    path.write_bytes(b'{"at": "x"\n[1]\n' + path.read_bytes() + b'{"session": "s", "ids"')
    assert known_to(str(tmp_path), "s", NOW) == {"x0"}
    assert len(given_texts(str(tmp_path))) == 1


def test_where_it_cannot_be_written_nothing_fails(tmp_path):
    (tmp_path / "given").write_text("a file")
    record(str(tmp_path), given(0))
    assert known_to(str(tmp_path), "s", NOW) == set()


def test_a_session_whose_name_is_no_unicode_was_told_nothing(tmp_path):
    record(str(tmp_path), given(0))
    assert known_to(str(tmp_path), "\ud800", NOW) == set()
