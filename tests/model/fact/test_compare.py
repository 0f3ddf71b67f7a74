from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.model.fact.compare import contradict, is_negated, may_concern, overlap, says_the_same

WORDS = st.frozensets(st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]))
TOLD = (
    "use",
    "uv",
    "not",
    "pnpm",
    "never",
    "my",
    "editor",
    "is",
    "vim",
    "instead",
    "of",
    "말고",
    "쓴다",
    "대신",
    "always",
)
TEXTS = st.text(max_size=80) | st.lists(
    st.sampled_from(
        [
            "use",
            "uv",
            "not",
            "pnpm",
            "never",
            "the",
            "my",
            "editor",
            "is",
            "vim",
            "instead",
            "of",
            "말고",
            "쓴다",
            "대신",
            "always",
        ]
    ),
    max_size=9,
).map(" ".join)


@pytest.mark.parametrize(
    "one, other",
    [
        ("Use uv, not pnpm.", "Use pnpm for everything."),
        ("Use uv, not pnpm.", "Use pnpm instead of uv."),
        ("Always squash commits before merging.", "Never squash commits before merging."),
        ("My editor is vim.", "My editor is emacs."),
        ("We use tabs.", "We use spaces, not tabs."),
        ("npm 말고 pnpm 써줘", "npm을 쓴다"),
        ("We migrated from Redux to Zustand.", "Use Redux for the state of forms."),
    ],
)
def test_two_facts_that_cannot_both_hold(one, other):
    assert contradict(one, other)
    assert contradict(other, one)
    assert not says_the_same(one, other)


@pytest.mark.parametrize(
    "one, other",
    [
        ("Use uv, not pnpm.", "Use uv to run the tests."),
        ("Tests run with `make test`.", "Tests run with `make e2e`."),
        ("We deploy from main.", "Use ruff for linting, not flake8."),
        ("Never commit without running the tests.", "Always run the tests before a commit."),
        ("Use PostgreSQL instead of MySQL.", "We decided to use PostgreSQL rather than MySQL."),
        ("My editor is vim.", "My shell is fish."),
        ("", "Use uv."),
    ],
)
def test_two_facts_that_may_both_hold(one, other):
    assert not contradict(one, other)
    assert not contradict(other, one)


def test_the_same_in_other_words():
    assert says_the_same("Always run the linter before committing.", "Before committing, always run the linter!")
    assert not says_the_same("Lines have at most 100 characters.", "Lines have at most 120 characters.")
    assert not says_the_same("Tests run with `make test`.", "Tests run with `make testing`.")
    assert not says_the_same("Use uv.", "")
    assert may_concern("Use uv for Python packages.", "Python packages come from uv.")
    assert not may_concern("Use uv for Python packages.", "Deploy on Fridays.")


@given(TEXTS, TEXTS)
@example("말고 말고 말고", "")
def test_both_sides_say_the_same_of_each_other(one, other):
    assert contradict(one, other) == contradict(other, one)
    assert says_the_same(one, other) == says_the_same(other, one)
    assert not contradict(one, one)


@given(WORDS, WORDS)
def test_overlap_is_the_share_of_the_smaller_set(one, other):
    """Spec V3: |A∩B| / min(|A|, |B|), 0 where one is empty."""
    share = overlap(one, other)
    assert share == overlap(other, one)
    assert 0 <= share <= 1
    assert (share == 1) == bool(one and other and (one <= other or other <= one))
    assert (share == 0) == (not one & other)


def test_two_negations_are_none():
    assert is_negated("Never use mocks.")
    assert not is_negated("Never commit without tests.")
    assert is_negated("절대 main에 푸시한다")
    assert not is_negated("Run `never` first.")
