"""The first page with open tasks for the user, and the pages of search, sync and figures."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import quote

from gitmem.document.entry import MemoryType, without_ids
from gitmem.document.ids import id_in, is_fact_id
from gitmem.document.message import Op
from gitmem.errors import GitmemError
from gitmem.history.changes_by_others import others_changes
from gitmem.history.records import resolve
from gitmem.history.sessions import last_save, sessions
from gitmem.hosts.script import recorded_agents
from gitmem.learn.left_out import waiting_left_out
from gitmem.llm.ledger import spending
from gitmem.llm.protocol import HOST, OFFLINE, TURN_ON
from gitmem.model.validity import Standing
from gitmem.project.code import ProjectQuestions
from gitmem.purge.purge import waiting_purges
from gitmem.record.read import glance, with_last_answers
from gitmem.search.engine import answer
from gitmem.search.filters import check_types
from gitmem.search.hits import Hit
from gitmem.search.many_stores import StoreHit, search_stores
from gitmem.store.findings import WORDS, FailureLog
from gitmem.store.last_event import last_event_since_install
from gitmem.store.spool import HookSpool
from gitmem.sync.records import failures
from gitmem.sync.states import states
from gitmem.tell.forbidden import rules_to_review
from gitmem.tell.outcome_counts import measure
from gitmem.tell.start import ShownPart, start_parts, start_text
from gitmem.tell.start_facts import PRIVATE_TITLE, TITLE
from gitmem.text.sentences import count
from gitmem.text.terminal import fields
from gitmem.text.words import estimate_tokens
from gitmem.web.facts import fact_value
from gitmem.web.view import View, columns, commit_value, moment, over_time

_EXPERIENCE = {MemoryType.LEARNING.value, MemoryType.ERROR_FIX.value}
_NEW, _NEW_SESSIONS = 6, 3  # new memories and sessions on the first page
_FAILURES, _ALL_FAILURES = 3, 30  # failures on the first page, and on the page of syncs


def show_home(view: View) -> dict[str, Any]:
    """Return the parts of the next session's start, open tasks for the user, and the state of recording."""
    store, tip = view.store, view.tip or ""
    before, _ = view.kept.get("documents", (tip, ()))
    with ProjectQuestions(view.project(), store.context.environ) as questions:
        with ThreadPoolExecutor(2) as ahead:  # git compares the work tree while facts are read
            if before != tip:
                store.identity()  # the authors need it
                ahead.submit(store.repository.changes, str(before), tip)
            ahead.submit(lambda: view.records() and view.authors.all_mine)
            view.facts  # noqa: B018
        learned = _learned(view)
        pending = () if view.for_others else glance(store)
        shown = start_parts(store, with_last_answers(pending) if pending else (), questions.answer(), ())
    shown = [part for part in shown if not (view.for_others and part.title in {TITLE, PRIVATE_TITLE})]
    tokens = estimate_tokens(start_text(store, shown))
    needs = [need for need in _needs(view) if need["count"]]
    view.kept["waiting"] = (view.tip, sum(int(need["count"]) for need in needs))
    return {
        "today": view.at_home(store.context.clock()).date().isoformat(),
        "tokens": tokens,
        "budget": store.config.session.budget_tokens,
        "parts": [_part(view, part) for part in shown],
        "frame": tokens - sum(part.tokens for part in shown),
        "learned": learned,
        "needs": needs,
        "recording": _recording(view),
    }


def _learned(view: View) -> dict[str, Any]:
    """Return the newest facts, saves and sessions since yesterday (reader's time zone), and the number of facts.

    A save that became a fact, as a decision does, is listed only as a fact.
    """
    now = view.at_home(view.store.context.clock())
    since = (now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)).astimezone(UTC)
    new = [fact for fact in view.facts if fact.created >= since and view.statuses[fact.id].is_in_force]
    new.sort(key=lambda fact: (fact.created, fact.id), reverse=True)
    recent = [record for record in view.records() if record.date >= since]
    saves = [record for record in recent if record.type in _EXPERIENCE and record.op == Op.SAVE]
    named = {record.session for record in recent if record.session}
    about = [record for record in view.records() if record.session in named or record.op == Op.UNDO]
    worked = sessions(view.store, about) if named else []
    return {
        "total": len(new),
        "facts": [fact_value(view, fact, view.statuses[fact.id]) for fact in new[:_NEW]],
        "saves": [commit_value(view.store, record) for record in saves[:_NEW]],
        "sessions": [fields(summary, "id about requests") for summary in worked[:_NEW_SESSIONS]],
        "worked": len(worked),
    }


