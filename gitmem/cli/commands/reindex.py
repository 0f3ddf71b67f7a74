"""`gitmem reindex`: make the vectors with which a search compares meanings."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from gitmem.cli.arguments import count
from gitmem.cli.terminal import Bar
from gitmem.errors import BusyError, ExitCode, GitmemError
from gitmem.machine.processes import lower_priority

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.llm.protocol import Embedder
    from gitmem.search.vectors.fill import Filled
    from gitmem.store.store import Store

_BACKGROUND_SECONDS = 600.0
_FOREGROUND_SECONDS = 7 * 24 * 3600.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem reindex`."""
    from gitmem.llm.embedders import PROVIDERS

    parser.add_argument("--afresh", action="store_true", help="delete all vectors and make them again")
    parser.add_argument("--provider", choices=PROVIDERS, help="use this provider in place of the one in the settings")
    parser.add_argument(
        "--seconds",
        type=count,
        default=0,
        metavar="N",
        help="stop after N seconds and keep what is done (default: never)",
    )
    parser.add_argument(
        "--background", action="store_true", help="run with low priority, for at most ten minutes, without output"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Make missing vectors, so that a search also finds texts with the same meaning in other words.

    Searching for words needs no index. Vectors are a cache in the private folder. A model makes them: on this machine
    (the extra 'local'), or at a provider that you name in your own settings, which is then sent the
    text of the store without its secrets. After a save, missing vectors are made in the background. An interrupted run
    goes on where it ended.

    With --json: {provider, model, reason, chunks, embedded, left, tokens, cost, problem}; cost is in US dollars, null
    if the price is not known.

    Examples:
      gitmem reindex
      gitmem reindex --afresh
      gitmem config embedding.provider openai --user
      gitmem config embedding.base_url http://localhost:11434/v1 --user

    """
    from gitmem.llm.embedders import VARIABLE, choose, make_embedder

    store = door.open(args) if args.background else door.settled(args)
    environ = {**door.environ, VARIABLE: args.provider} if args.provider else door.environ
    chosen = choose(store.config.embedding, environ)
    if args.background:
        return _in_background(store, make_embedder(store.config.embedding, environ))
    embedder = make_embedder(store.config.embedding, environ)
    if embedder is None:
        value = {"provider": chosen.provider, "model": None, "reason": chosen.reason}
        door.answer(args, value, f"Nothing to do: searches compare words only ({chosen.reason}).")
        return ExitCode.OK
    from gitmem.search.vectors.fill import fill

    bar = Bar(door.err)
    try:
        filled = fill(
            store, embedder, seconds=args.seconds or _FOREGROUND_SECONDS, afresh=args.afresh, progress=bar.show
        )
    finally:
        bar.clear()
    value = {"provider": embedder.name, "model": embedder.model, "reason": chosen.reason, **filled._asdict()}
    door.answer(args, value, _words(embedder, filled))
    if filled.problem and not args.json:
        door.notices((filled.problem,))
    return ExitCode.FAILURE if filled.problem and not args.seconds else ExitCode.OK


def _in_background(store: Store, embedder: Embedder | None) -> int:
    """Keep the texts of a large store, and make vectors until none is missing; log a failure once."""
    from gitmem.search.sources import renew_texts
    from gitmem.search.vectors.cache import is_news
    from gitmem.search.vectors.fill import fill
    from gitmem.store.upkeep.failures import Failure, FailureLog

    lower_priority()
    with contextlib.suppress(OSError, BusyError):  # it only saves prompts time
        renew_texts(store)
    if embedder is None:
        return ExitCode.OK
    end = time.monotonic() + _BACKGROUND_SECONDS
    problem = ""
    try:
        while time.monotonic() < end and not problem:
            filled = fill(store, embedder, seconds=end - time.monotonic())
            problem = filled.problem
            if not filled.embedded:
                break
    except BusyError:
        return ExitCode.OK
    except GitmemError as error:
        problem = str(error)
    if is_news(store.private, "reindex", problem):
        FailureLog(store.private).record(Failure(store.context.clock(), "reindex", problem))
    return ExitCode.FAILURE if problem else ExitCode.OK


def _words(embedder: Embedder, filled: Filled) -> str:
    from gitmem.text.quantities import count as counted

    cost = f", about ${filled.cost:.4f}" if filled.cost else ""
    made = (
        f"{filled.embedded:,} made now ({filled.tokens:,} tokens{cost})" if filled.embedded else "no vector was missing"
    )
    left = f"; {filled.left:,} are still missing" if filled.left else ""
    return f"{counted(filled.chunks, 'chunk')}, vectors from {embedder.name} ({embedder.model}): {made}{left}."
