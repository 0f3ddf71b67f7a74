"""`gitmem search`: find memories."""

from __future__ import annotations

from gitmem.cli.hits import (
    LAYERS,
    add_search_arguments,
    find_hits,
    fold_words,
    hit_value,
    hits_text,
    left_out,
    note_hits,
)
from gitmem.errors import ExitCode
from gitmem.memory.guide.given import SEARCH

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.search.engine import Answer

SEARCH_LIMIT = 10  # hits


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem search`."""
    parser.add_argument("query", nargs="+", metavar="QUERY", help="what to look for")
    parser.add_argument(
        "--by",
        choices=("layer", "score"),
        default="score",
        help="the best first (default), or by layer",
    )
    parser.add_argument("--deep", action="store_true", help="search the raw transcripts of sessions, too")
    parser.add_argument("--history", action="store_true", help="search old commits, too")
    add_search_arguments(parser, SEARCH_LIMIT)


def run(args: argparse.Namespace, door: Door) -> int:
    """Find memories, each once, the best first.

    Words are found in all their forms, in English and Korean, and inside identifiers. There is no index, so a text
    saved or edited a moment ago is found. A query may contain "an exact phrase", -without, path:daily, type:decision,
    tag:build, since:2026-11-01, until:yesterday, session:1b4e51f0, author:kim and author:me. To begin a query
    with a dash, write -- before it.

    With --json: a list of {path, start_line, end_line, heading, layer, field, type, tags, date, session, author, entry,
    score, snippet, tokens, commit, text, weak, status, others, own, views}; what is not known is null, and so is author
    if it is you. commit is set for hits that only history holds. text is the memory, or of a long one the request and
    its best part. A weak hit shares little with the query. status is that of a fact that does not hold, or is disputed,
    or "before" where a newer hit is on the same subject; others are the ids of what holds, contradicts or is newer. own
    is true for your own rules and preferences (gitmem --user save), which are found in every project. views are the
    other places of the same memory.

    Examples:
      gitmem search which package manager
      gitmem search 환불 테스트 --by layer
      gitmem search 'type:decision since:"2 weeks ago" cache'
      gitmem search --history "the plan we gave up"
      gitmem search --at 2026-11-01 deploy

    """
    answered = find_hits(args, door, deep=args.deep, history=args.history)
    found = answered.answer
    hits = found.hits
    by_layer = args.by == "layer"
    if by_layer:
        hits.sort(key=lambda hit: list(LAYERS).index(hit.layer))
    text = hits_text(hits, _marks(args, door), by_layer=by_layer, colour=door.colour())
    door.answer(args, [hit_value(hit) for hit in hits], text, SEARCH)
    note_hits(door, answered, SEARCH, text, hits)
    if not args.json:
        door.notices(_totals(found))
    return ExitCode.OK


def _totals(found: Answer) -> tuple[str, ...]:
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


def _marks(args: argparse.Namespace, door: Door) -> tuple[str, ...]:
    return fold_words(" ".join(args.query)) if door.colour() else ()
