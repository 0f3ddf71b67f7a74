"""Learn facts from a session's turns and from an agent's own memory files.

A known fact that is stated again, also in other words, gains a source. A fact that a user retired, or whose file was
removed, is not learned again. Claude Code keeps one fact per file, with `name`, `description` and `metadata.type`. Its
index `MEMORY.md` is skipped, and nothing is written there. A mirror's `origin` names file and machine: a changed file
changes its mirror, a removed file retires it, and mirrors of other machines are left alone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial

from gitmem.document.document import Document
from gitmem.document.entry import Entry, MemoryType, clean_text, find_entries
from gitmem.document.ids import MEMORY, is_timed, milliseconds_of, tail_of
from gitmem.document.message import Op, Trailer, op_message, session_message
from gitmem.history.authors import Authors
from gitmem.history.authorship import Manner
from gitmem.learn.statements import FoundFact, as_statement, facts_of_prompt, find_facts, is_saved, repeated, saved_in
from gitmem.model.entries import relative_files
from gitmem.model.fact import Fact, FactKind, FactStatus, fact_keywords, make_fact, parse_changeable, render_fact
from gitmem.model.similarity import is_same_fact
from gitmem.model.turns import Turn, derived_id, is_restated
from gitmem.model.validity import supersede
from gitmem.platform.machine import UTC, datetime, timedelta
from gitmem.platform.safe_open import read_regular, read_text, write_text
from gitmem.project.code import ProjectCode, project_code
from gitmem.record.fact_book import KINDS, LIVE, SAVED, Changes, FactBook, fact_message, joined_scope, with_source
from gitmem.record.read import boot_lines, cleaner, redacted
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.sentences import count
from gitmem.values import Value

_TYPES = {kind.label: kind for kind in MemoryType}
_LEARNED = {**KINDS, MemoryType.LEARNING: FactKind.CORE_LOGIC, MemoryType.ERROR_FIX: FactKind.SOLUTION}


def keep_turn(book: FactBook, turn: Turn, boot: Collection[str]) -> Changes:
    """Return the file changes that save the facts a turn states.

    `turn` is redacted; `boot` are the lines of files that the agent loads itself. A fact that the agent saved in the
    turn gains its exchange as a source, and replaces the user's statement that it repeats.
    """
    by_agent = saved_in(book.known().values(), turn)
    changes = _instead(book, turn, by_agent)
    files = relative_files(turn.files, (os.path.dirname(book.store.root), turn.cwd))
    for fact in facts_of_prompt(turn, files) if turn.prompt or turn.words else ():
        if not is_restated(fact.text, boot) and repeated(by_agent, fact.text) is None:
            changes |= take(book, fact, turn.session, again=True)
    return changes


def _instead(book: FactBook, turn: Turn, by_agent: Sequence[Fact]) -> Changes:
    """Return the changes that add a turn's exchange to the facts saved in it; these replace facts they repeat."""
    exchange = turn.exchange_id
    facts = {fact.id: fact for fact in map(book.read, by_agent) if fact is not None}
    for fact in facts.values():
        origin = {"session": turn.session, "exchange": exchange, **fact.origin}
        facts[fact.id] = with_source(fact._replace(origin=origin), exchange)
    for known in [*book.known().values()] if facts else ():
        is_learned = known.origin.get("exchange") in {exchange, turn.session} and known.binds and not is_saved(known)
        successor = repeated(facts.values(), known.description) if is_learned else None
        if successor is not None and book.read_into(facts, known.id):
            facts |= supersede(facts, known.id, successor.id, book.transaction.now)
    return book.changes([*facts.values()])


