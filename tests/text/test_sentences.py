import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.text.sentences import ELLIPSIS, Kind, age, blocks, count, is_korean, listed, mask_code, shorten, split

PIECES = [
    *("a", "다", " ", "\n", "\r\n", ".", "...", "!", "?", "。", "`", "```", "~~~", "**", "__", "#", "> ", "- "),
    "1. ",
]
PIECES += [
    *("|", "e.g.", "etc.", "https://a.b/c.", "🎉", "<p>", "\t", "(", ")", '"', "…", "\ud800", "\0"),
    "x" * 70,
    "다" * 40,
]
markdown = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Use uv. It is fast! Really? Yes", ["Use uv.", "It is fast!", "Really?", "Yes"]),
        ("Take one, e.g. v1.2.3. See file.py for more.", ["Take one, e.g. v1.2.3.", "See file.py for more."]),
        ("It is at https://a.b/c.d?e=f. Then go.", ["It is at https://a.b/c.d?e=f.", "Then go."]),
        ("Call `foo. Bar! Baz` first. Done.", ["Call `foo. Bar! Baz` first.", "Done."]),
        ("J. Doe said No. 5 wins. No. He lost.", ["J. Doe said No. 5 wins.", "No.", "He lost."]),
        ("Logs, caches etc. are kept. Etc. Fine.", ["Logs, caches etc. are kept.", "Etc.", "Fine."]),
        ("It hangs... or so. Well… Maybe.", ["It hangs... or so.", "Well…", "Maybe."]),
        ('He said "stop." Then (it ended.) Good.', ['He said "stop."', "Then (it ended.)", "Good."]),
        ("1. one 2. two. Three.", ["one 2.", "two.", "Three."]),
        (
            "결정했습니다. uv를 씁니다.다음은 시험입니다! 좋아요?",
            ["결정했습니다.", "uv를 씁니다.", "다음은 시험입니다!", "좋아요?"],
        ),
        ("今日は晴れ。明日も「そう」。はい！終", ["今日は晴れ。", "明日も「そう」。", "はい！", "終"]),
        ("Done 🎉. Next 🚀!", ["Done 🎉.", "Next 🚀!"]),
        ("**Bold. Text** goes on. 2**8 is 256.", ["Bold.", "Text goes on.", "2**8 is 256."]),
        ("`**kept**` and **not**.", ["`**kept**` and not."]),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text, expected):
    assert split(text) == expected


def test_what_is_no_prose_is_left_out():
    text = """# Title

**What I did**

- [x] First item
* Second item. With two.
3) Third

| a | b |
|---|---|
| 1. | 2. |

```python
code. More code.
```
~~~
also
~~~
> A quotation.
---
<details>
$ npm test
├── src
The end.
"""
    assert split(text) == ["First item", "Second item.", "With two.", "Third", "A quotation.", "The end."]
    assert [block.text for block in blocks(text) if block.kind is Kind.HEADING] == ["Title", "What I did"]
    assert split(text.replace("\n", "\r\n")) == split(text)


def test_a_wrapped_line_goes_on_and_a_short_one_does_not():
    wrapped = "This line was wrapped by an editor at some seventy characters, so its\nsentence goes on. Here"
    assert split(wrapped) == [
        "This line was wrapped by an editor at some seventy characters, so its sentence goes on.",
        "Here",
    ]
    assert split("이 줄은 편집기가 일흔 칸쯤에서 접었으므로 그 문장은 다음 줄에서 계속되고 있고\n끝난다.") == [
        "이 줄은 편집기가 일흔 칸쯤에서 접었으므로 그 문장은 다음 줄에서 계속되고 있고 끝난다."
    ]
    assert split("Short\nlines\nare thoughts") == ["Short", "lines", "are thoughts"]


