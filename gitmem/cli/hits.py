"""What the commands that search share: the search, and hits as JSON and as text."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from datetime import datetime

from gitmem.cli.app import App
from gitmem.document.ids import short_session
from gitmem.errors import UsageError
from gitmem.lessons.usage_log import GivenText, handles, note_asked
from gitmem.search.engine import SearchAnswer, answer
from gitmem.search.hits import Hit
from gitmem.search.query import parse_query
from gitmem.search.recall import with_own
from gitmem.store.store import Store
from gitmem.text.sentences import count
from gitmem.text.terminal import fields, plain
from gitmem.values import Value

LAYERS = {
    "memory": "memory.md",
    "knowledge": "summaries and facts",
    "logs": "archives and logs",
    "transcripts": "transcripts",
}
_SHORT = 10  # characters of an object id


class QueryAnswer(Value):
    """The answer to a query, and in which store it was searched from when on."""

    answer: SearchAnswer
    query: str
    store: Store
    began: datetime


def find_hits(args: argparse.Namespace, app: App, *, deep: bool = False, history: bool = False) -> QueryAnswer:
    """Return the answer to the command's query; print once an hour why vectors were left out."""
    query = " ".join(args.query)
    if not query.strip():
        raise UsageError("The query is empty.", "Give words, or a filter such as type:decision.")
    store = app.settled(args)
    began = store.context.clock()
    at = named_commit(args, store)
    found = answer(store, query, limit=args.limit, deep=deep, history=history, ended=args.all, at=at)
    if at is None:
        found = with_own(store, query, found)
    if found.without_vectors:
        from gitmem.vectors.cache import is_news

        if is_news(store.private, "search", found.without_vectors):
            app.notices((f"Only words were compared, not meanings. {found.without_vectors}",))
    return QueryAnswer(found, query, store, began)


def note_hits(app: App, found: QueryAnswer, how: str, text: str, hits: Sequence[Hit]) -> None:
    """Note a question and its hits for `gitmem stats`; text that a person reads at a terminal costs no tokens."""
    printed = "" if app.out.isatty() else text
    note_asked(found.store, GivenText(found.began, app.session(), how, handles(hits)), printed)


def left_out(found: SearchAnswer) -> tuple[str, ...]:
    """Return a notice of the number of ended facts that were left out, if any."""
    if not found.left_out:
        return ()
    verbs = "holds is" if found.left_out == 1 else "hold are"
    return (f"{count(found.left_out, 'fact')} that no longer {verbs} left out; --all shows what there was.",)


def named_commit(args: argparse.Namespace, store: Store) -> str | None:
    """Return the commit that `--at` names, None without it."""
    if args.at is None:
        return None
    from gitmem.history.records import resolve  # it takes a search 7 ms

    return resolve(store, args.at)


def fold_words(query: str) -> tuple[str, ...]:
    """Return the words of a query as they are highlighted: in lower case, the longest first."""
    texts = {needle.text for term in parse_query(query).terms for needle in term.needles}
    return tuple(sorted(texts, key=len, reverse=True))


def hit_value(hit: Hit) -> dict[str, object]:
    """Return a hit for JSON; unknown values are null."""
    return {
        **fields(
            hit, "path start_line=start end_line=end heading? layer field? type=label? tags date? session? author?"
        ),
        **fields(hit, "entry? score"),
        "snippet": hit.shown(hit.snippet),
        **fields(hit, "tokens commit?"),
        "text": hit.shown(hit.passage),
        **fields(hit, "weak status? others own views"),
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
                    "" if hit.is_beside else hit.part,
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