def _part(view: View, shown: ShownPart) -> dict[str, Any]:
    """Return a part of the start, and each fact in its lines, in the line's words."""
    text = shown.text.partition("\n")[2].strip()  # below the title
    lines, facts = text.split("\n"), view.marks.facts
    beliefs: list[dict[str, Any]] = []
    if len(lines) == len(shown.ids) and facts.keys() >= {*shown.ids}:
        for fact, line in zip((facts[key] for key in shown.ids), lines, strict=True):
            said = {"text": line.removeprefix("- "), "blob": view.blob(fact.path)}
            beliefs.append({**fields(fact, "id kind pinned"), **said})
    value = fields(shown, "title tokens pieces of")
    return {**value, "text": text, "beliefs": beliefs}


def waiting(view: View) -> int:
    """Return the number of tasks for the user, as of the last change of the store."""
    return view.kept.get_or_make("waiting", view.tip, lambda: sum(int(need["count"]) for need in _needs(view)))


def _needs(view: View) -> list[dict[str, Any]]:
    store = view.store
    if not store.tip:
        return []
    odd = [status for status in view.statuses.values() if status.place or status.disputes]
    stale = [status for status in odd if status.stale]
    gone = sum(status.waits for status in odd)
    disputes = sum(len(status.disputes) for status in odd) // 2  # each side names the other
    spool, hooks = store.spool, HookSpool(store.private)
    needs = (
        (disputes, "pair", "of facts that contradict each other", "/review"),
        (len(others_changes(store)), "fact", "of yours that others changed", "/review"),
        (len(view.documents_to_review()), "document", "that two machines changed", "/review"),
        (len(stale), "fact", "whose code has changed since", "/facts?show=stale"),
        (gone, "fact", "of branches that are gone and were never merged", "/review"),
        (len(rules_to_review(store, view.facts)), "rule", "that agents ignore or you have not confirmed", "/review"),
        (len(waiting_left_out(store)), "message", "with a decision or rule that may be pasted", "/review"),
        (len(waiting_purges(store)), "purge", "of other machines to answer", "/review"),
        (len(failures(store.private)), "remote", "that could not be reached", "/sync"),
        (len(spool.aside()) + len(hooks.aside()), "file", "that could not be read", "/sync"),
    )
    return [
        {"what": f"{count(number, noun)} {rest}", "count": number, "href": href} for number, noun, rest, href in needs
    ]


def _recording(view: View) -> dict[str, Any]:
    store, context = view.store, view.store.context
    last = last_save(store, view.records())
    agents, off = recorded_agents(
        view.project(), context.home, context.environ, partial(last_event_since_install, store.private, context.home)
    )
    return {
        "agents": agents,
        "off": off,
        "last": moment(last.committed) if last else None,
        "subject": last.subject if last else "",
        "host": last.host if last else None,
        "waiting": len(store.spool.names()),
        "unfinished": HookSpool(store.private).unfinished(),
        "failures": _failed(view, _FAILURES),
    }


def _failed(view: View, most: int) -> list[dict[str, Any]]:
    """Return the newest failures of commands, without notes on words that were not recorded."""
    failures = (failure for failure in FailureLog(view.store.private).failures() if failure.command != WORDS)
    return [fields(failure, "at command message") for failure in [*failures][: -most - 1 : -1]]


_LIMIT, _MOST = 20, 200
_WITH_TIME = len("2026-11-21 12:00:00")
_TEXT = 1_200  # characters of a hit
_OVER = {Standing.SUPERSEDED.value, Standing.RETIRED.value, Standing.RESOLVED.value, Standing.PURGED.value}


def show_search(view: View) -> dict[str, Any]:
    """Return the hits of `gitmem search`, and the facts left out because they ended."""
    store, query = view.store, view.word("q")
    back = int(view.word("back")) if view.word("back").isdecimal() else 0
    deep, history = bool(view.word("deep")), bool(view.word("history"))
    many = _MOST if view.word("more") else _LIMIT
    value: dict[str, Any] = {"q": query, "back": back, "oldest": _oldest(view), "hits": [], "left_out": [], "total": 0}
    value |= {"deep": deep, "history": history, "trouble": "", "at": None, "more": many == _MOST}
    value |= {"everywhere": bool(view.word("everywhere")), "others": [], "named": {}}
    if not query:
        return value
    if view.word("everywhere"):
        value["others"] = _elsewhere(view, query)
    try:
        day = (store.context.clock() - timedelta(days=back)).date().isoformat() if back else ""
        at = resolve(store, day) if day else None
        ask = partial(answer, store, query, limit=many, deep=deep, history=history)
        answered = ask(at=at)
        if not (answered.hits or value["others"]):
            check_types(query)
        ended = ask(ended=True).hits if answered.left_out else []
    except (GitmemError, OverflowError) as error:
        return {**value, "trouble": getattr(error, "sentences", "There was nothing yet.")}
    value |= {"hits": [_hit(hit) for hit in answered.hits], "total": answered.total, "at": day or None}
    value["left_out"] = [_hit(hit) for hit in ended if hit.status in _OVER]
    others = {key for hit in value["hits"] for key in hit["others"]}
    about = {fact.id: fact.description for fact in view.facts if fact.id in others} if others else {}
    value["named"] = {key: {"text": text, "mark": view.marks.mark(key)} for key, text in about.items()}
    return value