def test_a_fence_within_a_line_and_an_open_one():
    assert split("```not a fence``` is code. Yes.") == ["```not a fence``` is code.", "Yes."]
    assert split("Before.\n```\nnever closed. So code.") == ["Before."]
    assert mask_code("a `b.c` ``d ` e`` `f") == "a `xxx` ``xxxxx`` `f"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("All is fixed.\n\n**Skipped:**\n- the wrapper\n- the cache", "All is fixed. Skipped: the wrapper; the cache"),
        ("It is red.\n\n## What is left\n1. the lock", "It is red. What is left: the lock"),
        ("Green.\n\n## Summary\nIt is green.", "Green. It is green."),
        ("It is red. The log says:\n\n```\na\nb\n```\nThe lock is held.", "It is red. The lock is held."),
        ("Install it so:\n```bash\nuv sync\n```\nThen run it.", "Install it so: `uv sync`; Then run it."),
        ("**To check:**\n```\nmake test\n```", "To check: `make test`"),
        ("Done. The rows:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nAll pass.", "Done. All pass."),
        ("All four are addressed:\n\n| a |\n|---|\n| 1 |", "All four are addressed:"),
        ("It fails. That means:", "It fails."),
        (
            "Implement the following plan:\n\n# Prices in cents\n\n## Context\n\nThey are floats.",
            "Implement the following plan: Prices in cents; They are floats.",
        ),
    ],
)
def test_a_lead_in_is_told_with_what_it_leads_to_or_not_at_all(text: str, expected: str):
    """Of "Skipped: the wrapper" the list alone would say the contrary."""
    assert shorten(text, 400) == expected


def test_a_text_is_shortened_at_whole_sentences():
    text = "First sentence. Second sentence.\n\n- Item one\n- Item two"
    assert shorten(text, 15) == "First sentence."
    assert shorten(text, 31) == "First sentence."
    assert shorten(text, 32) == "First sentence. Second sentence."
    assert shorten(text, 100) == "First sentence. Second sentence. Item one; Item two"
    assert shorten(text, 10) == "First" + ELLIPSIS
    assert shorten("No. Make the button grey.", 20) == "No. Make the button" + ELLIPSIS, "a word alone tells nothing"
    assert shorten("Please fix: 1. The button. 2. The page.", 26) == "Please fix: 1. The button."
    assert shorten("띄어쓰기없이길게쓴문장", 5) == "띄어쓰기" + ELLIPSIS
    assert shorten("```\nmake test\n```", 40) == "make test"
    assert shorten("## Only a heading", 40) == "Only a heading"
    assert shorten("", 40) == shorten("Words.", 0) == ""


@pytest.mark.parametrize(
    "text, korean",
    [
        ("uv를 쓰고 pnpm은 쓰지 않기로 했습니다.", True),
        ("`gitmem/text/sentences.py`의 `split` 함수가 CRLF에서 실패합니다.", True),
        ("GitHub Actions workflow에서 pytest timeout이 나서 retry를 넣었습니다.", True),
        ("The label is 결정, which means decision in Korean, as the seed has it.", False),
        ("Use uv.\n```\n한국어 주석이 있는 코드\n```", False),
        ("日本語の文です。", False),
        ("", False),
        ("12345 !!!", False),
    ],
)
def test_the_language_is_that_of_the_prose(text, korean):
    assert is_korean(text) is korean


@given(markdown, st.integers(min_value=-1, max_value=120))
def test_any_text_has_sentences_and_a_short_form(text, limit):
    found = split(text)
    assert all(sentence == " ".join(sentence.split()) != "" for sentence in found)
    short = shorten(text, limit)
    assert len(short) <= max(limit, 0)
    assert "\n" not in short
    if found and len(found[0]) <= limit:
        assert short.startswith(found[0])


@given(markdown)
def test_no_word_of_a_plain_paragraph_is_lost(text):
    plain = "".join(character if character.isalpha() or character in ".!? " else " " for character in text)
    kept = "".join(split("a " + plain))
    assert [c for c in kept if c.isalpha()] == [c for c in "a" + plain if c.isalpha()]


HOSTILE = [
    *(".", "`", "``` ", "**", "(. ", "a. ", "e.g. ", "다.", "。", "- ", "> ", "|", "1. ", "<a", " \t", "\n"),
    "x" * 70 + "\n",
]


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.few(6)
def test_steps_grow_with_the_length_of_hostile_text(grows_linearly, piece):
    def read(text):
        split(text)
        shorten(text, 200)

    assert grows_linearly(read, lambda size: piece * (size // len(piece)) + "x")


def test_numbers_and_ages_in_words():
    assert [listed("abc"[:number]) for number in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert [count(number, "file") for number in (0, 1, 2, 1234)] == ["0 files", "1 file", "2 files", "1,234 files"]
    assert [age(seconds) for seconds in (0, 1, 59, 60, 7199, 86_400, 86_400 * 400)] == [
        *("0 seconds", "1 second", "59 seconds", "1 minute", "1 hour", "1 day", "400 days"),
    ]
    assert age(-5) == "0 seconds"
