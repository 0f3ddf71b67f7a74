"""Have sessions judged by the model of the settings, or by an agent that prints the question and puts its answer."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gitmem.cli.app import OWN, SESSIONS, App
from gitmem.cli.arguments import Args, read_date
from gitmem.cli.commands.agents import place_of
from gitmem.cli.progress import Progress
from gitmem.errors import ExitCode, RefusedError, UsageError
from gitmem.history.sessions import SessionSummary, cleared_file, find_session, sessions
from gitmem.hosts.host import Scope
from gitmem.hosts.registry import NAMES, find_host
from gitmem.learn.judge import SessionRecord, is_judged, judge_session, open_question, put_answer, read_session
from gitmem.learn.question import windows_of
from gitmem.llm.protocol import HOST, OFFLINE, TURN_ON, ReplyError, fenced
from gitmem.store.store import Store
from gitmem.text.sentences import count
from gitmem.text.terminal import plain
from gitmem.text.words import estimate_tokens

_TOKENS = 2_600  # of the instructions and the schema in a question about a session
_MARK_BYTES = 16


def run_judge(args: Args, app: App) -> int:
    store = app.settled()
    if args.action == "put":
        return _put(store, args, app)
    if args.ask:
        return _ask(store, args, app)
    return _judge(store, args, app)


def _records(app: App, store: Store, summaries: list[SessionSummary]) -> Iterator[SessionRecord]:
    """Yield sessions from their transcripts, else from the logs or their files."""
    place = place_of(app, Scope.PROJECT)
    paths = [path for host in map(find_host, NAMES) if host.sessions for path in host.sessions(place)]
    for summary in summaries:
        path = next((path for path in paths if summary.id in os.path.basename(path)), "")
        yield read_session(store, summary.id, summary.host, path, summary.file)


def _ask(store: Store, args: Args, app: App) -> int:
    """Print the open question about a session, for an agent to answer."""
    summary = find_session(store, args.ask)
    (record,) = _records(app, store, [summary])
    question = None if is_judged(store, summary.id, summary.file) else open_question(store, record)
    if question is None:
        app.answer({"session": summary.id, "question": None}, f"No question about session {summary.id} is open.")
        return ExitCode.OK
    text = fenced(question, os.urandom(_MARK_BYTES)).whole
    app.answer({"session": summary.id, "question": text}, text)
    return ExitCode.OK


def _put(store: Store, args: Args, app: App) -> int:
    """Take an agent's answer to the open question about a session."""
    summary = find_session(store, args.session)
    (record,) = _records(app, store, [summary])
    model = args.by or ("claude-code" if app.environ.get(SESSIONS[0]) else "an agent")
    if is_judged(store, summary.id, summary.file):
        raise RefusedError(f"Session {summary.id} was judged already.", "Nothing is left to do for it.")
    try:
        done = put_answer(store, record, app.read_output(args.file), model)
    except ReplyError as error:
        raise RefusedError(
            f"This is no answer to the question: it {error}.",
            f"'gitmem judge --ask {summary.id}' prints the question with the schema of its answer.",
        ) from None
    refused = sum(done.judged.refused.values())
    value = {"session": summary.id, "kept": done.judged.kept, "refused": refused, "commit": done.commit}
    text = f"{done.judged.kept} kept, {refused} refused."
    if done.question is not None:
        text = f"The session is long: one more question about it is open, see 'gitmem judge --ask {summary.id}'."
    app.answer({**value, "open": done.question is not None}, text, OWN)
    return ExitCode.OK


def _judge(store: Store, args: Args, app: App) -> int:
    """Have the model of the settings judge the waiting sessions."""
    span = read_date(store, args.since, "--since")
    waiting = [
        session
        for session in sessions(store)
        if (span is None or session.last >= span.first)
        and not is_judged(store, session.id, session.file)
        and (session.file or not cleared_file(store, session))
    ]
    if waiting and not args.dry_run and store.config.summary.provider in {OFFLINE, HOST}:
        raise UsageError("No model is named that judges sessions.", f"{TURN_ON}.")
    tokens, empty, done = 0, 0, []
    with Progress(app.err) as bar:
        for number, (one, record) in enumerate(zip(waiting, _records(app, store, waiting), strict=True)):
            bar.show(number, len(waiting), one.about)
            windows = windows_of(record.turns)
            empty += not windows
            tokens += sum(_TOKENS + sum(estimate_tokens(str(part)) for part in window) for window in windows)
            if args.dry_run or not windows:
                continue
            outcome = judge_session(store, record)
            refused = sum(outcome.judged.refused.values())
            value = {"session": one.id, "kept": outcome.judged.kept, "refused": refused, "commit": outcome.commit}
            done.append({**value, "why": outcome.why})
            if outcome.why:
                break
    lines = [
        f"{result['session']}  {result['why'] or '{kept} kept, {refused} refused'.format(**result)}" for result in done
    ]
    asked = f"{count(len(waiting) - empty, 'session')} to judge"
    asked += f", about {tokens:,} tokens" if args.dry_run else ""
    asked += f"; {empty} left out, without exchanges" if empty else ""
    value = {"sessions": len(waiting) - empty, "tokens": tokens, "judged": done, "left_out": empty}
    app.answer(value, plain("\n".join([*lines, f"{asked}."])))
    return ExitCode.FAILURE if any(result["why"] for result in done) else ExitCode.OK