def _elsewhere(view: View, query: str) -> list[dict[str, Any]]:
    """Return the best hits of all other projects together, ranked as `gitmem search --stores` ranks them."""
    others = {project.root: project for project in view.projects if project != view.here}
    hits: list[StoreHit] = []
    with contextlib.suppress(GitmemError, OSError):  # for example a filter that applies to one store only
        hits = search_stores([*others], view.store.context, query, limit=_LIMIT).hits
    named = ((others[hit.store], hit.hit) for hit in hits)
    return [{"name": project.name, "base": project.base, **_hit(hit)} for project, hit in named]


def _oldest(view: View) -> int:
    """Return the age of the oldest memory in days."""
    now = view.store.context.clock()
    # The first commit of every store is dated 1970.
    first = min((record.date for record in view.records() if record.parents), default=now)
    return max((now.date() - first.astimezone(now.tzinfo).date()).days, 0)


def _hit(hit: Hit) -> dict[str, Any]:
    known = "path line=start layer type=label tags date session author entry tokens status? part? others weak commit?"
    return {
        **fields(hit, known),
        "heading": hit.heading or hit.field,
        "at": datetime.fromisoformat(hit.date).astimezone().isoformat() if len(hit.date) == _WITH_TIME else hit.date,
        "fact": hit.entry if is_fact_id(hit.entry) else None,
        "score": round(hit.score, 2),
        "href": _page_of(hit),
        "snippet": hit.shown_snippet,
        "text": hit.shown(without_ids(hit.passage or hit.text)[:_TEXT]),
    }


def _page_of(hit: Hit) -> str:
    """Return the address of the page that shows a hit, "" if none does."""
    if is_fact_id(hit.entry):
        return f"/fact/{hit.entry}"
    if hit.commit:
        return f"/commit/{hit.commit}"
    if hit.path.startswith("concepts/"):
        return f"/concept/{id_in(hit.path)}"
    if hit.session:
        at = f"?at={hit.entry}#{hit.entry}" if hit.entry else ""
        return f"/session/{quote(hit.session, safe='')}{at}"
    return "/knowledge" if hit.path.startswith("patterns/") else ""


_WEEKS = 26
_TOKENS = ("start", "injected", "recalled", "models")


def show_sync(view: View) -> dict[str, Any]:
    """Return the remotes, the machines with their last commits, and failures."""
    store = view.store
    return {
        "machine": store.context.machine,
        "remotes": [state.as_value() for state in states(store, behind=True)] if store.tip else [],
        "machines": _machines(view),
        "failures": _failed(view, _ALL_FAILURES),
        "waiting": len(store.spool.names()),
        "aside": len(store.spool.aside()),
    }


def show_stats(view: View) -> dict[str, Any]:
    """Return the figures of `gitmem stats` with charts of growth, tokens and answers."""
    store = view.store
    figures = measure(store, view.records(), view.facts)
    today = store.context.clock().date()
    first = today - timedelta(weeks=_WEEKS - 1)
    learned = Counter(fact.created.astimezone().date() for fact in view.facts)
    asked = {how: figure for how, figure in figures["retrieval"].items() if figure["asked"]}
    answers = {
        "answered": [figure["found"] for figure in asked.values()],
        "nothing known": [figure["asked"] - figure["found"] for figure in asked.values()],
    }
    tokens = {name: list(figures["tokens"][name].values()) for name in _TOKENS}
    return {
        **figures,
        "facts": dict(Counter(status.standing.value for status in view.statuses.values())),
        "models": spending(store)._asdict(),
        "turn_on": TURN_ON if store.config.summary.provider in {OFFLINE, HOST} else "",
        "growth": [
            over_time("Commits a week", "commits", view.days(), first, today),
            over_time("Facts learned a week", "facts", learned, first, today),
        ],
        "spent": columns("Tokens a week", list(figures["tokens"]["sessions"]), tokens, "week"),
        "answers": columns("Questions, and how many had an answer", list(asked), answers, "way") if asked else None,
    }


def _machines(view: View) -> list[dict[str, Any]]:
    """Return the machines with commits in this store, each with the time of its last one."""
    last: dict[str, dict[str, Any]] = {}
    for record in view.records():
        if record.machine:  # unlike commits of plain git, and the first one of every store
            name = record.machine
            machine = last.setdefault(name, {"name": name, "last": moment(record.committed), "commits": 0})
            machine["commits"] += 1
    for name in [*last]:  # before a machine has a store, its name has no digits
        named = [other for other in last if re.fullmatch(rf"{re.escape(name)}-[0-9a-f]{{6}}", other)]
        if named:
            commits = last.pop(name)["commits"]
            last[named[0]]["commits"] += commits * (len(named) == 1)
    return list(last.values())
