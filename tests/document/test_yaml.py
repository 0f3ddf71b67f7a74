"""Changing one value of a YAML text: the value reads back exactly, and nothing else moves."""

import string
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum, IntEnum
from types import MappingProxyType

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gitmem.document import yaml as module
from gitmem.document.plain_header import YamlTextError, flow, plain_mapping, plain_value
from gitmem.document.yaml import MAX_DEPTH, load_mapping, remove_value, set_value

CONFIG = """\
# gitmem, project wide
rotation:   # tokens
  threshold_tokens: 25_000   # R2
  # carryover_tokens: 9
  carryover_tokens: 2500

sync: {remote: origin, push: yes} # flow
keep:
  - "a: b" # quoted
  - 'it''s'
note: |
  # not a comment

  two

# the end
"""


# Reading ------------------------------------------------------------------------------------------


def test_keys_are_the_words_that_stand_there():
    text = "on: 1\n2024: 2\n2026-03-01: 3\nnull: 4\n1.10: {yes: 5}\n"

    assert load_mapping(text) == {"on": 1, "2024": 2, "2026-03-01": 3, "null": 4, "1.10": {"yes": 5}}


@pytest.mark.parametrize(
    "text, why",
    [
        ("a: 1\na: 2\n", "the key 'a' is there twice"),
        ("a: {b: 1, 'b': 2}\n", "the key 'b' is there twice"),
        ("- a\n- b\n", "not a mapping"),
        ("just words\n", "not a mapping"),
        ("~", "not a mapping"),
        ('""', "not a mapping"),
        ("---\n---\n", "not valid YAML"),
        ("a: [\n", "not valid YAML"),
        ("a: 1\n---\nb: 2\n", "not valid YAML"),
        ("a: \x00\n", "not valid YAML"),
        ("a: &x 1\nb: *x\n", "an alias, which is not read"),
        ("a: &a [*a]\n", "an alias, which is not read"),
        ("a: &x 1\nb: &x 2\n", "duplicate anchor"),
        ("[a]: 1\n", "where a key should"),
        ("a: \udc80\n", "UTF-8"),
        ("a: !!python/object/apply:os.getcwd []\n", "not valid YAML"),
        ("a: !secret x\n", "not valid YAML"),
        ("a: 2026-13-45\n", "not valid YAML"),
        ("a: !!timestamp soon\n", "not valid YAML"),
        ("a: !!bool soon\n", "not valid YAML"),
        pytest.param(f"a: {'1' * 5000}\n", "not valid YAML", id="digits"),
        pytest.param("a: " + "x" * 65_536, "longer than 64 KiB", id="characters"),
        pytest.param("a: " + "한" * 22_000, "longer than 64 KiB", id="bytes"),
        pytest.param("[" * 60_000, "nest", id="flow lists"),
        pytest.param("- " * 30_000 + "a", "nest", id="block lists"),
        pytest.param("{a: " * 15_000, "nest", id="flow mappings"),
    ],
)
def test_what_cannot_be_read_is_one_error_of_one_line(text, why):
    with pytest.raises(YamlTextError, match=why) as caught:
        load_mapping(text)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("extra", [0, 1])
def test_the_deepest_text_that_is_read_and_the_first_that_is_not(extra):
    deep = MAX_DEPTH - 2 + extra  # the mapping and its value `x` are two more levels
    text = f"a: {'[' * deep}x{']' * deep}"
    if not extra:
        assert load_mapping(text)
        return
    with pytest.raises(YamlTextError, match="levels deep"):
        load_mapping(text)


def test_without_libyaml_the_slow_loader_does_the_same(monkeypatch):
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    module._strict_loader.cache_clear()
    try:
        assert (
            set_value("\ufeffon: 1 # c\nb: {x: , z: 2}\n", ("b", "x"), "no") == '\ufeffon: 1 # c\nb: {x: "no", z: 2}\n'
        )
        with pytest.raises(YamlTextError, match="levels deep"):
            load_mapping("[" * 3000)
    finally:
        module._strict_loader.cache_clear()


# Setting ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path, value, old, new",
    [
        (("rotation", "threshold_tokens"), 30000, "25_000   # R2", "30000   # R2"),
        (("rotation", "carryover_tokens"), "1.10", "carryover_tokens: 2500", 'carryover_tokens: "1.10"'),
        (("rotation", "margin"), 0.05, "tokens: 2500\n", "tokens: 2500\n  margin: 0.05\n"),
        (("sync", "push"), False, "push: yes}", "push: false}"),
        (("sync", "auto"), "no", "push: yes}", 'push: true, auto: "no"}'),
        (("keep",), [], "keep:\n  - \"a: b\" # quoted\n  - 'it''s'\n", "keep: []\n"),
        (("note",), "one\n", "|\n  # not a comment\n\n  two\n", '"one\\n"\n'),
        (("rotation",), {"x": {"z": 1}}, CONFIG[CONFIG.index("  thresh") : CONFIG.index("\nsync")], "  x:\n    z: 1\n"),
        (("new", "한글"), "yes", "  two\n\n", '  two\n\nnew:\n  한글: "yes"\n'),
    ],
)
def test_a_change_in_a_configuration_with_comments(path, value, old, new):
    assert CONFIG.count(old) == 1

    assert set_value(CONFIG, path, value) == CONFIG.replace(old, new)


