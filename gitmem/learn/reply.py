"""The parts of a model's answers about a session that passed: claims, endings, verdicts, fixes, requests. Pure.

Tested through `tests/learn/test_reply.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gitmem.learn.question import EndReason, PairDecision
from gitmem.model.fact import FactKind
from gitmem.model.outcome import Outcome
from gitmem.values import Value


class Claim(Value):
    """A fact that passed. `request` is the number of the request that it quotes, `who` is the speaker quoted.

    Three fields contain names of the question: `known` are facts that already say the same, `replaces` facts that it
    replaces, `disputes` facts that it may replace, which waits for a verdict.
    """

    kind: FactKind
    statement: str
    reason: str
    request: int
    who: str
    until: str = ""
    forbids: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    disputes: tuple[str, ...] = ()


class Ending(Value):
    """A known fact no longer in force, without a successor; `how` is how an issue was solved, or ""."""

    known: str
    why: EndReason
    how: str
    request: int
    who: str


class Verdict(Value):
    """The verdict on a pair that waits; `statement` has the text of a merge."""

    pair: str
    keep: PairDecision
    statement: str = ""


class Fix(Value):
    """An error that was fixed, with its cause."""

    error: str
    cause: str
    fix: str
    request: int


class RequestResult(Value):
    """The result of a request in one sentence; `topic` is a title, or the name of a known concept in the question."""

    request: int
    sentence: str
    outcome: Outcome
    topic: str


class Judged(Value):
    """The parts of the answers about a session that passed, and the number of refused claims by reason."""

    facts: tuple[Claim, ...] = ()
    endings: tuple[Ending, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    fixes: tuple[Fix, ...] = ()
    requests: tuple[RequestResult, ...] = ()
    refused: Mapping[str, int] = {}  # never changed

    @property
    def kept(self) -> int:
        """Return the number of claims that passed."""
        return len(self.facts) + len(self.endings) + len(self.verdicts) + len(self.fixes)

    def joined(self, later: Judged) -> Judged:
        """Join this window's claims with a later one's, dropping those that it ends and its repetitions."""
        gone = {name for claim in later.facts for name in (*claim.replaces, *claim.disputes)}
        gone |= {ending.known for ending in later.endings}
        facts = [claim for number, claim in enumerate(self.facts, 1) if f"S{number}" not in gone]
        facts += [_without_found(claim) for claim in later.facts if not any(map(is_earlier, claim.known))]
        requests = {result.request: result for result in (*self.requests, *later.requests)}
        return Judged(
            tuple(facts),
            (*self.endings, *(ending for ending in later.endings if not is_earlier(ending.known))),
            (*self.verdicts, *later.verdicts),
            (*self.fixes, *later.fixes),
            tuple(requests[number] for number in sorted(requests)),
            Counter(self.refused) + Counter(later.refused),
        )


def is_earlier(name: str) -> bool:
    """Return whether a name is that of an earlier window's claim."""
    return name.startswith("S")


def _without_found(claim: Claim) -> Claim:
    names = ((key, getattr(claim, key)) for key in ("replaces", "disputes"))
    return claim._replace(**{key: tuple(name for name in some if not is_earlier(name)) for key, some in names})
