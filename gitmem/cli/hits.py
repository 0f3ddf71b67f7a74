"""What the commands that search share: their options, the search, and hits and facts as JSON and as text."""

from __future__ import annotations

import re

from gitmem.cli.output import place_lines
from gitmem.document.ids import short_session
from gitmem.errors import NotFoundError, UsageError
from gitmem.text.terminal import fields, plain
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from gitmem.cli.app import App
    from gitmem.facts.fact import Fact
    from gitmem.facts.validity import Status
    from gitmem.search.engine import Answer
    from gitmem.search.hits import Hit
    from gitmem.store.store import Store


def show_fact(store: Store, known: Fact, args: argparse.Namespace, app: App) -> None:
    """Print a fact with its origin, the facts it supersedes, and the places of its line."""
    from gitmem.facts.edit import read_fact
    from gitmem.history.authors import People
    from gitmem.history.origin import find_entry
    from gitmem.store.headers import facts_for, marked, standing_of
    from gitmem.text.terminal import plain

    fact = read_fact(store, known)
    text = marked(store, fact.text, fact.id)
    facts = {other.id: other for other in facts_for(store, {known.id})}
    statuses = standing_of(store, [*facts.values()])
    known, status = as_it_stands(known, statuses), statuses[known.id]
    value = {**fact_value(known, status), "text": text, "origin": dict(fact.origin)}
    value |= {"supersedes": list(fact.supersedes), "keywords": list(fact.keywords)}
    try:
        found = find_entry(store, known.id)
    except NotFoundError:  # it has no line
        found = None
    people = People(store)
    origin, whose = people.origin(known.id), people.whose(known.id)
    value |= {
        "author": origin.author if origin else None,
        "standing": status.standing,
        "successor": status.successor or None,
    }
    value["places"] = [{"path": place.path, "line": place.line} for place in found.places] if found else []
    about = (
        ("kind", known.kind),
        ("status", fact_state(known, status)),
        ("holds", _standing(status, facts)),
        ("since", f"{known.created:%Y-%m-%d}"),
        ("came", str(origin or "")),
        ("whose", whose if origin and whose != origin.author else ""),
        ("confidence", "" if known.confidence is None else f"{known.confidence:g}"),
        ("origin", ", ".join(f"{key} {value}" for key, value in fact.origin.items())),
        ("said in", ", ".join(known.sources)),
        ("files", ", ".join(known.files) + (f" as of {known.commit}" if known.commit else "")),
        ("branch", known.branch),
        ("scope", ", ".join(known.scope)),
        ("supersedes", ", ".join(fact.supersedes)),
        ("file", known.path),
    )
    lines = [text, "", *(f"{name + ':':<12}{value}" for name, value in about if value)]
    lines += ["", *place_lines(found)] if found else []
    app.answer(args, value, plain("\n".join(lines)), "fact")


def _standing(status: Status, facts: Mapping[str, Fact]) -> str:
    """Return whether a fact holds now, with its successor or the facts that contradict it."""
    others = (status.successor,) if status.successor else status.disputes
    named = "; ".join(f"{other} {facts[other].description}" for other in others)
    place = f", {status.place}" if status.place else ""
    if status.holds:
        return f"yes, but it contradicts {named}{place}" if named else f"yes{place}"
    since = f" since {status.since:%Y-%m-%d}" if status.since else ""
    return f"no, {status.standing}{since}{f', by {named}' if named else ''}{place}"


def fact_value(fact: Fact, status: Status | None = None) -> dict[str, object]:
    """Return a fact for JSON; `stale` are its files whose lines changed, `place` is what a mark says of its branch."""
    return {
        **fields(fact, "id kind status description created"),
        "updated": fact.updated.isoformat() if fact.updated else None,
        **fields(fact, "confidence sources files"),
        "commit": fact.commit or None,
        "branch": fact.branch or None,
        "scope": list(fact.scope),
        "stale": list(status.stale) if status else [],
        "place": str(status.place) if status and status.place else None,
        "review": list(fact.review),
        "superseded_by": fact.superseded_by or None,
        "path": fact.path,
    }


def as_it_stands(fact: Fact, statuses: Mapping[str, Status]) -> Fact:
    """Return a fact without the settled contradictions that its file may still name."""
    return fact._replace(review=statuses[fact.id].disputes) if fact.id in statuses else fact


def fact_state(fact: Fact, status: Status | None = None) -> str:
    """Return how a fact stands, in words."""
    words = fact.status + (f" by {fact.superseded_by}" if fact.superseded_by else "")
    words += f", contradicts {', '.join(fact.review)}" if fact.review else ""
    words += ", pinned" * fact.pinned
    return f"{words}, {status.place}" if status and status.place else words


LAYERS = {
    "memory": "memory.md",
    "knowledge": "summaries and facts",
    "logs": "archives and logs",
    "transcripts": "transcripts",
}
_SHORT = 10  # characters of an object id


