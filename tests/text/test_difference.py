from hypothesis import given
from hypothesis import strategies as st

from gitmem.text.difference import changed_range

FEW = st.text("ab", max_size=12).map(str.encode)


@given(FEW, FEW, FEW, FEW)
def test_what_is_around_the_range_is_the_same_in_both(head, old, new, tail):
    before, after = head + old + tail, head + new + tail
    start, end = changed_range(before, after)
    assert before.startswith(after[:start])
    assert before[start:].endswith(after[end:])
    assert end - start <= len(new)
    assert start <= end
