"""Mirror an agent's own memory files as facts; nothing is written into the agent's folder.

Claude Code keeps one fact a file with `name`, `description` and `metadata.type`, and an index `MEMORY.md`, which is
skipped. A mirror's `origin` names file and machine: a changed file changes its mirror, a removed file retires it, and
mirrors of other machines are left alone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from gitmem.document.document import Document
from gitmem.document.entry import clean_text
from gitmem.document.message import Op, Trailer, session_message
from gitmem.facts.extract import fact_keywords
from gitmem.facts.fact import Fact, FactKind, FactStatus, make_fact, parse_changeable, render_fact
from gitmem.platform.clock import Context
from gitmem.platform.safe_open import read_regular, read_text
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction

TOOL = "claude-code"
MAX_BYTES = 65_536  # of one file
MAX_FILES = 1_000
_INDEX = "MEMORY.md"
_SEEN = "adopted"  # in the private folder: how the mirrored folder looked last time
_KINDS = {
    "user": FactKind.PREFERENCE,
    "feedback": FactKind.RULE,
    "reference": FactKind.SOLUTION,
    "project": FactKind.CORE_LOGIC,
}


@dataclass(frozen=True, slots=True)
class Adopted:
    """The result for a folder: ids of new, changed and retired facts, and the commits."""

    folder: str
    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()


def adopt(store: Store, folder: str) -> Adopted:
    """Mirror a folder of the agent's own memory; a second call adds nothing.

    If the folder is missing or unreadable, nothing is retired.

    Raises:
        GitmemError: it could not be committed.

    """
    made = _read_folder(folder, store.context)
    if made is None:
        return Adopted(folder)
    outcome = transact(store, partial(_mirror, store, made), purpose="adopt")
    if outcome.commits:
        known_facts(store)
    return replace(outcome.value, folder=folder, commits=outcome.commits)


def adopt_if_changed(store: Store, folder: str) -> None:
    """Mirror a folder if it has changed since it was mirrored last."""
    seen = os.path.join(store.private, _SEEN)
    look = fingerprint(folder)
    if look and read_text(seen) != look:
        adopt(store, folder)
        with contextlib.suppress(OSError, ValueError), open(seen, "w", encoding="utf-8", newline="\n") as file:
            file.write(look)


def fingerprint(folder: str) -> str:
    """Return names, times and sizes of a folder's documents, "" if there is no folder."""
    try:
        with os.scandir(folder) as entries:
            files = [(file.name, file.stat(follow_symlinks=False)) for file in entries if file.name.endswith(".md")]
    except OSError:
        return ""
    return "\n".join(f"{name}\t{status.st_mtime_ns}\t{status.st_size}" for name, status in sorted(files)) + "\n"


def _read_folder(folder: str, context: Context) -> list[Fact] | None:
    """Return the memories in a folder as facts, None if it cannot be read; links and other files are skipped."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".md") and name != _INDEX)
    except OSError:
        return None
    return [fact for name in names[:MAX_FILES] if (fact := _read(os.path.join(folder, name), context))]


def _read(path: str, context: Context) -> Fact | None:
    try:
        data, modified = read_regular(path, MAX_BYTES + 1, follow=False), os.stat(path, follow_symlinks=False).st_mtime
    except OSError:
        return None
    if data is None or len(data) > MAX_BYTES:
        return None
    document, name = Document.parse(data), os.path.basename(path)
    given = document.metadata
    about, description = given.get("metadata"), given.get("description")
    kind = about.get("type") if isinstance(about, Mapping) else given.get("type")
    description = description if isinstance(description, str) else ""
    text = clean_text(document.body)
    if document.problem is not None or not (text or description):
        return None
    fact = make_fact(
        _KINDS.get(str(kind), FactKind.CORE_LOGIC),
        text or description,
        datetime.fromtimestamp(modified, context.clock().tzinfo).replace(microsecond=0),
        description=description,
        keywords=fact_keywords(f"{description} {text or description}"),
        origin={"tool": TOOL, "id": name, "machine": context.machine},
    )
    return fact._replace(name=name.removesuffix(".md"))


def _mirror(store: Store, memories: Sequence[Fact], transaction: Transaction) -> Adopted:
    """Add the commit of new, changed and retired mirrors; return their ids."""
    known = known_facts(store)
    mirrors = {fact.adopted: fact for fact in known if fact.adopted}
    paths = {fact.id: fact.path for fact in known}
    new: dict[str, Fact] = {}
    changed: dict[str, Fact] = {}
    retired: dict[str, Fact] = {}
    for made in memories:
        mirror = mirrors.pop(made.adopted, None)
        if mirror is None and made.id not in paths:  # else it was learned from a session
            new.setdefault(made.id, made)
        elif mirror is not None and (fact := _changed(_fact(transaction, mirror), made)):
            changed[fact.id] = fact
    for adopted, mirror in mirrors.items():
        is_gone = adopted.startswith(f"{store.context.machine}/") and mirror.status != FactStatus.RETIRED
        if is_gone and (fact := _fact(transaction, mirror)) is not None:
            retired[fact.id] = fact._replace(status=FactStatus.RETIRED, updated=transaction.now)
    facts = new | changed | retired
    if facts:
        counts = ((new, "new"), (changed, "changed"), (retired, "gone"))
        numbers = ", ".join(f"{len(some)} {word}" for some, word in counts if some)
        subject = f"Adopt the agent's own memory, {numbers}: {next(iter(facts.values())).description}"
        message = session_message(subject, Op.ADOPT, Trailer.FACT, facts, host=TOOL)
        transaction.commit(message, {paths.get(name, fact.path): render_fact(fact) for name, fact in facts.items()})
    return Adopted("", tuple(new), tuple(changed), tuple(retired))


def _changed(mirror: Fact | None, made: Fact) -> Fact | None:
    """Return a mirror updated from its file; None if it is up to date, or retired and its file unchanged."""
    if mirror is None:
        return None
    is_same = (mirror.text, mirror.description) == (made.text, made.description)
    is_retired = mirror.status is FactStatus.RETIRED
    if is_same and (not is_retired or mirror.updated is None or mirror.updated > made.created):
        return None
    return mirror._replace(
        text=made.text,
        description=made.description,
        keywords=made.keywords,
        status=FactStatus.ACTIVE,
        updated=made.created,
    )


def _fact(transaction: Transaction, known: Fact) -> Fact | None:
    return parse_changeable(transaction.read(known.path), known.path)
