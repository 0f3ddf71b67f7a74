"""`gitmem summary`: the summaries of archives."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gitmem.errors import ExitCode, NotFoundError
from gitmem.model.paths import ARCHIVE

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.memory.summarize import ArchiveSummary
    from gitmem.model.summary import Summary
    from gitmem.store.store import Store


def configure_summary(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem summary`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, prog="gitmem summary")
    show = actions.add_parser("show", help="print the summary of an archive")
    show.add_argument("archive", nargs="?", metavar="ARCHIVE", help="its name or path (default: the newest)")
    show.add_argument("--json", action="store_true", help="print it as JSON, in the shape of older tools")
    listing = actions.add_parser("list", help="list the archives and what their summaries were made by")
    listing.add_argument("--pending", action="store_true", help="only those without one, or with an offline one")
    listing.add_argument("--json", action="store_true", help="print the list as JSON")


def run_summary(args: argparse.Namespace, door: Door) -> int:
    """Show what is said of the archives: themes, key decisions, issues, and the whole in ten to fifteen sentences.

    Each rotation summarizes its archive at once, offline, out of the archive's own sentences; such a summary counts as
    pending, for a model can write a better one.

    With --json, 'show' prints {dateRange: {first, last}, sectionCount, themes: [{name, summary, sessions}],
    keyDecisions: [{decision, reason, date}], issues: [{issue, status, date}], overallSummary}, and 'list' [{archive,
    summary, method, pending}].

    Examples:
      gitmem summary show                        the newest archive's
      gitmem summary show memory_20260113_112700 --json
      gitmem summary list --pending

    """
    store = door.settled(args)
    if args.action == "list":
        return _list(store, args, door)
    from gitmem.memory.summarize import read_summary

    archive = _archive(store, args.archive)
    summary = read_summary(store, archive)
    if summary is None:
        raise NotFoundError(f"{archive} has no summary.", "'gitmem summary list' says which archives have one.")
    if args.json:
        print(json.dumps(summary.to_json(), ensure_ascii=False, indent=2), file=door.out)
    else:
        from gitmem.model.plaintext import plain

        print(plain(_text(archive, summary)), file=door.out)
    return ExitCode.OK


def _list(store: Store, args: argparse.Namespace, door: Door) -> int:
    from gitmem.memory.summarize import archive_summaries
    from gitmem.model.paths import summary_path

    found = [item for item in archive_summaries(store) if item.pending or not args.pending]
    value = [
        {
            "archive": item.archive,
            "summary": None if item.method is None else summary_path(item.archive),
            "method": item.method,
            "pending": item.pending,
        }
        for item in found
    ]
    door.answer(args, value, _table(found, pending=args.pending))
    return ExitCode.OK


def _archive(store: Store, name: str | None) -> str:
    """Return the path of the archive a person named: its path, its name, or that of its summary.

    Raises:
        NotFoundError: the work tree has none of that name, or, if none is named, none at all.

    """
    from gitmem.memory.summarize import archive_summaries

    paths = [item.archive for item in archive_summaries(store)]
    if not paths:
        raise NotFoundError("There is no archive yet: memory.md has not been rotated.")
    if name is None:
        return paths[-1]
    bare = name.replace("\\", "/").rpartition("/")[2].removesuffix(".md").removesuffix(".summary")
    path = f"{ARCHIVE}/{bare}.md"
    if path not in paths:
        raise NotFoundError(f"There is no archive {name[:100]!r}.", "'gitmem summary list' lists them.")
    return path


def _table(found: list[ArchiveSummary], *, pending: bool) -> str:
    if not found:
        return "No summary is pending." if pending else "No archive yet: memory.md is all there is."
    rows = [("ARCHIVE", "SUMMARY")]
    rows += [(item.archive, "none" if item.method is None else item.method or "by hand") for item in found]
    width = max(len(archive) for archive, _ in rows)
    from gitmem.model.plaintext import plain

    return plain("\n".join(f"{archive:<{width}}  {method}" for archive, method in rows))


def _text(archive: str, summary: Summary) -> str:
    """Return a summary as a person reads it."""
    days = " to ".join(dict.fromkeys(filter(None, summary.date_range)))
    lines = [f"{archive}" + (f" ({days})" if days else ""), "", summary.overall_summary]
    themes = [
        f"- {theme.name}" + (f" [{', '.join(theme.sessions)}]" if theme.sessions else "") + f": {theme.summary}"
        for theme in summary.themes
    ]
    decisions = [
        f"- {_dated(one.date)}{one.decision}{_because(one.decision, one.reason)}" for one in summary.key_decisions
    ]
    issues = [f"- {_dated(one.date)}{one.issue} ({one.status})" for one in summary.issues]
    for title, items in (("Themes", themes), ("Key decisions", decisions), ("Issues", issues)):
        if items:
            lines += ["", f"{title}:", *items]
    return "\n".join(lines)


def _dated(date: str) -> str:
    return f"{date} " if date else ""


def _because(decision: str, reason: str) -> str:
    return f" ({reason})" if reason and reason not in decision else ""
