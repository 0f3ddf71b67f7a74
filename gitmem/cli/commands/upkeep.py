"""Keep a store in shape: rotate, consolidate, make vectors, pack; remove memories, or a text from all history."""

from __future__ import annotations

import contextlib
import io
import json
import re
import time

from gitmem import __version__
from gitmem.archive.clear import OLD_DAYS, Cleared, clear
from gitmem.archive.rotate import check, consolidate_due
from gitmem.cli.app import OWN, App
from gitmem.cli.arguments import Args, read_date
from gitmem.cli.output import agreed, first_of, reversal
from gitmem.cli.parser import parse
from gitmem.cli.progress import Progress
from gitmem.document.ids import MEMORY
from gitmem.errors import BusyError, ExitCode, GitmemError, UsageError
from gitmem.history.authors import look_up_all
from gitmem.history.sessions import named_session
from gitmem.llm.protocol import Embedder
from gitmem.llm.providers import choose, make_embedder
from gitmem.platform.machine import read_resource
from gitmem.purge.purge import PurgePlan, plan_erasure, plan_purge, purge
from gitmem.purge.record import MAX_TEXT
from gitmem.search.sources import renew_texts
from gitmem.search.troubles import is_unreported
from gitmem.search.vectors import fill
from gitmem.store.findings import FailureLog, LoggedFailure
from gitmem.store.jobs import Kind, exclusive_job
from gitmem.store.maintenance import Maintenance, is_due, join_listed, maintain
from gitmem.store.store import Store
from gitmem.store.transcripts import Forgotten, forget_transcripts
from gitmem.sync import proposals
from gitmem.tell.cleanup import clean_up
from gitmem.text.sentences import bytes_of, count
from gitmem.text.terminal import plain
from gitmem.text.words import tokens_of_size


def run_upkeep(args: Args, app: App) -> int:
    done, code = {}, 0
    parts = {"check": run_check, "consolidate": run_consolidate, "maintain": run_maintain, "reindex": run_reindex}
    for part, run in parts.items():
        out = io.StringIO()
        own = Args(**{**vars(parse([part])), **vars(args), "if_needed": True})
        code = max(code, run(own, app._replace(out=out, args=own)) or 0)
        done[part] = json.loads(out.getvalue()) if args.json else out.getvalue().rstrip("\n")
    app.answer(done, "\n".join(map(str, done.values())), OWN)
    return code


def run_check(args: Args, app: App) -> int:
    if args.print:
        print(read_resource("templates", "ci", CI_FILES[args.print]).decode(), end="", file=app.out)
        return ExitCode.OK
    if args.ci:
        return _check_commits(args, app)
    if args.sarif or args.base or args.authors or args.allow or args.strict:
        raise UsageError("Commits are checked with --ci alone.", "gitmem check --ci --base origin/gitmem")
    store = app.settled()
    before = tokens_of_size(len(store.read(MEMORY) or b""))
    result, notices = check(store)
    app.notices(notices)
    if result.archive:
        text = f"{app.rotated(result.archive)}\nRotated memory.md: {result.tokens:,} tokens went into {result.archive}."
    elif before >= result.threshold > result.tokens:
        text = "Nothing to do: another process has just rotated memory.md."
    else:
        text = f"Nothing to do: memory.md has {result.tokens:,} of {result.threshold:,} tokens."
    app.answer(result, text, OWN)
    return ExitCode.OK


CI_FILES = {"github": "action.yml", "gitlab": "gitlab.yml", "pre-receive": "pre-receive", "codeowners": "CODEOWNERS"}


