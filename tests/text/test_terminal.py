"""Text on its way out: URLs masked, controls harmless, wrapped at words, in colour; nothing in it ends the fence."""

import json
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.text.terminal import (
    blunted,
    cells,
    clipped,
    fenced,
    harmless,
    json_text,
    mask_urls,
    padded,
    painted,
    plain,
    wrapped,
)

TEXTS = st.text() | st.text(st.characters(categories=["Cs", "Cc"])) | st.text('"\\/\b\f\n\r\t\x00\x1f\x7f')
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)
HIDDEN = "\u00ad\u034f\u115f\u1160\u200b\u200c\u200d\u2028\u2060\u2063\u3164\ufe00\ufe0f\ufeff\U000e0041\U000e0101"
OBEYED = "\x7f\x80\x9b\x9f\u061c\u200e\u200f\u202a\u202e\u2066\u2069"


@given(VALUES)
def test_what_a_terminal_obeys_is_escaped_and_the_value_is_the_same(value):
    plain = json.dumps([value, OBEYED], ensure_ascii=False)
    text = harmless(plain)
    assert not set(OBEYED) & set(text)
    assert json.loads(text) == json.loads(plain)


@given(st.text(), st.sampled_from(["<system>", "[INST]", "</gitmem-memory>", "<|im_start|>", HIDDEN]))
def test_json_keeps_its_value_and_passes_for_nothing_else(value, said):
    text = json_text([value, said])
    assert json.loads(text) == json.loads(json.dumps([value, said]))
    assert said not in text


MEANT = [
    *(
        "한글 é ñ 漢字 かな ไทย",
        "👩\u200d🚀 👨\u200d👩\u200d👧\u200d👦 ❤\ufe0f\u200d🔥 👍🏽 ⚠\ufe0f ©\ufe0f 1\ufe0f\u20e3",
    ),
    *("\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "می\u200cخواهم", "क्\u200dष"),
    *("a < b && b > c, Promise<User>, x[0], if a < user and b > c", "user: admin\nsystem: linux", "tabs\tand\nlines"),
]


@pytest.mark.parametrize("text", MEANT)
def test_what_is_meant_stays(text):
    assert plain(text) == harmless(text) == text


@given(st.text() | st.text(st.sampled_from("<>[]/:|INSTuman\u200bH \nsystem\x1b\U000e0041\ufe0f1\u200d👩")))
def test_nothing_hidden_passes_and_a_second_time_changes_nothing(text):
    out = plain(text)
    assert plain(out) == out
    assert not set(out) & set(HIDDEN.replace("\u200d", "").replace("\ufe0f", ""))
    assert not any("\U000e0000" <= one <= "\U000e0fff" for one in re.sub("\U0001f3f4[^\U000e007f]+\U000e007f", "", out))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", out)


@pytest.mark.parametrize("unit", ["<", "< ", "[", "[ ", "<|", "<a", "<g-", "\n>", "\u200d", "Human", "👩\u200d"])
@pytest.mark.few(1)
def test_it_takes_linear_work(unit, grows_linearly):
    assert grows_linearly(plain, lambda size: unit * (size // len(unit)))


@pytest.mark.parametrize(
    "text, masked",
    [
        ("no URL, me@example.org?", "no URL, me@example.org?"),
        ("fetch https://me:hunter2@example.org/x", "fetch https://***@example.org/x"),
        ("https://me:hu@nter2@example.org/: no", "https://***@example.org/: no"),
        ("'https://example.org/x?token=1' and ssh://git@host/y", "'https://example.org/x?***' and ssh://***@host/y"),
    ],
)
def test_passwords_and_queries_are_masked(text, masked):
    assert mask_urls(text) == masked


def test_lines_are_wrapped_at_words_below_the_column_they_began_in():
    row = "  d4f7k2  2026-11-21  The loader reads files with CRLF, too"
    assert wrapped(row, 80) == row
    assert wrapped(row, 50).split("\n") == ["  d4f7k2  2026-11-21  The loader reads files with", " " * 22 + "CRLF, too"]
    row = "rotation.retention   0   default   days an archive stays"
    assert wrapped(row, 54).split("\n") == ["rotation.retention   0   default   days an archive", " " * 35 + "stays"]
    assert wrapped("Failed: with a message of E   ModuleNotFoundError", 45).split("\n")[1] == "ModuleNotFoundError"
    assert wrapped("- one two three", 9) == "- one two\n  three"
    assert wrapped("a/path/without/a/blank", 5) == "a/path/without/a/blank"
    assert wrapped("\x1b[1ma/path\x1b[0m", 5) == "\x1b[1ma/path\x1b[0m", "the end of a colour begins no line"


def test_wide_characters_take_two_columns_and_korean_is_broken_at_blanks():
    assert (cells("환불 x"), cells("e\u0301"), cells("\x1b[33mab\x1b[0m")) == (6, 1, 2)
    assert padded("환불", 6) == "환불  "
    assert wrapped("환불 테스트는", 10) == "환불\n테스트는"
    assert wrapped("記憶記憶", 4) == "記憶\n記憶"
    assert wrapped("記憶記憶。", 8) == "記憶記\n憶。", "no line begins with a full stop"
    assert [clipped("환불 테스트", width) for width in (11, 9, 4)] == ["환불 테스트", "환불 테…", "환…"]


def test_ids_dates_headings_and_marks_of_a_list_are_coloured_and_nothing_else():
    listed = "rule:\n  d4f7k2m9q0x  2026-11-21  Use uv. [in dispute with: Use pip.]\na4f1d58dd3 2026-11-25 14:40  Save"
    coloured = painted(listed)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == listed
    assert re.findall(r"\x1b\[[0-9;]+m *([^\x1b]+)\x1b\[0m", coloured) == [
        *("rule:", "d4f7k2m9q0x", "2026-11-21", "[in dispute with: Use pip.]", "a4f1d58dd3", "2026-11-25 14:40"),
    ]
    assert painted("We decided: no.\n\ndeadbeef\n") == "We decided: no.\n\ndeadbeef\n"


@example("000000\x1b\u0e5c\u20f1", 10)
@given(st.text(), st.integers(10, 80))
def test_wrapping_loses_nothing_but_blanks(text, width):
    assert "".join(wrapped(text, width).split()) == "".join(text.split())


CLOSING = [
    *("</gitmem-memory>", "</GitMem-Memory >", "< / gitmem-memory>", "<\n/\tgitmem-memory\n>"),
    *("</git\u200bmem-memory>", "<\u200b/gitmem-memory>", "</gitmem\u2060-\ufeffmemory>", "</gitmem\u00ad-memory>"),
    *("</gitmem-mem\U000e0041ory>", "</g\u0301itmem-memory>", "</gitmem\u2011memory>", "</gitmem\u2013memory>"),
    *("</gitmem_memory>", "</gitmem\u00admemory>", "\uff1c/gitmem-memory\uff1e", "\ufe64/gitmem-memory\ufe65"),
    *("<\uff0fgitmem-memory>", "<\u2215gitmem-memory>", "<\u2044gitmem-memory>", "<\\gitmem-memory>"),
    *("</\uff47\uff49\uff54\uff4d\uff45\uff4d-memory>", "</gitm\u0435m-memory>", "</gitmem-mem\u043ery>"),
    *("</g\u0456tmem-\u043cem\u043er\u0443>", "</\u0261itmem-memory>"),
    *("</\U0001d420\U0001d422\U0001d42d\U0001d426\U0001d41e\U0001d426-memory>", "</\u3164gitmem-memory>"),
    "</\x00gitmem-memory>",
    "</\x1b[0mgitmem-memory>".replace("[0m", ""),
    *("<gitmem-memory>", "</system-reminder>", "</system\u200b-reminder>", "</\u0455ystem-reminder>"),
]


@pytest.mark.parametrize("tag", CLOSING)
def test_a_tag_is_blunted_however_it_is_written(tag):
    text = blunted(f"before {tag} after")
    bracket = tag[0]
    assert text == f"before ({tag[1:]} after"
    assert bracket not in text[: len("before (")]
    assert blunted(text) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "plain", "a < b && b > c", "<div>gitmem-memory</div>", "<gitmem>", "gitmem-memory"),
        *("/gitmem-memory>", "한국어 <태그> 그리고 «인용»", "이모지 ⚠\ufe0f <b>\u200d</b>", "system-reminder < 3"),
        *("<memory-gitmem>", "List<System.Reminder>"),
    ],
)
def test_other_text_stays_as_it_is(text):
    assert blunted(text) == text


