"""Find memories: search, recall, keywords, and lines of one document."""

from __future__ import annotations

import argparse
import re

from gitmem.cli.app import OWN, App
from gitmem.cli.hits import (
    LAYERS,
    find_hits,
    fold_words,
    hit_value,
    hits_text,
    left_out,
    named_commit,
    note_hits,
)
from gitmem.errors import NotFoundError, UsageError
from gitmem.lessons.usage_log import GET, RECALL, SEARCH, GivenText, note_asked
from gitmem.search.engine import SearchAnswer, answer
from gitmem.search.hits import read_passage
from gitmem.search.recall import LIMIT as MOST
from gitmem.search.recall import is_handle, keywords, layer_of, read_memory, recall
from gitmem.text.stems import estimate_tokens
from gitmem.text.terminal import fields, plain


def run_search(args: argparse.Namespace, app: App) -> None:
    if args.stores is not None:
        _search_stores(args, app)
        return
    answered = find_hits(args, app, deep=args.deep, history=args.history)
    found = answered.answer
    hits = found.hits
    by_layer = args.by == "layer"
    if by_layer:
        hits.sort(key=lambda hit: list(LAYERS).index(hit.layer))
    text = hits_text(hits, _marks(args, app), by_layer=by_layer, style=app.styled)
    app.answer(args, [hit_value(hit) for hit in hits], text, SEARCH)
    note_hits(app, answered, SEARCH, text, hits)
    if not args.json:
        app.notices(_totals(found))


def _search_stores(args: argparse.Namespace, app: App) -> None:
    """Search many stores, by words."""
    import os

    from gitmem.search.stores import ALL, find_stores, search_stores

    if args.deep or args.history or args.at:
        raise UsageError("--stores searches the files as they are now.", "Leave out --deep, --history and --at.")
    where = args.stores if args.stores == ALL else app.path(args, args.stores)
    if where != ALL and not os.path.isdir(where):
        raise NotFoundError(f"There is no folder {where}.", "--stores takes a folder with stores below it, or 'all'.")
    roots = find_stores(where, app.home())
    answer = search_stores(roots, app.context(), " ".join(args.query), limit=args.limit, ended=args.all)
    value = [{"store": hit.store, **hit_value(hit.hit)} for hit in answer.hits]
    shown = [hit.hit._replace(path=os.path.join(hit.store, hit.hit.path)) for hit in answer.hits]
    app.answer(args, value, hits_text(shown, _marks(args, app), by_layer=False, style=app.styled), SEARCH)
    if not args.json:
        unreadable = f" {', '.join(answer.unreadable)} could not be read, or has no yes." if answer.unreadable else ""
        app.notices((f"{len(answer.hits)} hits in {answer.stores:,} stores.{unreadable}",))


def _totals(found: SearchAnswer) -> tuple[str, ...]:
    """Return a notice of how many hits are shown of how many, or that there are none."""
    if not found.hits:
        return ("Nothing found. Try fewer words, --history or --deep.",)
    notices = []
    if all(hit.weak for hit in found.hits):
        notices.append("Nothing fits well: these hits share few of the query's words.")
    if found.total != len(found.hits):
        more = "" if found.complete else " or more"
        notices.append(f"{len(found.hits)} of {found.total:,}{more} hits; -n shows more.")
    return (*notices, *left_out(found))


def _marks(args: argparse.Namespace, app: App) -> tuple[str, ...]:
    return fold_words(" ".join(args.query)) if app.colour() else ()


def run_recall(args: argparse.Namespace, app: App) -> None:
    answered = find_hits(args, app)
    answer = answered.answer
    found = recall(answered.query, answer.hits, args.budget)
    value = {
        "text": found.text,
        "tokens": estimate_tokens(found.text),
        "more": found.more,
        "hits": [hit_value(hit) for hit in found.whole],
        "without_vectors": answer.without_vectors or None,
        "left_out": answer.left_out,
    }
    app.answer(args, value, found.text, OWN)
    note_hits(app, answered, RECALL, found.text, found.whole)
    if not found.text and not args.json:
        why = "Nothing found." if not answer.hits else "No entry fits into this budget. Give a larger --budget."
        if answer.hits and answer.hits[0].is_beside:
            why = "Only other parts of the project have something on it: 'gitmem search' shows it."
        app.notices((why,))
    if not args.json:
        app.notices(left_out(answer))


def run_keywords(args: argparse.Namespace, app: App) -> None:
    store = app.settled(args)
    if args.word is not None:
        hits = answer(store, args.word, limit=0 if args.limit is None else args.limit).hits
        text = hits_text(hits, fold_words(args.word), by_layer=False, style=app.styled)
        app.answer(args, [hit_value(hit) for hit in hits], text, "keywords")
        return
    found, estimated = keywords(store, MOST if args.limit is None else args.limit)
    app.answer(
        args,
        [fields(one, "word count") for one in found],
        "\n".join(f"{keyword.count:>6}  {plain(keyword.word)}" for keyword in found),
        "keywords",
    )
    if estimated and not args.json:
        app.notices(("The numbers are estimated from a sample of the files.",))


def run_get(args: argparse.Namespace, app: App) -> None:
    store, args.where = layer_of(app.settled(args), args.where)
    began = store.context.clock()
    place = re.fullmatch(r"(?P<path>.+?)(?::(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?)?", args.where, re.DOTALL)
    if place is None:
        raise UsageError("A place is PATH, PATH:LINE or PATH:LINE-LINE.", "'gitmem search' prints such places.")
    lines = [int(place[name]) if place[name] else None for name in ("first", "last")]
    if args.at is None and is_handle(args.where):
        passage = read_memory(store, args.where)
    else:
        passage = read_passage(store, place["path"], *lines, commit=named_commit(args, store))
    value = fields(passage, "path start_line=start end_line=end text tokens")
    app.answer(args, value, plain(passage.text), f"get {plain(args.where)}")
    ids = (args.where.removeprefix("^"),) if args.at is None and is_handle(args.where) else ()
    note_asked(store, GivenText(began, app.session(), GET, ids), "" if app.out.isatty() else passage.text)
