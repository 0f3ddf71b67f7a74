"""The facts that are compared with a new one."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.model.compare import MOST, candidates, contradict, ends, is_negated, may_concern, overlap, says_the_same
from gitmem.model.fact import Fact, FactKind, make_fact

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def rule(text: str) -> Fact:
    return make_fact(FactKind.RULE, text, NOW)


def test_facts_that_share_a_word_in_any_form_are_compared() -> None:
    facts = [rule("Logs are written by structlog."), rule("Deploy on Mondays."), rule("캐시를 끈다.")]
    assert candidates("Write logs with logging.", facts) == facts[:1]
    assert candidates("캐시는 켠다.", facts) == facts[2:]


def test_of_many_facts_those_that_share_the_rarest_words_are_compared() -> None:
    facts = [rule(f"Use part{number} for name{number:04}.") for number in range(2 * MOST)]
    wanted = rule("Use npm for installs.")
    found = candidates("Use pnpm, not npm, for installs.", [wanted, *facts])
    assert found[0] == wanted
    assert len(found) == MOST


PAIRS = [
    line.split("\t") for line in (Path(__file__).parents[1] / "data" / "pairs.tsv").read_text("utf-8").splitlines()
]


def pairs_that(kind: str) -> list[list[str]]:
    return [pair for named, *pair in PAIRS if named == kind]


WORDS = st.frozensets(st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]))
TOLD = (
    *("use", "uv", "not", "pnpm", "never", "the", "my", "editor", "is", "vim", "instead", "of", "always"),
    *("말고", "쓴다", "대신"),
)
TEXTS = st.text(max_size=80) | st.lists(st.sampled_from(TOLD), max_size=9).map(" ".join)


@pytest.mark.parametrize("one, other", pairs_that("contradict"))
def test_two_facts_that_cannot_both_hold(one, other):
    assert contradict(one, other)
    assert contradict(other, one)
    assert not says_the_same(one, other)


@pytest.mark.parametrize("one, other", pairs_that("may both hold"))
def test_two_facts_that_may_both_hold(one, other):
    assert not contradict(one, other)
    assert not contradict(other, one)


@pytest.mark.parametrize("newer, older", pairs_that("ends"))
def test_a_statement_of_change_ends_what_was_chosen(newer, older):
    assert ends(newer, older)
    assert not ends(older, newer)
    assert contradict(newer, older)


@pytest.mark.parametrize("newer, older", pairs_that("ends nothing"))
def test_what_ends_nothing(newer, older):
    assert not ends(newer, older)


# Forms of a statement about a subject {x}, with its own value {v} or number {k}.
FORMS = (
    *("The {x} service keeps its configuration in {v}, reads it once.", "{x} logs go to {v}.", "Use {v} for {x}."),
    *("The timeout of {x} is {k} seconds.", "Retry {x} requests {k} times before giving up.", "The {x} key is {v}."),
    *("For {x} {k} minutes are enough.", "{x} talks to {v} over grpc, not rest.", "Never edit {v} of {x} by hand."),
    *("We moved {x} from npm to {v}.", "{x} has switched from npm to {v}.", "In {x}, replace npm with {v}."),
    *("{x} uses {v}, not npm.", "{x} uses npm, not {v}.", "{x} has {k} workers, as the outage of last year has shown."),
    *(
        "{x} 서비스는 설정을 {v}에 두고 시작할 때 한 번 읽는다.",
        "{x} 요청은 {k}번까지 재시도한다.",
        "{x}에는 {v}를 쓴다.",
    ),
    *("{x} 빌드를 npm에서 {v}로 바꾸자.", "{x}는 npm 말고 {v}를 쓴다.", "{x} 표는 더 이상 npm을 쓰지 않는다."),
)
SUBJECTS = (
    *("billing", "mailer", "login page", "order-service", "user_api", "src/pay", "log", "host", "release", "deploy"),
    *("cache", "Node 1", "Node 2", "shard 7", "team B", "v2", "결제", "알림", "회원 목록", "배포", "로그", "3번 서버"),
)


@given(
    st.sampled_from(FORMS),
    st.lists(st.sampled_from(SUBJECTS), unique=True, min_size=2, max_size=5),
    st.sampled_from(["{x}.toml", "var/{x}", "rust", "redis {k}"]),
    st.booleans(),
)
def test_facts_of_one_form_about_different_subjects_do_not_touch_each_other(form, names, value, counts):
    facts = []
    for number, name in enumerate(names, 3):
        own = value.format(x=name.replace(" ", "-"), k=number)
        facts.append(form.format(x=name, v=own, k=number if counts else 3))
    for one, other in itertools.permutations(facts, 2):
        assert not contradict(one, other)
        assert not ends(one, other)
        assert not says_the_same(one, other)


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
    assert not is_negated("Run `never` first.")
