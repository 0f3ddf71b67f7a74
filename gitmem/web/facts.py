"""The pages of facts with their history, of waiting decisions, concepts, and project knowledge."""

from __future__ import annotations

import contextlib
import difflib
import re
from collections import Counter
from collections.abc import Sequence, Sized
from datetime import date
from typing import Any

from gitmem.archive.summary import pending_archives
from gitmem.document.document import Document
from gitmem.document.entry import find_entries
from gitmem.document.ids import tail_of
from gitmem.errors import GitmemError, NotFoundError
from gitmem.git.repository import blob_id
from gitmem.history.authors import Authors
from gitmem.history.changes_by_others import others_changes
from gitmem.history.marks import OthersChange, marked
from gitmem.history.records import CommitRecord, records
from gitmem.history.review import ToReview, sides_of
from gitmem.history.sessions import file_of, session_files
from gitmem.learn.concepts import find_concept
from gitmem.learn.left_out import waiting_left_out
from gitmem.learn.lessons import known_knowledge
from gitmem.model.concept import SECTION, Concept, affinity
from gitmem.model.fact import Fact, FactKind, FactStatus, parse_fact
from gitmem.model.pattern import BugPattern
from gitmem.model.validity import Status
from gitmem.purge.purge import preview_purge, waiting_purges
from gitmem.record.fact_edits import find_fact, read_fact, waiting_pairs
from gitmem.search.hits import named
from gitmem.store.copies import find_copies
from gitmem.store.learned import known_concepts, known_patterns
from gitmem.store.store import Store
from gitmem.tell.forbidden import Decision, RuleCounts, decision_of, firings_by_rule, rules_to_review
from gitmem.text.terminal import fields
from gitmem.web.view import View, commit_value, over_time

KINDS = [kind.word for kind in FactKind]
_MAX_CODE = 12_000  # characters of a code diff
_ENDED = (FactStatus.SUPERSEDED, FactStatus.RETIRED, FactStatus.RESOLVED, FactStatus.PURGED)
_STEPS = 40  # newest steps of a fact's life
_SOURCES = 3  # source exchanges that are shown
_CHOICES = 200  # facts offered as successor


def show_facts(view: View) -> dict[str, Any]:
    """Return a page of the facts that match the query, the newest first, beginning after the fact `after`."""
    every, statuses = view.facts, view.statuses
    kind, words, which = view.word("kind"), view.word("q").casefold(), view.word("show") or "holds"
    of_kind = (fact for fact in every if kind in ("", fact.kind, fact.kind.word))
    fitting = (fact for fact in of_kind if words in fact.description.casefold())
    facts = [fact for fact in fitting if _is_wanted(statuses[fact.id], which)]
    facts.sort(key=lambda fact: (fact.when, fact.id), reverse=True)
    page, around = view.page_of(facts)
    listed = [ticked(view, fact, statuses[fact.id]) for fact in page]
    return {**around, "facts": listed, "show": which, "kind": kind, "q": view.word("q")}


def show_fact(view: View, identifier: str) -> dict[str, Any]:
    """Return one fact with its text, status, life, source exchanges, and what changed in its code since."""
    store = view.store
    known = next((item for item in view.facts if item.id == identifier), None) or find_fact(store, identifier)
    fact = read_fact(store, known)
    facts = {item.id: item for item in view.facts}
    status = view.statuses[known.id]
    code = store.code() if status.stale else None
    try:
        found = records(store, path=known.path, limit=_STEPS) if store.tip else []
    except NotFoundError:  # written in an editor, not committed yet
        found = []
    links = (("contradicts", status.disputes), ("superseded by", (status.successor,)), ("supersedes", fact.supersedes))
    linked = ((how, facts[key]) for how, ids in links for key in ids if key in facts)
    rivals = [rival for rival in facts.values() if rival.kind == fact.kind and rival.binds and rival.id != fact.id]
    rivals.sort(key=lambda rival: rival.when, reverse=True)
    return {
        **fact_value(view, known, status),
        "text": fact.text,
        "blob": blob_of(store, fact.source),
        "links": [{"how": how, "id": item.id, "text": item.description} for how, item in linked],
        "life": _life(store, known, found),
        "origin": dict(fact.origin),
        "keywords": list(fact.keywords),
        "sources": _sources(view, fact),
        "code": code.difference(fact)[:_MAX_CODE] if code else "",
        "choices": [fields(rival, "id text=description") for rival in rivals[:_CHOICES]],
        "path": known.path,
        "broken": fact.source != store.read(known.path),
        "edit": bool(view.word("edit")),
        **_rule(store, known),
    }


