"""Work in the background of a host's hook: commit turns, close sessions, save lessons, daily upkeep.

A step that fails is written to the log that `gitmem doctor` shows, leaves its events in the spool, and does not stop
the others.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from functools import partial

from gitmem.errors import ExitCode, GitmemError, UnfinishedError, UnreadableError
from gitmem.git.lock import alone
from gitmem.history.authors import look_up_all
from gitmem.history.marks import known_marks
from gitmem.hosts.registry import read_transcript
from gitmem.learn.facts import adopt_if_changed, keep_turn
from gitmem.model.events import HookEvent, HookKind
from gitmem.model.exchange import file_name
from gitmem.model.turns import Turn
from gitmem.platform.machine import Context, is_running, lower_priority, time_limit
from gitmem.platform.safe_open import drop_file, read_text, write_text
from gitmem.purge.unfinished import finish_purge
from gitmem.record.capture import capture, capture_recorded, is_due
from gitmem.record.read import (
    Pending,
    PendingSession,
    UserText,
    context_tokens,
    context_used,
    look_again,
    look_apart,
    turns_of,
)
from gitmem.record.save import drain
from gitmem.record.working_memory import apply_events, forget_working
from gitmem.store.acceptance import accepted_folder
from gitmem.store.findings import FailureLog, LoggedFailure, failure_of
from gitmem.store.known_facts import fact_headers, known_facts
from gitmem.store.last_event import note_event_arrival
from gitmem.store.layers import divert
from gitmem.store.locate import find_store
from gitmem.store.spool import HookSpool, release
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.sync.records import sync_later
from gitmem.tell.forbidden import key_of, record_made, renew_forbids
from gitmem.text.sentences import count

LONGEST_SECONDS = 300.0  # after this time the work is left to the next hook
_LAST_STEP = 60.0  # seconds after which no further step of the daily work begins
_OFF = "GITMEM_HOOKS"  # as in gitmem.cli.commands.hook
NO_MODELS = ("offline", "host")  # choices of `summary.provider`; gitmem.llm.protocol is slow to import for a hook
_CLOSING = "closing"  # file: locked while a process closes sessions, so that long ones are not read by each
_TENDED = "tended"  # file: the day of the last daily upkeep
_UNREAD = "unread"  # folder: by session, a byte for each failed read of its transcript
_READ_TRIES = 3
_PATIENCE = 60.0  # seconds to see what became of branches
_UPKEEP, _AGAIN = "upkeep", "upkeep-again"  # files: locked while one does the upkeep, a mark of those that came then
_MARKS = "half"  # folder: by session, a mark that it was saved at half of the context


def run_behind_hooks(context: Context, folder: str) -> int:
    """Do the work behind an agent's hooks for the store of a folder; the next hook does what a killed one left."""
    private = ""
    try:
        if hasattr(os, "setsid"):
            with contextlib.suppress(OSError):  # it is a session leader already
                os.setsid()
        root = None if context.environ.get(_OFF) == "off" else find_store(folder, context.home)
        if root is not None:
            private = accepted_folder(root, context.environ, context.home)  # raises for a store that was not accepted
            store = Store(root, context)
            if not store.read_only:
                _do_work(store, HookSpool(private))
    except Exception as error:  # noqa: BLE001  # nobody waits for it
        if private:
            FailureLog(private).record(failure_of(context.clock(), "hook", error))
    return ExitCode.OK


def _do_work(store: Store, spool: HookSpool) -> None:
    """Process the spool, then do the upkeep, within a time limit."""
    release(store.context.home, store.root, spool)
    started, ended = time.monotonic(), any(name.startswith(HookKind.SESSION_END) for name in spool.names())
    spool.follow_settings(store.config.recall)
    renew_forbids(store)

    def end() -> None:
        message = f"the work behind a hook was ended after {LONGEST_SECONDS:g} s"
        FailureLog(store.private).record(failure_of(store.context.clock(), "hook", message))
        os._exit(ExitCode.OK)

    with time_limit(LONGEST_SECONDS, end):
        process_spool(store)
        lower_priority()  # sessions wait for the exchanges, nobody for the rest
        do_upkeep_alone(store, lambda: time.monotonic() - started > _LAST_STEP)
    sync_later(store, session=ended)
    store.maintain_later()


