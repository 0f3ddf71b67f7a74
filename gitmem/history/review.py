"""Documents with two versions that wait for the user's choice (docs/format.md, "Merging")."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from gitmem.document.document import Document
from gitmem.document.ids import MEMORY
from gitmem.document.message import Op, Trailer, op_message
from gitmem.errors import GitmemError, NotFoundError
from gitmem.git.log import Commit, log, was_at
from gitmem.git.objects import PathChange, read_tree
from gitmem.git.repository import blob_id
from gitmem.merge.documents import REVIEW, beside_path, is_beside, lines_of_one, taken, without_mark
from gitmem.model.fact import is_fact_path, parse_changeable, render_fact
from gitmem.model.validity import reworded
from gitmem.store.fact_lines import with_facts
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.difference import merge_lines
from gitmem.values import Value

BOTH_FACTS = "Take 'ours' or 'theirs'; to keep what the other says, too: gitmem facts add TEXT."
_FIELD = b"\nreview:"
_BESIDE = ".other-"
_FACT = re.compile(r"[a-z][0-9a-z]{10}")


class ToReview(Value):
    """A document to review; `places` are its sections with two versions, () for a file that is a second version."""

    path: str
    places: tuple[str, ...]


def documents_to_review(store: Store) -> list[ToReview]:
    """Return the documents of the tip that contain two versions; contradicting facts do not count."""
    return _without_facts(_to_review(store))


def review_since(store: Store, before: Sequence[ToReview], changes: Sequence[PathChange]) -> list[ToReview]:
    """Return the documents to review after these changes, given those `before` them."""
    changed = {change.path for change in changes}
    remaining = [item for item in before if item.path not in changed]
    return sorted(_without_facts([*remaining, *_in_changed(store, changes)]), key=lambda item: item.path)


def _in_changed(store: Store, changes: Iterable[PathChange]) -> list[ToReview]:
    """Return the documents with a field `review`, and second versions, among changed files."""
    new = {change.path: change.new for change in changes if change.new is not None and change.mode.startswith("100")}
    reviews = [ToReview(path, ()) for path in new if _BESIDE in path and is_beside(path)]
    with store.repository.reading():
        for path in (path for path in new if path.endswith(".md")):
            if _FIELD in (data := _content(store, path, new[path])):
                reviews += _marked(path, data)
    return reviews


def _content(store: Store, path: str, oid: str) -> bytes:
    """Return the content of a blob, if possible from the work tree, without git."""
    with contextlib.suppress(GitmemError):  # for example a link in its place
        data = store.read(path) or b""
        if blob_id(data, oid) == oid:
            return data
    return store.repository.blob(oid)


def _without_facts(items: Iterable[ToReview]) -> list[ToReview]:
    """Leave out facts marked only for contradictions, which are not two versions of a document."""
    review = []
    for item in items:
        facts = _contradicted(item.places, item.path)
        places = tuple(place for place in item.places if place not in facts)
        if places or not item.places:
            review.append(ToReview(item.path, places))
    return review


def _contradicted(places: Sequence[str], path: str) -> list[str]:
    """Return the ids of the facts that a fact contradicts, from the places of its review field."""
    return [place for place in places if path.startswith("facts/") and _FACT.fullmatch(place)]


def _to_review(store: Store) -> list[ToReview]:
    """Return the documents with a field `review`, and second versions, by path; starts three processes at most."""
    repository = store.repository
    try:
        commit = repository.resolve("HEAD")
    except NotFoundError:
        return []
    options = ("--files-with-matches", "-z", "--full-name", "--text", "-e", f"^{REVIEW}:")
    output = repository.git.run("grep", *options, commit, "--", "*.md", ok=(0, 1))
    names = {name.partition(":")[2] for name in output.decode("utf-8", "surrogateescape").split("\0")[:-1]}
    files = read_tree(repository.git, commit).items()
    wanted = [PathChange(path, None, oid, mode) for path, (mode, oid) in files if path in names or _BESIDE in path]
    return sorted(_in_changed(store, wanted), key=lambda item: item.path)


def _marked(path: str, data: bytes) -> Iterator[ToReview]:
    places = Document.parse(data).get(REVIEW)
    if isinstance(places, list) and places:
        yield ToReview(path, tuple(map(str, places)))


_SECONDS = 300.0
_MERGES = 100  # merges to search for one document


class Take(StrEnum):
    """Which of two versions to keep."""

    OURS = "ours"  # this machine's version
    THEIRS = "theirs"
    BOTH = "both"
    EDIT = "edit"  # the file as the user edited it


class Sides(Value):
    """A merge that kept two versions: its commit, both parents, and the machines of each side."""

    merge: str
    ours: str
    theirs: str
    our_machines: tuple[str, ...]
    their_machines: tuple[str, ...]


def resolve_review(store: Store, path: str, take: Take) -> str:
    """Keep one version of a document and return the new commit.

    Raises:
        NotFoundError: the document does not hold two versions.
        GitmemError: it is a contradicting fact, or was changed in the same lines since the merge.
    """
    waiting = {item.path: item.places for item in _to_review(store)}
    if path not in waiting:
        raise NotFoundError(f"{path} holds no two versions.", "'gitmem review' lists the documents that do.")
    facts = _contradicted(waiting[path], path)
    if facts:
        raise GitmemError(
            f"{path} is a fact that contradicts {', '.join(facts)}.",
            "'gitmem review' lists such pairs by number; '--take newer', 'older' or 'both' decides one.",
        )
    if take is Take.BOTH and is_fact_path(path):
        raise GitmemError(f"{path} is one fact, which says one thing.", BOTH_FACTS)
    sides = sides_of(store, path) if take in {Take.OURS, Take.THEIRS} else None
    message = op_message(Op.REVIEW, f"Review {path}: {take.value}", (Trailer.TOOK, take.value))

    def plan(transaction: Transaction) -> bool:
        if is_beside(path):
            changes = _choose_file(store, transaction, path, take, sides)
        else:
            data = _choose(store, transaction.read(path) or b"", path, take, sides)
            fact = parse_changeable(data, path) if is_fact_path(path) else None
            data = data if fact is None else render_fact(reworded(fact, fact.text, transaction.now))
            changes = with_facts(transaction, data) if path == MEMORY else {path: data}
        return transaction.commit(message, changes)

    outcome = transact(store, plan, purpose="review")
    if not outcome.value:
        raise GitmemError(f"{path} was not changed.", "See 'gitmem review'.")
    return outcome.commits[-1]


def sides_of(store: Store, path: str) -> Sides:
    """Return the newest merge that left two versions of a document. Raises NotFoundError if there is none."""
    git, repository = store.repository.git, store.repository
    tip = repository.resolve("HEAD")
    output = git.run("--literal-pathspecs", "rev-list", "--merges", "--full-history", tip, "--", path, timeout=_SECONDS)
    for merge in output.decode().split()[:_MERGES]:
        first, second, *_ = git.run("rev-parse", f"{merge}^@").decode().split()
        places = [_places(repository.read(commit, path), path) for commit in (merge, first, second)]
        if places[0] - (places[1] & places[2]):
            machines = [_machines(log(git, f"{rival}..{own}")) for own, rival in ((first, second), (second, first))]
            if _is_own_second(store, first, second, machines):
                return Sides(merge, second, first, machines[1], machines[0])
            return Sides(merge, first, second, machines[0], machines[1])
    raise NotFoundError(f"No merge in history left two versions of {path}.", "Edit it, then '--take edit'.")


def _machines(commits: Iterable[Commit]) -> tuple[str, ...]:
    """Return the machines, or else authors, of commits, without merges of what machines saved."""
    saves = (commit for commit in commits if commit.value(Trailer.OP) != Op.MERGE or len(commit.parents) < 2)  # noqa: PLR2004
    return tuple(sorted({commit.value(Trailer.MACHINE) or commit.author for commit in saves}))


def _is_own_second(store: Store, first: str, second: str, machines: Sequence[tuple[str, ...]]) -> bool:
    """Return whether a merge's second parent is this machine's, by the branch's reflog or else the machine names."""
    was_here = was_at(store.repository.git)
    if (first in was_here) != (second in was_here):
        return second in was_here
    return store.context.machine in machines[1] and store.context.machine not in machines[0]


