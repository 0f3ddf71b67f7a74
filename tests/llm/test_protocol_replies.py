import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.llm.protocol import MOST, ReplyError, parse_reply

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "sure": {"type": "number"},
        "state": {"type": "string", "enum": ["open", "resolved"]},
        "items": {"type": "array", "items": {"type": "object", "properties": {"of": {"type": "string"}}}},
    },
}
GOOD = {"name": "a", "count": 1, "sure": 0.5, "state": "open", "items": [{"of": "x"}]}


LACKS = [
    ({"name": 3}, "has no string in name"),
    ({"count": True}, "has no integer in count"),
    ({"count": 1.5}, "has no integer in count"),
    ({"sure": "0.5"}, "has no number in sure"),
    ({"state": "closed"}, "has none of open, resolved in state"),
    ({"items": {}}, "has no array in items"),
    ({"items": [{"of": "x"}, 3]}, "has no object in items[1]"),
    ({"items": [{}]}, "lacks items[0].of"),
    ({"name": None}, "has no string in name"),
]


@pytest.mark.parametrize(
    "text, words",
    [
        *((json.dumps({**GOOD, **change}), words) for change, words in LACKS),
        ("", "is empty"),
        ("Sure! Here it is.", "is not JSON"),
        (f"The material says {json.dumps(GOOD)}", "is not JSON"),
        (f"```json\n{json.dumps(GOOD)}\n```\nand more", "is not JSON"),
        (json.dumps(GOOD)[:-3], "is not JSON"),
        ("[]", "has no object"),
        ("null", "has no object"),
        ('{"name": NaN}', "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("x" * (MOST + 1), "characters"),
        ("{}", "lacks name; lacks count; lacks sure"),
    ],
)
def test_what_is_no_such_reply_is_told(text, words):
    with pytest.raises(ReplyError) as caught:
        parse_reply(text, SCHEMA)
    assert words in str(caught.value)


@pytest.mark.parametrize("name", [r"C:\users\x \d+ \[", "a\nb\tc"])
def test_what_was_copied_into_a_string_as_it_is_stands_for_itself(name):
    text = json.dumps({**GOOD, "name": "NAME"}).replace("NAME", name)
    assert parse_reply(text, SCHEMA)["name"] == name


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.sampled_from([*GOOD, "of"]) | st.text(), below),
)


@given(VALUES)
def test_json_is_read_as_it_is(value):
    with contextlib.suppress(ReplyError):
        assert parse_reply(json.dumps({**GOOD, "more": value}), SCHEMA)["more"] == value


@given(VALUES.map(json.dumps) | st.text())
def test_any_reply_is_an_object_or_an_error(text):
    with contextlib.suppress(ReplyError):
        assert isinstance(parse_reply(text, SCHEMA), dict)
