from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.ids import ALPHABET, LENGTH, TAIL_BYTES, is_id, make_id, milliseconds_of, short_session

_LATEST = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()) * 1000
TIMES = st.integers(0, _LATEST)
TAILS = st.binary(min_size=TAIL_BYTES, max_size=32)


def test_the_alphabet_is_crockfords_and_sorts():
    assert len(ALPHABET) == 32
    assert list(ALPHABET) == sorted(ALPHABET)
    assert not set("ilou") & set(ALPHABET)


@pytest.mark.parametrize(
    "milliseconds, tail, identifier",
    [
        (0, bytes(7), "00000000000000000000"),
        (1, bytes(7), "00000000010000000000"),
        (32, bytes(6) + b"\x01", "00000000100000000001"),
        (-5, b"\xff" * 7, "0000000000zzzzzzzzzz"),
        (1_469_922_850_259, bytes(7), "01arz3ndek0000000000"),  # the time of the ULID specification's example
    ],
)
def test_known_ids(milliseconds, tail, identifier):
    assert make_id(milliseconds, tail) == identifier


@given(TIMES, TAILS)
def test_an_id_holds_its_time_and_has_the_form_of_one(milliseconds, tail):
    identifier = make_id(milliseconds, tail)
    assert is_id(identifier)
    assert milliseconds_of(identifier) == milliseconds


@given(TIMES, TIMES, TAILS, TAILS)
def test_ids_sort_by_time(one, other, tail, other_tail):
    if one != other:
        assert (make_id(one, tail) < make_id(other, other_tail)) == (one < other)


@given(TIMES, st.integers(0, 2**50 - 1), st.integers(0, 2**50 - 1))
def test_all_fifty_bits_of_the_tail_count(milliseconds, one, other):
    first, second = (make_id(milliseconds, tail.to_bytes(TAIL_BYTES, "big")) for tail in (one, other))
    assert (first == second) == (one == other)


@given(TIMES, TAILS)
def test_the_rest_of_a_digest_does_not_count(milliseconds, tail):
    assert make_id(milliseconds, tail) == make_id(milliseconds, tail[:TAIL_BYTES])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1" * (LENGTH - 1),
        "1" * (LENGTH + 1),
        "1KSD9Q2X0M3V8T5W7ZAB",
        "iksd9q2x0m3v8t5w7zab",
        "1ksd9q2x0m3v8t5w7za\n",
        "1ksd9q2x0m3v8t5w7za٣",
        "1ksd9q2x0m 3v8t5w7za",
    ],
)
def test_what_is_no_id(text):
    assert not is_id(text)


def test_the_beginning_of_a_session_tells_it_from_those_of_the_same_minute():
    assert short_session("b0d3a1f2-1111-4abc-8def-000000000000") == "b0d3a1f2"
    one, other = "019a6f21-0a11-7abc-8def-000000000000", "019a6f21-0b12-7abc-8def-000000000000"
    assert one.startswith(short_session(one))
    assert short_session(one) != short_session(other)
    assert short_session("ses_6a1b2c3d4effX") != short_session("ses_6a1b2c3d5effX")
    assert short_session("s-1") == "s-1"
