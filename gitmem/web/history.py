"""The pages of history: commits by day, sessions with their exchanges, transcripts, and why code is so."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Any

from gitmem.document.document import Document
from gitmem.document.entry import Entry, find_entries
from gitmem.document.ids import daily_path, id_in
from gitmem.errors import GitmemError, NotFoundError
from gitmem.history.records import CommitRecord, difference, read_records, resolve
from gitmem.history.sessions import SessionSummary, find_session, sessions
from gitmem.model.exchange import file_name, parse
from gitmem.search.hits import named
from gitmem.search.passages import session_text
from gitmem.store import transcripts
from gitmem.store.learned import episode_paths, pattern_headers, read_episode, read_pattern
from gitmem.store.store import Store
from gitmem.tell.blamed_code import blaming_place
from gitmem.tell.reasons import Reason, reasons, speaks_of
from gitmem.tell.usage_log import GET, GUIDE, RECALL, SEARCH, read_usage
from gitmem.tell.why import why_place
from gitmem.tell.written_code import code_left
from gitmem.text.terminal import fields
from gitmem.web.facts import fact_value
from gitmem.web.view import LENGTH, View, commit_value, moment

_EXCHANGES = 20  # on one page
_LINES = 100  # of a transcript, on one page
_MOST = 30  # newest commits of a session, and newest texts that it was shown
_MOST_CODE = 12  # lines of code shown per origin
WHOLE = "whole"  # the parameter for all exchanges on one page, as in an export
_ASKED_FOR = {GUIDE, SEARCH, RECALL, GET}


def show_sessions(view: View) -> dict[str, Any]:
    """Return a page of the sessions, the newest first, beginning after the session `after`."""
    host, words = view.word("host"), view.word("q").casefold()
    all_of_them = known_sessions(view)
    every = [summary for summary in all_of_them if host in ("", summary.host) and words in summary.about.casefold()]
    page, around = view.page_of(every)
    return {
        **around,
        "host": host,
        "q": view.word("q"),
        "hosts": sorted({summary.host for summary in all_of_them if summary.host}),
        "sessions": [_value(view, session) for session in page],
    }


def show_session(view: View, identifier: str) -> dict[str, Any]:
    """Return a session with its exchanges, its commits and the facts learned in it."""
    store = view.store
    found = _session(view, identifier)
    text, gone = session_text(store, found)
    document = Document.parse(text.encode("utf-8", "replace"))
    entries = list(find_entries(document.body))
    place = {part.entry.id: place for place, part in enumerate(entries)}
    first = place.get(view.word("after"), -1) + 1 or place.get(view.word("at"), 0) // _EXCHANGES * _EXCHANGES
    last = len(entries) if view.word(WHOLE) else first + _EXCHANGES
    answers = _answers(view, (place.entry for place in entries[first:last]))
    exchanges: list[dict[str, Any]] = []
    for entry in entries[first:last]:
        exchange = parse(entry.entry)
        if exchange is None or exchange.raw:
            exchanges.append(fields(entry.entry, "id time text"))  # the text names its author
            continue
        exchanges.append(
            {
                **fields(exchange, "id time asked summary details files"),
                "author": view.authors.others(exchange.id),
                "failed": [line.partition(": ")[2] or line for line in exchange.failed],
                "outcome": exchange.outcome.value,
                "answer": answers.get(exchange.id, ""),
            }
        )
    statuses = view.statuses
    commits = [record for record in view.records() if record.session == found.id]
    page = view.kept.get_or_make(
        "transcripts", transcripts.tips(store), lambda: {session.session for session in transcripts.sessions(store)}
    )
    return {
        **_value(view, found),
        "exchanges": exchanges,
        "gone": gone,
        "by": str(document.get("by") or ""),
        "transcript": file_name(found.id) in page,
        "next": entries[last - 1].entry.id if last < len(entries) else None,
        "of": view.word("of"),
        "left": _code_left(view, view.word("of")),
        **_told(view, found.id),
        "facts": [fact_value(view, fact, statuses[fact.id]) for fact in view.facts if fact.session == found.id],
        "commits": [commit_value(store, record) for record in commits[:_MOST]],
        "count": found.commits,
    }


def show_why(view: View) -> dict[str, Any]:
    """Return why lines of the project's code are so: the request, the answer and the facts behind them."""
    where, code = view.word("where"), view.store.code()
    value: dict[str, Any] = {"where": where, "reasons": [], "trouble": "", "more": 0}
    if code is None:
        return {**value, "trouble": "This project has no git repository, so nothing says who wrote a line."}
    if not where:
        return value
    try:
        why = reasons(view.store, why_place(view.store, code, where, blaming_place(code, where)))
    except GitmemError as error:
        return {**value, "trouble": error.sentences}
    return {**value, "reasons": [_reason(reason) for reason in why[:LENGTH]], "more": max(len(why) - LENGTH, 0)}


