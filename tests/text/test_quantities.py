from __future__ import annotations

from gitmem.text.quantities import age, count


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
