"""The facts of a store as its start text needs them: read from a cache, without YAML."""

from __future__ import annotations

from gitmem.machine.moment import datetime
from gitmem.memory.headers import Header, read_headers
from gitmem.model.fact.fact import FOLDER, Fact, FactKind, FactStatus

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitmem.memory.headers import Haste
    from gitmem.store.store import Store


def known_facts(store: Store) -> list[Fact]:
    """Return the facts of the work tree by path."""
    return [whole(header) for header in fact_headers(store)]


def fact_headers(store: Store, haste: Haste | None = None, *, trusting: bool = False) -> list[Header]:
    """Return the facts of the work tree, each with status, kind and when it was last changed for its key.

    See `gitmem.memory.headers.read_headers`.
    """
    return read_headers(store, FOLDER, _said, haste, trusting=trusting)


def whole(header: Header) -> Fact:
    """Return the fact that a header tells of, without its text."""
    said = dict(zip(_CACHED, header.load(), strict=True))
    said |= {"created": datetime.fromisoformat(said["created"]), "text": "", "file": header.path}
    said["updated"] = datetime.fromisoformat(said["updated"]) if said["updated"] else None
    said |= {"kind": FactKind(said["kind"]), "status": FactStatus(said["status"])}
    return Fact(**said)


def in_force(facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts that hold: those that bind, and of a circle that two machines made the one changed last."""
    known = {fact.id: fact for fact in facts}
    replaced = {fact.id: fact.superseded_by for fact in known.values() if fact.superseded_by in known}
    ends: set[str] = set()
    if replaced:
        from gitmem.model.fact.chain import circle_ends

        ends = circle_ends(replaced, lambda one: known[one].when)
    superseded = FactStatus.SUPERSEDED
    return [fact for fact in known.values() if fact.binds or (fact.status is superseded and fact.id in ends)]


_CACHED = [name for name in Fact._fields if name not in {"text", "file", "source"}]


def _said(data: bytes, path: str) -> tuple[tuple[str, ...], Sequence[object]] | None:
    from gitmem.model.fact.file import parse_fact

    fact = parse_fact(data, path)
    if fact is None:
        return None
    told = fact._asdict()
    told["description"] = fact.description or fact.text.split("\n\n")[0][:200].replace("\n", " ")
    told |= {"created": fact.created.isoformat(), "updated": fact.updated.isoformat() if fact.updated else ""}
    return (fact.status, fact.kind, fact.when.isoformat()), [told[name] for name in _CACHED]
