"""Why a line of the project's code is so."""

from __future__ import annotations

from gitmem.cli.app import App
from gitmem.cli.arguments import Args
from gitmem.errors import NotFoundError, UsageError
from gitmem.tell.blamed_code import blaming_place
from gitmem.tell.reasons import as_text, as_value, reasons
from gitmem.tell.why import why_place, why_text


def run_why(args: Args, app: App) -> None:
    store = app.settled()
    code = store.code()
    if code is None:
        raise NotFoundError(
            "This project has no git repository, so nothing says who wrote a line.",
            "'gitmem search' looks for words instead.",
        )
    if args.text is not None and args.where:
        raise UsageError("gitmem why takes a place or -S TEXT, not both.", "'gitmem why --help' shows how.")
    if args.text is None and not args.where:
        raise UsageError("gitmem why takes PATH:LINE, a path, a commit, or -S TEXT.", "'gitmem why --help' shows how.")
    blaming = blaming_place(code, args.where, app.path) if args.where else None
    # Imported while git is at work: both take most of the time of this command.

    whys = why_place(store, code, args.where, blaming) if args.where else why_text(store, code, args.text)
    found = reasons(store, whys)
    app.answer([as_value(store, reason) for reason in found], as_text(store, found), "why")
