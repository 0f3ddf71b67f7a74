"""No regular expression of the program takes more than linear time, whatever the text."""

import re

import pytest

from tests.patterns import Found, patterns, slow_text, texts_for


@pytest.mark.few(1)
@pytest.mark.parametrize("pattern", [r"\s*;", r'"(?:[^"\\]|\\.)*"', r"<x>.*?</x>", r"x[ab]*[bc]*d"])
def test_a_slow_pattern_is_found(pattern):
    assert slow_text(Found("", pattern, re.DOTALL))


@pytest.mark.parametrize("pattern", [r"(?<!\s)\s*;", r"a[^ab]*b", r"<x>(?:(?!<x>).)*?</x>"])
def test_a_linear_pattern_is_not(pattern):
    assert texts_for(Found("", pattern, 0), 100)
    assert slow_text(Found("", pattern, 0)) == ""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_patterns_are_linear():
    """Of two texts one is eight times as long: that takes the processor 8 times as long, or, quadratic, 64 times."""
    every = {found[1:]: found for found in patterns()}
    assert len(every) > 800
    assert not {f"{found.place}: {found.pattern!r}": text for found in every.values() if (text := slow_text(found))}