def _rule(store: Store, fact: Fact) -> dict[str, Any]:
    """Return what a fact forbids, how often that matched, and whether another author's rule waits for confirmation."""
    times = firings_by_rule(store.private).get(fact.id, RuleCounts())
    return {
        "forbids": list(fact.forbids),
        "enforce": decision_of(fact).value,
        "decisions": [decision.value for decision in Decision],
        **fields(times, "fired ignored"),
        "unconfirmed": Authors(store).awaits(fact),
    }


def ticked(view: View, fact: Fact, status: Status) -> dict[str, Any]:
    """Return a fact for a list with check boxes."""
    return {**fact_value(view, fact, status), "blob": view.blob(fact.path)}


def fact_value(view: View, fact: Fact, status: Status) -> dict[str, Any]:
    """Return a fact for a list; `author` is the name of another user who brought it, or ""."""
    return {
        **fields(fact, "id kind description pinned"),
        "mark": view.marks.mark(fact.id),
        **fields(status, "standing holds=is_in_force since stale"),
        **fields(fact, "created updated=when confidence session files commit branch scope"),
        "author": view.authors.others(fact.id),
        "by": fact.found_by,
    }


def blob_of(store: Store, data: bytes) -> str:
    """Return the blob id of a content; forms include it, so that their act is refused if the content has changed."""
    return blob_id(data, store.tip or "")


def _is_wanted(status: Status, which: str) -> bool:
    if which == "stale":
        return bool(status.stale)
    if which == "disputed":
        return bool(status.disputes)
    return which == "all" or status.is_in_force == (which != "ended")


def _sources(view: View, fact: Fact) -> list[dict[str, Any]]:
    """Return the first source exchanges of a fact, with their texts from its session's file."""
    store, session = view.store, fact.session
    tails = {tail_of(name) for name in (fact.origin.get("exchange", ""), *fact.sources) if name}
    if not (session and tails and store.tip):
        return []
    path = file_of(session_files(store), session)
    text = (store.read(path) or b"").decode("utf-8", "replace") if path else ""
    entries = [entry.entry for entry in find_entries(text) if tail_of(entry.entry.id) in tails]
    return [{"id": entry.id, "text": entry.text, "session": session, "path": path} for entry in entries[:_SOURCES]]


_MOST = 20  # of each kind on the page; others follow once these are answered
_MAX_DOCUMENT = 20_000  # characters of a document side by side


def show_review(view: View) -> dict[str, Any]:
    """Return the decisions that wait for a user."""
    store = view.store
    if not store.tip:
        kinds = ("pairs", "changes", "documents", "rules", "stale", "gone", "left_out", "purges", "copies", "summaries")
        return {**dict.fromkeys(kinds, ()), "more": {}}
    statuses = view.statuses
    disputed = any(status.disputes for status in statuses.values())
    pairs, documents = waiting_pairs(store) if disputed else [], view.documents_to_review()
    stale = [fact for fact in view.facts if statuses[fact.id].stale]
    gone = [fact for fact in view.facts if statuses[fact.id].waits]

    def side(known: Any) -> dict[str, Any]:
        fact = read_fact(store, known)
        origin = view.authors.origin(known.id) if store.tip else None
        return {
            **fact_value(view, known, statuses[known.id]),
            "text": fact.text,
            "blob": blob_of(store, fact.source),
            "author": origin.author if origin else "",
            "machine": origin.machine if origin else "",
        }

    changes, rules = [*others_changes(store).values()], rules_to_review(store, view.facts)
    lists: Sequence[Sized] = (pairs, changes, documents, rules, stale, gone)
    long = zip(("pairs", "changes", "documents", "rules", "stale", "gone"), map(len, lists), strict=True)
    return {
        "pairs": [{"older": side(pair.older), "newer": side(pair.newer)} for pair in pairs[:_MOST]],
        "changes": [_change(view, change) for change in changes[:_MOST]],
        "documents": [_document(view, item) for item in documents[:_MOST]],
        "rules": [{**ticked(view, rule, statuses[rule.id]), **_rule(store, rule)} for rule, _ in rules[:_MOST]],
        "stale": [ticked(view, fact, statuses[fact.id]) for fact in stale[:_MOST]],
        "gone": [ticked(view, fact, statuses[fact.id]) for fact in gone[:_MOST]],
        "left_out": [
            {"row": row, "date": row[: len("2026-11-21")], "lines": [fields(one, "kind text") for one in stated]}
            for row, stated in [*waiting_left_out(store).items()][:_MOST]
        ],
        "purges": [_purge(view, purge.path, purge.why) for purge in waiting_purges(store)[:_MOST]],
        "copies": [
            {**fields(copy, "path original"), "blob": blob_of(store, store.read(copy.path) or b"")}
            for copy in find_copies(store)[:_MOST]
        ],
        "summaries": pending_archives(store, _MOST),
        "more": {name: number - _MOST for name, number in long if number > _MOST},
    }


