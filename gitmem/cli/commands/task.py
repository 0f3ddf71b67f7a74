"""Advice for a task, and the working memory of a session; apart from what was learned, which loads more."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from gitmem.cli.app import App
from gitmem.errors import NotFoundError, UsageError
from gitmem.lessons.guide import as_text, guide
from gitmem.sessions.memory import as_json, brief, change_of, change_working, find_working
from gitmem.sessions.working import WorkingMemory
from gitmem.text.terminal import plain


def run_guide(args: argparse.Namespace, app: App) -> None:
    task, error = " ".join(args.task), app.read_output(args, args.error)
    if not (task.strip() or error.strip()):
        raise UsageError("There is no task and no error.", "gitmem guide 'add retries', or gitmem guide --error FILE")
    guidance = guide(app.settled(args), task, error=error, session=args.session)
    value = guidance._asdict() | {"lines": [line._asdict() for line in guidance.lines]}
    aside = "" if guidance.lines else "No memory clearly matches."
    app.answer(args, value, plain(as_text(guidance, person=app.out.isatty())), "guide", aside=(aside,))


_PERSON = "cli"  # the session of a person who begins a task without an agent


def run_task(args: argparse.Namespace, app: App) -> None:
    store = app.settled(args)
    try:
        session = find_working(store, args.session).session
    except NotFoundError:
        if args.act != "start":
            raise
        session = args.session or _PERSON
    if args.act == "show":
        memory = find_working(store, session)
    else:
        memory = change_working(store, session, _change(args, app.context().clock().isoformat()))
    text = f"Session {memory.session}\n{brief(memory) or 'Nothing yet.'}"
    app.answer(args, {**as_json(memory), "pending": list(memory.pending)}, plain(text), "task")


def _change(args: argparse.Namespace, at: str) -> Callable[[WorkingMemory], WorkingMemory]:
    """Return the change that the command line asks for.

    Raises:
        UsageError: a word is missing.

    """
    act, text = args.act, " ".join(args.text)
    if act not in {"complete", "abandon"} and not text.strip():
        raise UsageError(f"'gitmem task {act}' needs a text.", "'gitmem task --help' shows examples.")
    if act == "settle":
        acts = {"confirmed": "confirm", "rejected": "reject"}
        if len(args.text) != 2 or args.text[1] not in acts:  # noqa: PLR2004  # id and status
            said = "'gitmem task settle' takes an id and 'confirmed' or 'rejected'."
            raise UsageError(said, "gitmem task settle h1 confirmed")
        text, act = args.text[0], acts[args.text[1]]
    return change_of(
        act, text, at, steps=args.text, sure=args.confidence, why=args.why, lists="'gitmem task' lists them."
    )