class Found(Value):
    """The answer to a query, and in which store it was searched from when on."""

    answer: Answer
    query: str
    store: Store
    began: datetime


def find_hits(args: argparse.Namespace, app: App, *, deep: bool = False, history: bool = False) -> Found:
    """Return the answer to the command's query; print once an hour why vectors were left out."""
    from gitmem.search.engine import answer

    query = " ".join(args.query)
    if not query.strip():
        raise UsageError("The query is empty.", "Give words, or a filter such as type:decision.")
    store = app.settled(args)
    began = store.context.clock()
    at = named_commit(args, store)
    found = answer(store, query, limit=args.limit, deep=deep, history=history, ended=args.all, at=at)
    if at is None:
        from gitmem.search.recall import with_own

        found = with_own(store, query, found)
    if found.without_vectors:
        from gitmem.vectors.cache import is_news

        if is_news(store.private, "search", found.without_vectors):
            app.notices((f"Only words were compared, not meanings. {found.without_vectors}",))
    return Found(found, query, store, began)


def note_hits(app: App, found: Found, how: str, text: str, hits: Sequence[Hit]) -> None:
    """Note a question and its hits for `gitmem stats`; text that a person reads at a terminal costs no tokens."""
    from gitmem.lessons.usage_log import GivenText, handles, note_asked

    printed = "" if app.out.isatty() else text
    note_asked(found.store, GivenText(found.began, app.session(), how, handles(hits)), printed)


def left_out(found: Answer) -> tuple[str, ...]:
    """Return a notice of the number of ended facts that were left out, if any."""
    if not found.left_out:
        return ()
    many = (
        "1 fact that no longer holds is" if found.left_out == 1 else f"{found.left_out} facts that no longer hold are"
    )
    return (f"{many} left out; --all shows what there was.",)


def named_commit(args: argparse.Namespace, store: Store) -> str | None:
    """Return the commit that `--at` names, None without it."""
    if args.at is None:
        return None
    from gitmem.history.records import resolve

    return resolve(store, args.at)


def fold_words(query: str) -> tuple[str, ...]:
    """Return the words of a query as they are highlighted: in lower case, the longest first."""
    from gitmem.search.query import parse_query

    texts = {needle.text for term in parse_query(query).terms for needle in term.needles}
    return tuple(sorted(texts, key=len, reverse=True))


def hit_value(hit: Hit) -> dict[str, object]:
    """Return a hit for JSON; unknown values are null."""
    return {
        "path": hit.path,
        "start_line": hit.start,
        "end_line": hit.end,
        "heading": hit.heading or None,
        "layer": hit.layer,
        "field": hit.field or None,
        "type": hit.label or None,
        "tags": list(hit.tags),
        "date": hit.date or None,
        "session": hit.session or None,
        "author": hit.author or None,
        "entry": hit.entry or None,
        "score": hit.score,
        "snippet": hit.shown(hit.snippet),
        "tokens": hit.tokens,
        "commit": hit.commit or None,
        "text": hit.shown(hit.passage),
        "weak": hit.weak,
        "status": hit.status or None,
        **fields(hit, "others own views"),
    }


def hits_text(hits: Sequence[Hit], marks: tuple[str, ...], *, by_layer: bool, style: Callable[[str, str], str]) -> str:
    """Return hits for people: place, date and type on one line, the snippet below."""
    lines: list[str] = []
    layer = ""
    for hit in hits:
        if by_layer and hit.layer != layer:
            layer = hit.layer
            lines += ["", style("heading", LAYERS[layer])][not lines :]
        place = f"{hit.path}:{hit.start}" + (f"-{hit.end}" if hit.end > hit.start else "")
        only_then = f"only in history: gitmem get --at {hit.commit[:_SHORT]} {place}" if hit.commit else ""
        facts = ", ".join(
            filter(
                None,
                (
                    hit.date,
                    hit.label or hit.field or hit.heading,
                    short_session(hit.session),
                    f"by {hit.author}" if hit.author else "",
                    only_then,
                    hit.standing,
                    "weak" * hit.weak,
                ),
            )
        )
        lines.append(f"{style('place', plain(place))}  {style('aside', plain(facts))}".rstrip())
        lines.append(f"    {_highlighted(plain(hit.shown(hit.snippet)), marks, style)}")
        if hit.views:
            lines.append(style("aside", f"    also: {plain(', '.join(hit.views))}"))
    return "\n".join(lines)


def _highlighted(text: str, marks: tuple[str, ...], style: Callable[[str, str], str]) -> str:
    if not marks:
        return text
    # Of a Latin word the stem was looked for, and the whole word is meant.
    words = (re.escape(mark) + r"[a-z]*" * mark[-1:].isascii() for mark in marks)
    pattern = re.compile("|".join(words), re.IGNORECASE)
    return pattern.sub(lambda match: style("match", match[0]), text)
