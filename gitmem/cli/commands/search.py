"""`gitmem search`, `recall`, `get` and `keywords`: finding again what is remembered."""

from __future__ import annotations

import os
import re

from gitmem.errors import ExitCode, UsageError
from gitmem.text.terminal import plain

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gitmem.cli.door import Door
    from gitmem.search.hits import Hit
    from gitmem.store.store import Store

_LAYERS = {
    "memory": "memory.md",
    "knowledge": "summaries and facts",
    "logs": "archives and logs",
    "transcripts": "transcripts",
}
CANDIDATES = 50  # hits of which those are recalled that fit
SEARCH_LIMIT = 10  # hits
BUDGET = 2_000  # tokens
_SHORT = 10  # characters of an object id
_BOLD, _DIM, _PLACE, _FOUND, _END = "\033[1m", "\033[2m", "\033[36m", "\033[1;33m", "\033[0m"


def configure_search(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem search`."""
    parser.add_argument("query", nargs="+", metavar="QUERY", help="what to look for")
    parser.add_argument("--by", choices=("layer", "score"), default="layer", help="how hits are grouped")
    parser.add_argument("--deep", action="store_true", help="look into the raw transcripts of sessions too")
    parser.add_argument("--history", action="store_true", help="find also what only old commits hold")
    _add_common(parser, SEARCH_LIMIT)


def run_search(args: argparse.Namespace, door: Door) -> int:
    """Find what is remembered about something: memory.md first, then summaries and facts, then archives and logs.

    Words are found in all their forms, in English and Korean; parts of identifiers are words. There is no index:
    what was saved or edited a moment ago is found. A query may hold "an exact phrase", -without, path:daily,
    type:decision, tag:build, since:2026-11-01, until:yesterday and session:1b4e51f0. After -- a query may begin
    with a dash.

    With --json: a list of {path, start_line, end_line, heading, layer, field, type, tags, date, session, entry,
    score, snippet, tokens, commit}; what is not known is null. A commit is given for what no file has any more.

    Examples:
      gitmem search which package manager
      gitmem search 환불 테스트 --by score
      gitmem search 'type:decision since:"2 weeks ago" cache'
      gitmem search --history "the plan we gave up"
      gitmem search --at 2026-11-01 deploy

    """
    hits, _, _ = _find(args, door, deep=args.deep, history=args.history)
    by_layer = args.by == "layer"
    if by_layer:
        hits.sort(key=lambda hit: list(_LAYERS).index(hit.layer))
    text = "" if args.json else hits_text(hits, _marks(args, door), by_layer=by_layer, colour=door.colour())
    door.answer(args, [hit_value(hit) for hit in hits], text)
    if not hits and not args.json:
        door.notices(("Nothing of this is remembered.",))
    return ExitCode.OK


def configure_recall(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem recall`."""
    from gitmem.cli.commands.show import count

    parser.add_argument("query", nargs="+", metavar="QUERY", help="what to look for, as for 'gitmem search'")
    parser.add_argument("--budget", type=count, default=BUDGET, metavar="N", help=f"tokens (default: {BUDGET})")
    _add_common(parser, CANDIDATES)


def run_recall(args: argparse.Namespace, door: Door) -> int:
    """Print what is remembered about something as context for an agent: the best entries whole, within a budget.

    The text stands in a fence that says it is data. A token is taken for four bytes of UTF-8.

    With --json: {text, tokens, more, hits, without_vectors}, the hits as 'gitmem search --json' prints them; more is
    the number of hits that did not fit, without_vectors why vectors were left out, null where they were not.

    Examples:
      gitmem recall which package manager
      gitmem recall --budget 500 환불 테스트
      gitmem recall --at 2026-11-01 deploy

    """
    from gitmem.search.recall import recall
    from gitmem.text.tokens import estimate_tokens

    hits, query, without_vectors = _find(args, door)
    found = recall(query, hits, args.budget)
    value = {
        "text": found.text,
        "tokens": estimate_tokens(found.text),
        "more": found.more,
        "hits": [hit_value(hit) for hit in found.whole],
        "without_vectors": without_vectors or None,
    }
    door.answer(args, value, plain(found.text))
    if not found.text and not args.json:
        door.notices(("Nothing of this is remembered." if not hits else "Nothing of it fits into this budget.",))
    return ExitCode.OK


def configure_get(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem get`."""
    parser.add_argument("where", metavar="PATH[:LINE[-LINE]]", help="a place as 'gitmem search' names it")
    parser.add_argument("--at", metavar="REV|DATE", help="the file as it was then")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_get(args: argparse.Namespace, door: Door) -> int:
    """Print lines of a document of the store, or with one line the entry or section that it stands in.

    Only documents of the store are read: no link is followed, and no path leads out of it.

    With --json: {path, start_line, end_line, text, tokens}.

    Examples:
      gitmem get memory.md:12
      gitmem get daily/2026/11/2026-11-21.md:10-40

    """
    from gitmem.search.units.passage import read_passage

    store = settled(args, door)
    place = re.fullmatch(r"(?P<path>.+?)(?::(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?)?", args.where, re.DOTALL)
    if place is None:
        raise UsageError("A place is PATH, PATH:LINE or PATH:LINE-LINE.", "'gitmem search' names places.")
    lines = [int(place[name]) if place[name] else None for name in ("first", "last")]
    found = read_passage(store, place["path"], *lines, commit=_commit(args, store))
    value = {
        "path": found.path,
        "start_line": found.start,
        "end_line": found.end,
        "text": found.text,
        "tokens": found.tokens,
    }
    door.answer(args, value, plain(found.text) if door.out.isatty() else found.text)
    return ExitCode.OK


def configure_keywords(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem keywords`."""
    from gitmem.cli.commands.show import count

    parser.add_argument("word", nargs="?", metavar="WORD", help="list what bears this keyword")
    parser.add_argument("-n", "--limit", type=count, metavar="N", help="at most so many; 0 for all")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_keywords(args: argparse.Namespace, door: Door) -> int:
    """List the keywords of the store with the number of entries that bear each, or the entries that bear one.

    They are derived from the files each time, so they are never stale.

    With --json: a list of {word, count}; with a WORD, hits as 'gitmem search --json' prints them.

    Examples:
      gitmem keywords
      gitmem keywords pnpm

    """
    store = settled(args, door)
    if args.word is not None:
        from gitmem.search.engine import answer

        hits = answer(store, args.word, limit=0 if args.limit is None else args.limit).hits
        text = hits_text(hits, fold_words(args.word), by_layer=False, colour=door.colour())
        door.answer(args, [hit_value(hit) for hit in hits], text)
        return ExitCode.OK
    from gitmem.search.keywords import LIMIT as MOST
    from gitmem.search.keywords import keywords

    found = keywords(store, MOST if args.limit is None else args.limit)
    value = [{"word": keyword.word, "count": keyword.count} for keyword in found]
    door.answer(args, value, "\n".join(f"{keyword.count:>6}  {plain(keyword.word)}" for keyword in found))
    return ExitCode.OK


def _add_common(parser: argparse.ArgumentParser, limit: int) -> None:
    from gitmem.cli.commands.show import count  # it brings what a search does not need

    parser.add_argument("--at", metavar="REV|DATE", help="search the files as they were then")
    parser.add_argument(
        "-n", "--limit", type=count, default=limit, metavar="N", help=f"hits at most (default: {limit}); 0 for all"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _find(
    args: argparse.Namespace, door: Door, *, deep: bool = False, history: bool = False
) -> tuple[list[Hit], str, str]:
    """Return hits, the query, and why vectors were left out; that is told, too, once an hour."""
    from gitmem.search.engine import answer

    query = " ".join(args.query)
    if not query.strip():
        raise UsageError("There is nothing in the query to look for.", "Give words, or a filter such as type:decision.")
    store = settled(args, door)
    at = _commit(args, store)
    found = answer(store, query, limit=args.limit, deep=deep, history=history, at=at)
    if found.without_vectors:
        from gitmem.search.vectors.cache import is_news

        if is_news(store.private, "search", found.without_vectors):
            door.notices((f"Found by words alone. {found.without_vectors}",))
    return found.hits, query, found.without_vectors


def settled(args: argparse.Namespace, door: Door) -> Store:
    """Return the store as `Door.settled` does; where nothing waits, what finds that out takes half of the time."""
    store = door.open(args)
    hooks = os.path.join(store.spool.folder, "hooks")
    waiting = store.spool.names() or (os.path.isdir(hooks) and os.listdir(hooks))
    return door.settled(args) if waiting or store.tip != store.marked() else store


def _commit(args: argparse.Namespace, store: Store) -> str | None:
    if args.at is None:
        return None
    from gitmem.store.history.records import resolve

    return resolve(store, args.at)


def _marks(args: argparse.Namespace, door: Door) -> tuple[str, ...]:
    return fold_words(" ".join(args.query)) if door.colour() else ()


def fold_words(query: str) -> tuple[str, ...]:
    """Return the texts that a query looks for, in lower case, the longest first: what is highlighted."""
    from gitmem.search.query.query import parse_query

    texts = {needle.text for term in parse_query(query).terms for needle in term.needles}
    return tuple(sorted(texts, key=len, reverse=True))


def hit_value(hit: Hit) -> dict[str, object]:
    """Return a hit as JSON has it; what is not known is null."""
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
        "entry": hit.entry or None,
        "score": hit.score,
        "snippet": hit.snippet,
        "tokens": hit.tokens,
        "commit": hit.commit or None,
    }


def hits_text(hits: Sequence[Hit], marks: tuple[str, ...], *, by_layer: bool, colour: bool) -> str:
    """Return hits for people: place and facts on one line, the snippet below."""
    lines: list[str] = []
    layer = ""
    for hit in hits:
        if by_layer and hit.layer != layer:
            layer = hit.layer
            lines += ["", _styled(_LAYERS[layer], _BOLD, colour=colour)][not lines :]
        place = f"{hit.path}:{hit.start}" + (f"-{hit.end}" if hit.end > hit.start else "")
        gone = f"gone since; gitmem get --at {hit.commit[:_SHORT]}" if hit.commit else ""
        facts = ", ".join(filter(None, (hit.date, hit.label or hit.field or hit.heading, hit.session[:8], gone)))
        shown = _styled(plain(place), _PLACE, colour=colour)
        lines.append(f"{shown}  {_styled(plain(facts), _DIM, colour=colour)}".rstrip())
        lines.append(f"    {_highlighted(plain(hit.snippet), marks if colour else ())}")
    return "\n".join(lines)


def _highlighted(text: str, marks: tuple[str, ...]) -> str:
    if not marks:
        return text
    pattern = re.compile("|".join(map(re.escape, marks)), re.IGNORECASE)
    return pattern.sub(lambda found: f"{_FOUND}{found[0]}{_END}", text)


def _styled(text: str, style: str, *, colour: bool) -> str:
    return f"{style}{text}{_END}" if colour and text else text