def _check_commits(args: Args, app: App) -> int:
    git = proposals.open_for_ci(app.path(""), app.environ)
    findings = proposals.examine(git, args.base, args.head, args.authors, args.allow)
    levels = [finding.level for finding in findings]
    errors, warnings = levels.count(proposals.ERROR), levels.count(proposals.WARNING)
    value = {"errors": errors, "warnings": warnings, "findings": findings}
    lines = [
        f"{finding.path or '(commit)'}:{finding.line}: {finding.level}: {finding.message} [{finding.check}]"
        for finding in findings
    ]
    text = "\n".join([*lines, f"{count(errors, 'error')}, {count(warnings, 'warning')}."])
    args.json = args.json or args.sarif
    app.answer(proposals.sarif(findings, __version__) if args.sarif else value, text, "check" if findings else "")
    return ExitCode.FAILURE if errors or (args.strict and warnings) else ExitCode.OK


def run_consolidate(args: Args, app: App) -> None:
    store = app.settled()
    done = consolidate_due(store, dry_run=args.dry_run)
    app.notices(done.notices)
    steps, lines = [], []
    for step, commit in ((step.step, step.commit) for step in done.done):
        steps.append({"into": step.target, "period": step.period, "files": step.sources, "commit": commit})
        names = ", ".join(path.rpartition("/")[2].removesuffix(".md") for path in step.sources)
        act = "Would consolidate" if args.dry_run else f"{commit[:10] if commit else ''} Consolidated".lstrip()
        lines.append(f"{act} {names} into {step.target}")
    if done.kept:
        files = "1 file stays: its" if len(done.kept) == 1 else f"{len(done.kept)} files stay: their"
        lines.append(f"{files} consolidation was undone.")
    value = {"dry_run": bool(args.dry_run), "done": steps, "kept": done.kept}
    app.answer(value, "\n".join(lines) or "Nothing is old enough to be consolidated.", OWN)


_BACKGROUND_SECONDS = 600.0
_FOREGROUND_SECONDS = 7 * 24 * 3600.0


def run_reindex(args: Args, app: App) -> int:
    store = app.open() if args.background else app.settled()
    embedder = make_embedder(store.config.embedding, app.environ)
    if args.background:
        return _in_background(store, embedder)
    chosen = choose(store.config.embedding, app.environ)
    if embedder is None:
        value = {"provider": chosen.provider, "model": None, "reason": chosen.reason}
        app.answer(value, f"Nothing to do: searches compare words only ({chosen.reason}).", OWN)
        return ExitCode.OK
    with Progress(app.err) as bar:
        filled = fill(store, embedder, seconds=_FOREGROUND_SECONDS, afresh=args.afresh, progress=bar.show)
    value = {"provider": embedder.name, "model": embedder.model, "reason": chosen.reason, **filled._asdict()}
    cost = f", about ${filled.cost:.4f}" if filled.cost else ""
    made = [f"{filled.embedded:,} made now ({filled.tokens:,} tokens{cost})"] * bool(filled.embedded)
    left = [f"{filled.left:,} are still missing"] * bool(filled.left)
    of = f"{count(filled.chunks, 'chunk')}, vectors from {embedder.name} ({embedder.model})"
    app.answer(value, f"{of}: {'; '.join([*made, *left]) or 'no vector was missing'}.", OWN, aside=(filled.problem,))
    return ExitCode.FAILURE if filled.problem else ExitCode.OK


def _in_background(store: Store, embedder: Embedder | None) -> int:
    """Write a large store's texts, look up authors, and make all missing vectors, one store at a time."""
    with exclusive_job(store, Kind.REINDEX) as is_free:
        return _reindex(store, embedder) if is_free else ExitCode.OK


def _reindex(store: Store, embedder: Embedder | None) -> int:
    """Make the missing vectors; log a failure once."""
    with contextlib.suppress(OSError, BusyError):  # without it prompts are only slower
        renew_texts(store)
    look_up_all(store)
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
    if is_unreported(store.private, "reindex", problem):
        FailureLog(store.private).record(LoggedFailure(store.context.clock(), "reindex", problem))
    return ExitCode.FAILURE if problem else ExitCode.OK


def run_maintain(args: Args, app: App) -> None:
    store = app.settled()
    store.acceptance.check()
    if not args.if_needed:
        _maintain(args, app, store)
        return
    with exclusive_job(store, Kind.MAINTAIN) as is_free:
        if is_free:
            _maintain(args, app, store)


