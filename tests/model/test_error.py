"""An error that comes again is recognised by what does not change from run to run."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.error import MAX_ERRORS, is_again, is_telling, likeness, mask, read_error, read_errors
from gitmem.model.similarity import SAME_ERROR

BENCH = json.loads((Path(__file__).parents[2] / "bench" / "errors.json").read_text("utf-8"))
PAIRS, LINES = BENCH["pairs"], BENCH["lines"]
RECOGNISED = 0.9  # of the errors that come again
TAKEN = 0.05  # of the look-alikes


def score(one: str, other: str) -> float:
    known, seen = read_error(one), read_error(other)
    return likeness(known, seen) if known and seen else 0.0


def test_errors_of_ten_tools_are_recognised_and_lookalikes_are_not() -> None:
    again = sum(score(pair["first"], pair["again"]) > SAME_ERROR for pair in PAIRS)
    other = sum(max(score(pair[day], pair["other"]) for day in ("first", "again")) > SAME_ERROR for pair in PAIRS)
    assert again >= RECOGNISED * len(PAIRS)
    assert other <= TAKEN * len(PAIRS)


def test_lines_of_one_program_are_told_apart_by_what_they_say() -> None:
    again = sum(score(pair["first"], pair["again"]) > SAME_ERROR for pair in LINES)
    other = sum(max(score(pair[day], pair["other"]) for day in ("first", "again")) > SAME_ERROR for pair in LINES)
    assert again >= 0.85 * len(LINES)
    assert other <= TAKEN * len(LINES)
    assert score("gh: Not Found (HTTP 404)", "gh: Parent comment not found (HTTP 404)") <= SAME_ERROR
    assert score("gh: Not Found (HTTP 404)", "az: Not Found (HTTP 404)") <= SAME_ERROR
    assert score("rm: 12: failed", "rm: 13: failed") > SAME_ERROR


@pytest.mark.parametrize(
    "message, masked",
    [
        ("cannot open /home/kim/web/config.json", "cannot open config.json"),
        ("no repository at C:\\Users\\kim\\web", "no repository at <path>"),
        ("object 3f9c2b7a1e0d at 0x7ffe12", "object <hash> at <hash>"),
        ("took 12.4s, used 1,024 KB", "took <n>, used <n> KB"),
        ("GET https://example.org/a/b.tgz?x=1", "GET <url> b.tgz"),
        ("requires >=3.11.2", "requires <n>"),
        ("P1001: no server at db:5432", "P1001: no server at db:<n>"),
        ("한국어 오류 42개", "한국어 오류 <n>개"),
    ],
)
def test_what_changes_from_run_to_run_is_masked(message: str, masked: str) -> None:
    assert mask(message) == masked


def test_an_output_without_an_error_has_no_signature() -> None:
    assert read_error("") is None
    assert read_error("14 passed in 0.31s\n") is None
    assert read_error("PreToolUse:Bash hook error: This call does what a rule of 2026-11-02 forbids (`x`):") is None


@pytest.mark.parametrize(
    "said, is_known",
    [
        ("AssertionError: expected 3 to be 4", False),
        ("    a_test.go:24: got 11.008, want 11.01", False),
        ("E   assert 1 == 2", False),
        ("error: test failed", False),
        ("error: recipe `load` failed on line 9 with exit code 2", True),
        ("ZeroDivisionError: division by zero", True),
        ("KeyError: 'shelf'", True),
        ("gh: Not Found (HTTP 404)", True),
    ],
)
def test_a_value_that_was_not_expected_is_no_error_that_comes_again(said: str, is_known: bool) -> None:
    error = read_error(f"Exit code 1\n{said}\n")
    assert error is not None
    assert is_telling(error) is is_known


@pytest.mark.parametrize(
    "one, other",
    [
        ("ModuleNotFoundError: No module named 'yaml'", "ModuleNotFoundError: No module named 'redis'"),
        ("E: Unable to locate package jq", "E: Unable to locate package yq"),
        ("TypeError: no such key here", "ValueError: no such key here"),
    ],
)
def test_the_same_sentence_about_another_thing_is_another_error(one: str, other: str) -> None:
    assert score(one, other) <= SAME_ERROR < score(one, one)


@given(st.text(max_size=400))
def test_any_output_can_be_read_and_is_like_itself(output: str) -> None:
    error = read_error(output)
    assert error is None or is_again(error, error)


def test_lines_of_a_task_runner_and_of_golangci_lint_are_read():
    error = read_error("[lint:go] cmd/a.go:48:10: error returned from external package is unwrapped (wrapcheck)")
    assert error is not None
    assert (error.type, error.message) == ("wrapcheck", "error returned from external package is unwrapped")


def test_a_rule_of_a_linter_is_known_again_though_it_quotes_another_function():
    said = "error returned from external package is unwrapped: sig: func"
    first = f"cmd/cli/resume.go:501:12: {said} example.io/cli/prompt.Ask(rows []prompt.Row) (bool, error) (wrapcheck)"
    again = f"[lint:go] cmd/cli/agent.go:48:10: {said} encoding/json.Unmarshal(data []byte, v any) error (wrapcheck)"
    other = "cmd/cli/resume.go:501:12: Error return value of `os.Remove` is not checked (errcheck)"
    assert score(first, again) > SAME_ERROR >= score(first, other)


def test_an_answer_in_json_beside_the_error_says_nothing_of_it():
    error = read_error('gh: Not Found (HTTP 404)\n{\n"message": "Not Found",\n"status": "404"\n}')
    assert error is not None
    assert error.message == "gh: Not Found (HTTP <n>)"


@pytest.mark.parametrize(
    "output, kind, message",
    [
        (
            "Error:\nCartTest#test_sum:\nShop::UnknownPrice: no price for 'tea'\n\n2 runs, 1 errors",
            "Shop::UnknownPrice",
            "",
        ),
        (
            "ShopClientError: \nInvalid `cart.sum()` call:\nUnknown argument `tea`\n Tests  1 failed | 2 passed",
            "ShopClientError",
            "",
        ),
        (
            "error during build:\n[bundler]: cannot resolve 'tea'",
            "",
            "error during build: [bundler]: cannot resolve 'tea'",
        ),
        (
            "Error: reading /srv/tea.db\n\nCaused by:\n    The disk is full (os error 28)\n",
            "Error",
            "reading tea.db: The disk is full (os error <n>)",
        ),
        ("  FAILED  Tests\\CartTest > it sums\n  The mail was not sent.\n\n  Tests:  1 failed", "FAILED", ""),
        ("--- FAIL: TestSum (0.00s)\nFAIL", "FAIL", ""),
        ("The tea cannot be sold:\nPricing Error\n  No rate for tea.", "", "sold: Pricing Error No rate for tea."),
        (
            "error: no rate for tea\nerror: could not compile `shop` (lib) due to 1 previous error",
            "",
            "no rate for tea",
        ),
    ],
)
def test_a_summary_says_nothing_of_the_error_and_a_lead_in_goes_on_in_the_next_line(output, kind, message):
    error = read_error(output)
    assert error is not None
    assert error.type == kind
    assert error.message.endswith(message)
    assert "failed" not in error.message.casefold()


@pytest.mark.parametrize(
    "output",
    [
        "ERROR: usage: __main__.py [options]\n__main__.py: error: unrecognized arguments: {}\n  rootdir: /a\n",
        "usage: a.py [-h] [--on-error X]\n            [--missing]\na.py add: error: unrecognized arguments: {}\n",
        "Usage: a [OPTIONS] SRC\nTry 'a -h' for help.\n\nError: No such option: {}\n",
        "error: unknown option `{}'\nusage: git commit [-a | --interactive | --error]\n",
        "a: unrecognized option '{}'\nUsage: a [OPTION]... PATTERNS\n",
        "사용법: a.py [-h] [--on-error X]\na.py: 오류: 인식할 수 없는 인자: {}\n",
        "오류: 알 수 없는 옵션 `{}'\n사용법: git commit [-a]\n",
    ],
)
def test_the_message_of_a_usage_error_is_not_the_usage(output):
    (first,), (other,) = read_errors(output.format("--frob")), read_errors(output.format("--nosuch"))
    assert "--frob" in first.message
    assert not any(word in first.message.casefold() for word in ("usage", "사용법", "on-error", "missing"))
    assert is_again(first, read_errors(output.format("--frob"))[0])
    assert not is_again(first, other)


def test_only_a_count_of_failed_tests_is_no_error():
    assert read_error("Tests: 1 failed, 3 passed (4 assertions)\n") is None
    assert read_error("Failure:\nExpected: 3650\n  Actual: 4300\n") is None


def test_the_first_three_distinct_errors_of_an_output_are_read():
    lines = (
        "src/a.ts(3,4): error TS2345: Argument of type 'A' is not assignable to parameter of type 'B'.",
        "src/b.ts(9,1): error TS2345: Argument of type 'A' is not assignable to parameter of type 'B'.",
        "src/b.ts(11,1): error TS2304: Cannot find name 'wrap'.",
        "src/c.ts(12,1): error TS7006: Parameter 'row' implicitly has an 'any' type.",
        "src/d.ts(13,1): error TS2551: Property 'nam' does not exist on type 'User'.",
    )
    output = "\n".join(lines)
    assert [error.type for error in read_errors(output)] == ["TS2345", "TS2304", "TS7006"]
    assert MAX_ERRORS == 3
    assert read_errors(output)[0] == read_error(output)
    assert read_errors("all is well") == []


def test_a_place_without_a_message_is_no_second_error():
    output = "E   ModuleNotFoundError: No module named 'yaml'\ntests/test_a.py:12: ModuleNotFoundError\nx.py:1: in load"
    assert [error.type for error in read_errors(output)] == ["ModuleNotFoundError"]
