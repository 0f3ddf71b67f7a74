"""Summaries of archives."""

from __future__ import annotations

import json
import os

from gitmem.archive.summarize import as_of_now, improve, put_reply, read_summary
from gitmem.archive.summary import ARCHIVE_NAME, SCHEMA, Summary, archive_summaries, pending_archives
from gitmem.cli.app import OWN, SESSIONS, App
from gitmem.cli.arguments import Args
from gitmem.cli.output import table
from gitmem.document.ids import ARCHIVE, summary_path
from gitmem.errors import ExitCode, NotFoundError
from gitmem.history.authors import Authors
from gitmem.store.store import Store
from gitmem.text.terminal import fields, plain
from gitmem.text.words import tokens_of_size


def find_archive(store: Store, name: str | None) -> str:
    """Return the path of an archive, given by its or its summary's path or name; without a name the newest.

    An archive that retention removed still has its summary. Raises NotFoundError if the work tree has neither, or no
    archive at all.
    """
    paths = [item.archive for item in archive_summaries(store)]
    if name is None and paths:
        return paths[-1]
    bare = (name or "").replace("\\", "/").rpartition("/")[2].removesuffix(".md").removesuffix(".summary")
    path = f"{ARCHIVE}/{bare}.md"
    if path in paths or (ARCHIVE_NAME.fullmatch(f"{bare}.md") and store.read(summary_path(path))):
        return path
    if name is None or not paths:
        raise NotFoundError(
            "There is no archive yet.", "The first rotation makes one: 'gitmem status' shows how full memory.md is."
        )
    raise NotFoundError(f"There is no archive {name[:100]!r}.", "'gitmem summary list' lists them.")


def run_summary(args: Args, app: App) -> None:
    if args.action == "schema":
        print(json.dumps(SCHEMA, indent=2), file=app.out)
        return
    store = app.settled()
    if args.action != "show":
        {"list": _list, "pending": _pending, "put": _put}[args.action](store, args, app)
        return
    archive = find_archive(store, args.archive)
    summary = read_summary(store, archive)
    if summary is None:
        raise NotFoundError(f"{archive} has no summary.", "'gitmem summary list' shows which archives have one.")
    summary = as_of_now(summary, store)
    whose = Authors(store).others("", summary_path(archive))
    text = _text(archive, summary) + (f"\n\nby {whose}" if whose else "")
    app.answer({**summary.to_json(), "author": whose or None}, plain(text), f"summary of {archive}")


def _list(store: Store, _: Args, app: App) -> None:
    summaries = archive_summaries(store)
    paths = [None if item.method is None else summary_path(item.archive) for item in summaries]
    value = [
        {"archive": summary.archive, "summary": path, **fields(summary, "method pending")}
        for summary, path in zip(summaries, paths, strict=True)
    ]
    rows = [("ARCHIVE", "SUMMARY")]
    rows += [(item.archive, "none" if item.method is None else item.method or "by hand") for item in summaries]
    none = "No archive yet: memory.md has not been rotated."
    app.answer(value, plain(table(rows)) if summaries else none, "summaries" if summaries else "")


def _pending(store: Store, _: Args, app: App) -> None:
    value = []
    for item in archive_summaries(store):
        if item.pending:
            tokens = tokens_of_size(len(store.read(item.archive) or b""))
            path = os.path.join(store.root, *item.archive.split("/"))
            value.append({"archive": item.archive, "path": path, "tokens": tokens, "method": item.method})
    lines = [f"{summary['archive']}  {summary['path']}  {summary['tokens']:,} tokens" for summary in value]
    app.answer(value, plain("\n".join(lines)) or "No summary is pending.")


def _put(store: Store, args: Args, app: App) -> None:
    session = app.session()
    host = "claude-code" if app.environ.get(SESSIONS[0]) else "cli"
    archive = find_archive(store, args.archive)
    done = put_reply(store, archive, app.read_output(args.file), method=args.by or host, host=host, session=session)
    value = {"archive": done.archive, "method": done.method, "commit": done.commit}
    new = done.commit and f"has the summary of {done.method} now (commit {done.commit[:10]})"
    app.answer(value, f"{done.archive} {new or 'had this summary already'}.", OWN)
    if done.left_out:
        app.notices((f"A summary holds 10 of each: left out are {', '.join(done.left_out)}, the last ones.",))


def _text(archive: str, summary: Summary) -> str:
    """Return a summary as a user reads it."""
    days = " to ".join(dict.fromkeys(filter(None, summary.date_range)))
    lines = [f"{archive}" + (f" ({days})" if days else ""), "", summary.overall_summary]
    themes = [
        f"- {theme.name}" + (f" [{', '.join(theme.sessions)}]" if theme.sessions else "") + f": {theme.summary}"
        for theme in summary.themes
    ]
    decisions = [
        " ".join(filter(None, ("-", decision.date, decision.decision)))
        + (f" ({decision.reason})" if decision.reason and decision.reason not in decision.decision else "")
        for decision in summary.key_decisions
    ]
    issues = [f"{' '.join(filter(None, ('-', issue.date, issue.issue)))} ({issue.status})" for issue in summary.issues]
    for title, items in (("Themes", themes), ("Key decisions", decisions), ("Issues", issues)):
        if items:
            lines += ["", f"{title}:", *items]
    return "\n".join(lines)


def run_summarize(args: Args, app: App) -> int:
    store = app.settled()
    named = [find_archive(store, name) for name in args.archives]
    done = []
    for archive in named or pending_archives(store):
        if app.err.isatty():
            print(f"gitmem: {archive} …", file=app.err, flush=True)
        done.append(improve(store, archive, over=bool(named)))
    how = {0: "composed of what was said of its sessions", 1: "asked in one question"}
    lines = [
        f"{result.archive}  {result.method or 'none'}: "
        + (result.why or how.get(result.questions, f"asked in {result.questions} parts"))
        for result in done
    ]
    app.answer(done, plain("\n".join(lines)) or "No summary is pending.")
    return ExitCode.FAILURE if any(result.why for result in done) else ExitCode.OK
