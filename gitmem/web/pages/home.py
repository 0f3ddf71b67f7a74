"""The first page: the text for the next session's start, open tasks for the person, the state of recording."""

from __future__ import annotations

from typing import Any

from gitmem.document.message import Op
from gitmem.history.changes_by_others import others_changes
from gitmem.history.records import records
from gitmem.hosts.script import recorded_agents
from gitmem.project.state import ProjectQuestions
from gitmem.purge.purge import waiting_purges
from gitmem.sessions.pending import glance, with_last_answers
from gitmem.sessions.start import Shown, start_parts, start_text
from gitmem.store.findings import FailureLog
from gitmem.store.spool import HookSpool
from gitmem.sync.attempts import failures
from gitmem.text.sentences import count
from gitmem.text.stems import estimate_tokens
from gitmem.text.terminal import fields
from gitmem.web.pages.facts import blob_of
from gitmem.web.pages.view import View, moment

_SAVES = {Op.SAVE.value, Op.TURN.value, Op.EXTRACT.value}
_RECENT = 50  # commits in which the last save is looked for
_FAILURES = 3


def show_home(view: View) -> dict[str, Any]:
    """Return the parts of the next session's start, open tasks for the person, and the state of recording."""
    store = view.store
    shown = told(view)
    tokens = estimate_tokens(start_text(store, shown))
    return {
        "tokens": tokens,
        "budget": store.config.session.budget_tokens,
        "parts": [_part(view, one) for one in shown],
        "frame": tokens - sum(one.tokens for one in shown),
        "needs": [one for one in _needs(view) if one["count"]],
        "recording": _recording(view),
    }


def told(view: View) -> list[Shown]:
    """Return the parts of the next session's start."""
    store = view.store
    pending = glance(store)
    with ProjectQuestions(view.project(), store.context.environ) as questions:
        return start_parts(store, with_last_answers(pending) if pending else (), questions.answer(), ())


def _part(view: View, shown: Shown) -> dict[str, Any]:
    """Return a part, and each fact that a line of it tells, in the words of the line."""
    text = shown.text.partition("\n")[2].strip()  # below the title
    lines, facts = text.splitlines(), {fact.id: fact for fact in view.facts}
    beliefs = []
    if len(lines) == len(shown.ids) and facts.keys() >= {*shown.ids}:
        beliefs = [
            {**fields(facts[one], "id kind pinned"), "text": line.removeprefix("- "), "blob": blob_of(view, facts[one])}
            for one, line in zip(shown.ids, lines, strict=True)
        ]
    value = fields(shown, "title tokens pieces of")
    return {**value, "text": text, "beliefs": beliefs}


def waiting(view: View) -> int:
    """Return how many things need a person, as they were when the store was last changed."""
    return view.kept.get_or_make("waiting", view.store.tip, lambda: sum(int(one["count"]) for one in _needs(view)))


def _needs(view: View) -> list[dict[str, Any]]:
    store = view.store
    if not store.tip:
        return []
    statuses = view.statuses
    stale = [status for status in statuses.values() if status.stale]
    gone = sum(status.waits for status in statuses.values())
    disputes = sum(len(status.disputes) for status in statuses.values()) // 2  # each side names the other
    spool, hooks = store.spool, HookSpool(store.private)
    found = (
        (disputes, "pair", "of facts that contradict each other", "/review"),
        (len(others_changes(store)), "fact", "of yours that others changed", "/review"),
        (len(view.documents_to_review()), "document", "that two machines changed", "/review"),
        (len(stale), "fact", "whose code has changed since", "/facts?show=stale"),
        (gone, "fact", "of branches that are gone and were never merged", "/review"),
        (len(waiting_purges(store)), "purge", "of other machines to answer", "/review"),
        (len(failures(store.private)), "remote", "that could not be reached", "/sync"),
        (len(spool.aside()) + len(hooks.aside()), "event", "that could not be read", "/sync"),
    )
    return [
        {"what": f"{count(number, noun)} {rest}", "count": number, "href": href} for number, noun, rest, href in found
    ]


def _recording(view: View) -> dict[str, Any]:
    store, context = view.store, view.store.context
    newest = records(store, limit=_RECENT) if store.tip else []
    last = next((record for record in newest if record.op in _SAVES), None)
    log = FailureLog(store.private).failures()[-_FAILURES:]
    return {
        "agents": recorded_agents(view.project(), context.home, context.environ),
        "last": moment(last.committed) if last else None,
        "subject": last.subject if last else "",
        "host": last.host if last else None,
        "waiting": len(store.spool.names()),
        "unfinished": HookSpool(store.private).unfinished(),
        "failures": [fields(one, "at command message") for one in log[::-1]],
    }