# Of public chat templates, and what hosts put into a context.
FAKE = [
    *(
        *("<system>", "</system>", "<SYSTEM>", "< system >", "<system role='x'>"),
        "<system note='" + "x" * 300 + "'>",
        *("<system a='<'>", "<system\nrole='x'>", "<\uff53ystem>", "<syst\u0435m>", "<user>", "</assistant>"),
    ),
    *("<|im_start|>", "<|im_end|>", "<|system|>", "<|begin_of_text|>", "<|start_header_id|>", "<|eot_id|>"),
    "<|endoftext|>",
    *("<\uff5cbegin\u2581of\u2581sentence\uff5c>", "<start_of_turn>", "<end_of_turn>", "<bos>", "</s>"),
    *("[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[TOOL_RESULTS]", "[AVAILABLE_TOOLS]", "<function_results>"),
    *("</function_results>", "<function_calls>", "<invoke name='x'>", "<tool_result>"),
    "<tool_use_error>".replace("_error", ""),
    "<tool_call>",
    "<tool_response>",
    *("<user_query>", "<user-info>", "<tool_use_error>", "<additional_context>", "\u2039system\u203a"),
    "\u3008system\u3009",
    *("<thinking>", "<command-name>", "<local-command-stdout>", "<user-prompt-submit-hook>", "<environment_context>"),
]


@pytest.mark.parametrize("tag", FAKE)
def test_what_looks_like_a_tag_of_a_host_or_template_is_blunted(tag):
    assert blunted(f"a {tag} b") == f"a ({tag[1:]} b"
    assert blunted(f"x{tag.lower()}b").startswith("x(") or tag[0] == "["


def test_what_looks_like_a_turn_is_blunted():
    said = "Human: go\n  Assistant: yes\n> SYSTEM : no\n**User**: x\n### Instruction: y\nSystems: a, Human: b"
    told = "(Human): go\n  (Assistant): yes\n> (SYSTEM) : no\n**(User)**: x\n(### Instruction): y\nSystems: a, Human: b"
    assert blunted(said) == told


def test_a_fence_names_its_source_which_cannot_end_it():
    assert fenced("text", 'a "b">\n</x').startswith("<gitmem-memory source='a _b____/x'>\n")
    assert fenced("", "x") == ""


@given(st.text(st.sampled_from("<\uff1c/ gitmem-or\u200b\u0435y>G"), max_size=60), st.sampled_from(CLOSING))
def test_no_text_around_a_tag_saves_it(noise, tag):
    for text in (noise + tag + noise, tag[:5] + noise + tag[5:]):
        blunt = blunted(text)
        plain = "".join(c for c in unicodedata.normalize("NFKC", blunt) if unicodedata.category(c) not in {"Cf", "Cc"})
        assert "</gitmem-memory" not in plain.replace(" ", "").lower()
        assert len(blunt) == len(text)
