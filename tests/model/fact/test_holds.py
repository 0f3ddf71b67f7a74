from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gitmem.model.fact.fact import Fact, FactKind, FactStatus, make_fact
from gitmem.model.fact.holds import Standing, Status, in_force, what_holds

BEGIN, LATER, LAST = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2, 3))


def fact(text: str, kind: FactKind = FactKind.DECISION, **more) -> Fact:
    return make_fact(kind, text, BEGIN, **more)


def ended(text: str, status: FactStatus, by: Fact | None = None, at: datetime = LATER) -> Fact:
    return fact(text, status=status, superseded_by=by.id if by else "", updated=at)


def test_active_and_open_ones_hold():
    facts = [fact("Use uv."), fact("It flickers.", FactKind.ISSUE)]
    assert [*what_holds(facts).values()] == [Status(Standing.IN_FORCE)] * 2
    assert in_force(facts) == facts


@pytest.mark.parametrize(
    "status, standing", [(FactStatus.RETIRED, Standing.RETIRED), (FactStatus.RESOLVED, Standing.RESOLVED)]
)
def test_what_ended_says_since_when(status, standing):
    old = ended("Use pip.", status)
    assert what_holds([old]) == {old.id: Status(standing, since=LATER)}
    assert not what_holds([old])[old.id].holds
    assert in_force([old]) == []


def test_the_successor_is_the_end_of_the_chain():
    new = fact("Use uv.")
    middle = ended("Use poetry.", FactStatus.SUPERSEDED, new)
    old = ended("Use pip.", FactStatus.SUPERSEDED, middle)
    holds = what_holds([old, middle, new])
    assert [holds[one.id].successor for one in (old, middle, new)] == [new.id, new.id, ""]


def test_a_successor_that_is_gone_is_not_named():
    old = ended("Use pip.", FactStatus.SUPERSEDED, fact("Use uv."))
    assert what_holds([old]) == {old.id: Status(Standing.SUPERSEDED, since=LATER)}


def test_of_a_circle_the_one_changed_last_holds_and_succeeds_the_others():
    first, second = fact("Use pip."), fact("Use uv.")
    before = ended("Use easy_install.", FactStatus.SUPERSEDED, first)
    first = ended("Use pip.", FactStatus.SUPERSEDED, second)
    second = ended("Use uv.", FactStatus.SUPERSEDED, first, LAST)
    for facts in ([before, first, second], [second, first, before]):
        holds = what_holds(facts)
        assert holds[second.id] == Status(Standing.IN_FORCE)
        assert (holds[first.id].successor, holds[before.id].successor) == (second.id, second.id)


def test_a_pair_is_disputed_while_both_hold_whichever_names_the_other():
    one = fact("Use tabs.")
    other = fact("Use spaces.", review=(one.id,))
    holds = what_holds([one, other])
    assert [holds[member.id] for member in (one, other)] == [
        Status(Standing.DISPUTED, disputes=(other.id,)),
        Status(Standing.DISPUTED, disputes=(one.id,)),
    ]
    assert in_force([one, other]) == [one, other], "it is told until somebody decides"
    retired = one._replace(status=FactStatus.RETIRED, updated=LATER)
    assert what_holds([retired, other])[other.id] == Status(Standing.IN_FORCE)