def _places(data: bytes | None, path: str) -> set[str]:
    if data is None:
        return set()
    if is_beside(path):
        return {path}
    places = Document.parse(data).get(REVIEW)
    return {*map(str, places)} if isinstance(places, list) else set()


def _choose(store: Store, now: bytes, path: str, take: Take, sides: Sides | None) -> bytes:
    if sides is None:
        return without_mark(now)
    read = store.repository.read
    merged = read(sides.merge, path) or b""
    chosen, rejected = (sides.ours, sides.theirs) if take is Take.OURS else (sides.theirs, sides.ours)
    versions, places = (read(chosen, path) or b"", read(rejected, path) or b""), _places(now, path)
    result = taken(merged, *versions, places)
    if now == merged:
        return result
    carried = merge_lines(now, merged, result)
    if carried is None or not lines_of_one(*versions, places).issubset(carried.decode("utf-8", "replace").splitlines()):
        remedy = "Edit the file as it should be, then '--take edit'."
        raise GitmemError(f"{path} has been changed since, in the same lines.", remedy)
    return without_mark(carried)


def original(beside: str) -> str:
    """Return the path of the file beside which another version was kept."""
    stem, _, rest = beside.rpartition(_BESIDE)
    return stem + os.path.splitext(rest)[1]


def _choose_file(
    store: Store, transaction: Transaction, beside: str, take: Take, sides: Sides | None
) -> dict[str, bytes | None]:
    """Return the file changes that resolve a second version kept in its own file."""
    theirs = transaction.read(beside) or b""
    path = original(beside)
    if take is Take.EDIT:
        return {beside: None}
    if sides is None:
        number, suffix = 2, os.path.splitext(path)[1]
        while transaction.read(second := f"{path.removesuffix(suffix)}-{number}{suffix}") is not None:
            number += 1
        return {second: theirs, beside: None}
    chosen = store.repository.read(sides.ours if take is Take.OURS else sides.theirs, path)
    keeps_other = chosen is not None and beside_path(path, chosen) == beside
    return {beside: None, **({path: theirs} if keeps_other else {})}
