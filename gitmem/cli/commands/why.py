"""Why a line of the project's code is so."""

from __future__ import annotations

import re

from gitmem.cli.app import App, Args
from gitmem.errors import NotFoundError, UsageError
from gitmem.project.code import ProjectCode
from gitmem.store.store import Store
from gitmem.tell.blamed_code import commit_named, project_path
from gitmem.tell.reasons import as_text, as_value, reasons
from gitmem.tell.why import MOST_LINES, Why, why_commit, why_lines, why_text

_WHERE = re.compile(r"(?P<path>.+?)(?::(?P<first>[0-9]{1,7})(?:-(?P<last>[0-9]{1,7}))?)?", re.DOTALL)


def run_why(args: Args, app: App) -> None:
    store = app.settled()
    code = store.code()
    if code is None:
        raise NotFoundError(
            "This project has no git repository, so nothing says who wrote a line.",
            "'gitmem search' looks for words instead.",
        )
    if args.text is not None:
        if args.where:
            raise UsageError("gitmem why takes a place or -S TEXT, not both.", "'gitmem why --help' shows how.")
        whys = why_text(store, code, args.text)
    elif not args.where:
        raise UsageError("gitmem why takes PATH:LINE, a path, a commit, or -S TEXT.", "'gitmem why --help' shows how.")
    else:
        whys = _asked(store, code, app, args.where)
    found = reasons(store, whys)
    app.answer([as_value(reason) for reason in found], as_text(store, found), "why")


def _asked(store: Store, code: ProjectCode, app: App, where: str) -> list[Why]:
    """Return the answers about a place of the project, else about a commit of it."""
    place = _WHERE.fullmatch(where)
    path = project_path(code, app.path(place["path"])) if place else None
    if place is not None and path is not None:
        first = int(place["first"] or 1)
        last = int(place["last"] or place["first"] or MOST_LINES)
        if not 1 <= first <= last:
            raise UsageError(f"{where}: lines count from 1, and the first comes first.", "Write PATH:FROM-TO.")
        return why_lines(store, code, path, first, last)
    commit = commit_named(code, where)
    if not commit:
        raise NotFoundError(
            f"{where!r} is neither a file of the project nor a commit of it.",
            "Name a file below the project, such as src/app.py:12, or a commit.",
        )
    return why_commit(store, code, commit)