def _reason(reason: Reason) -> dict[str, Any]:
    """Return a group of lines with one origin; `session` is the id of the session's page."""
    why, exchange = reason.why, reason.why.exchange
    numbers = [why.line.now for why in reason.whys]
    return {
        "place": f"{why.file}:{min(numbers)}" + (f"-{max(numbers)}" if len(numbers) > 1 else ""),
        "lines": [why.line.text for why in reason.whys][:_MOST_CODE],
        "ground": why.ground.value,
        "certain": why.certain,
        "ran": [ran.command for ran in why.commands],
        **fields(why.line, "commit subject author"),
        "at": moment(why.line.at),
        "asked": exchange.fields.request if exchange else "",
        "answer": exchange.fields.answer if exchange else "",
        "exchange": exchange.id if exchange else "",
        "session": exchange.session if exchange else "",
        "by": reason.author,
        "facts": [
            {
                **fields(fact, "id description"),
                "ended": fact.id in reason.ended,
                "same_turn": not speaks_of(fact, reason.whys),
            }
            for fact in reason.facts
        ],
    }


def _code_left(view: View, exchange: str) -> list[dict[str, Any]]:
    """Return what is left of an exchange's code, one value per file."""
    code = view.store.code()
    found = code_left(view.store, code, [exchange]) if code and exchange else []
    return [fields(line, "path file written left commits") for line in found]


def show_transcript(view: View, identifier: str) -> dict[str, Any]:
    """Return a session's full messages and tool calls, if its transcript is kept."""
    session = _session(view, identifier)
    lines = transcripts.read(view.store, session.id)
    if lines is None:
        raise NotFoundError("The transcript of this session is not kept.", "'transcripts.enabled' keeps later ones.")
    first = int(view.word("after")) if view.word("after").isdecimal() else 0
    last = len(lines) if view.word(WHOLE) else first + _LINES
    said = []
    for line in lines[first:last]:
        value = json.loads(line)
        asked = value.get("input")
        text = str(value.get("text") or (json.dumps(asked, ensure_ascii=False, indent=1) if asked else ""))
        about = {"at": value.get("at"), "role": str(value.get("role", "")), "tool": value.get("tool")}
        said.append({**about, "text": text})
    return {**_value(view, session), "lines": said, "total": len(lines), "next": last if last < len(lines) else None}


def _session(view: View, identifier: str) -> SessionSummary:
    summary = next((summary for summary in known_sessions(view) if summary.id == identifier), None)
    return summary or find_session(view.store, identifier)


def _answers(view: View, entries: Iterable[Entry]) -> dict[str, str]:
    """Return the agent's answer in each exchange, from the logs of those days, if kept."""
    wanted = {entry.id: entry.time[:10] for entry in entries}
    answers = {}
    for day in {*wanted.values()}:
        text = (view.store.read(daily_path(day)) or b"").decode("utf-8", "replace") if day.count("-") == 2 else ""  # noqa: PLR2004
        for entry in find_entries(named(view.store, text)):
            if entry.entry.id in wanted:
                answers[entry.entry.id] = entry.entry.text.partition("\n\n")[2]
    return answers


def _told(view: View, session: str) -> dict[str, Any]:
    """Return the texts that a session was shown, unasked or on request, with their tokens."""
    facts = {fact.id: fact.description for fact in view.facts}
    texts = [text for text in read_usage(view.store.private).given if text.session == session]
    newest = texts[-_MOST:]
    ids = {name for text in newest for name in text.ids}
    titles = _titles(view.store, ids - facts.keys())
    memories = {name: {"id": name, "fact": facts.get(name), "title": titles.get(name)} for name in ids}
    told = [
        {**fields(text, "at how=occasion tokens"), "memories": [memories[name] for name in text.ids]} for text in newest
    ]
    recalled = sum(text.tokens for text in texts if text.occasion in _ASKED_FOR)
    injected = sum(text.tokens for text in texts) - recalled
    return {"told": told, "tokens": {"injected": injected, "recalled": recalled}}


