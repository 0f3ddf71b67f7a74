"""Contradiction and supersession keep a chain without a circle (spec V6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.fact import FactKind, FactStatus, make_fact
from gitmem.model.factchain import successor, supersede

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


def end_of(known, name):
    return successor(name, lambda one: known[one].superseded_by, lambda one: str(known[one].updated or ""))


def test_the_successor_is_at_the_end_of_the_chain():
    known = after([("a", "b"), ("b", "c")])
    assert [end_of(known, name) for name in "abc"] == ["c", "c", "c"]
    assert known["a"].status is FactStatus.SUPERSEDED
    assert (known["c"].supersedes, known["b"].superseded_by) == (("b",), "c")


def test_a_decision_can_be_turned_round():
    known = after([("a", "b"), ("b", "a")])
    assert known["a"].binds
    assert (known["a"].superseded_by, known["b"].superseded_by) == ("", "a")
    assert known["b"].supersedes == ()


def test_a_pair_in_review_is_decided():
    known = facts()
    known["a"], known["b"] = known["a"]._replace(review=("b", "c")), known["b"]._replace(review=("a",))
    changed = supersede(known, "a", "b", WHEN)
    assert (changed["a"].review, changed["b"].review) == (("c",), ())


def test_nothing_takes_its_own_place():
    assert supersede(facts(), "a", "a", WHEN) == {}
    assert supersede(facts(), "a", "nobody", WHEN) == {}


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
    for name in NAMES:
        end = end_of(merged, name)
        assert end_of(merged, end) == end
