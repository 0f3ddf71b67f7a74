"""What a person does to a fact, as a change of its value: end it, reword it, bring it back (spec V6).

Tested through `tests/model/fact/views/test_lines.py`.
"""

from __future__ import annotations

from gitmem.model.fact.fact import MAX_DESCRIPTION, Fact, FactKind, FactStatus
from gitmem.model.message import one_line

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from datetime import datetime


def ended(fact: Fact, now: datetime, why: str = "") -> Fact:
    """Return a fact retired, or an issue resolved; `why` is added to its text."""
    is_issue = fact.kind is FactKind.ISSUE
    status, word = (FactStatus.RESOLVED, "Resolved") if is_issue else (FactStatus.RETIRED, "Retired")
    text = f"{fact.text}\n\n**{word}:** {why.strip()}" if why.strip() else fact.text
    return fact._replace(status=status, text=text, review=(), updated=now)


def reworded(fact: Fact, text: str, now: datetime) -> Fact:
    """Return a fact that says something else; its id stays."""
    from gitmem.model.fact.find import fact_keywords

    description = one_line(text.split("\n\n", maxsplit=1)[0], MAX_DESCRIPTION)
    return fact._replace(text=text, description=description, keywords=fact_keywords(text), updated=now)


def revived(fact: Fact, now: datetime) -> Fact:
    """Return a fact that holds again."""
    if fact.binds and not fact.superseded_by:
        return fact
    status = FactStatus.OPEN if fact.kind is FactKind.ISSUE else FactStatus.ACTIVE
    return fact._replace(status=status, superseded_by="", updated=now)