def take(book: FactBook, finding: FoundFact, session: str, *, again: bool) -> Changes:
    """Return the file changes that keep a finding; a known fact that says the same gains its source.

    `again`: an ended fact that the user states again is in force again; false for an old session read later.
    """
    made = make_fact(
        finding.kind,
        finding.text,
        finding.at.replace(microsecond=0),
        confidence=finding.confidence,
        origin={key: value for key, value in (("session", session), ("exchange", finding.source)) if value},
        sources=(finding.source,),
        keywords=fact_keywords(finding.text),
        files=finding.files,
        scope=finding.scope,
    )
    same = _same(book, made)
    if same is None:
        if not again and book.store.repository.ever_had(made.path):
            return {}  # removed by a user or an undo
        same = made
    elif tail_of(finding.source) in map(tail_of, same.sources):
        return {}
    if same.id != made.id and not same.binds:
        return {}
    widened = same._replace(scope=joined_scope(same, made))
    updated = book.keep(widened, finding.source, again=again and same.when < finding.at)
    changes = updated[1] if updated else {}
    if updated and made.created < updated[0].created:
        changes |= book.changes([updated[0]._replace(created=made.created)])
    return changes


def _same(book: FactBook, made: Fact) -> Fact | None:
    """Return the known fact with the same id, or one of a comparable kind that says the same."""
    if made.id in book.known():
        return book.known()[made.id]
    for fact in book.known().values():
        if is_same_fact(fact, made):
            return fact
        by_agent = is_saved(fact) and fact.origin.get("exchange") == made.origin["exchange"]
        if by_agent and repeated([fact], made.description):
            return fact
    return None


def _note_commit(book: FactBook, commit: str, files: Collection[str]) -> Changes:
    """Set the commit of facts that have none and whose files are all in it; return the file changes."""
    due = [fact for fact in book.known().values() if fact.files and not fact.commit]
    read = [book.read(fact) for fact in due if set(fact.files) <= set(files)]
    return book.changes([fact._replace(commit=commit) for fact in read if fact is not None and not fact.commit])


def learn(store: Store, session: str, host: str, turns: Sequence[Turn]) -> str | None:
    """Save facts stated in turns and entries of their types; return the commit. A second call adds nothing."""
    clean = [redacted(turn, store) for turn in turns]
    findings = find_facts(clean, (os.path.dirname(store.root),), boot_lines(store))
    ended = max((turn.ended for turn in turns), default=None)
    return learn_findings(store, session, host, findings, ended=ended)


def learn_findings(
    store: Store, session: str, host: str, findings: Sequence[FoundFact], *, ended: datetime | None = None
) -> str | None:
    """Commit entries of `memory.md` that are no facts yet, then findings; return the last commit."""
    moments = (*(finding.at for finding in findings), *([ended] if ended else ()))
    when = max(moments, default=store.context.clock())
    code = project_code(os.path.dirname(store.root), store.context.environ)
    as_of = cache(partial(_code_as_of, store, code, when))  # so that git runs once

    def plan(transaction: Transaction) -> bool:
        is_any = _take_saved(store, transaction, session, when)
        book = FactBook(store, transaction)
        changes: Changes = {}
        for finding in findings:
            changes |= take(book, finding, session, again=False)
        if any(fact.files and not fact.commit for fact in book.known().values()):
            changes |= _note_commit(book, *as_of())
        ids = [fact.id for fact in book.known().values() if fact.path in changes]
        subject = f"Update {count(len(ids), 'fact')}"
        if book.new:
            subject = f"{'Learn' if len(book.new) == 1 else f'Learn {len(book.new)} facts'}: {book.new[0].description}"
        message = fact_message(subject, ids, session, host)
        return (bool(changes) and transaction.commit(message, changes, when=when)) or is_any

    outcome = transact(store, plan, purpose="learn")
    known_facts(store)  # so that the next session's start finds them in the cache
    return outcome.commit


def _code_as_of(store: Store, code: ProjectCode | None, when: datetime) -> tuple[str, frozenset[str]]:
    """Return the project's commit at the end of a session and its files."""
    now = store.context.clock()
    when = when + timedelta(days=1) if now - when > LIVE else now
    return code.as_of(min(when, now)) if code else ("", frozenset())


