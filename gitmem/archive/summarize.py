"""Commit summaries of archives, made offline, by a model or an agent, and mark what has changed since.

The offline summary is made with the archive and stays if a model fails.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from gitmem.archive.extractive import summarise
from gitmem.archive.summary import (
    OFFLINE,
    RESOLVED,
    SCHEMA,
    KeyDecision,
    Summary,
    Theme,
    cleaned,
    from_answer,
    left_out,
    method_of,
    parse_document,
    render_document,
)
from gitmem.document.document import Document
from gitmem.document.entry import clean_text, find_entries, without_entries
from gitmem.document.ids import SUMMARIES, is_fact_id, raw_path, scopes_in, session_tag, summary_path, tail_of
from gitmem.document.message import Op, Trailer, op_message
from gitmem.errors import NotFoundError, RefusedError
from gitmem.history.marks import marks_for, sources_of
from gitmem.history.sessions import session_files
from gitmem.llm.ask import AskResult, ask, instructions_for, without_secrets
from gitmem.llm.protocol import Question, ReplyError, parse_reply
from gitmem.model.exchange import EXCHANGE, exchanges_in, sentence_of
from gitmem.model.fact import FactKind
from gitmem.model.lines import SHORTEST, Marks, normalized, with_marks
from gitmem.model.similarity import WEIGHED
from gitmem.redact.redact import redact
from gitmem.store.fact_lines import FactsById
from gitmem.store.known_facts import known_facts
from gitmem.store.learned import known_concepts
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.values import Value

_MOST_SHOWN = 3  # exchanges shown of a theme
MAX_CHARACTERS = 300_000  # of an archive in one question


def as_of_now(summary: Summary, store: Store) -> Summary:
    """Return a summary with marks on ended decisions and on issues resolved since."""
    marks = marks_for(store, ())
    sources = sources_of(store, summary_path(summary.archive)) if marks.sources and summary.archive else ()
    return summary._replace(
        themes=tuple(theme._replace(summary=with_marks(theme.summary, marks, "", sources)) for theme in summary.themes),
        key_decisions=tuple(_decision(decision, marks) for decision in summary.key_decisions),
        issues=tuple(
            issue._replace(status=RESOLVED) if marks.has_ended(_ended(issue.issue, (FactKind.ISSUE,), marks)) else issue
            for issue in summary.issues
        ),
        overall_summary=with_marks(summary.overall_summary, marks, "", sources),
    )


def _ended(text: str, kinds: tuple[FactKind, ...], marks: Marks) -> str:
    """Return the id of the ended fact whose words, or their beginning, a text of a summary repeats, or "".

    A longer fact in force with these words takes precedence.
    """
    words = normalized(text)
    holding = max((len(line) for line in marks.in_force if words.startswith(line)), default=0)
    for fact in marks.facts.values():
        if fact.kind in kinds and marks.mark(fact.id) and len(words) >= SHORTEST:
            statement = normalized(fact.description)
            is_cut = statement.startswith(words) and holding < len(words)
            if is_cut or (words.startswith(statement) and len(statement) >= max(SHORTEST, holding)):
                return fact.id
    return ""


def _decision(item: KeyDecision, marks: Marks) -> KeyDecision:
    words = marks.mark(_ended(item.decision, WEIGHED, marks))
    decision = f"{item.decision} [{words}]" if words else with_marks(item.decision, marks)
    return item._replace(decision=decision, reason=with_marks(item.reason, marks))


def summarize_archive(store: Store, transaction: Transaction, archive: str, text: str) -> str:
    """Commit the offline summary of an archive separately, unless it has one; return its path."""
    transaction.need_folder(SUMMARIES)
    path = summary_path(archive)
    existing = transaction.read(path)
    if existing is None or method_of(existing) == OFFLINE:
        put_summary(transaction, offline_summary(store, archive, text))
    return path


def put_summary(transaction: Transaction, summary: Summary, session: str = "") -> bool:
    """Add or replace a summary; False if unchanged. Any but an offline one removes a stored unusable reply."""
    name = summary.archive.rpartition("/")[2]
    model = "" if summary.method == OFFLINE else summary.method
    about = ((Trailer.ARCHIVE, summary.archive), (Trailer.MODEL, model), (Trailer.SESSION, session))
    subject = f"Summarize {name} ({summary.method})"
    message = op_message(Op.SUMMARIZE, subject, *about, (Trailer.HOST, summary.provider))
    path = summary_path(summary.archive)
    data = transaction.read(path)
    if data is None or parse_document(data) != cleaned(summary):  # else only the time would change
        data = render_document(summary, transaction.now, _scope(transaction, summary.archive))
    changes: dict[str, bytes | None] = {path: data}
    raw = raw_path(summary.archive)
    if summary.method != OFFLINE and transaction.read(raw) is not None:
        changes[raw] = None
    return transaction.commit(message, changes)


def _scope(transaction: Transaction, archive: str) -> tuple[str, ...]:
    """Return the parts of the project to which entries and facts of an archive belong."""
    lookup = FactsById(transaction.read, transaction.names)
    text = (transaction.read(archive) or b"").decode("utf-8", "replace")
    entries = [entry.entry for entry in find_entries(text)]
    facts = filter(None, (lookup.get(entry.id) for entry in entries if is_fact_id(entry.id)))
    parts = {part for fact in facts for part in fact.scope}
    return tuple(sorted(parts.union(scopes_in(tag for entry in entries for tag in entry.tags))))


def offline_summary(store: Store, archive: str, text: str) -> Summary:
    """Return the extractive summary of an archive with this whole text."""
    entries = {tail_of(place.entry.id): place.entry for place in find_entries(text)}
    themes = []
    for concept in known_concepts(store):
        own = [entries[tail] for tail in map(tail_of, concept.exchanges) if tail in entries]
        if own:
            line = "; ".join(entry.text.partition("\n")[0] for entry in own[-_MOST_SHOWN:])
            sessions = dict.fromkeys(tag for entry in own for tag in entry.tags[:1])
            themes.append((len(own), Theme(concept.name, line, tuple(sessions))))
    themes.sort(key=lambda theme: -theme[0])
    return summarise(archive, text, known_facts(store), [theme for _, theme in themes])


def read_summary(store: Store, archive: str) -> Summary | None:
    """Return the summary of an archive in the work tree, None if it has none."""
    data = store.read(summary_path(archive))
    if data is None:
        return None
    summary = parse_document(data)
    return summary if summary.archive else summary._replace(archive=archive)


MAX_RAW = 64_000  # characters kept of an unusable reply


class Improved(Value):
    """The result for an archive: its summary's method and, if that is still offline, `why`.

    `questions` is their number, one for each part of the archive; 0 if sentences of judged sessions sufficed.
    `left_out` describes what an agent's answer had beyond a summary's limits.
    """

    archive: str
    method: str
    why: str = ""
    commit: str | None = None
    questions: int = 0
    left_out: tuple[str, ...] = ()


def improve(store: Store, archive: str, *, over: bool = False) -> Improved:
    """Have the configured model summarize an archive; if that fails, keep or make the offline summary.

    An unusable reply is stored beside the archive. A summary that is not offline is replaced only with `over`. Raises
    NotFoundError if there is no such archive, GitmemError if the summary could not be committed.
    """
    text = _text_of(store, archive)
    asked, questions = _asked(store, archive, text)
    if asked.value is not None:
        cost = asked.dollars if questions else None
        summary = asked.value._replace(method=asked.model, provider=asked.provider, cost=cost)
        return _put(store, summary, over=over)._replace(questions=questions)

    def plan(transaction: Transaction) -> None:
        if transaction.read(archive) is not None:
            summarize_archive(store, transaction, archive, text)
            _keep_raw(transaction, archive, asked.raw, asked.model)

    commits = transact(store, plan, purpose="summarize").commits
    return Improved(archive, _method(store, archive), asked.why, commits[-1] if commits else None, questions)


def _asked(store: Store, archive: str, text: str) -> tuple[AskResult[Summary], int]:
    """Ask a model to summarize a text, a long one part by part; return the result and the number of questions.

    Sessions that a model judged are replaced by its sentences; if there are no others, nothing is asked.
    """
    brief, by, lacks = _brief(store, text)
    if by and not lacks:
        whole, summary = offline_summary(store, archive, text), offline_summary(store, archive, brief)
        summary = summary._replace(date_range=whole.date_range, section_count=whole.section_count)
        return AskResult(summary, model=by), 0
    instructions, parts = instructions_for(store, "summary"), pieces(brief, MAX_CHARACTERS)
    asked: AskResult[Summary] = AskResult(None)
    dollars: list[float | None] = []
    for number, part in enumerate(parts, 1):
        before = json.dumps(asked.value.to_json(), ensure_ascii=False) if asked.value else ""
        lead = f"This is part {number} of {len(parts)}. Go on with the summary of those before it:\n{before}\n\n"
        question = Question("summary", instructions, lead + part if before else part, SCHEMA)
        asked = ask(store, question, archive, lambda answer: read_answer(store, archive, text, answer, ""))
        dollars.append(asked.dollars)
        if asked.value is None:
            break
    priced = [dollar for dollar in dollars if dollar is not None]
    return asked._replace(dollars=sum(priced) if len(priced) == len(dollars) else None), len(dollars)


def _brief(store: Store, text: str) -> tuple[str, str, bool]:
    """Return a text with a model's sentences in place of the entries of judged sessions, and the model.

    The third value is whether turns of other sessions are left.
    """
    files = {session_tag(name): path for name, path in session_files(store).items()}
    sentences: dict[tuple[str, ...], str] = {(): ""}
    brief, by, lacks, position = [], "", False, 0
    for entry in find_entries(text):
        tag = entry.entry.tags[:1]
        brief.append(text[position : entry.start])
        if tag not in sentences:
            data = (store.read(files[tag]) if tag in files else None) or b""
            model = Document.parse(data).get("by")
            sentences[tag] = " ".join(map(sentence_of, exchanges_in(data))) if model else ""
            if sentences[tag]:
                brief.append(f"[{entry.entry.time[:10]}] {sentences[tag]}\n\n")
                by = str(model)
        position = entry.end if sentences[tag] else entry.start
        lacks = lacks or (not sentences[tag] and entry.entry.label == EXCHANGE)
    return "".join([*brief, text[position:]]), by, lacks


def pieces(text: str, most: int) -> list[str]:
    """Split a text into pieces of at most `most` characters, at line ends if possible."""
    parts = []
    while len(text) > most:
        end = text.rfind("\n", 0, most) + 1 or most
        parts.append(text[:end])
        text = text[end:]
    return [*parts, text]


def read_answer(store: Store, archive: str, text: str, answer: Mapping[str, object], method: str) -> Summary:
    """Return the summary of a reply, redacted. Raises ReplyError if the summary is too short."""
    try:
        return from_answer(without_secrets(store, answer), offline_summary(store, archive, text), method)
    except ValueError as error:
        raise ReplyError(str(error)) from None


def put_reply(store: Store, archive: str, reply: str, *, method: str, host: str, session: str = "") -> Improved:
    """Commit a summary written by an agent, as JSON, replacing the existing one.

    Raises:
        NotFoundError: there is no such archive.
        RefusedError: it is unusable; it is stored beside the archive, and the message says what it lacks.
        GitmemError: it could not be committed.
    """
    text = _text_of(store, archive)
    try:
        answer = parse_reply(reply, SCHEMA)
        summary = read_answer(store, archive, text, answer, method)
    except ReplyError as error:
        transact(store, lambda transaction: _keep_raw(transaction, archive, reply, method), purpose="summarize")
        raise RefusedError(
            f"This is no summary: it {error}.",
            f"'gitmem summary schema' prints what one looks like. The reply is kept as {raw_path(archive)}.",
        ) from None
    done = _put(store, summary._replace(provider=host), session, over=True)
    return done._replace(left_out=tuple(left_out(answer)))


def _put(store: Store, summary: Summary, session: str = "", *, over: bool = False) -> Improved:
    """Commit a summary, unless the archive was removed; with `over`, replace one that is not offline."""

    def plan(transaction: Transaction) -> None:
        there = transaction.read(summary_path(summary.archive))
        if transaction.read(summary.archive) is not None and (over or there is None or method_of(there) == OFFLINE):
            put_summary(transaction, summary, session)

    commits = transact(store, plan, purpose="summarize").commits
    return Improved(summary.archive, _method(store, summary.archive), "", commits[-1] if commits else None)


def _keep_raw(transaction: Transaction, archive: str, raw: str, model: str) -> None:
    """Add an unusable reply to the transaction, truncated and redacted."""
    if not raw.strip():
        return
    data = (without_entries(clean_text(redact(raw[:MAX_RAW]).text)) + "\n").encode()
    name = archive.rpartition("/")[2]
    subject = f"Keep an unusable reply about {name} ({model})"
    message = op_message(Op.SUMMARIZE, subject, (Trailer.ARCHIVE, archive), (Trailer.MODEL, model))
    transaction.commit(message, {raw_path(archive): data})


def _text_of(store: Store, archive: str) -> str:
    data = store.read(archive)
    if data is None:
        raise NotFoundError(f"There is no archive {archive}.", "'gitmem summary list' lists them.")
    return data.decode("utf-8", "replace")


def _method(store: Store, archive: str) -> str:
    data = store.read(summary_path(archive))
    return "" if data is None else method_of(data)
