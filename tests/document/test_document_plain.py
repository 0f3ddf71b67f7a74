"""What is read without YAML is what YAML reads."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.document.document import YamlTextError, flow, plain_mapping, plain_value
from gitmem.document.yaml import load_mapping

SCALARS = st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none(), st.datetimes(), st.dates())
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)
NAMED = [
    *("key: ", "\n  ", "\nb: ", "null", "No", "0x1f", "1_0", "1e3", "2026-11-20", "T10:00:00", "Z", "+02:00"),
    " 10:00",
]
NAMED += ["Z", "+02:00", " 10:00", "12:30", "\u00e9", "e\u0301", "\uac00", "\u2028", "\x85", "<<", "...", "---", "\r\n"]
PIECES = st.sampled_from([*"abyn019.-+:'\"#,[]{}&*!|>%@`~=? \n\t\\", *NAMED])


def same(text: str) -> None:
    found = plain_mapping(text)
    if found is not None:
        assert repr(found) == repr(load_mapping(text))


@given(st.dictionaries(st.text(string.ascii_letters + "_-09", min_size=1), VALUES, min_size=1, max_size=4))
def test_of_what_gitmem_writes_nothing_differs(mapping: dict[str, object]):
    same("".join(f"{key}: {flow(plain_value(value))}\n" for key, value in mapping.items()))


@given(st.lists(PIECES, max_size=12))
def test_of_what_others_write_nothing_differs(pieces: list[str]):
    for text in ("".join(pieces), f"a: {''.join(pieces)}\n", f"a:\n  b: {''.join(pieces)}\nc: d\n"):
        same(text)


@given(st.text())
def test_of_any_text_nothing_differs(text: str):
    same(f"a: {text}\n")


def test_a_facts_header_needs_no_yaml():
    text = (
        'name: a-b\ndescription: "It is: so."\nmetadata:\n  type: project\nid: r0123456789\nstatus: active\n'
        'created: 2026-11-20T10:00:00+01:00\nupdated: 2026-11-20T10:00:00Z\nconfidence: 0.9\norigin: {session: "1-2"}\n'
        "keywords: [mod3, cache pool]\nerrors: [{type: KeyError, message: \"'x'\"}]\nsteps: 3\nfiles: []\n"
        "day: 2026-11-20\n"
    )
    assert plain_mapping(text) == load_mapping(text) != {}


@pytest.mark.parametrize(
    "text", ["", "a", "a: b", "a:\n", "a: b\na: c\n", "a:\n  b: c\n  b: d\n", "  a: b\n", "a: [b\n"]
)
def test_all_else_is_left_to_yaml(text: str):
    assert plain_mapping(text) is None


def test_a_broken_header_is_no_plain_one():
    with pytest.raises(YamlTextError):
        load_mapping("a: [b\n")