def _take_saved(store: Store, transaction: Transaction, session: str, when: datetime) -> bool:
    """Commit the facts of saved entries, each with its entry's author and origin; return whether there are any."""
    authors, is_any = Authors(store), False
    for finding in _saved(transaction, FactBook(store, transaction)):
        origin = authors.origin(finding.source)
        of_session = session if origin and origin.manner is Manner.AGENT else ""
        book = FactBook(store, transaction)
        changes = take(book, finding, of_session, again=False)
        message = op_message(
            Op.FACT,
            f"Learn: {' '.join(finding.text.split())}",
            *((Trailer.FACT, fact.id) for fact in book.known().values() if fact.path in changes),
            (Trailer.TYPE, finding.kind.value),
            (Trailer.SESSION, of_session),
            (Trailer.HOST, origin.host if origin else ""),
        )
        is_any = bool(changes and transaction.commit(message, changes, when=when)) or is_any
    return is_any


def _saved(transaction: Transaction, book: FactBook) -> list[FoundFact]:
    """Return the entries of `memory.md` of a learned type that are not a fact's source yet."""
    data = transaction.read(MEMORY)
    known = {tail_of(source) for fact in book.known().values() for source in fact.sources} if data else set()
    findings = []
    for entry in (place.entry for place in find_entries((data or b"").decode("utf-8", "replace"))):
        # A line with the id of a fact belongs to that fact.
        if _TYPES.get(entry.label) in _LEARNED and is_timed(entry.id) and tail_of(entry.id) not in known:
            findings += _of_entry(entry)
    return findings


def _of_entry(entry: Entry) -> list[FoundFact]:
    """Return an entry of `memory.md` as a finding, none if capture made it from an answer."""
    kind = _TYPES[entry.label]
    words = " ".join(entry.text.casefold().split())
    at = moment_of(entry)
    if not words or tail_of(derived_id(at, kind.value, words)) == tail_of(entry.id):
        return []
    text = entry.text if "\n" in entry.text else as_statement(entry.text)
    return [FoundFact(_LEARNED[kind], text, SAVED, at, entry.id)]


def moment_of(entry: Entry) -> datetime:
    """Return when an entry was made, in UTC: from its id, as its line may have another time zone."""
    return datetime.fromtimestamp(milliseconds_of(entry.id) / 1000, UTC).replace(microsecond=0)


TOOL = "claude-code"
MAX_BYTES = 65_536  # of one file
MAX_FILES = 1_000
_INDEX = "MEMORY.md"
_SEEN = "adopted"  # file in the private folder: the fingerprint of the mirrored folder
_KINDS = {
    "user": FactKind.PREFERENCE,
    "feedback": FactKind.RULE,
    "reference": FactKind.SOLUTION,
    "project": FactKind.CORE_LOGIC,
}


class Adopted(Value):
    """The result for a folder: ids of new, changed and retired facts, and the commits."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()


def adopt(store: Store, folder: str) -> Adopted:
    """Mirror a folder of the agent's own memory. A missing folder retires nothing; a second call adds nothing."""
    made = _read_folder(store, folder)
    return Adopted() if made is None else mirror(store, made)


def adopt_if_changed(store: Store, folder: str) -> None:
    """Mirror a folder if it has changed since it was mirrored last."""
    seen = os.path.join(store.private, _SEEN)
    look = fingerprint(folder)
    if look and read_text(seen) != look:
        adopt(store, folder)
        with contextlib.suppress(OSError, ValueError):
            write_text(seen, look)


def fingerprint(folder: str) -> str:
    """Return the names, times and sizes of a folder's documents, or "" without a folder."""
    try:
        with os.scandir(folder) as entries:
            files = [(file.name, file.stat(follow_symlinks=False)) for file in entries if file.name.endswith(".md")]
    except OSError:
        return ""
    return "\n".join(f"{name}\t{status.st_mtime_ns}\t{status.st_size}" for name, status in sorted(files)) + "\n"