def process_spool(store: Store, alive: Callable[[int], bool] = is_running) -> list[str]:
    """Process the due events of the hooks' spool, log failures, and return notices; cheap if none are due."""
    spool, steps, notices = HookSpool(finish_purge(store).private), _Steps(store), list[str]()
    if not steps.run("private sessions", lambda: _process_private(store, alive)):
        return []  # nothing is committed before it is known whose it is
    if not spool.names():
        return []
    pending = look_again(store, alive)
    steps.run("agents heard of", lambda: note_event_arrival(store.private, {event.host for event in pending.events}))
    calls = [event for event in pending.events if event.kind in {HookKind.TOOL, HookKind.TOOL_FAILED}]
    steps.run("rules that fired", lambda: record_made(store.private, map(_made, calls)))
    steps.run("working memory", partial(_update_working, store, pending))
    over, now = pending.over(), store.context.clock()
    if pending.useless or pending.unreadable or any(is_due(turn, over, store, now) for turn in pending.turns):
        steps.run("capture", partial(capture, store, partial(look_apart, store, alive), notices, keep_turn))
    sessions = {session.name: session for session in pending.sessions}
    for event in pending.compactions:
        if steps.run("before compaction", partial(steps.read, sessions[event.session], steps.before_compaction)):
            spool.remove([event.source])
    answered = {turn.session for turn in pending.turns if turn.closed}
    for session in pending.sessions:
        if session.name in answered and not session.over:
            steps.run("half of the context", partial(steps.half_used, session))
    return [*notices, *_close_over(store, pending, steps, alive)]


def _close_over(store: Store, pending: Pending, steps: _Steps, alive: Callable[[int], bool]) -> list[str]:
    """Close the sessions that are over, unless another process does; return notices.

    A transcript of hundreds of megabytes is read by one process. One that finds it at work leaves its own sessions to
    it, so it looks again at its end.
    """
    spool = HookSpool(store.private)
    with alone(os.path.join(store.private, _CLOSING)) as free:
        for session in pending.sessions if free else ():
            if session.over and steps.run("session end", partial(steps.read, session, steps.close)):
                spool.remove([*session.sources])
    new = {*spool.names()} - {event.source for event in pending.events}
    ended = any(name.startswith(HookKind.SESSION_END.value) for name in new)
    return process_spool(store, alive) if free and pending.over() and ended else []


def _made(event: HookEvent) -> tuple[str, str]:
    """Return the session and what names the call of an event."""
    return event.session, key_of(event.tool_id, event.tool, event.command, event.target)


def _process_private(store: Store, alive: Callable[[int], bool]) -> None:
    """Process the events of private sessions, in the private store."""
    private = divert(store)
    if private is not None:
        process_spool(private, alive)


def _update_working(store: Store, pending: Pending) -> None:
    contexts = {session.name: context_tokens(session.transcript)[0] for session in pending.sessions}
    apply_events(store, pending.events, contexts)


def do_upkeep_alone(store: Store, late: Callable[[], bool]) -> None:
    """Do the upkeep unless another process does, which then does it once more: twelve at once starved a machine."""
    again = os.path.join(store.private, _AGAIN)
    with alone(os.path.join(store.private, _UPKEEP)) as free:
        if not free:
            open(again, "wb").close()
            return
        do_upkeep(store, late)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(again)
            do_upkeep(store, late)


