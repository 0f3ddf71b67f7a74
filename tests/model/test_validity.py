"""Contradiction and supersession keep a chain without a circle."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.fact import Fact, FactKind, FactStatus, make_fact
from gitmem.model.validity import Standing, Status, circle_ends, fact_statuses, in_force, supersede

WHEN = datetime(2026, 1, 11, 10, 11, tzinfo=UTC)
NAMES = "abcdef"
DECISIONS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=25)


def facts():
    return {name: make_fact(FactKind.RULE, f"Use {name}", WHEN)._replace(id=name) for name in NAMES}


def after(decisions, known=None):
    known = known or facts()
    for number, (loser, winner) in enumerate(decisions):
        known |= supersede(known, loser, winner, WHEN + timedelta(minutes=number + 1))
    return known


def follow(known):
    return {name: fact.superseded_by for name, fact in known.items() if fact.superseded_by in known}


def ends_of(known):
    return circle_ends(follow(known), lambda one: str(known[one].updated or ""))


def test_a_chain_of_many_facts_is_walked_once():
    many = 20_000
    chain = {str(one): str(one + 1) for one in range(many)}
    looked: list[str] = []

    class Counted(dict):
        def __getitem__(self, key: str) -> str:
            looked.append(key)
            return super().__getitem__(key)

    assert circle_ends(Counted(chain), lambda _: 0) == set()
    assert len(looked) == many
    assert circle_ends(Counted({**chain, str(many): "0"}), lambda one: one) == {"9999"}
    assert len(looked) == 2 * many + 1


def test_a_decision_can_be_turned_round():
    known = after([("a", "b"), ("b", "a")])
    assert known["a"].binds
    assert (known["a"].superseded_by, known["b"].superseded_by) == ("", "a")
    assert known["b"].supersedes == ()


@given(DECISIONS)
def test_whatever_is_decided_there_is_no_circle(decisions):
    known = after(decisions)
    for name in NAMES:
        seen = [name]
        while before := known[seen[-1]].superseded_by:
            assert before not in seen
            seen.append(before)
        assert known[seen[-1]].binds
        assert all(known[one].status is FactStatus.SUPERSEDED for one in seen[:-1])
    for loser, fact in known.items():
        if fact.superseded_by:
            assert loser in known[fact.superseded_by].supersedes


@given(DECISIONS, DECISIONS)
def test_what_two_machines_decided_has_one_end_on_both(ours, theirs):
    """A merge takes each file's field from who changed it; that can make a circle, which still has one end."""
    left, right = after(ours), after(theirs)
    merged = {
        name: left[name]
        if right[name] == fact
        else right[name]
        if left[name] == fact
        else max(left[name], right[name], key=lambda one: (str(one.updated), one.superseded_by))
        for name, fact in facts().items()
    }
    after_ = follow(merged)
    for name in NAMES:
        one, seen = name, set()
        while one in after_ and one not in seen:
            seen.add(one)
            one = after_[one]
        circle = {one}
        while one in after_ and after_[one] not in circle:
            one = after_[one]
            circle.add(one)
        assert len(circle & ends_of(merged)) == (one in after_)


BEGIN, LATER, LAST = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2, 3))


def fact(text: str, kind: FactKind = FactKind.DECISION, **more) -> Fact:
    return make_fact(kind, text, BEGIN, **more)


def ended(text: str, status: FactStatus, by: Fact | None = None, at: datetime = LATER) -> Fact:
    return fact(text, status=status, superseded_by=by.id if by else "", updated=at)


@pytest.mark.parametrize("status", [FactStatus.RETIRED, FactStatus.RESOLVED, FactStatus.SUPERSEDED])
def test_what_ended_says_since_when_and_names_no_successor_that_is_gone(status):
    old = ended("Use pip.", status, fact("Use uv.") if status is FactStatus.SUPERSEDED else None)
    assert fact_statuses([old]) == {old.id: Status(Standing(status.value), since=LATER)}
    assert in_force([old]) == []


def test_of_a_circle_the_one_changed_last_holds_and_succeeds_the_others():
    first, second = fact("Use pip."), fact("Use uv.")
    before = ended("Use easy_install.", FactStatus.SUPERSEDED, first)
    first = ended("Use pip.", FactStatus.SUPERSEDED, second)
    second = ended("Use uv.", FactStatus.SUPERSEDED, first, LAST)
    for facts in ([before, first, second], [second, first, before]):
        holds = fact_statuses(facts)
        assert holds[second.id] == Status(Standing.IN_FORCE)
        assert (holds[first.id].successor, holds[before.id].successor) == (second.id, second.id)
