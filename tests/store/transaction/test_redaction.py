from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitmem.store.transaction.redaction import changed_lines, redact_bytes

SECRET = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"


@given(st.binary(max_size=200), st.sampled_from([b"", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff"]))
def test_bytes_without_a_secret_stay_as_they_are(data, mark):
    whole = mark + data
    clean = redact_bytes(b"", whole)
    assert clean.data == whole or clean.kinds


@given(st.text(max_size=60).filter(str.isascii), st.sampled_from(["utf-16-le", "utf-16-be"]), st.binary(max_size=1))
def test_a_secret_in_utf_16_is_found_whatever_surrounds_it(text, encoding, tail):
    data = f"{text}\n{SECRET}\n{text}".encode(encoding) + tail
    assert SECRET.encode(encoding) not in redact_bytes(b"", data).data


@given(before=st.binary(max_size=40), after=st.binary(max_size=40))
def test_the_changed_lines_hold_every_change(before, after):
    start, end = changed_lines(before, after)
    assert 0 <= start <= end <= len(after)
    assert before.startswith(after[:start]) or start == 0
    assert before.endswith(after[end:])
    assert start == 0 or after[start - 1 : start] == b"\n"
    assert end == len(after) or after[end : end + 1] == b"\n"


@given(
    lines=st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"a\r\n", b"ab\n"]), max_size=8),
    place=st.integers(0, 8),
    new=st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n"]), max_size=3),
)
def test_the_changed_lines_are_no_more_than_those_around_the_change(lines, place, new):
    before, after = b"".join(lines), b"".join(lines[:place] + new + lines[place:])
    start, end = changed_lines(before, after)
    assert after[start:end].count(b"\n") <= len(new) + 1
