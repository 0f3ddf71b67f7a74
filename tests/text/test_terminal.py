from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from gitmem.text.terminal import harmless

TEXTS = st.text() | st.text(st.characters(categories=["Cs", "Cc"])) | st.text('"\\/\b\f\n\r\t\x00\x1f\x7f')
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)
OBEYED = "\x7f\x80\x9b\x9f\u061c\u200e\u200f\u202a\u202e\u2066\u2069"


@given(VALUES)
def test_what_a_terminal_obeys_is_escaped_and_the_value_is_the_same(value):
    plain = json.dumps([value, OBEYED], ensure_ascii=False)
    text = harmless(plain)
    assert not set(OBEYED) & set(text)
    assert json.loads(text) == json.loads(plain)


def test_what_no_terminal_obeys_stays():
    assert harmless("한글 \x1b[1m é\n\t\u200b👩‍🚀") == "한글 \x1b[1m é\n\t\u200b👩‍🚀"
