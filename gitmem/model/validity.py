"""Decide which facts are in force; end, reword, revive and supersede facts.

A chain of superseded facts leads from the oldest to the active one. `supersede` makes no circle, but a sync that merges
different decisions of two machines can: then the fact changed last is the active one, on every machine. Every session's
start loads this module, so it stays light.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

from gitmem.document.message import one_line
from gitmem.model.fact import BINDING, MAX_DESCRIPTION, UNDATED, Fact, FactKind, FactStatus, fact_keywords
from gitmem.platform.machine import datetime
from gitmem.values import Value


def ended(fact: Fact, now: datetime, why: str = "") -> Fact:
    """Return a fact retired, or an issue resolved, with `why` added to its text; an ended one is unchanged."""
    is_issue = fact.kind is FactKind.ISSUE
    status, word = (FactStatus.RESOLVED, "Resolved") if is_issue else (FactStatus.RETIRED, "Retired")
    reason = f"\n\n**{word}:** {why.strip()}" if why.strip() else ""
    if fact.status is status and reason in fact.text:
        return fact
    return fact._replace(status=status, text=fact.text + reason, review=(), updated=now)


def reworded(fact: Fact, text: str, now: datetime) -> Fact:
    """Return a fact with a new text and the same id."""
    description = one_line(text.split("\n\n", maxsplit=1)[0], MAX_DESCRIPTION)
    return fact._replace(text=text, description=description, keywords=fact_keywords(text), updated=now)


def revived(fact: Fact, now: datetime) -> Fact:
    """Return a fact that is in force again."""
    if fact.binds and not fact.superseded_by:
        return fact
    status = FactStatus.OPEN if fact.kind is FactKind.ISSUE else FactStatus.ACTIVE
    return fact._replace(status=status, superseded_by="", updated=now)


class Ground(StrEnum):
    """The relation of a fact's branch, commit and lines of code to the checked-out commit."""

    HERE = "holds here"
    STALE = "stale"
    LEARNED = "learned on another branch"  # not about a file, so only its commit shows where it holds
    UNKNOWN = "its commit is not known here"
    BRANCH = "on its branch only"
    WAITS = "its branch is gone"
    BESIDE = "of another part of the project"
    PASSING = "for a time only"


class FactPlace(Value):
    """The ground of a fact; the `author` if that is somebody else.

    `files` are those with changed lines, or the parts of the project that it applies to; `until` is when the fact was
    meant to end.
    """

    ground: Ground
    branch: str = ""
    commit: str = ""
    files: tuple[str, ...] = ()
    author: str = ""
    until: str = ""

    def __str__(self) -> str:
        """Return the ground in words, for a mark."""
        if self.until:
            rest = "" if self.ground is Ground.PASSING else str(self._replace(until=""))
            return "; ".join(filter(None, (self.until, rest)))
        branch = one_line(self.branch or "a commit without a branch", _LONGEST_BRANCH)
        learned = f"learned on {branch}" + (f" by {self.author}" if self.author else "")
        files = ", ".join(one_line(file, _LONGEST_BRANCH) for file in self.files[:_FILES])
        if self.ground is Ground.STALE:
            return f"may be out of date, since changed: {files}"
        if self.ground is Ground.BESIDE:
            return f"of {files}, and shown there and above"
        return {
            Ground.LEARNED: f"{learned}, which is not merged here",
            Ground.UNKNOWN: f"{learned} at {self.commit[:_SHORT]}, a commit that is not known here",
            Ground.BRANCH: f"{learned}, and in force only there",
            Ground.WAITS: f"{learned}, which is gone and was never merged; see `gitmem review`",
        }[self.ground]


class Standing(StrEnum):
    """Whether a fact is in force: `IN_FORCE` and `DISPUTED` are, the others are not."""

    IN_FORCE = "in force"
    SUPERSEDED = "superseded"
    RETIRED = "retired"
    RESOLVED = "resolved"
    PURGED = "purged"
    DISPUTED = "disputed"  # in force; a contradiction waits for a user
    ELSEWHERE = "on its branch only"
    BESIDE = "of another part of the project"
    WAITING = "not merged"  # learned on a branch that is gone; waits for a user


class Status(Value):
    """The status of a fact.

    `successor` is the id of the last known fact in its chain of successors; `since` is when it ended, None while in
    force; `disputes` are the ids of facts in force that contradict it. `place` is where in the project's history it was
    learned, None if it applies here.
    """

    standing: Standing
    successor: str = ""
    since: datetime | None = None
    disputes: tuple[str, ...] = ()
    place: FactPlace | None = None

    @property
    def is_in_force(self) -> bool:
        """Return whether the fact is in force, disputed or not."""
        return self.standing in _HOLDING

    @property
    def waits(self) -> bool:
        """Return whether the fact waits for a user because its branch is gone and was never merged."""
        return self.standing is Standing.WAITING

    @property
    def stale(self) -> tuple[str, ...]:
        """Return the files in which lines that the fact mentions changed."""
        return self.place.files if self.place and self.place.ground is Ground.STALE else ()


_HOLDING = (Standing.IN_FORCE, Standing.DISPUTED)
_LONGEST_BRANCH, _FILES, _SHORT = 80, 3, 7
_ELSEWHERE = {Ground.BRANCH: Standing.ELSEWHERE, Ground.WAITS: Standing.WAITING, Ground.BESIDE: Standing.BESIDE}
_IN_FORCE = Status(Standing.IN_FORCE)
_ENDED = {
    FactStatus.SUPERSEDED: Standing.SUPERSEDED,
    FactStatus.RETIRED: Standing.RETIRED,
    FactStatus.RESOLVED: Standing.RESOLVED,
    FactStatus.PURGED: Standing.PURGED,
}


