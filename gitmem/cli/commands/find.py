"""Find memories: search, recall, keywords, and lines of one document."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

from gitmem.cli.app import OWN, App
from gitmem.cli.arguments import Args
from gitmem.errors import ExitCode, UsageError
from gitmem.history.records import resolve
from gitmem.llm.providers import LACKS_LOCAL, choose
from gitmem.platform.barred import first_barred
from gitmem.platform.machine import datetime, install_command
from gitmem.search.engine import SearchAnswer, answer
from gitmem.search.filters import check_types
from gitmem.search.hits import Hit
from gitmem.search.many_stores import ALL, find_stores, search_stores
from gitmem.search.passages import read_passage
from gitmem.search.query import FILTERS, check_query, parse_query
from gitmem.search.recall import MOST_KEYWORDS, is_handle, keywords, layer_of, read_memory, recall, with_other_layers
from gitmem.search.troubles import is_unreported
from gitmem.store.store import Store
from gitmem.tell.usage_log import GET, RECALL, SEARCH, ShownText, handles, record_shown
from gitmem.text.sentences import count
from gitmem.text.terminal import cells, fields, plain
from gitmem.text.words import estimate_tokens

LAYERS = {
    "memory": "memory.md",
    "knowledge": "summaries and facts",
    "logs": "archives and logs",
    "transcripts": "transcripts",
}
_SHORT = 10  # characters of an object id


def find_hits(
    args: Args, app: App, *, deep: bool = False, history: bool = False
) -> tuple[Store, datetime, SearchAnswer]:
    """Return the searched store, the start time, and the answer; print once an hour why vectors were left out."""
    query = " ".join(args.query)
    check_query(query)
    store = app.settled()
    began = store.context.clock()
    at = named_commit(args, store)
    found = answer(store, query, limit=args.limit, deep=deep, history=history, ended=args.all, at=at)
    if at is None:
        found = with_other_layers(store, query, found, args.limit)
    if not found.hits:
        check_types(query)
    if found.without_vectors and is_unreported(store.private, "search", found.without_vectors):
        app.notices((f"Only words were compared, not meanings. {found.without_vectors}",))
    return store, began, found


def left_out(answer: SearchAnswer) -> tuple[str, ...]:
    """Return a notice of the number of ended facts that were left out, if any."""
    if not answer.left_out:
        return ()
    are = "is" if answer.left_out == 1 else "are"
    return (f"{count(answer.left_out, 'fact')} {are} left out, as no longer in force; --all finds them, too.",)


def named_commit(args: Args, store: Store) -> str | None:
    """Return the commit that `--at` names, None without it."""
    if args.at is None:
        return None
    return resolve(store, args.at)


def hit_value(hit: Hit) -> dict[str, object]:
    """Return a hit for JSON; unknown values are null."""
    return {
        **fields(
            hit, "path start_line=start end_line=end heading? layer field? type=label? tags date? session? author?"
        ),
        **fields(hit, "entry? score"),
        "snippet": hit.shown_snippet,
        **fields(hit, "tokens commit?"),
        "text": hit.shown(hit.passage),
        **fields(hit, "weak status? others own views part? found?"),
    }


def hits_text(app: App, hits: Sequence[Hit], query: str, *, by_layer: bool = False) -> str:
    """Return hits for people: place, date and type, on a narrow terminal on two lines; the snippet below."""
    words = {needle.text for term in parse_query(query).terms for needle in term.needles} if app.colour() else ()
    marks = sorted(words, key=len, reverse=True)
    screen = app.screen(app.out)
    lines: list[str] = []
    layer = ""
    for hit in hits:
        if by_layer and hit.layer != layer:
            layer = hit.layer
            lines += ["", app.styled("heading", LAYERS[layer])][not lines :]
        place = plain(hit.place)
        gone = f"only in history: gitmem get --at {hit.commit[:_SHORT]} {place}" * bool(hit.commit)
        facts = plain(hit.about(hit.date, gone))
        between = "  " if screen is None or cells(f"{place}  {facts}") <= screen.columns else "\n    "
        lines.append(f"{app.styled('place', place)}{between}{app.styled('aside', facts)}".rstrip())
        lines.append(f"    {_highlighted(plain(hit.shown_snippet), marks, app.styled)}")
        if hit.views:
            lines.append(app.styled("aside", f"    also: {plain(', '.join(hit.views))}"))
    return "\n".join(lines)


def _highlighted(text: str, marks: Sequence[str], style: Callable[[str, str], str]) -> str:
    if not marks:
        return text
    # The search uses the stem of a Latin word, but the whole word is highlighted.
    words = (re.escape(mark) + r"[a-z]*" * mark[-1:].isascii() for mark in marks)
    pattern = re.compile("|".join(words), re.IGNORECASE)
    return pattern.sub(lambda match: style("match", match[0]), text)


def run_search(args: Args, app: App) -> int:
    if args.stores is not None:
        _search_stores(args, app)
        return ExitCode.OK
    store, began, answer = find_hits(args, app, deep=args.deep, history=args.history)
    hits, query = answer.hits, " ".join(args.query)
    by_layer = args.by == "layer"
    if by_layer:
        hits.sort(key=lambda hit: list(LAYERS).index(hit.layer))
    text = hits_text(app, hits, query, by_layer=by_layer)
    app.answer([hit_value(hit) for hit in hits], text, SEARCH, aside=_totals(store, answer, query))
    # A text on a user's terminal costs no tokens.
    record_shown(store, ShownText(began, app.session(), SEARCH, handles(hits)), text if app.for_agent() else "")
    if error := first_barred(store.root):
        app.notices((f"Not searched: {error.sentences}",))
        return error.exit_code
    return ExitCode.OK


def _search_stores(args: Args, app: App) -> None:
    """Search many stores, by words."""
    if args.deep or args.history or args.at:
        raise UsageError("--stores searches the files as they are now.", "Leave out --deep, --history and --at.")
    where = args.stores if args.stores == ALL else app.path(args.stores)
    roots = find_stores(where, app.home())
    answer = search_stores(roots, app.context(), " ".join(args.query), limit=args.limit, ended=args.all)
    hits = [{"store": hit.store, **hit_value(hit.hit)} for hit in answer.hits]
    value = {"hits": hits, "stores": answer.stores, "left_out": answer.unreadable}
    shown = [hit.hit._replace(path=os.path.join(hit.store, hit.hit.path)) for hit in answer.hits]
    unreadable = f" {', '.join(answer.unreadable)} could not be read, or has no yes." if answer.unreadable else ""
    aside = f"{count(len(answer.hits), 'hit')} in {count(answer.stores, 'store')}.{unreadable}"
    app.answer(value, hits_text(app, shown, " ".join(args.query)), SEARCH, aside=(aside,))


def _nothing(store: Store, query: str, more: str) -> str:
    """Return that nothing was found, and what may find it."""
    if re.search(rf"(?i)\b({'|'.join(FILTERS)}):(\s|$)", query):
        return "Nothing found. A filter takes no blank after its colon: author:bo."
    parsed = parse_query(query)
    other = "fewer or other words, another language" if len(parsed.terms) > 1 else "another word or language"
    filters = " and ".join(f"{name}:{value}" for name, value in parsed.filters)
    said = f"Nothing found{f' with {filters}' if filters else ''}. "
    said += f"Try {other if parsed.terms else 'another filter'}, {more}."
    is_by_words = LACKS_LOCAL in choose(store.config.embedding, store.context.environ).reason
    return f"{said} To compare meanings, too: {install_command('local')}" if is_by_words else said


def _totals(store: Store, answer: SearchAnswer, query: str) -> tuple[str, ...]:
    """Return a notice with the numbers of shown and of all hits, or that there are none."""
    if not answer.hits:
        return (_nothing(store, query, "--history (what was removed) or --deep (transcripts)"),)
    notices = []
    if all(hit.weak for hit in answer.hits):
        notices.append("Nothing fits well: these hits share few of the query's words.")
    if answer.total != len(answer.hits):
        more = "" if answer.complete else " or more"
        notices.append(f"{len(answer.hits)} of {answer.total:,}{more} hits; -n shows more.")
    return (*notices, *left_out(answer))


def run_recall(args: Args, app: App) -> None:
    store, began, answer = find_hits(args, app)
    query = " ".join(args.query)
    recalled = recall(query, answer.hits, args.budget)
    value = {
        "text": recalled.text,
        "tokens": estimate_tokens(recalled.text),
        "more": recalled.more,
        "hits": [hit_value(hit) for hit in recalled.whole],
        "without_vectors": answer.without_vectors or None,
        "left_out": answer.left_out,
    }
    why = "No entry fits into this budget. Give a larger --budget."
    if not answer.hits:
        why = _nothing(store, query, "or 'gitmem search --deep' (transcripts)")
    elif answer.hits[0].is_beside:
        why = "Only other parts of the project have something on it: 'gitmem search' shows it."
    app.answer(value, recalled.text, OWN, aside=("" if recalled.text else why, *left_out(answer)))
    printed = recalled.text if app.for_agent() else ""
    record_shown(store, ShownText(began, app.session(), RECALL, handles(recalled.whole)), printed)


def run_keywords(args: Args, app: App) -> None:
    store = app.settled()
    if args.word is not None:
        check_query(args.word)
        hits = answer(store, args.word, limit=0 if args.limit is None else args.limit).hits
        text, aside = hits_text(app, hits, args.word), "" if hits else "Nothing found."
        app.answer([hit_value(hit) for hit in hits], text, "keywords", aside=(aside,))
        return
    counted, estimated = keywords(store, MOST_KEYWORDS if args.limit is None else args.limit)
    text = "\n".join(f"{keyword.count:>6}  {plain(keyword.word)}" for keyword in counted)
    aside = "The numbers are estimated from a sample of the files." if estimated else "No keywords yet." * (not counted)
    app.answer(counted, text, "keywords", aside=(aside,))


def run_get(args: Args, app: App) -> None:
    store, args.where = layer_of(app.settled(), args.where)
    began = store.context.clock()
    place = re.fullmatch(r"(?P<path>.+?)(?::(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?)?", args.where, re.DOTALL)
    if place is None:
        raise UsageError("A place is PATH, PATH:LINE or PATH:LINE-LINE.", "'gitmem search' prints such places.")
    lines = [int(place[name]) if place[name] else None for name in ("first", "last")]
    if lines[1] is not None and lines[1] < (lines[0] or 0):
        raise UsageError(f"In {args.where} the last line comes before the first.", "Write PATH:FROM-TO.")
    if args.at is None and is_handle(args.where):
        passage = read_memory(store, args.where)
    else:
        passage = read_passage(store, place["path"], *lines, commit=named_commit(args, store))
        app.notices((passage.gone,) if passage.gone else ())
    value = fields(passage, "path start_line=start end_line=end text tokens")
    app.answer(value, plain(passage.text), f"get {plain(args.where)}")
    ids = (args.where.removeprefix("^"),) if args.at is None and is_handle(args.where) else ()
    record_shown(store, ShownText(began, app.session(), GET, ids), passage.text if app.for_agent() else "")