def _change(view: View, change: OthersChange) -> dict[str, Any]:
    """Return a change with the fact's words as they are now, "" if its file is gone."""
    store = view.store
    data = store.read(change.path)
    fact = parse_fact(data, change.path) if data else None
    return {
        **fields(change, "id act author date before"),
        "now": fact.text if fact else "",
        "commit": change.commit,
        "blob": blob_of(store, data or b""),
    }


def _document(view: View, item: ToReview) -> dict[str, Any]:
    store = view.store
    value: dict[str, Any] = {"path": item.path, "places": list(item.places), "lines": [], "ours": "", "theirs": ""}
    data = store.read(item.path) or b""
    value["blob"] = blob_of(store, data)
    try:
        sides = sides_of(store, item.path)
    except GitmemError as error:
        return {**value, "trouble": error.message}
    ours, theirs = (
        (store.repository.read(commit, item.path) or b"").decode("utf-8", "replace")[:_MAX_DOCUMENT]
        for commit in (sides.ours, sides.theirs)
    )
    value |= {"ours": ", ".join(sides.our_machines), "theirs": ", ".join(sides.their_machines)}
    return {**value, "lines": [line for line in lines_between(theirs, ours) if line["sign"] != " "]}


def _purge(view: View, path: str, why: str) -> dict[str, Any]:
    value = {"path": path, "why": why}
    try:
        preview = preview_purge(view.store, path)
    except GitmemError as error:
        return {**value, "texts": 0, "files": [], "trouble": error.message}
    return {**value, "texts": preview.texts, "files": list(preview.files)}


_LINE = re.compile(
    r"^- (?P<day>[0-9-]{10}) \[(?P<text>.*)\]\(\S*/[0-9]{8}_[0-9]{6}-(?P<session>[^/\s]+)\.md\) (?P<id>\w+)$",
    re.MULTILINE,
)
_NEIGHBOURS = 8
_LEAST = 0.05  # least affinity of a neighbour


def show_concepts(view: View) -> dict[str, Any]:
    """Return a page of the concepts, the last worked on first, beginning after the concept `after`."""
    every = sorted(known_concepts(view.store), key=lambda concept: (concept.updated, concept.id), reverse=True)
    page, around = view.page_of(every)
    return {**around, "concepts": [_value(concept) for concept in page]}


def show_concept(view: View, identifier: str) -> dict[str, Any]:
    """Return a concept with its exchanges and the most similar concepts."""
    concept = find_concept(view.store, identifier)
    others = [(affinity(concept, item), item) for item in known_concepts(view.store) if item.id != concept.id]
    others = [(score, item) for score, item in others if score >= _LEAST]
    near = sorted(others, key=lambda pair: (-pair[0], pair[1].id))[:_NEIGHBOURS]
    body = named(view.store, Document.parse(view.store.read(concept.path) or b"").body)
    days = Counter(day for line in _LINE.finditer(body) if (day := _day(line["day"])))
    return {
        **_value(concept),
        "author": view.authors.others("", concept.path),
        "text": _LINE.sub("", body.partition(f"## {SECTION}")[2] or body).strip(),
        "times": [
            {"day": line["day"], "text": line["text"].replace("\\", ""), "session": line["session"], "id": line["id"]}
            for line in _LINE.finditer(body)
        ],
        "chart": over_time("Exchanges over time", "exchanges", days, min(days), max(days)) if days else None,
        "neighbours": [{**_value(item), "affinity": round(score, 2)} for score, item in near],
    }


def _value(concept: Concept) -> dict[str, Any]:
    return {**fields(concept, "id name keywords files created updated"), "exchanges": len(concept.exchanges)}


def _day(text: str) -> date | None:
    with contextlib.suppress(ValueError):
        return date.fromisoformat(text)
    return None