@pytest.mark.parametrize(
    "text, path, value",
    [
        ("a: 1\n", (), 1),
        ("", (), 1),
        ("a: 1\n", ("a", "b"), 1),
        ("a: [1]\n", ("a", "b"), 1),
        ("a: 1\n", ("a",), {1}),
        ("a: 1\n", ("a",), b"x"),
        ("a: 1\n", ("a",), {1: "x"}),
        ("a: 1\n", ("a",), "\ud83d"),
        pytest.param("a: 1\n", ("a",), "x" * 70_000, id="long"),
        pytest.param("a: 1\n", ("a",), 10**5000, id="digits"),
        ("a: 1\n", ("a",), datetime(2026, 1, 1, tzinfo=timezone(timedelta(seconds=30)))),
        ("a: [\n", ("b",), 1),
        ("a: 1\nb: 1\na: 2\n", ("b",), 2),
        ("a: |\n  no line end", ("b",), 2),
        ("? a\n", ("a",), 2),
        ("? a\n: 1\n", ("b",), 2),
        ("{\n  a: 1 # one\n}\n", ("b",), 2),
    ],
)
def test_what_cannot_be_set_is_refused_not_guessed(text, path, value):
    with pytest.raises(YamlTextError) as caught:
        set_value(text, path, value)

    assert "\n" not in str(caught.value)


# Values -------------------------------------------------------------------------------------------


class Outcome(str, Enum):  # noqa: UP042 - `str()` of such a member is "Outcome.PARTIAL"
    PARTIAL = "partial"


class Level(IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    "value, written",
    [
        ("plain words", "plain words"),
        ("don't", "don't"),
        ("no", '"no"'),
        ("Y", '"Y"'),
        ("007", '"007"'),
        ("12:30", '"12:30"'),
        ("2026-03-01", '"2026-03-01"'),
        ("", '""'),
        (" x", '" x"'),
        ("a: b", '"a: b"'),
        ("a #b", '"a #b"'),
        ("*a", '"*a"'),
        ('say "hi"', '"say \\"hi\\""'),
        ("one\ntwo\r\n", '"one\\ntwo\\r\\n"'),
        ("\u2028\ufeff\x7f\x85", '"\\u2028\\ufeff\\u007f\\u0085"'),
        (None, "null"),
        (True, "true"),
        (1e16, "1.0e+16"),
        (-1.5e-7, "-1.5e-07"),
        (float("inf"), ".inf"),
        (float("nan"), ".nan"),
        (date(2026, 3, 1), "2026-03-01"),
        (datetime(2026, 3, 1, 9, 5, 6), "2026-03-01T09:05:06"),  # noqa: DTZ001
        (datetime(2026, 3, 1, 9, 5, 6, 7, tzinfo=UTC), "2026-03-01T09:05:06.000007+00:00"),
        (["a", "b, c", [1]], '[a, "b, c", [1]]'),
        ([{"k": "v: w"}, {}], '[{k: "v: w"}, {}]'),
        (Outcome.PARTIAL, "partial"),
        (Level.HIGH, "3"),
        (MappingProxyType({}), "{}"),
    ],
)
def test_how_a_value_is_written(value, written):
    assert set_value("", ("k",), value) == f"k: {written}\n"


# Removing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, path",
    [
        ("a: 1\n", ()),
        ("a: [\n", ("a",)),
        ("? a\n: 1\n", ("a",)),
        ("a: |\n  x\nb: 1\n  # swallowed\nc: 1\n", ("b",)),
    ],
)
def test_what_cannot_be_removed_is_refused(text, path):
    with pytest.raises(YamlTextError):
        remove_value(text, path)


# For any text a user may write ------------------------------------------------------------------

SPELLINGS = [
    *("", " plain words", " 007  # seven", ' "quoted: # not a comment"', " 'it''s'  # its", " [a, 'b, c'] # list"),
    *(" [a,\n  b]", "\n  - one\n  - two: 2 # c\n    three: 3", "\n- x\n-\n- y"),
    *("  # said here\n  # and here\n  sub: 1\n  other: {k: v}", " |\n  text\n\n  # more"),
    *(" >-\n    folded\n    lines", " |2-\n   x", " {a: 1, b: [x, {c: d}]}", " 2026-03-01", " 12:30"),
    *(" 한국어 기억 # 주석", " 🎉", " !!str 12", " &here value", "\n  <<: {m: 1}\n  n: 2", " one\n  two"),
    *(' "one\n\n  two\\n"', " ~"),
]
KEYS = ["a", "on", "key with words", '"quoted"', "'single'", "한글", "2024", "🎉", "x-y_z.w", "dash - ed"]
NOISE = ["", "", "# comment\n", "# 주석: x # y\n\n", "#\n"]

