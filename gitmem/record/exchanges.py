"""Write a finished session's exchanges into its file and `memory.md`, in one commit, without a model.

An exchange consists of its request and the first sentences of the answer, else of the agent's last text, else the files
changed. Entries in archives, and entries that a user reworded, are not changed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from gitmem.document.document import Document
from gitmem.document.entry import LINKS, RECENT_CONTEXT, find_by_digest, find_section, put_entry, replace_entry
from gitmem.document.ids import MEMORY, session_path, short_session, tail_of
from gitmem.document.message import Op, Trailer, link, session_message
from gitmem.history.records import last_version
from gitmem.model.entries import exchange_of, without_courtesies
from gitmem.model.exchange import (
    MAX_KEYWORDS,
    SECTION,
    WORDS,
    Exchange,
    details_without,
    file_name,
    is_as_captured,
    new_session,
    parse,
    render,
)
from gitmem.model.outcome import beginning, judge_outcome
from gitmem.model.turns import Turn
from gitmem.model.words import human_text
from gitmem.record.read import boot_lines, redacted
from gitmem.record.save import rotate_if_full
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.sentences import is_korean, shorten
from gitmem.text.words import is_ending, keywords, phrases
from gitmem.values import Value

_ASKED, _DONE = 160, 180  # characters of the request and of the answer in a summary
_NAMED = 3  # files
_LABELS = ("decision", "preference", "rule", "knowledge")  # kinds of phrases before a sentence, which name no topic
_READ = 8_000  # characters of an answer that are searched for keywords
_PER_FILE, _PER_REQUEST = 3, 2  # weights of words in file names and in the request, relative to the answer


def beginning_of(answer: str) -> str:
    """Return the first sentences of an answer that fit into a summary, without courtesies."""
    return beginning(without_courtesies(answer), _DONE)


def summary_of(asked: str, answer: str, files: Sequence[str]) -> str:
    """Return the summary of an exchange: its request, and the beginning of its answer or the files changed."""
    changed = WORDS[is_korean(f"{asked} {answer[:_READ]}")][0]
    bases = ", ".join(map(_base, files[:_NAMED])) + (", …" if len(files) > _NAMED else "")
    result = beginning_of(answer) or (changed.format(bases) if files else "")
    request = shorten(asked, _ASKED)
    return f"{request.rstrip(' .:')} → {result}" if request and result else request or result


def keywords_of(asked: str, answer: str, files: Sequence[str]) -> tuple[str, ...]:
    """Return the keywords of an exchange: the most frequent words of its files, request and answer."""
    score: dict[str, int] = {}
    shown: dict[str, str] = {}
    names = " ".join(_base(name).rpartition(".")[0] or _base(name) for name in files)
    for label in _LABELS:
        asked = phrases(label).sub("", asked)
    for text, weight in ((names, _PER_FILE), (asked, _PER_REQUEST), (answer[:_READ], 1)):
        for stem, word in keywords(text):
            if is_ending(stem):  # such as "했어" alone
                continue
            shown.setdefault(stem, word.strip("._/-"))
            score[stem] = score.get(stem, 0) + weight
    best = sorted(score, key=lambda stem: -score[stem])
    return tuple([shown[stem] for stem in best if shown[stem]][:MAX_KEYWORDS])


def _base(name: str) -> str:
    return name.rpartition("/")[2] or name


_MAX_READ = 20_000  # characters of a request and of an answer that are summarized


class Made(Value):
    """An exchange, and its turn's entry in `memory.md`; the last words of a session have none."""

    exchange: Exchange
    captured: Exchange
    is_last_word: bool = False


def exchanges_of(store: Store, turns: Sequence[Turn]) -> list[Made]:
    """Return the significant exchanges of a session, in order, redacted and made without a model."""
    boot, project = boot_lines(store), os.path.dirname(store.root)
    # The last words after a broken-off request; a single unanswered request is mostly repeated.
    last = turns[-1] if len(turns) > 1 and not turns[-2].answer else None
    made = []
    for turn in turns:
        clean = redacted(turn, store)
        read = clean._replace(prompt=clean.prompt[:_MAX_READ], answer=clean.answer[:_MAX_READ])
        is_last = turn is last
        entry = exchange_of(read, (project, turn.cwd), boot, is_last=is_last)
        raw, answer = parse(entry) if entry else None, human_text(clean.answer)[:_MAX_READ]
        if raw is None:
            continue
        asked = human_text(clean.prompt)[:_MAX_READ] if raw.summary else ""
        result = answer or human_text("".join(clean.said[-1:]))[:_MAX_READ]
        exchange = raw._replace(
            summary=summary_of(raw.summary, result, raw.files) or raw.details,
            details=details_without(raw.details, beginning_of(answer)),
            keywords=keywords_of(asked, answer, raw.files),
            outcome=judge_outcome(clean._replace(answer=answer, files=raw.files)),
            raw=False,
        )
        made.append(Made(exchange, raw, is_last and not (answer or turn.tools)))
    return made