def do_upkeep(store: Store, late: Callable[[], bool]) -> None:
    """Mirror the agent's own memory, cache headers and days of history, ask the model of the settings, tidy up daily.

    The daily upkeep is consolidation and retention, as configured. Once it is `late`, the rest is
    left to the next call. Failures are written to the log.
    """
    from gitmem.health.document_checks import check_changed as check_documents
    from gitmem.history.changes_by_others import others_changes
    from gitmem.history.past_days import keep_days
    from gitmem.history.sessions import count_sessions
    from gitmem.hosts.claude_code import memory_folder
    from gitmem.record.fact_edits import compare_new_facts
    from gitmem.search.sources import renew_texts
    from gitmem.store.learned import known_concepts

    steps = _Steps(store)
    steps.run("what a killed command left", lambda: _settle(store))  # no event may be left that would have it done
    folder = memory_folder(store.context.environ, store.context.home, os.path.dirname(store.root))
    steps.run("the agent's own memory", lambda: adopt_if_changed(store, folder))
    steps.run("facts and concepts", lambda: (fact_headers(store), known_concepts(store)))
    store.git_timeout = _PATIENCE
    steps.run("branches", lambda: known_marks(store))
    steps.run("changes of others", lambda: others_changes(store))
    steps.run("days", lambda: keep_days(store))
    steps.run("sessions", lambda: count_sessions(store))
    steps.run("texts for prompts", lambda: renew_texts(store))
    steps.run("authors", lambda: look_up_all(store))
    steps.run("contradictions", lambda: compare_new_facts(store))
    # All that no `gitmem status` looked at yet, so that it need not.
    steps.run("documents", lambda: check_documents(store, store.files.edited(), most=None))
    if store.config.summary.provider not in NO_MODELS:
        steps.run("summaries", partial(steps.improve, late))
    mark, today = os.path.join(store.private, _TENDED), store.context.clock().date().isoformat()
    if read_text(mark).strip() == today:
        return
    steps.run("consolidation", partial(steps.consolidate, late))
    if store.config.rotation.archive_retention_days:
        from gitmem.archive.rotate import retain

        remove = partial(retain, config=store.config.rotation)
        steps.run("retention", partial(transact, store, remove, purpose="retain"))
    if not late():
        from gitmem.learn.lessons import learn_project

        steps.run("knowledge of the project", lambda: learn_project(store))
    if steps.finished and os.path.isdir(store.root):
        write_text(mark, f"{today}\n")


def _settle(store: Store) -> None:
    with contextlib.suppress(UnfinishedError):  # the user is in the middle of a merge
        if store.is_behind():
            drain(store)


def _note_learned(store: Store, turns: Sequence[Turn], errors: set[str]) -> None:
    """Write down what the turns of a session taught, for the line at the next start; `errors` were known before."""
    from gitmem.model.command import names_command
    from gitmem.store.learned import pattern_headers
    from gitmem.tell.forbidden import how_to_forbid
    from gitmem.tell.start import LEARNED

    own = {turn.exchange_id for turn in turns}
    facts = [fact for fact in known_facts(store) if own & {*fact.sources}]
    new = {header.path for header in pattern_headers(store)} - errors
    told = " and ".join(count(len(some), name) for name, some in (("fact", facts), ("error", new)) if some)
    if told:
        how = next(filter(None, (how_to_forbid(fact) for fact in facts if names_command(fact.description))), "")
        how = f". To warn the agent of a command: {how}" * bool(how)
        write_text(os.path.join(store.private, LEARNED), f"The last session taught {told}{how}")