def _maintain(args: Args, app: App, store: Store) -> None:
    reason = ""
    if not store.has_separate_repository and not args.project:
        join_listed(store)
        reason = (
            f"The repository at {store.repository.layout.common_dir} is the project's: gitmem joined its own packs and "
            "left the rest to git. 'gitmem maintain --project' packs it all."
        )
    elif args.if_needed and not is_due(store):
        reason = "Nothing to do: the repository is well packed."
    if reason:
        app.answer({"done": False, "reason": reason}, reason, OWN)
        return
    try:
        with Progress(app.err) as progress:
            done = maintain(store, progress.step)
    except BusyError as error:
        if not args.if_needed:  # with it, gitmem itself started this, perhaps twice
            raise
        reason = f"Nothing was done: {error.message}"
        app.answer({"done": False, "reason": reason}, reason, OWN)
        return
    app.notices(done.notices)
    app.answer({"done": True, **done._asdict()}, _maintain_words(done), OWN)


def _maintain_words(done: Maintenance) -> str:
    before, after = done.before, done.after
    objects = f"{count(before.loose, 'loose object')} and {count(before.packs, 'pack')}"
    packs = f"{count(after.packs, 'pack')}: {bytes_of(before.bytes)} before, {bytes_of(after.bytes)} now."
    lines = [f"Packed {objects} into {packs}"]
    if after.loose:
        lines.append(f"Other processes added {count(after.loose, 'loose object')} meanwhile.")
    if done.removed:
        lines.append(f"Removed {count(len(done.removed), 'unfinished file')} of killed processes.")
    return "\n".join(lines)


_SHOWN = 20  # files that a preview lists


def run_clear(args: Args, app: App) -> None:
    if args.days is not None and args.what == "all":
        raise UsageError(
            "--days takes a number of days, and goes with 'old' only.", "For example: gitmem clear old --days 90"
        )
    days = None if args.what == "all" else OLD_DAYS if args.days is None else args.days
    store = app.settled()
    preview = clear(store, days=days, dry_run=True)
    if args.dry_run or not preview.files:
        app.answer(_cleared_value(preview, dry_run=args.dry_run), _would_clear(preview))
        return
    question = f"{_would_clear(preview)}\nRemove them? 'gitmem undo' brings them back."
    would = f"This would remove {_count(preview)}"
    if not agreed(app, would, question, yes=args.yes, nothing="Nothing was removed."):
        return
    done = clear(store, days=days)
    app.notices(done.notices)
    commit = (done.commit or "")[:10]
    text = f"Removed {_count(done)} in {commit}.\n{reversal(commit)}"
    app.answer(_cleared_value(done, dry_run=False), text if commit else "There was nothing to clear.")


def _would_clear(preview: Cleared) -> str:
    if not preview.files:
        return "There is nothing to clear."
    return plain("\n".join([f"Would remove {_count(preview)}:", *first_of(preview.files, _SHOWN)]))


def _count(cleared: Cleared) -> str:
    return f"{count(len(cleared.files), 'file')} of {bytes_of(cleared.size)}"


def _cleared_value(done: Cleared, *, dry_run: bool) -> dict[str, object]:
    return {"dry_run": dry_run, "files": done.files, "bytes": done.size, "commit": done.commit}


def run_cleanup(args: Args, app: App) -> None:
    done = clean_up(app.settled(), dry_run=args.dry_run)
    files = (*done.episodes, *done.patterns)
    numbers = f"{count(len(done.episodes), 'episode')} and {count(len(done.patterns), 'bug pattern')}"
    lines = [f"{numbers} would go:", *files] if args.dry_run else [f"Removed {numbers}.", reversal(done.commit or "")]
    app.answer(done, "\n".join(lines) if files else "There is nothing to clean up.")