def _titles(store: Store, ids: set[str]) -> dict[str, str]:
    """Return the titles of those memories with these ids that are errors or tasks."""
    if not ids:
        return {}
    errors = {id_in(header.path): header.path for header in pattern_headers(store)}
    tasks = {id_in(path): path for path in episode_paths(store)}
    patterns = (read_pattern(store, errors[key]) for key in ids & errors.keys())
    done = (read_episode(store, tasks[key]) for key in ids & tasks.keys())
    return {pattern.id: pattern.title for pattern in patterns if pattern} | {
        episode.id: episode.task for episode in done if episode
    }


def known_sessions(view: View) -> list[SessionSummary]:
    """Return all sessions, the newest first."""
    if not view.tip:
        return []
    return view.kept.get_or_make("sessions", view.tip, lambda: sessions(view.store, view.records()))


def _value(view: View, session: SessionSummary) -> dict[str, Any]:
    return {
        **fields(session, "id host machine"),
        "author": "" if view.store.is_user(session.author, session.email, session.machine) else session.author,
        **fields(session, "first last requests about commits"),
        "file": session.file or None,
    }


DAYS = 91  # in the strip of days
_MOST_NAMES = 30
_MAX_DIFF = 24_000  # characters


def show_timeline(view: View) -> dict[str, Any]:
    """Return a page of the commits, the newest first, beginning after the commit `after`."""
    filters = {name: view.word(name) for name in ("session", "type", "host", "machine", "op", "day")}
    day = None
    with contextlib.suppress(ValueError):
        day = date.fromisoformat(filters["day"]) if filters["day"] else None
    made, today = view.days(), view.at_home(view.store.context.clock()).date()
    strip = [today - timedelta(days=back) for back in reversed(range(DAYS))]
    # By the memory's time, since an import commits years at once; without the first commit of every store, of 1970.
    fitting = [record for record in view.records() if record.parents and _fits(view, record, filters, day)]
    fitting.sort(key=lambda record: record.date, reverse=True)
    first = next((place + 1 for place, record in enumerate(fitting) if record.commit == view.word("after")), 0)
    page = fitting[first : first + LENGTH + 1]
    days: dict[str, list[dict[str, Any]]] = {}
    for record in page[:LENGTH]:
        days.setdefault(view.at_home(record.date).date().isoformat(), []).append(commit_value(view.store, record))
    return {
        "filters": filters,
        "days": [{"day": day, "commits": commits} for day, commits in days.items()],
        "next": page[LENGTH - 1].commit if len(page) > LENGTH else None,
        "strip": [{"day": day.isoformat(), "commits": made[day]} for day in strip],
        "known": view.kept.get_or_make("names", view.tip, lambda: _names(view)),
        "sessions": [fields(summary, "id about") for summary in known_sessions(view)[:_MOST_NAMES]],
    }


def _fits(view: View, record: CommitRecord, filters: Mapping[str, str], day: date | None) -> bool:
    """Return whether a commit passes the filters."""
    if not (record.session or "").startswith(filters["session"]):
        return False
    if any(filters[name] not in ("", getattr(record, name)) for name in ("type", "host", "machine", "op")):
        return False
    return day is None or view.at_home(record.date).date() == day


def show_commit(view: View, revision: str) -> dict[str, Any]:
    """Return one commit with its difference."""
    oid = resolve(view.store, revision)
    record = commit_value(view.store, read_records(view.store, [oid])[oid])
    text = difference(view.store, None, oid).text.decode("utf-8", "replace")
    return {**record, "diff": text[:_MAX_DIFF], "cut": len(text) > _MAX_DIFF}


def _names(view: View) -> dict[str, list[str]]:
    """Return the hosts, machines and types of all commits, the most frequent first."""
    every, names = view.records(), ("host", "machine", "type")
    counts_by_name = {name: Counter(getattr(record, name) for record in every) for name in names}
    return {
        name: [value for value, _ in counts.most_common(_MOST_NAMES) if value]
        for name, counts in counts_by_name.items()
    }