_KINDS = (FactKind.PATTERN, FactKind.CORE_LOGIC, FactKind.SOLUTION, FactKind.ISSUE)
_MAX_LINES = 15
_MAX_GROUP, _MAX_ERRORS = 10, 30


def show_knowledge(view: View) -> dict[str, Any]:
    """Return project knowledge by kind, errors with their solutions, and facts about the project."""
    statuses = view.statuses
    holding = [fact for fact in view.facts if statuses[fact.id].is_in_force]
    groups = []
    for kind in _KINDS:
        facts = sorted((fact for fact in holding if fact.kind is kind), key=lambda fact: fact.when, reverse=True)
        shown = [fact_value(view, fact, statuses[fact.id]) for fact in facts[:_MAX_GROUP]]
        groups.append({"kind": kind.value, "total": len(facts), "facts": shown})
    documents = [
        {
            **fields(known, "kind confidence updated"),
            "author": view.authors.others("", known.kind.path),
            "lines": list(known.lines[:_MAX_LINES]),
            "more": max(len(known.lines) - _MAX_LINES, 0),
        }
        for known, _ in known_knowledge(view.store)
        if known.lines
    ]
    patterns = known_patterns(view.store)
    return {
        "documents": documents,
        "bugs": [_bug(pattern, view) for pattern in patterns[:_MAX_ERRORS]],
        "errors": len(patterns),
        "groups": groups,
    }


def _bug(pattern: BugPattern, view: View) -> dict[str, Any]:
    solutions = sorted(pattern.solutions, key=lambda solution: solution.confidence, reverse=True)
    counts = ((item, len(item.worked), len(item.worked) + len(item.failed)) for item in solutions)
    return {
        **fields(pattern, "id title updated files commands"),
        "author": view.authors.others("", pattern.path),
        "seen": len(pattern.seen),
        "solutions": [
            {"text": marked(view.store, item.text), "worked": worked, "tried": tried} for item, worked, tried in counts
        ],
    }


def _life(store: Store, known: Fact, commits: list[CommitRecord]) -> list[dict[str, Any]]:
    """Return the steps of a fact's life, the oldest first, given the commits of its file, the newest first."""
    with store.repository.reading() as objects:
        data = list(objects.contents([f"{commit.commit}:{known.path}" for commit in commits]))
    steps: list[dict[str, Any]] = []
    before: Fact | None = None
    for record, content in zip(commits[::-1], data[::-1], strict=True):
        now = parse_fact(content, known.path) if content else None
        if now or before:
            step = {"act": _act(before, now), "changes": _changes(before, now)}
            steps.append({**step, **commit_value(store, record)})
        before = now
    return steps


def lines_between(before: str, now: str) -> list[dict[str, str]]:
    """Return all lines of two different texts, each with its sign: "-", "+" or " "; none for equal texts."""
    old, new = before.splitlines(), now.splitlines()
    lines = list(difflib.unified_diff(old, new, n=len(old) + len(new), lineterm=""))[3:]  # behind the file names
    return [{"sign": line[:1], "text": line[1:]} for line in lines]


def _act(before: Fact | None, now: Fact | None) -> str:
    if now is None or before is None:
        return "learned" if before is None else "removed"
    if now.status != before.status:
        return now.status.value if now.status in _ENDED else "restored"
    acts = (
        (now.text != before.text, "edited"),
        (now.pinned != before.pinned, "pinned" if now.pinned else "unpinned"),
        (len(now.review) > len(before.review), "disputed"),
        ((now.commit, now.review) != (before.commit, before.review), "confirmed"),
        ((now.confidence or 0) > (before.confidence or 0), "confirmed"),
        (now.sources != before.sources, "heard again"),
        (now.forbids != before.forbids, "forbids"),
    )
    return next((act for is_it, act in acts if is_it), "changed")


def _changes(before: Fact | None, now: Fact | None) -> dict[str, Any]:
    """Return the changed lines of the text, and the changed fields with their values before and after."""
    if before is None or now is None:
        return {"text": [], "fields": []}
    fields = ("kind", "forbids", "files")
    changed = [(name, _words(getattr(before, name)), _words(getattr(now, name))) for name in fields]
    return {
        "text": lines_between(before.text, now.text) if before.text != now.text else [],
        "fields": [{"name": name, "before": old, "now": new} for name, old, new in changed if old != new],
    }


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value if value is not None else "")
