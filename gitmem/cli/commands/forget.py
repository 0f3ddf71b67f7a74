"""Remove memories: old ones, unhelpful ones, transcripts, or a text from all history."""

from __future__ import annotations

import argparse
import re
from dataclasses import asdict

from gitmem.archives.clear import OLD_DAYS, Cleared, clear
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


def configure_clear(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("old", "all"), help="old: logs, archives and sessions; all: the whole memory")
    parser.add_argument("--days", type=int, metavar="N", help="with 'old': more than N days ago (default: 30)")
    parser.add_argument("--dry-run", action="store_true", help="only list the files to remove")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run_clear(args: argparse.Namespace, app: App) -> None:
    """Remove old files, or all, from the memory, after a preview and a question. 'gitmem undo' brings them back.

    'old' means daily logs, weeks, months, archives and sessions from more than 30 days ago; summaries, facts and
    memory.md stay. 'all' leaves an empty memory.md and the settings. It is one commit. History keeps everything, so to
    get rid of a secret use 'gitmem purge'. Raw transcripts are on refs of their own and stay: see 'gitmem forget'.

    With --json: {dry_run, files, bytes, commit}.

    Examples:
      gitmem clear old --dry-run
      gitmem clear old --days 90
      gitmem clear all --yes

    """
    if args.days is not None and (args.what == "all" or args.days < 0):
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


def configure_cleanup(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="list the files that would go, change nothing")


def run_cleanup(args: argparse.Namespace, app: App) -> None:
    """Remove episodes and bug patterns that never helped, in one commit.

    An episode goes if it is older than cleanup.max_age_days, did not help and was shown less than twice; a bug pattern
    if the error has not come for 90 days and its fix was used less than cleanup.min_usage_count times. 'gitmem undo'
    brings them back.

    With --json: {episodes, patterns, commit}; the first two are lists of files.

    Examples:
      gitmem cleanup --dry-run
      gitmem cleanup

    """
    done = clean_up(app.settled(args), dry_run=args.dry_run)
    files = (*done.episodes, *done.patterns)
    numbers = f"{count(len(done.episodes), 'episode')} and {count(len(done.patterns), 'bug pattern')}"
    lines = (
        [f"{numbers} would go:", *files] if args.dry_run else [f"Removed {numbers}; 'gitmem undo' brings them back."]
    )
    app.answer(args, asdict(done), "\n".join(lines) if files else "There is nothing to clean up.")


def configure_forget(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--transcripts", action="store_true", help="the raw transcripts of sessions")
    what.add_argument("--author", metavar="NAME", help="all that an author brought, by name or address, everywhere")
    what.add_argument("--session", metavar="ID", help="all that a session brought, everywhere")
    parser.add_argument("--before", metavar="DATE", help="only sessions that began before this date (default: all)")
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run_forget(args: argparse.Namespace, app: App) -> None:
    """Remove memories; each part shows first what it will do.

    'forget clear' empties the memory in a way that can be undone, 'forget purge' removes a text from history as well,
    and --transcripts deletes raw transcripts here, for good, and frees their disk space; memory of the sessions stays.

    --author and --session take what an author or a session brought out of all history, as a purge does: entries,
    facts, transcripts, the author's address. Every other clone asks first, at its next sync.

    With --json: {dry_run, sessions, size, kept, freed, notices}, sizes in bytes; with --author and --session as
    'forget purge'.

    Examples:
      gitmem forget clear old --dry-run
      gitmem forget purge --secret --dry-run
      gitmem forget --transcripts --dry-run
      gitmem forget --transcripts --before 2026-06-01
      gitmem forget --transcripts --yes --json
      gitmem forget --author ada@example.org --dry-run
      gitmem forget --session 1b4e51f0-6c1e-4b9e-9d3a-2f0f5a4c7e11 --yes && gitmem sync

    """
    if args.author or args.session:
        _erase(args, app)
        return
    if not args.transcripts:
        raise UsageError(
            "There is nothing to forget yet.",
            "Say what: clear old, clear all, cleanup, purge TEXT, or --transcripts ('gitmem forget --help').",
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


def configure_purge(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("text", nargs="?", metavar="TEXT", help="the exact text; '-' reads it from standard input")
    which.add_argument("--regex", metavar="PATTERN", help="every match of this pattern (Python's syntax) within a line")
    which.add_argument("--secret", action="store_true", help="every secret that redaction finds in history")
    parser.add_argument("--dry-run", action="store_true", help="only list the matches to purge")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run_purge(args: argparse.Namespace, app: App) -> None:
    """Remove a text from the memory and its whole history, for good. '(purged)' takes its place.

    History is rewritten: all branches of the store, files, names and messages, what waits in the spool, backups,
    stashes and reflogs. Then every object is read to check that the text is gone. This cannot be undone. Other machines
    purge their copies at their next sync, and keep what they saved meanwhile. A text on the command line stays in your
    shell's history: '-' reads it from standard input.

    With --json: {dry_run, texts, files, commits, rewritten, objects, notices, beyond}; beyond lists what could not be
    reached.

    Examples:
      gitmem purge --secret --dry-run
      gitmem purge --regex 'customer-[0-9]+' --dry-run
      gitmem purge - < leaked-key.txt
      gitmem purge "hunter2-staging" --yes && gitmem sync

    """
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