def _read_folder(store: Store, folder: str) -> list[Fact] | None:
    """Return the memories in a folder as facts, None if it cannot be read; links and other files are skipped."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".md") and name != _INDEX)
    except OSError:
        return None
    return [fact for name in names[:MAX_FILES] if (fact := _read_memory(store, os.path.join(folder, name)))]


def _read_memory(store: Store, path: str) -> Fact | None:
    try:
        data, modified = read_regular(path, MAX_BYTES + 1, follow=False), os.stat(path, follow_symlinks=False).st_mtime
    except OSError:
        return None
    if data is None or len(data) > MAX_BYTES:
        return None
    at = datetime.fromtimestamp(modified, store.context.clock().tzinfo).replace(microsecond=0)
    text = cleaner(store, at)(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    return memory_fact(os.path.basename(path), text, at, store.context.machine)


def memory_fact(name: str, data: bytes, at: datetime, machine: str) -> Fact | None:
    """Return an agent's memory file on a machine as a fact, None if it is empty."""
    document = Document.parse(data)
    header = document.metadata
    about, description = header.get("metadata"), header.get("description")
    kind = about.get("type") if isinstance(about, Mapping) else header.get("type")
    description = description if isinstance(description, str) else ""
    text = clean_text(document.body)
    if document.problem is not None or not (text or description):
        return None
    fact = make_fact(
        _KINDS.get(str(kind), FactKind.CORE_LOGIC),
        text or description,
        at.replace(microsecond=0),
        description=description,
        keywords=fact_keywords(f"{description} {text or description}"),
        origin={"tool": TOOL, "id": name, "machine": machine},
    )
    return fact._replace(name=name.removesuffix(".md"))


def mirror(store: Store, memories: Sequence[Fact], *, may_retire: bool = True) -> Adopted:
    """Commit new, changed and retired mirrors; return their ids."""
    outcome = transact(store, partial(_mirror, store, memories, may_retire), purpose="adopt")
    if outcome.commits:
        known_facts(store)
    return outcome.value._replace(commits=outcome.commits)


def _mirror(store: Store, memories: Sequence[Fact], may_retire: bool, transaction: Transaction) -> Adopted:
    known = known_facts(store)
    mirrors = {fact.adopted: fact for fact in known if fact.adopted}
    paths = {fact.id: fact.path for fact in known}
    new: dict[str, Fact] = {}
    changed: dict[str, Fact] = {}
    retired: dict[str, Fact] = {}
    for made in memories:
        known_one = mirrors.pop(made.adopted, None)
        if known_one is None and made.id not in paths:  # else it was learned from a session
            new.setdefault(made.id, made)
        elif known_one is not None and (fact := _changed(_fact(transaction, known_one), made)):
            changed[fact.id] = fact
    for adopted, left in mirrors.items() if may_retire else ():
        is_gone = adopted.startswith(f"{store.context.machine}/") and left.status != FactStatus.RETIRED
        if is_gone and (fact := _fact(transaction, left)) is not None:
            retired[fact.id] = fact._replace(status=FactStatus.RETIRED, updated=transaction.now)
    facts = new | changed | retired
    if facts:
        counts = ((new, "new"), (changed, "changed"), (retired, "gone"))
        numbers = ", ".join(f"{len(some)} {word}" for some, word in counts if some)
        subject = f"Adopt the agent's own memory, {numbers}: {next(iter(facts.values())).description}"
        message = session_message(subject, Op.ADOPT, Trailer.FACT, facts, host=TOOL)
        transaction.commit(message, {paths.get(name, fact.path): render_fact(fact) for name, fact in facts.items()})
    return Adopted(tuple(new), tuple(changed), tuple(retired))


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
