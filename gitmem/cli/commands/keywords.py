"""`gitmem keywords`: list keywords, or the entries with one."""

from __future__ import annotations

from gitmem.cli.hits import fold_words, hit_value, hits_text
from gitmem.errors import ExitCode
from gitmem.text.terminal import plain

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem keywords`."""
    from gitmem.cli.arguments import count

    parser.add_argument("word", nargs="?", metavar="WORD", help="list the entries with this keyword")
    parser.add_argument("-n", "--limit", type=count, metavar="N", help="at most N; 0 for all")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """List the keywords of the store with the number of entries that have each, or the entries with one keyword.

    They are derived from the files each time, so they are never out of date. In a store of more than 500 files the
    numbers are estimated.

    With --json: a list of {word, count}; with a WORD, hits as 'gitmem search --json' prints them.

    Examples:
      gitmem keywords
      gitmem keywords pnpm

    """
    store = door.settled(args)
    if args.word is not None:
        from gitmem.search.engine import answer

        hits = answer(store, args.word, limit=0 if args.limit is None else args.limit).hits
        text = hits_text(hits, fold_words(args.word), by_layer=False, colour=door.colour())
        door.answer(args, [hit_value(hit) for hit in hits], text)
        return ExitCode.OK
    from gitmem.search.keywords import LIMIT as MOST
    from gitmem.search.keywords import keywords

    found, estimated = keywords(store, MOST if args.limit is None else args.limit)
    value = [{"word": keyword.word, "count": keyword.count} for keyword in found]
    door.answer(args, value, "\n".join(f"{keyword.count:>6}  {plain(keyword.word)}" for keyword in found))
    if estimated and not args.json:
        door.notices(("The numbers are estimated from a sample of the files.",))
    return ExitCode.OK
