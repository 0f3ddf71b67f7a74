"""Remove memories: old ones, unhelpful ones, transcripts, or a text from all history."""

from __future__ import annotations

import argparse
import re

from gitmem.archives.rotate import OLD_DAYS, Cleared, clear
from gitmem.cli.app import App, read_date
from gitmem.cli.output import Progress, agreed, first_of
from gitmem.errors import UsageError
from gitmem.lessons.learn import clean_up
from gitmem.purge.purge import PurgePlan, plan_erasure, plan_purge, purge
from gitmem.store.store import Store
from gitmem.store.transcripts import Forgotten, forget_transcripts
from gitmem.text.sentences import bytes_of, count
from gitmem.text.terminal import plain

_SHOWN = 20  # files that a preview lists


def run_clear(args: argparse.Namespace, app: App) -> None:
    if args.days is not None and args.what == "all":
        raise UsageError(
            "--days takes a number of days, and goes with 'old' only.", "For example: gitmem clear old --days 90"
        )
    days = None if args.what == "all" else OLD_DAYS if args.days is None else args.days
    store = app.settled(args)
    preview = clear(store, days=days, dry_run=True)
    if args.dry_run or not preview.files:
        app.answer(args, _cleared_value(preview, dry_run=args.dry_run), _would_clear(preview))
        return
    question = f"{_would_clear(preview)}\nRemove them? 'gitmem undo' brings them back."
    would = f"This would remove {_count(preview)}"
    if not agreed(app, would, question, yes=args.yes, nothing="Nothing was removed."):
        return
    done = clear(store, days=days)
    app.notices(done.notices)
    commit = (done.commit or "")[:10]
    text = f"Removed {_count(done)} in {commit}.\nTo bring them back: gitmem undo {commit}"
    app.answer(args, _cleared_value(done, dry_run=False), text if commit else "There was nothing to clear.")


def _would_clear(preview: Cleared) -> str:
    if not preview.files:
        return "There is nothing to clear."
    return plain("\n".join([f"Would remove {_count(preview)}:", *first_of(preview.files, _SHOWN)]))


def _count(cleared: Cleared) -> str:
    return f"{count(len(cleared.files), 'file')} of {bytes_of(cleared.size)}"


def _cleared_value(done: Cleared, *, dry_run: bool) -> dict[str, object]:
    return {"dry_run": dry_run, "files": list(done.files), "bytes": done.size, "commit": done.commit}


def run_cleanup(args: argparse.Namespace, app: App) -> None:
    done = clean_up(app.settled(args), dry_run=args.dry_run)
    files = (*done.episodes, *done.patterns)
    numbers = f"{count(len(done.episodes), 'episode')} and {count(len(done.patterns), 'bug pattern')}"
    lines = (
        [f"{numbers} would go:", *files] if args.dry_run else [f"Removed {numbers}; 'gitmem undo' brings them back."]
    )
    app.answer(args, done._asdict(), "\n".join(lines) if files else "There is nothing to clean up.")


def run_forget(args: argparse.Namespace, app: App) -> None:
    if args.before and not args.transcripts:
        raise UsageError("--before is about transcripts alone.", "Say --transcripts, or leave it out.")
    if args.author or args.session:
        _erase(args, app)
        return
    if not args.transcripts:
        raise UsageError(
            "What is to be forgotten is not said.",
            "Say clear old, clear all, cleanup, purge TEXT, --transcripts, --author or --session.",
        )
    store = app.settled(args)
    span = read_date(store, args.before, "--before")
    before = span.first if span else None
    planned = forget_transcripts(store, before, dry_run=True)
    if args.dry_run or not planned.sessions:
        app.answer(args, {"dry_run": args.dry_run, **planned._asdict()}, _forget_preview(planned))
        return
    would = f"This would delete {_forget_count(planned)} for good"
    question = f"{_forget_preview(planned)}\nThis cannot be undone. Delete?"
    if not agreed(app, would, question, yes=args.yes, nothing="Nothing was deleted."):
        return
    done = forget_transcripts(store, before)
    app.notices(done.notices)
    text = f"Deleted {_forget_count(done)}; this freed {bytes_of(done.freed)} of disk space."
    app.answer(args, {"dry_run": False, **done._asdict()}, text)


def _erase(args: argparse.Namespace, app: App) -> None:
    store = app.settled(args)
    with Progress(app.err) as progress:
        progress.step("searching history")
        plan = plan_erasure(store, author=args.author or "", session=args.session or "")
    _purge(args, app, store, plan, act="Forget?", nothing="Nothing was forgotten.", dry_run=args.dry_run)


def _forget_preview(planned: Forgotten) -> str:
    if not planned.sessions:
        return "There is no transcript to delete."
    return f"Would delete {_forget_count(planned)} and keep {planned.kept}."


def _forget_count(planned: Forgotten) -> str:
    return f"{count(planned.sessions, 'transcript')} of {bytes_of(planned.size)}"


def run_purge(args: argparse.Namespace, app: App) -> None:
    wanted = _wanted(args, app)
    store = app.settled(args)
    with Progress(app.err) as progress:
        progress.step("searching history")
        plan = plan_purge(store, wanted)
    _purge(args, app, store, plan, act="Purge?", nothing="Nothing was purged.", dry_run=args.dry_run or not plan.needed)


def _purge(
    args: argparse.Namespace, app: App, store: Store, plan: PurgePlan, *, act: str, nothing: str, dry_run: bool
) -> None:
    """Carry out a plan after a yes, or in a dry run print it."""
    if dry_run:
        app.answer(args, {"dry_run": args.dry_run, **plan.purge._asdict()}, _would_purge(plan))
        return
    question = f"{_would_purge(plan)}\nThis cannot be undone. {act}"
    if not agreed(app, "This rewrites history", question, yes=args.yes, nothing=nothing):
        return
    with Progress(app.err) as progress:
        progress.step("rewriting history")
        done = purge(store, plan)
    app.notices(done.notices)
    checked = f"; none of the {done.objects:,} objects holds it" if done.objects else ""
    text = f"Purged {count(done.texts, 'text')}: {count(done.rewritten, 'commit')} rewritten{checked}."
    app.answer(args, {"dry_run": False, **done._asdict()}, plain("\n".join([text, *done.beyond])))


def _wanted(args: argparse.Namespace, app: App) -> str | re.Pattern[str] | None:
    if args.regex is not None:
        try:
            return re.compile(args.regex)
        except re.error as error:
            raise UsageError(
                f"{args.regex!a} is no regular expression: {error}.",
                "For example: gitmem purge --regex 'customer-[0-9]+'",
            ) from error
    if args.text != "-":
        return None if args.secret else str(args.text)
    text = app.stdin.read().strip("\r\n")
    if not text:
        raise UsageError("There is no text on standard input.", "For example: gitmem purge - < FILE")
    return text


def _would_purge(plan: PurgePlan) -> str:
    planned = plan.purge
    if not plan.needed:
        return "The store does not hold it, and neither does its history."
    brought = f"added by {count(planned.commits, 'commit')}" if planned.commits else "which no commit holds any more"
    files = first_of(planned.files, _SHOWN)
    return plain("\n".join([f"Would purge {count(planned.texts, 'text')}, {brought}:", *files, *planned.beyond]))
