"""`gitmem recall`: print memories of a subject, as context for an agent."""

from __future__ import annotations

from gitmem.cli.hits import add_search_arguments, find_hits, hit_value, left_out, note_hits
from gitmem.errors import ExitCode
from gitmem.memory.guide.given import RECALL

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door

CANDIDATES = 50  # hits of which those are recalled that fit
BUDGET = 2_000  # tokens


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem recall`."""
    from gitmem.cli.arguments import count

    parser.add_argument("query", nargs="+", metavar="QUERY", help="what to look for, as for 'gitmem search'")
    parser.add_argument("--budget", type=count, default=BUDGET, metavar="N", help=f"tokens at most (default: {BUDGET})")
    add_search_arguments(parser, CANDIDATES)


def run(args: argparse.Namespace, door: Door) -> int:
    """Print memories of a subject as context for an agent: the best entries whole, within a budget.

    The text is fenced and marked as data. A token is counted as four bytes of UTF-8.

    With --json: {text, tokens, more, hits, without_vectors, left_out}, the hits as 'gitmem search --json' prints them.
    more is the number of hits that did not fit, left_out that of facts that no longer hold; without_vectors says why
    meanings were not compared, null if they were.

    Examples:
      gitmem recall which package manager
      gitmem recall --budget 500 환불 테스트
      gitmem recall --at 2026-11-01 deploy

    """
    from gitmem.search.recall import recall
    from gitmem.text.tokens import estimate_tokens

    answered = find_hits(args, door, views=True)
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
    door.answer(args, value, found.text)
    note_hits(door, answered, RECALL, found.text, found.whole)
    if not found.text and not args.json:
        door.notices(
            ("Nothing found." if not answer.hits else "No entry fits into this budget. Give a larger --budget.",)
        )
    if not args.json:
        door.notices(left_out(answer))
    return ExitCode.OK
