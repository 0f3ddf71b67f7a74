"""The summary of an archive as of now: decisions that ended and issues that were resolved are marked."""

from __future__ import annotations

from gitmem.model.fact.fact import FactKind
from gitmem.model.fact.views.marks import marks_of
from gitmem.model.tiers.summary import RESOLVED
from gitmem.store.headers.facts import known_facts

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.model.fact.views.marks import Marks
    from gitmem.model.tiers.summary import Issue, KeyDecision, Summary
    from gitmem.store.store import Store

_SHORTEST = 12  # characters of a statement that stands for a longer one
_DECIDED = (FactKind.DECISION, FactKind.PREFERENCE, FactKind.RULE)


def as_of_now(summary: Summary, store: Store) -> Summary:
    """Return a summary with marks on decisions that ended, and the issues that were resolved since."""
    marks = marks_of(known_facts(store))
    return summary._replace(
        key_decisions=tuple(_decision(one, marks) for one in summary.key_decisions),
        issues=tuple(_issue(one, marks) for one in summary.issues),
    )


def _ended(text: str, kinds: tuple[FactKind, ...], marks: Marks) -> str:
    """Return the id of the ended fact that a summary quotes, in full or by its beginning; "" if none."""
    words = _plain(text)
    for fact in marks.facts.values():
        if fact.kind in kinds and marks.mark(fact.id) and len(words) >= _SHORTEST:
            said = _plain(fact.description)
            if said.startswith(words) or (len(said) >= _SHORTEST and words.startswith(said)):
                return fact.id
    return ""


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip(".!…。 ").casefold()


def _decision(item: KeyDecision, marks: Marks) -> KeyDecision:
    words = marks.mark(_ended(item.decision, _DECIDED, marks))
    return item._replace(decision=f"{item.decision} [{words}]") if words else item


def _issue(item: Issue, marks: Marks) -> Issue:
    over = marks.has_ended(_ended(item.issue, (FactKind.ISSUE,), marks))
    return item._replace(status=RESOLVED) if over else item