chunks = st.lists(
    st.tuples(st.sampled_from(NOISE), st.sampled_from(KEYS), st.sampled_from(SPELLINGS)),
    min_size=1,
    max_size=6,
    unique_by=(lambda chunk: chunk[1], lambda chunk: chunk[2]),
).map(lambda parts: [(noise, key, f"{key}:{spelling}\n") for noise, key, spelling in parts])

texts = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from(" :#-'\"\\\n\r\t[]{},&*!|>%@`0"))
).filter(lambda text: len(text) < 200)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.dates(),
    st.datetimes(timezones=st.none() | st.integers(-720, 720).map(lambda m: timezone(timedelta(minutes=m)))).map(
        lambda when: when.replace(fold=0)  # YAML cannot say which of two equal hours is meant
    ),
    texts,
    st.sampled_from(["no", "007", "12:30", "1.10", "null", "~", "0x1f", "1_000", "<<", "=", "한국어", "2026-03-01"]),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)


def joined(parts, newline="\n"):
    return "".join(noise + entry for noise, _, entry in parts).replace("\n", newline)


def bare(key):
    return key.strip("'\"")


@given(chunks, st.data(), values, st.sampled_from(["\n", "\r\n"]))
def test_setting_changes_the_lines_of_that_key_alone(parts, data, value, newline):
    index = data.draw(st.integers(0, len(parts) - 1))
    noise, key, _ = parts[index]
    text = joined(parts, newline)

    result = set_value(text, (bare(key),), value)

    head, tail = joined(parts[:index], newline) + noise.replace("\n", newline), joined(parts[index + 1 :], newline)
    assert result.startswith(head)
    assert result[len(head) :].startswith(key)
    assert result.endswith(tail)
    assert repr(load_mapping(result)[bare(key)]) == repr(value)
    assert set_value(result, (bare(key),), value) == result


@given(chunks, values, st.sampled_from(["\n", "\r\n"]))
def test_a_new_key_is_added_after_all_others(parts, value, newline):
    text = joined(parts, newline)

    result = set_value(text, ("new",), value)

    assert result.startswith(text)
    assert result[len(text) :].startswith("new:")
    assert result.count("\n") == result.count(newline)
    assert repr(load_mapping(result)) == repr({**load_mapping(text), "new": value})
    assert remove_value(result, ("new",)) == text


@given(chunks, st.data(), st.sampled_from(["\n", "\r\n"]))
def test_removing_takes_the_lines_of_that_key_alone(parts, data, newline):
    index = data.draw(st.integers(0, len(parts) - 1))
    noise, key, _ = parts[index]

    result = remove_value(joined(parts, newline), (bare(key),))

    kept = joined(parts[:index], newline) + noise.replace("\n", newline) + joined(parts[index + 1 :], newline)
    assert result == kept


@given(scalars)
def test_plain_yaml_reads_a_value_back_exactly(value):
    assert repr(yaml.safe_load(set_value("", ("k",), value))) == repr({"k": value})


@given(st.text(st.sampled_from("ab:-?{}[],&*!|>#'\" \n\r\t\ufeff.0~<한\x85\udc80"), max_size=30), values)
def test_any_text_is_edited_rightly_or_refused(text, value):
    try:
        before = load_mapping(text)
        after = set_value(text, ("a",), value)
        gone = remove_value(text, ("a",))
    except YamlTextError:
        return

    assert repr(load_mapping(after)) == repr({**before, "a": value})
    assert repr(load_mapping(gone)) == repr({key: item for key, item in before.items() if key != "a"})


# What is read without YAML is what YAML reads ------------------------------------------------------

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


@given(st.dictionaries(st.text(string.ascii_letters + "_-09", min_size=1), values, min_size=1, max_size=4))
def test_of_what_gitmem_writes_nothing_differs(mapping: dict[str, object]):
    same("".join(f"{key}: {flow(plain_value(value))}\n" for key, value in mapping.items()))


@given(st.lists(PIECES, max_size=12))
def test_of_what_others_write_nothing_differs(pieces: list[str]):
    for text in ("".join(pieces), f"a: {''.join(pieces)}\n", f"a:\n  b: {''.join(pieces)}\nc: d\n"):
        same(text)


@given(st.text())
def test_of_any_text_nothing_differs(text: str):
    same(f"a: {text}\n")