def save_exchanges(store: Store, session: str, host: str, turns: Sequence[Turn]) -> str | None:
    """Save the exchanges of a finished session that are not saved yet, without a model; return the commit."""
    made = exchanges_of(store, turns)
    if not made:
        return None

    def plan(transaction: Transaction) -> int:
        begun = turns[0].started
        path = find_session_file(transaction, session, begun)
        path = path or session_path(begun.astimezone(UTC).strftime("%Y%m%d_%H%M%S"), file_name(session))
        data = transaction.read(path)
        if data is None and last_version(store.repository, path) is not None:
            return 0  # it was cleared
        document = Document.parse(data or new_session(session, host, file_name(session), begun))
        body, changed = document.body, []
        for exchange in made:
            if find_by_digest(body, tail_of(exchange.exchange.id)) is None:
                body = put_entry(body, SECTION, render(exchange.exchange), document.newline)
                changed.append(exchange)
        document = document.with_body(body)
        if not changed and data is not None:
            return 0
        rotate_if_full(transaction, store)
        changes: dict[str, bytes | None] = {path: document.render()}
        if memory := transaction.read(MEMORY) or b"":
            changes[MEMORY] = _with_exchanges(memory, changed)
        summary = changed[0].exchange.summary if len(changed) == 1 else f"{len(changed)} exchanges"
        subject = f"Session {short_session(file_name(session))}: {summary}"
        ids = (item.exchange.id for item in changed)
        message = session_message(subject, Op.EXCHANGES, Trailer.ENTRY, ids, session=session, host=host)
        return len(changed) if transaction.commit(message, changes, when=turns[-1].ended) else 0

    return transact(store, plan, purpose="exchanges").commit


def _with_exchanges(data: bytes, changed: Sequence[Made]) -> bytes:
    """Return `memory.md` with exchanges in place of the entries of their turns, if those are unchanged."""
    document = Document.parse(data)
    body = document.body
    for item in changed:
        present = find_by_digest(body, tail_of(item.exchange.id))
        now = parse(present.entry) if present else None
        if present and now and is_as_captured(now, item.captured):
            # The entry may be of a longer turn.
            new = item.exchange._replace(time=now.time, files=now.files, failed=now.failed)
            body = replace_entry(body, present, render(new), document.newline)
        elif item.is_last_word and not present:
            body = put_entry(body, RECENT_CONTEXT, render(item.exchange), document.newline)
    return document.with_body(body).render()


_LINKED = {"episodes": "task", "patterns": "error", "sessions": "session"}  # titles of links; a fact's is its kind


def find_session_file(transaction: Transaction, session: str, started: datetime) -> str | None:
    """Return the path of the file of a session with this start, None without one."""
    name = file_name(session)
    folder = session_path(started.astimezone(UTC).strftime("%Y%m%d_%H%M%S"), name).rpartition("/")[0]
    names = sorted(file for file in transaction.names(folder) if file.endswith(f"-{name}.md"))
    return f"{folder}/{names[0]}" if names else None


def with_links(transaction: Transaction, path: str, files: Mapping[str, str]) -> dict[str, bytes | None]:
    """Return the change of a document that adds links to these files, given with titles; {} if all exist."""
    data, up = transaction.read(path), "../" * path.count("/")
    document = Document.parse(data or b"")
    new = [
        f"- {_LINKED.get(name.split('/')[0]) or name.split('/')[1]}: {link(title, up + name)}"
        for name, title in files.items()
        if f"({up}{name})" not in document.body
    ]
    if data is None or not new:
        return {}
    newline, section = document.newline, find_section(document.body, LINKS)
    end = section.end if section else len(document.body)
    before, after = document.body[:end].rstrip(), document.body[end:]
    title = [] if section else ["", f"## {LINKS}", ""]
    lines = [before, *title, *new, *([""] if after else [])]
    return {path: document.with_body(newline.join([*lines, ""]) + after).render()}
