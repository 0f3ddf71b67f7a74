"""The facts of a store as its start text needs them: read from a cache, without YAML and without `dataclasses`."""

from __future__ import annotations

from gitmem.memory.headers import Header, read_headers
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitmem.memory.headers import Haste
    from gitmem.store.store import Store

FOLDER = "facts"  # as gitmem.model.fact has it
ISSUE = "issue"
BINDING = ("active", "open")
_SUPERSEDED = "superseded"


class KnownFact(Value):
    """What is known of a fact from its header; see `gitmem.model.fact.Fact`. Moments are RFC 3339, "" if not known.

    `adopted` says of which file of an agent's own memory on which machine it is the mirror (`gitmem.memory.adopt`);
    `review` names the facts it contradicts, which a person is to decide (spec V6).
    """

    path: str
    id: str
    kind: str
    status: str
    description: str
    created: str
    updated: str
    confidence: float | None
    session: str
    adopted: str
    sources: tuple[str, ...]
    keywords: tuple[str, ...]
    files: tuple[str, ...]
    commit: str
    superseded_by: str
    review: tuple[str, ...]

    @property
    def binds(self) -> bool:
        """Whether a session should be told it as something that holds."""
        return self.status in BINDING

    @property
    def when(self) -> str:
        """When it was last said or changed."""
        return self.updated or self.created


def known_facts(store: Store) -> list[KnownFact]:
    """Return the facts of the work tree by path."""
    return [whole(header) for header in fact_headers(store)]


def fact_headers(store: Store, haste: Haste | None = None, *, trusting: bool = False) -> list[Header]:
    """Return the facts of the work tree, each with status, kind and when it was last changed for its key.

    See `gitmem.memory.headers.read_headers`.
    """
    return read_headers(store, FOLDER, _said, haste, trusting=trusting)


def whole(header: Header) -> KnownFact:
    """Return all that is known of a fact."""
    return KnownFact(header.path, *header.load())


def adopted_from(machine: str, name: str) -> str:
    """Return what says of which file of an agent's own memory a fact is the mirror, "" where it is of none."""
    return f"{machine}/{name}" if machine and name else ""


def in_force(facts: Iterable[KnownFact]) -> list[KnownFact]:
    """Return the facts that hold: those that bind, and of a circle that two machines made the one changed last."""
    known = {fact.id: fact for fact in facts}
    return [
        fact for fact in known.values() if fact.binds or (fact.status == _SUPERSEDED and _ends_a_circle(fact, known))
    ]


def _ends_a_circle(fact: KnownFact, known: Mapping[str, KnownFact]) -> bool:
    from gitmem.model.factchain import successor

    def follow(identifier: str) -> str:
        after = known[identifier].superseded_by
        return after if after in known else ""

    if not follow(fact.id):
        return False
    return successor(fact.id, follow, lambda one: known[one].when) == fact.id


def _said(data: bytes, path: str) -> tuple[tuple[str, ...], Sequence[object]] | None:
    from gitmem.model.fact import parse_fact

    fact = parse_fact(data, path)
    if fact is None:
        return None
    key = (fact.status.value, fact.kind.value, (fact.updated or fact.created).isoformat())
    known = KnownFact(
        path=path,
        id=fact.id,
        kind=fact.kind.value,
        status=fact.status.value,
        description=fact.description or fact.text.split("\n\n")[0][:200].replace("\n", " "),
        created=fact.created.isoformat(),
        updated=fact.updated.isoformat() if fact.updated else "",
        confidence=fact.confidence,
        session=fact.origin.get("session", ""),
        adopted=adopted_from(fact.origin.get("machine", ""), fact.origin.get("id", "")),
        sources=fact.sources,
        keywords=fact.keywords,
        files=fact.files,
        commit=fact.commit,
        superseded_by=fact.superseded_by,
        review=fact.review,
    )
    return key, [*known._asdict().values()][1:]