def fact_statuses(facts: Iterable[Fact], places: Mapping[str, FactPlace] = {}) -> dict[str, Status]:
    """Return the status of each fact by its id; in a circle, the one changed last is in force."""
    known = {fact.id: fact for fact in facts}
    ended = {fact.id: fact for fact in known.values() if fact.status not in BINDING}
    superseded = (fact for fact in ended.values() if fact.status is FactStatus.SUPERSEDED)
    after = {fact.id: fact.superseded_by for fact in superseded if fact.superseded_by in known}
    ends = circle_ends(after, lambda name: known[name].when)
    holding = known.keys() - (ended.keys() - ends)
    rivals: dict[str, dict[str, None]] = {}  # ordered sets; either or both of a pair may name the other
    for fact in known.values():
        for rival in fact.review:
            if fact.id in holding and rival in holding and rival != fact.id:
                rivals.setdefault(fact.id, {})[rival] = None
                rivals.setdefault(rival, {})[fact.id] = None
    statuses = dict.fromkeys(known, _IN_FORCE)  # nearly all of them
    for identifier in ended.keys() - ends:
        fact = ended[identifier]
        when = None if fact.when == UNDATED else fact.when
        statuses[identifier] = Status(_ENDED[fact.status], _successor(identifier, after, ends), when)
    for identifier in holding & (places.keys() | rivals.keys()):
        place, disputes = places.get(identifier), tuple(rivals.get(identifier, ()))
        standing = Standing.DISPUTED if disputes else Standing.IN_FORCE
        standing = _ELSEWHERE.get(place.ground, standing) if place else standing
        statuses[identifier] = Status(standing, disputes=disputes, place=place)
    return statuses


def in_force(facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts in force, in order, each once."""
    known = {fact.id: fact for fact in facts}
    statuses = fact_statuses(known.values())
    return [fact for fact in known.values() if statuses[fact.id].is_in_force]


def _successor(fact: str, after: Mapping[str, str], ends: set[str]) -> str:
    """Return the end of a fact's chain, "" without a known successor; a circle's end stops the walk."""
    newest = after.get(fact, "")
    while newest in after and newest not in ends:
        newest = after[newest]
    return newest


def circle_ends(after: Mapping[str, str], age: Callable[[str], object]) -> set[str]:
    """Return the active fact of each circle, in linear time.

    `after` maps a fact to its successor. The active member of a circle has the greatest `age` (a sortable value: when
    it was changed), then the greatest id.
    """
    ends: set[str] = set()
    walked: set[str] = set()
    for start in after:
        path: dict[str, int] = {}
        fact = start
        while fact in after and fact not in walked and fact not in path:
            path[fact] = len(path)
            fact = after[fact]
        if fact in path:
            circle = [member for member, place in path.items() if place >= path[fact]]
            ends.add(max(circle, key=lambda member: (age(member), member)))
        walked.update(path)
    return ends


def supersede(facts: Mapping[str, Fact], loser: str, winner: str, now: datetime) -> dict[str, Fact]:
    """Return the facts that change when one supersedes another, without making a circle.

    If the winner was superseded itself, the end of its chain takes its place. If that chain leads back to the loser,
    the old decision is reversed: the winner is active again.
    """
    if loser == winner or loser not in facts or winner not in facts:
        return {}
    changed = dict(facts)
    chain = _chain(changed, winner)
    if loser in chain:
        before = changed[winner].superseded_by
        changed[winner] = revived(changed[winner], now)
        if before in changed:
            others = tuple(name for name in changed[before].supersedes if name != winner)
            changed[before] = changed[before]._replace(supersedes=others, updated=now)
    else:
        winner = chain[-1]
        changed[winner] = revived(changed[winner], now)
    supersedes = tuple(dict.fromkeys((*changed[winner].supersedes, loser)))
    changed[winner] = changed[winner]._replace(supersedes=supersedes, updated=now)
    changed[loser] = changed[loser]._replace(status=FactStatus.SUPERSEDED, superseded_by=winner, updated=now)
    changed |= settle_both(changed, winner, loser)
    return {name: fact for name, fact in changed.items() if fact != facts[name]}


def dispute(facts: Mapping[str, Fact], first: str, second: str) -> dict[str, Fact]:
    """Mark two facts as contradicting each other, without superseding either, for a user to decide; return both."""
    changed = {}
    for fact, rival in ((first, second), (second, first)):
        review = tuple(dict.fromkeys((*facts[fact].review, rival)))
        supersedes = tuple(name for name in facts[fact].supersedes if name != rival)
        changed[fact] = facts[fact]._replace(review=review, supersedes=supersedes)
    return changed


def settle_both(facts: Mapping[str, Fact], first: str, *others: str) -> dict[str, Fact]:
    """Settle the contradictions of the first with each of the others, all in force; return the changed facts."""
    rivals = {first: others, **dict.fromkeys(others, (first,))}
    return {
        fact: facts[fact]._replace(review=tuple(name for name in facts[fact].review if name not in gone))
        for fact, gone in rivals.items()
    }


def _chain(facts: Mapping[str, Fact], start: str) -> list[str]:
    """Return a fact and its successors in order; of a circle, each member once."""
    chain = {start: None}  # an ordered set
    successor = start
    while (successor := facts[successor].superseded_by) in facts and successor not in chain:
        chain[successor] = None
    return [*chain]
