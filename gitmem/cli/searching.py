"""`gitmem search`, `recall`, `get` and `keywords`: finding again what is remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli import answers
from gitmem.cli.reading import count
from gitmem.errors import ExitCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gitmem.cli.door import Door
    from gitmem.search.hits import Hit

_LAYER_TITLES = {
    "memory": "memory.md",
    "knowledge": "summaries and facts",
    "logs": "archives and logs",
    "transcripts": "transcripts",
}
_BOLD, _DIM, _FOUND, _END = "\033[1m", "\033[2m", "\033[1;33m", "\033[0m"


def configure_search(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem search`."""
    parser.add_argument("query", nargs="+", metavar="QUERY", help="what to look for")
    parser.add_argument("--by", choices=("layer", "score"), default="layer", help="how hits are ordered")
    parser.add_argument(
        "-n", "--limit", type=count, default=10, metavar="N", help="at most so many (default: 10); 0 for all"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_search(args: argparse.Namespace, door: Door) -> int:
    """Find what is remembered about something, best first within memory.md, summaries and facts, archives and logs.

    Words are found in all their forms, in English and Korean. There is no index: what was saved or edited a
    moment ago is found.

    With --json: a list of {path, start_line, end_line, heading, layer, field, type, tags, date, session, entry,
    score, snippet, tokens}.

    Examples:
      gitmem search "which package manager"
      gitmem search 환불 테스트 --by score

    """
    from gitmem.search.engine import search

    store = door.settled(args)
    hits = search(store, " ".join(args.query), limit=args.limit)
    if args.by == "layer":
        hits = sorted(hits, key=lambda hit: list(_LAYER_TITLES).index(hit.layer))
    door.answer(
        args, [hit_value(hit) for hit in hits], hits_text(hits, by_layer=args.by == "layer", colour=door.colour())
    )
    if not hits and not args.json:
        door.notices(("Nothing of this is remembered.",))
    return ExitCode.OK


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
    }


def hits_text(hits: Sequence[Hit], *, by_layer: bool, colour: bool) -> str:
    """Return hits for people: place and facts on one line, the snippet below."""
    lines: list[str] = []
    layer = ""
    for hit in hits:
        if by_layer and hit.layer != layer:
            layer = hit.layer
            lines += ["", _styled(_LAYER_TITLES[layer], _BOLD, colour=colour)][not lines :]
        place = f"{hit.path}:{hit.start}" + (f"-{hit.end}" if hit.end > hit.start else "")
        facts = ", ".join(filter(None, (hit.date, hit.label or hit.field or hit.heading, hit.session[:8])))
        shown = _styled(answers.plain(place), _FOUND, colour=colour)
        lines.append(f"{shown}  {_styled(answers.plain(facts), _DIM, colour=colour)}".rstrip())
        lines.append(f"    {answers.plain(hit.snippet)}")
    return "\n".join(lines)


def _styled(text: str, style: str, *, colour: bool) -> str:
    return f"{style}{text}{_END}" if colour and text else text
