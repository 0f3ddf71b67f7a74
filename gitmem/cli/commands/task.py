"""Advice for a task, and the working memory of a session."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from gitmem.cli.app import App
from gitmem.errors import NotFoundError, UsageError
from gitmem.lessons.guide import as_text, guide
from gitmem.sessions.memory import brief, change_working, find_working
from gitmem.sessions.state import WorkingMemory, as_json
from gitmem.sessions.working import change_of
from gitmem.text.terminal import plain


def configure_guide(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", nargs="*", metavar="TASK", help="a task or a question, in words")
    parser.add_argument("--error", metavar="FILE", help="the output of a failed command; - reads standard input")
    parser.add_argument("--session", default="", metavar="ID", help="for this running session (default: the newest)")


def run_guide(args: argparse.Namespace, app: App) -> None:
    """Print advice from memory for a task or an error: past approaches, things to try or to avoid, likely trouble.

    It looks at the notes of the running session, then at exchanges, then at facts and bug patterns. Each line names its
    source ('gitmem get ^ID' shows it). Without a clear match it prints nothing.

    With --json: {lines: [{part, text, sources, confidence}], confidence}; part is approach, try, avoid or challenge.

    Examples:
      gitmem guide "add retries to the importer"
      pytest 2>&1 | gitmem guide --error -
      gitmem guide --error build.log "make the release build pass"

    """
    task, error = " ".join(args.task), app.read_output(args, args.error)
    if not (task.strip() or error.strip()):
        raise UsageError("There is no task and no error.", "gitmem guide 'add retries', or gitmem guide --error FILE")
    found = guide(app.settled(args), task, error=error, session=args.session)
    app.answer(
        args,
        found._asdict() | {"lines": [line._asdict() for line in found.lines]},
        plain(as_text(found, person=app.out.isatty())),
        "guide",
    )
    if not found.lines and not args.json:
        app.notices(("No memory clearly matches.",))


_ACTS = ("show", "start", "plan", "note", "error", "suppose", "settle", "decide", "complete", "abandon")
_UNSURE = 0.5
_PERSON = "cli"  # the session of a person who begins a task without an agent


def configure_task(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("act", choices=_ACTS, nargs="?", default="show", help="what to do (default: show)")
    parser.add_argument("text", nargs="*", metavar="TEXT", help="the task, a note, each step of a plan, ...")
    parser.add_argument("--session", default="", metavar="ID", help="of this session (default: the one active last)")
    parser.add_argument("--why", default="", help="the reason of a decision, or the evidence of a hypothesis")
    parser.add_argument("--confidence", type=float, metavar="0-1", help=f"of a hypothesis (default: {_UNSURE})")


def run_task(args: argparse.Namespace, app: App) -> None:
    """Show the working memory of a running session, and add to it: task, plan, hypotheses, decisions, failures.

    Hooks keep it from what the agent does. It is private to this machine, told again after a compaction, and becomes
    an episode when the session is over.

    A hypothesis that is made again keeps the higher confidence. 'settle h1 confirmed' makes a decision of it if it is
    at least 0.9 sure ('--confidence 0.95' says so); 'settle h1 rejected' drops it.

    With --json: {session, started, task, steps, results, errors, discoveries, files, symbols, hypotheses, decisions,
    statistics, pending}; pending is what is left to do.

    Examples:
      gitmem task
      gitmem task start "Make the loader read empty files"
      gitmem task plan "write a failing test" "mend the loader"
      gitmem task suppose "The cache is stale" --confidence 0.6 --why "dates differ"
      gitmem task settle h1 confirmed --confidence 0.95
      gitmem task error "pytest -x: KeyError: 'a'"
      gitmem task complete

    """
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
