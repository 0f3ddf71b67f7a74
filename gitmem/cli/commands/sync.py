"""`gitmem sync`: exchange commits with other machines."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from gitmem.cli.app import App, now
from gitmem.cli.output import Progress
from gitmem.errors import ExitCode, UnreachableError
from gitmem.store.findings import Failure, FailureLog
from gitmem.sync.guard import Accept
from gitmem.sync.remotes import find_remote, remotes
from gitmem.sync.rounds import Options, Synced
from gitmem.sync.sync import sync_in_background, sync_remote
from gitmem.text.sentences import count
from gitmem.text.terminal import plain

_REVIEWED = 5  # documents that are named


def configure_sync(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem sync`."""
    parser.add_argument("remote", nargs="?", help="a remote (default: all)")
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        choices=[accept.value for accept in Accept],
        help="go on where it would stop: most of the memory would be removed, the remote was rewritten or emptied, its "
        "memory is that of another project, or a purge from elsewhere affects most files here",
    )
    parser.add_argument("--background", action="store_true", help="ask nothing and print nothing, as hooks do")


def run_sync(args: argparse.Namespace, app: App) -> int:
    """Exchange commits with other machines: fetch, merge and push. It never leaves a conflict and never forces a push.

    Offline, everything waits for the next sync (exit code 10). Where both sides changed the same words, both versions
    are kept and marked; 'gitmem review' lists them.

    With --json: {remote, commit, came, went, review, rounds, notices}, or a list of these for several remotes.

    Examples:
      gitmem sync
      gitmem sync origin --json
      gitmem sync --accept deletions
      gitmem config sync.auto interval      sync by itself, every sync.minutes while sessions run

    """
    if args.background:
        return _background(args, app)
    store = app.settled(args)
    chosen = [find_remote(store, args.remote)] if args.remote else remotes(store) or [find_remote(store, None)]
    with Progress(app.err) as progress:
        options = Options(tuple(map(Accept, args.accept)), progress.step)
        done = [sync_remote(store, remote, options, asks=app.can_ask()) for remote in chosen]
    for one in done:
        app.notices(one.notices)
    value = [asdict(one) for one in done]
    app.answer(args, value[0] if len(value) == 1 else value, "\n".join(map(_words, done)))
    app.maintain_later(store)
    return ExitCode.OK


def _background(args: argparse.Namespace, app: App) -> int:
    """Sync behind a hook: log failures, except being offline."""
    store = app.settled(args)
    for error in sync_in_background(store, Options()):
        if not isinstance(error, UnreachableError):
            FailureLog(store.private).record(Failure(now(), "sync", error.sentences))
    return ExitCode.OK


def _words(done: Synced) -> str:
    came, went = (count(number, "commit") if number else "nothing" for number in (done.came, done.went))
    text = f"Synced with {done.remote}: received {came}, sent {went}"
    if done.review:
        names = ", ".join(done.review[:_REVIEWED]) + (", ..." if len(done.review) > _REVIEWED else "")
        return plain(f"{text}; {count(len(done.review), 'document')} to review: {names}.")
    return plain(f"{text}.")
