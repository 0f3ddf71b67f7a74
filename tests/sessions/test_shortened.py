"""What the day's log keeps of prompts and answers (docs/format.md, "Turns")."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.sessions.exchange import LEFT_OUT, headline, texts_between, without_middle

SENTENCE = "This is one sentence of a long answer that goes on. "


def test_what_fits_is_kept_as_it_is() -> None:
    answer = "Done.\n\n```py\ndef f():\n    return 1\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |"
    assert without_middle(answer, 6_000) == answer


def test_the_middle_of_a_long_answer_is_left_out_at_a_paragraph() -> None:
    parts = [f"Paragraph {number}. {SENTENCE * 3}".strip() for number in range(40)]
    short = without_middle("\n\n".join(parts), 2_000)
    assert len(short) <= 2_000 + len(LEFT_OUT) + 4
    shown = short.split("\n\n")
    assert shown[0] == parts[0]
    assert shown[-1] == parts[-1]
    assert shown.count(LEFT_OUT) == 1
    assert set(shown) - {LEFT_OUT} < set(parts)


def test_code_and_tables_at_the_ends_are_whole() -> None:
    code = "```py\n" + "\n".join(f"x = {number}" for number in range(30)) + "\n```"
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| {number} | x |" for number in range(20))
    short = without_middle(f"{code}\n\n{SENTENCE * 200}\n\n{table}", 1_500)
    assert code in short
    assert table in short
    assert LEFT_OUT in short


def test_a_long_code_block_is_whole() -> None:
    code = "```py\n" + "\n".join(f"x = {number}" for number in range(100)) + "\n```"
    assert without_middle(f"Look:\n\n{code}", 6_000) == f"Look:\n\n{code}"


def test_one_long_line_is_cut_between_sentences() -> None:
    short = without_middle(SENTENCE * 500, 1_000)
    assert len(short) <= 1_000 + len(LEFT_OUT) + 4
    assert short.startswith(SENTENCE * 5)
    assert short.endswith("goes on.")


@given(st.text(st.sampled_from("ab `|\n.#-"), max_size=3_000), st.integers(50, 500))
@settings(max_examples=100, deadline=None)
def test_any_text_stays_about_within_its_limit(text: str, limit: int) -> None:
    short = without_middle(text, limit)
    assert len(short) <= limit + len(LEFT_OUT) + 4
    assert {*short.replace(LEFT_OUT, "")} <= {*text, "\n"}


def test_the_title_of_a_plan_stands_for_the_plan() -> None:
    prompt = "Implement the following plan:\n\n# Plan: Move the lock into a ref\n\n## Context\nThe file lock is slow."
    assert headline(prompt, 200) == "Implement the following plan: Plan: Move the lock into a ref"
    assert headline("Fix the lock. It hangs.", 200) == "Fix the lock. It hangs."
    assert headline("Fix this:\n\nTraceback", 200).startswith("Fix this:")


def test_what_is_said_between_tool_calls_is_kept_whole() -> None:
    texts = [
        "Let me look at the lock because it hangs.",
        "The root cause is a lock file.\n\n```py\nlock.clear()\n```",
        "Let me look at the lock because it hangs.",
        "원인은 잠금 파일이 남아 있기 때문입니다.",
        "The answer says this, too.",
    ]
    assert texts_between(texts, "Fixed. The answer\nsays this, too.", 6_000) == (texts[0], texts[1], texts[3])
    assert texts_between(["", "\n"], "", 6_000) == ()
    (long,) = texts_between([SENTENCE * 100], "", 1_000)
    assert LEFT_OUT in long
