from __future__ import annotations

from gitmem.text.quantities import age, count, date_of


def test_numbers_and_ages_in_words():
    assert [count(number, "file") for number in (0, 1, 2, 1234)] == ["0 files", "1 file", "2 files", "1,234 files"]
    assert [age(seconds) for seconds in (0, 1, 59, 60, 7199, 86_400, 86_400 * 400)] == [
        "0 seconds",
        "1 second",
        "59 seconds",
        "1 minute",
        "1 hour",
        "1 day",
        "400 days",
    ]
    assert age(-5) == "0 seconds"


def test_a_date_is_written_out_and_other_text_left_as_it_is():
    assert date_of("2026-11-02 10:03:00") == date_of("2026-11-02T10:03:00Z") == "2 November 2026, 10:03"
    assert [date_of(text) for text in ("2026-01-31", "2026-12")] == ["31 January 2026", "December 2026"]
    for text in ("", "2026", "2026-13-01", "2026-00", "a-b-c", "1-2-3-4", "last week"):
        assert date_of(text) == text
