"""Mirror an agent's own memory files as facts; nothing is written into the agent's folder.

Claude Code keeps one fact a file with `name`, `description` and `metadata.type`, and an index `MEMORY.md`, which is
skipped. A mirror's `origin` names file and machine: a changed file changes its mirror, a removed file retires it, and
mirrors of other machines are left alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from gitmem.document.document import Document
from gitmem.document.entry import clean_text
from gitmem.document.message import Op, Trailer, session_message
from gitmem.facts.extract import fact_keywords
from gitmem.facts.fact import Fact, FactKind, FactStatus, adopted_from, make_fact
from gitmem.facts.file import parse_changeable, render_fact
from gitmem.platform.safe_open import read_text
from gitmem.store.headers import known_facts
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


@dataclass(frozen=True, slots=True)
class HostMemory:
    """A file of the agent's own memory, parsed."""

    name: str
    kind: FactKind
    description: str
    text: str
    modified: datetime


def adopt(store: Store, folder: str) -> Adopted:
    """Mirror a folder of the agent's own memory; a second call adds nothing.

    If the folder is missing or unreadable, nothing is retired.

    Raises:
        GitmemError: it could not be committed.

    """
    files = read_folder(folder, store.context.clock())
    if files is None:
        return Adopted(folder)
    outcome = transact(store, partial(_mirror, store, files), purpose="adopt")
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


def read_folder(folder: str, now: datetime) -> list[HostMemory] | None:
    """Return the memories in a folder, None if it cannot be read; links and other files are skipped."""
    try:
        names = sorted(os.listdir(folder))[:MAX_FILES]
    except OSError:
        return None
    memories = []
    for name in names:
        if name.endswith(".md") and name != _INDEX and (data := _read(os.path.join(folder, name))) is not None:
            memory = _parse(name, *data, now)
            memories += [memory] if memory else []
    return memories


def _read(path: str) -> tuple[bytes, float] | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
                return None
            return file.read(MAX_BYTES), status.st_mtime
    except OSError:
        return None


def _parse(name: str, data: bytes, modified: float, now: datetime) -> HostMemory | None:
    document = Document.parse(data)
    given = document.metadata
    about = given.get("metadata")
    kind = about.get("type") if isinstance(about, Mapping) else given.get("type")
    description = given.get("description")
    text = clean_text(document.body)
    description = description if isinstance(description, str) else ""
    if document.problem is not None or not (text or description):
        return None
    at = datetime.fromtimestamp(modified, now.tzinfo).replace(microsecond=0)
    return HostMemory(name, _KINDS.get(str(kind), FactKind.CORE_LOGIC), description, text or description, at)


def _mirror(store: Store, files: Sequence[HostMemory], transaction: Transaction) -> Adopted:
    """Add the commit of new, changed and retired mirrors; return their ids."""
    machine, known = store.context.machine, known_facts(store)
    mirrors = {fact.adopted: fact for fact in known if fact.adopted}
    paths = {fact.id: fact.path for fact in known}
    new: dict[str, Fact] = {}
    changed: dict[str, Fact] = {}
    retired: dict[str, Fact] = {}
    for memory in files:
        mirror = mirrors.pop(adopted_from(machine, memory.name), None)
        made = _made(machine, memory)
        if mirror is None and made.id not in paths:  # else it was learned from a session
            new.setdefault(made.id, made)
        elif mirror is not None and (fact := _changed(_fact(transaction, mirror), made)):
            changed[fact.id] = fact
    for adopted, mirror in mirrors.items():
        is_gone = adopted.startswith(adopted_from(machine, "/")[:-1]) and mirror.status != FactStatus.RETIRED
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


def _made(machine: str, memory: HostMemory) -> Fact:
    fact = make_fact(
        memory.kind,
        memory.text,
        memory.modified,
        description=memory.description,
        keywords=fact_keywords(f"{memory.description} {memory.text}"),
        origin={"tool": TOOL, "id": memory.name, "machine": machine},
    )
    return fact._replace(name=memory.name.removesuffix(".md"))


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