def run_forget(args: Args, app: App) -> None:
    if args.before and not args.transcripts:
        raise UsageError("--before is about transcripts alone.", "Say --transcripts, or leave it out.")
    if args.author or args.session:
        _erase(args, app)
        return
    if not args.transcripts:
        raise UsageError(
            "Say what to forget.",
            "'gitmem forget purge TEXT' removes words from all history, 'gitmem forget clear old' what is old. "
            "'gitmem help forget' has the rest.",
        )
    store = app.settled()
    span = read_date(store, args.before, "--before")
    before = span.first if span else None
    planned = forget_transcripts(store, before, dry_run=True)
    if args.dry_run or not planned.sessions:
        app.answer({"dry_run": args.dry_run, **planned._asdict()}, _forget_preview(planned))
        return
    would = f"This would delete {_forget_count(planned)} for good"
    question = f"{_forget_preview(planned)}\nThis cannot be undone. Delete?"
    if not agreed(app, would, question, yes=args.yes, nothing="Nothing was deleted."):
        return
    done = forget_transcripts(store, before)
    app.notices(done.notices)
    text = f"Deleted {_forget_count(done)}; this freed {bytes_of(done.freed)} of disk space.\n{reversal()}"
    app.answer({"dry_run": False, **done._asdict()}, text)


def _erase(args: Args, app: App) -> None:
    store = app.settled()
    with Progress(app.err, "searching history"):
        plan = plan_erasure(store, author=args.author or "", session=named_session(store, args.session))
    _purge(args, app, store, plan, act="Forget?", nothing="Nothing was forgotten.", dry_run=args.dry_run)


def _forget_preview(planned: Forgotten) -> str:
    if not planned.sessions:
        return "There is no transcript to delete."
    return f"Would delete {_forget_count(planned)} and keep {planned.kept}."


def _forget_count(planned: Forgotten) -> str:
    return f"{count(planned.sessions, 'transcript')} of {bytes_of(planned.size)}"


def run_purge(args: Args, app: App) -> None:
    wanted = _wanted(args, app)
    store = app.settled()
    with Progress(app.err, "searching history"):
        plan = plan_purge(store, wanted)
    _purge(args, app, store, plan, act="Purge?", nothing="Nothing was purged.", dry_run=args.dry_run or not plan.needed)


def _purge(args: Args, app: App, store: Store, plan: PurgePlan, *, act: str, nothing: str, dry_run: bool) -> None:
    """Carry out a plan after a yes; in a dry run print it."""
    if dry_run:
        app.answer({"dry_run": args.dry_run, **plan.purge._asdict()}, _would_purge(plan))
        return
    question = f"{_would_purge(plan)}\nThis cannot be undone. {act}"
    if not agreed(app, "This rewrites history", question, yes=args.yes, nothing=nothing):
        return
    with Progress(app.err, "rewriting history"):
        done = purge(store, plan)
    app.notices(done.notices)
    checked = f"; nothing in the memory's git has it any more ({count(done.objects, 'object')} searched)"
    checked *= bool(done.objects)
    text = f"Purged {count(done.texts, 'text')}: {count(done.rewritten, 'commit')} rewritten{checked}."
    app.answer({"dry_run": False, **done._asdict()}, plain("\n".join([text, *done.beyond, reversal()])))


def _wanted(args: Args, app: App) -> str | re.Pattern[str] | None:
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
    text = app.typed_bytes(2 * MAX_TEXT).strip(b"\r\n").decode("utf-8", "surrogateescape")
    if not text:
        raise UsageError("There is no text on standard input.", "For example: gitmem purge - < FILE")
    return text


def _would_purge(plan: PurgePlan) -> str:
    planned = plan.purge
    if not plan.needed:
        return "Nothing to purge: neither the memory nor its history has it."
    brought = f"added by {count(planned.commits, 'commit')}" if planned.commits else "which no commit has any more"
    files = first_of(planned.files, _SHOWN)
    where = f"; in {count(len(planned.files), 'file')}:" if files else "; no file has them now."
    return plain("\n".join([f"Would purge {count(planned.texts, 'text')}, {brought}{where}", *files, *planned.beyond]))