class _Steps:
    """The steps of the background work for one store; `finished` says that the daily ones need not go on today."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.finished = True

    def run(self, what: str, step: Callable[[], object]) -> bool:
        """Run a step; if it fails, write to the log and return False. None is run once the store was deleted."""
        if not os.path.isdir(self._store.root):
            return False
        try:
            step()
        except Exception as error:  # noqa: BLE001  # no failure stops the other steps
            self._note(f"hook: {what}", str(error) if isinstance(error, GitmemError | OSError) else error)
            return False
        return True

    def read(self, session: PendingSession, step: Callable[[PendingSession], None]) -> None:
        """Run a step that reads a session's transcript; after the third failure the step is given up.

        Raises:
            UnreadableError: the first or second time that the transcript cannot be read.
        """
        path = self._path(_UNREAD, session)
        try:
            step(session)
        except UnreadableError as error:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(path, "ab") as file:
                file.write(b".")
                tries = file.tell()
            if tries < _READ_TRIES:
                raise
            self._note("session end", f"{error.message} It is not tried again. {error.remedy}")
        drop_file(path)

    def before_compaction(self, session: PendingSession) -> None:
        """Save all that the transcript tells before the context is compacted."""
        self._save_so_far(session, "before compaction")
        self._unmark(session)

    def half_used(self, session: PendingSession) -> None:
        """Save the session so far when the configured share of the context is used, once until it is compacted."""
        percent, mark = self._store.config.save.context_percent, self._path(_MARKS, session)
        if not percent or os.path.exists(mark) or context_used(session.transcript) * 100 < percent:
            return
        self._save_so_far(session, f"with {percent} % of the context used")
        os.makedirs(os.path.dirname(mark), mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError), open(mark, "xb"):
            pass

    def _save_so_far(self, session: PendingSession, why: str) -> None:
        turns = turns_of(read_transcript(session.transcript), session.name, session.host)
        running = [turn._replace(closed=bool(turn.answer)) for turn in turns[-1:]]
        capture_recorded(self._store, [*turns[:-1], *running], keep_turn, why)

    def close(self, session: PendingSession) -> None:
        """Save a finished session's transcript, and what its turns hold."""
        from gitmem.learn.end import keep_session, keep_transcript, logged_turns, with_known_ids
        from gitmem.record.tally import note_missing
        from gitmem.store.learned import pattern_headers
        from gitmem.tell.outcome_counts import count_shown, note_fixes

        keep_transcript(self._store, session.name, session.transcript)
        user_texts: list[UserText] = []
        turns = turns_of(read_transcript(session.transcript), session.name, session.host, user_texts)
        turns = with_known_ids(self._store, turns)
        if turns:
            capture_recorded(self._store, turns, keep_turn, "session end")
            note_missing(self._store, session.transcript, user_texts, turns)
        else:
            turns = logged_turns(self._store, session.name, session.host)
            if turns and session.transcript:
                why = "tells no turn" if os.path.exists(session.transcript) else "is not there"
                message = f"{session.transcript} {why}; its session is kept from what its hooks delivered."
                failure = LoggedFailure(self._store.context.clock(), "transcript", message)
                FailureLog(self._store.private).record_once(failure)
        errors = {header.path for header in pattern_headers(self._store)}
        records = read_transcript(session.transcript) if turns and not turns[0].logged else ()
        keep_session(self._store, session.name, session.host, turns, records)
        count_shown(self._store, session.name, turns)
        note_fixes(self._store, session.name, turns)
        if turns and self._store.config.summary.provider != NO_MODELS[0]:
            from gitmem.learn.judge import request_judgement

            request_judgement(self._store, session.name, session.host, session.transcript)
        forget_working(self._store, session.name)
        self._unmark(session)
        _note_learned(self._store, turns, errors)

    def improve(self, late: Callable[[], bool]) -> None:
        """Have the model of the settings judge sessions, then sum up archives, unless it is asked for another store."""
        from gitmem.archive.summarize import improve
        from gitmem.archive.summary import pending_archives
        from gitmem.learn.judge import judge_requested
        from gitmem.llm.ask import is_worth_asking
        from gitmem.llm.requests import waiting
        from gitmem.store.jobs import Kind, exclusive_job

        archives = [archive for archive in pending_archives(self._store) if is_worth_asking(self._store, archive)]
        if not archives and not waiting(self._store.private):
            return
        with exclusive_job(self._store, Kind.ASK) as is_free:
            if is_free:
                judge_requested(self._store, late)
            for archive in archives if is_free else ():
                if not late():
                    improve(self._store, archive)

    def _note(self, what: str, problem: str | Exception) -> None:
        FailureLog(self._store.private).record(failure_of(self._store.context.clock(), what, problem))

    def consolidate(self, late: Callable[[], bool]) -> None:
        """Consolidate old days and weeks; a sync merges what several machines made of them."""
        from gitmem.archive.rotate import consolidate_due, due

        if not due(self._store):
            return
        if late():
            self.finished = False
            return
        done = consolidate_due(self._store, late=late)
        self.finished = done.finished
        for notice in done.notices:
            self._note("consolidation", notice)

    def _path(self, folder: str, session: PendingSession) -> str:
        return os.path.join(self._store.private, folder, file_name(session.name))

    def _unmark(self, session: PendingSession) -> None:
        drop_file(self._path(_MARKS, session))
