"""The summary of an archive as of now, with marks on ended decisions and resolved issues.

Tested through `tests/memory/summaries/test_offline.py`.
"""

from __future__ import annotations

from gitmem.model.fact.fact import FactKind
from gitmem.model.fact.views.marks import SHORTEST, normalized, with_marks
from gitmem.model.tiers.summary import RESOLVED
from gitmem.store.headers.facts import known_marks

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.model.fact.views.marks import Marks
    from gitmem.model.tiers.summary import Issue, KeyDecision, Summary
    from gitmem.store.store import Store

_DECIDED = (FactKind.DECISION, FactKind.PREFERENCE, FactKind.RULE)


def as_of_now(summary: Summary, store: Store) -> Summary:
    """Return a summary with marks on ended decisions, and on issues that were resolved since."""
    marks = known_marks(store)
    return summary._replace(
        themes=tuple(one._replace(summary=with_marks(one.summary, marks)) for one in summary.themes),
        key_decisions=tuple(_decision(one, marks) for one in summary.key_decisions),
        issues=tuple(_issue(one, marks) for one in summary.issues),
        overall_summary=with_marks(summary.overall_summary, marks),
    )


def _ended(text: str, kinds: tuple[FactKind, ...], marks: Marks) -> str:
    """Return the id of the fact that ended whose words, or their beginning, a summary gives; "" if none."""
    words = normalized(text)
    for fact in marks.facts.values():
        if fact.kind in kinds and marks.mark(fact.id) and len(words) >= SHORTEST:
            statement = normalized(fact.description)
            if statement.startswith(words) or (len(statement) >= SHORTEST and words.startswith(statement)):
                return fact.id
    return ""


def _decision(item: KeyDecision, marks: Marks) -> KeyDecision:
    words = marks.mark(_ended(item.decision, _DECIDED, marks))
    decision = f"{item.decision} [{words}]" if words else with_marks(item.decision, marks)
    return item._replace(decision=decision, reason=with_marks(item.reason, marks))


def _issue(item: Issue, marks: Marks) -> Issue:
    over = marks.has_ended(_ended(item.issue, (FactKind.ISSUE,), marks))
    return item._replace(status=RESOLVED) if over else item
