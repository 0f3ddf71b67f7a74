import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.config.values import RotationConfig
from gitmem.importers.sources import split_memory
from gitmem.model.rotation import needs_rotation

SMALL = RotationConfig(threshold_tokens=100, carryover_tokens=10)  # 95 tokens, so a part has 376 bytes at most
TODAY = "2026-11-21"
LINES_OF_TEN = b"a line of ten\n" * 60

DAYS = st.dates().map(lambda day: f"## {day.isoformat()}".encode())
LINES = st.one_of(
    DAYS,
    st.sampled_from([b"## Session", b"## 2026-13-45", b"# Memory", b"", b"---", b"```"]),
    st.sampled_from(["- 한글 한 줄".encode(), "🦀".encode() * 99]),
    st.binary(max_size=120),
    st.binary(min_size=300, max_size=900),
)
MEMORIES = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\r", b""])), max_size=40).map(
    lambda lines: b"".join(text + end for text, end in lines)
)


def day(number: int, size: int = 200) -> bytes:
    head = f"## 2026-01-{number:02d}\n".encode()
    return head + b"x" * (size - len(head) - 1) + b"\n"


@given(MEMORIES)
def test_no_byte_is_lost_and_every_part_is_under_the_threshold(data):
    parts = split_memory(data, SMALL, TODAY)
    assert b"".join(part for _, part in parts) == data
    assert all(part and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", day) for day, part in parts)
    assert not any(needs_rotation(len(part), SMALL) for _, part in parts)


@given(st.text(min_size=400).map(str.encode))
def test_characters_stay_whole_where_a_line_is_cut(data):
    parts = split_memory(data, SMALL, TODAY)
    assert "".join(part.decode() for _, part in parts) == data.decode()


@pytest.mark.parametrize("size, count", [(94_996, 1), (94_997, 2), (95_000, 2)])
def test_the_threshold_is_that_of_a_rotation(size, count):
    """23,749 tokens are one part, 23,750 are not."""
    assert len(split_memory(b"a line\n" * (size // 7) + b"x" * (size % 7), RotationConfig(), TODAY)) == count


@pytest.mark.parametrize(
    "data, most, days",
    [
        pytest.param(b"".join(map(day, range(1, 5))), 110, ["02", "04"], id="whole days, two of them under 104 tokens"),
        pytest.param(b"# Memory\n\n" + day(1, 300) + day(2, 300), 100, ["01", "02"], id="what is before the first"),
        pytest.param(day(1, 180) + b"## Notes\n" + b"x" * 170 + b"\n" + day(2, 300), 100, ["01", "02"], id="a heading"),
        pytest.param(
            day(1, 100) + day(2, 30) + LINES_OF_TEN + day(3, 100), 100, ["01", "02", "02", "03"], id="too large"
        ),
    ],
)
def test_a_part_is_named_after_the_last_of_its_days(data, most, days):
    """Other headings within a day split nothing, a day that is too large alone is split by lines."""
    parts = split_memory(data, RotationConfig(threshold_tokens=most, carryover_tokens=10), TODAY)
    assert [named for named, _ in parts] == [f"2026-01-{number}" for number in days]
    assert all(part.endswith(b"\n") for _, part in parts)


def test_without_days_any_heading_splits():
    """A heading whose date has another form begins no day."""
    data = b"".join(f"## Session {number}\n{'x' * 200}\n".encode() for number in range(4))
    parts = split_memory(data, SMALL, TODAY)
    assert [part[:12] for _, part in parts] == [f"## Session {number}".encode() for number in range(4)]
    assert {day for day, _ in parts} == {TODAY}


@pytest.mark.parametrize("data", [b"\n" * 500_000, b"x" * 500_000, b"## 2026-01-01\n" * 30_000])
def test_large_ones_take_time_in_proportion(data):
    assert b"".join(part for _, part in split_memory(data, RotationConfig(), TODAY)) == data
