from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gitmem.model.fact.said.proposals import accepted_proposals
from gitmem.model.session.turns import Turn

WHEN = datetime(2026, 1, 11, 10, 11, tzinfo=UTC)
DESIGN = """Here's the limiter design:

- **General**: 100 requests a minute per IP
- **Auth**: 10 requests a minute per IP

I'll use slowapi for the counters.
"""


def accepted(after: str, answer: str = DESIGN, files: tuple[str, ...] = ()) -> list[str]:
    turn = Turn("s", "claude-code", "t", WHEN, WHEN, "I want limits per IP.", answer, files)
    return [one.text for one in accepted_proposals(turn, after)]


def test_the_terms_of_an_accepted_design_are_one_fact_with_their_name():
    assert accepted("Good. Add a test.") == [
        "I'll use slowapi for the counters.",
        "limiter design: General: 100 requests a minute per IP; Auth: 10 requests a minute per IP",
    ]


def test_a_choice_counts_if_the_person_goes_on():
    assert accepted("Start with the login route.") == ["I'll use slowapi for the counters."]


@pytest.mark.parametrize(
    "after", ["", "No, use nginx.", "wait, why slowapi?", "Let's use nginx instead of slowapi", "아니 nginx로 하자"]
)
def test_what_is_not_accepted_is_no_decision(after):
    assert accepted(after) == []


def test_a_list_after_changes_is_a_report():
    assert accepted("Good.", DESIGN, ("a.py",)) == ["I'll use slowapi for the counters."]


def test_an_offer_is_no_choice():
    assert accepted("Good.", "Would you like me to use Redis for the counters?") == []
