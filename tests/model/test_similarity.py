"""The measures of likeness: what is the same, what may contradict, what goes on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.similarity import (
    contradict,
    is_negated,
    says_the_same,
)

SAID = (
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
    "always",
    "말고",
    "쓴다",
    "대신",
    "8080",
)
TEXTS = st.text(max_size=80) | st.lists(st.sampled_from(SAID), max_size=9).map(" ".join)


@given(TEXTS, TEXTS)
def test_no_two_texts_both_say_the_same_and_contradict(one, other):
    assert contradict(one, other) == contradict(other, one)
    assert says_the_same(one, other) == says_the_same(other, one)
    assert not (says_the_same(one, other) and contradict(one, other))
    assert says_the_same(one, one)
    assert not contradict(one, one)


@pytest.mark.parametrize(
    "one, other",
    [
        ("Indent with tabs.", "Write changelog entries."),
        ("Uploads are retried three times.", "Downloads show a progress bar."),
        ("Put adapters into src/adapters because they are many.", "Name handlers after events because they are many."),
        ("세션 토큰은 쿠키에 둔다.", "로그는 파일로 남긴다."),
        ("Service number 3 listens on port 3.", "Service number 4 listens on port 4."),
        ("The billing service keeps its state in Redis.", "The search service keeps its state in files."),
        ("`RateTable` is frozen.", "`CostTable` is frozen."),
        ("rate_table is read once a day.", "cost_table is read once an hour."),
        ("결제 서비스는 레디스에 상태를 둔다.", "검색 서비스는 파일에 상태를 둔다."),
        ("The app caches images for a day.", "The app caches profiles for an hour."),
        ("Retry failed uploads.", "Never retry failed logins."),
        ("Every function has a docstring.", "A function has at most 60 lines."),
        ("Never push to main.", "Never push to dev."),
        ("Don't use mocks.", "Do not use globals."),
        ("Push to dev.", "Never push to main."),
        ("Never edit the schema.", "Never edit the .toml file."),
        ("main에 푸시하지 마.", "dev에 푸시하지 마."),
        ("Charts start at zero.", "All charts start at zero on the left."),
    ],
)
def test_two_subjects_never_contradict(one, other):
    assert not contradict(one, other)


@pytest.mark.parametrize(
    "one, other",
    [
        ("Keep the API in OpenAPI.", "Keep the API in OpenAPI and never edit the clients."),
        ("Never print secrets.", "Never print secrets, but log their names."),
        ("비밀번호는 절대 로그에 남기지 마.", "절대 비밀번호를 로그에 남기지 마."),
    ],
)
def test_what_goes_on_or_says_it_in_another_order_is_no_contradiction(one, other):
    assert not contradict(one, other)
    assert not contradict(other, one)


@pytest.mark.parametrize(
    "one, other",
    [
        ("Deploy the docs on Friday.", "Never deploy the docs on Friday."),
        ("Use uv, not pip, for installs.", "Use pip, not uv, for installs."),
        ("Never use pip, use uv.", "Never use pip, use poetry."),
        ("Never push more than 5 commits.", "Never push more than 9 commits."),
        ("Use pnpm for installs.", "Use npm for installs."),
    ],
)
def test_what_takes_it_back_is_one(one, other):
    assert contradict(one, other)


def test_the_same_is_said_in_any_order_with_the_same_numbers_and_negation():
    assert says_the_same("Before a release, always run the linter.", "Always run the linter before a release")
    assert not says_the_same("Keep 3 backups.", "Keep 5 backups.")
    assert not says_the_same("Push tags.", "Never push tags.")
    assert not says_the_same("Pull requests need two reviewers.", "Pull requests need one reviewer.")
    assert not says_the_same("Install with uv, not pnpm.", "Install with pnpm, not uv.")
    assert is_negated("Never push tags.")
    assert is_negated("탭을 쓰지 않는다.")
    assert not is_negated("Push tags.")
