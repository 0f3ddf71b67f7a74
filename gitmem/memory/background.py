"""What happens behind a host's hook: turns are committed, sessions closed, lessons saved (spec J10).

Each step stands for itself: what fails is written to the log that `gitmem doctor` shows, leaves its events in the spool
and does not keep the others from being done (spec R12).
"""

from __future__ import annotations

import contextlib
import os
from functools import partial

from gitmem.errors import GitmemError, UnreadableError
from gitmem.machine.beneath import read_text
from gitmem.machine.processes import is_running
from gitmem.memory.capture.pending import look
from gitmem.memory.capture.turns import Captured, capture, is_due
from gitmem.store.spool.hooks import HookSpool
from gitmem.store.transaction.transact import transact
from gitmem.store.upkeep.failures import Failure, FailureLog

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitmem.memory.capture.pending import Session, Waiting
    from gitmem.store.store import Store

MODELS = ("agent", "anthropic", "openai")  # of `gitmem.llm.protocol.PROVIDERS`, which the way of a hook need not import
_TENDED = "tended"  # the day on which what only age brings about was last done
_UNREAD = "unread"  # the folder of files with a byte for each time that a session's transcript could not be read
_READ_TRIES = 3
_MARKS = "half"  # the folder of marks: sessions whose lessons were taken out when their context was half used


def settle(store: Store, alive: Callable[[int], bool] = is_running) -> Captured:
    """Do what is due and nothing else; cheap where nothing is. Failures are written to the log."""
    spool = HookSpool(store.private)
    if not spool.names():
        return Captured()
    found = look(store, alive)
    steps = _Steps(store)
    over, now = found.over(), store.context.clock()
    if found.useless or found.unreadable or any(is_due(turn, over, store, now) for turn in found.turns):
        steps.run("capture", partial(steps.capture, partial(look, store, alive)))
    sessions = {session.name: session for session in found.sessions}
    for event in found.compactions:
        if steps.run("before compaction", partial(steps.read, sessions[event.session], steps.before_compaction)):
            spool.remove([event.source])
    answered = {turn.session for turn in found.turns if turn.closed}
    for session in found.sessions:
        if session.over:
            if steps.run("session end", partial(steps.read, session, steps.close)):
                spool.remove([*session.sources])
        elif session.name in answered:
            steps.run("half of the context", partial(steps.half_used, session))
    return steps.captured


def tend(store: Store, late: Callable[[], bool]) -> None:
    """Do what only age brings about, once a day: consolidation (spec P4) and retention (R13); each as configured.

    And ask the model of the settings, if there is one, for what waits for it. What is not done once it is `late` is
    done the next time. Failures are written to the log. Each time it looks which facts and concepts are new or were
    edited by hand, which the start of the next session does of those alone that it tells.
    """
    _Steps(store).run("facts and concepts", partial(_read_headers, store))
    if store.config.summary.provider in MODELS:
        _Steps(store).run("summaries", partial(_Steps(store).improve, late))
    mark, today = os.path.join(store.private, _TENDED), store.context.clock().date().isoformat()
    if read_text(mark).strip() == today:
        return
    steps = _Steps(store)
    if store.config.tiers.automatic:
        steps.run("consolidation", partial(steps.consolidate, late))
    if store.config.rotation.archive_retention_days:
        steps.run("retention", steps.retain)
    if steps.finished:
        with open(mark, "w", encoding="utf-8") as file:
            file.write(f"{today}\n")


def _read_headers(store: Store) -> None:
    from gitmem.memory.concepts.index import concept_headers
    from gitmem.memory.facts.index import fact_headers

    fact_headers(store)
    concept_headers(store)


class _Steps:
    """What is done for a store, step by step."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.captured = Captured()
        self.finished = True

    def run(self, what: str, step: Callable[[], None]) -> bool:
        """Do a step; False, and a line in the log, where it failed."""
        try:
            step()
        except Exception as error:  # noqa: BLE001  # whatever it is, it keeps no other step from being done
            known = isinstance(error, GitmemError | OSError)
            said = str(error) if known else f"{type(error).__name__}: {error}"
            FailureLog(self._store.private).record(Failure(self._store.context.clock(), f"hook: {what}", said))
            return False
        return True

    def capture(self, read: Callable[[], Waiting]) -> None:
        """Commit what is due."""
        self.captured = capture(self._store, read)

    def read(self, session: Session, step: Callable[[Session], None]) -> None:
        """Do a step that reads a session's transcript; the third time that it cannot be read, do without.

        Raises:
            UnreadableError: it cannot be read, the first and the second time.

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
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def before_compaction(self, session: Session) -> None:
        """Save what was learned before it leaves the context (spec J9)."""
        from gitmem.memory.capture.session_end import save_lessons

        save_lessons(self._store, session, "before compaction")
        self._unmark(session)

    def half_used(self, session: Session) -> None:
        """Save what was learned when the context is half used, once until it is compacted (spec P1)."""
        from gitmem.memory.capture.session_end import save_lessons
        from gitmem.memory.capture.tail import context_used

        percent, mark = self._store.config.save.context_percent, self._path(_MARKS, session)
        if not percent or os.path.exists(mark) or context_used(session.transcript) * 100 < percent:
            return
        save_lessons(self._store, session, f"with {percent} % of the context used")
        os.makedirs(os.path.dirname(mark), mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError), open(mark, "xb"):
            pass

    def close(self, session: Session) -> None:
        """Keep the transcript of a session that is over (R14), what was done in it (V1 to V3), and what holds (V4)."""
        from gitmem.memory.capture.session_end import keep_transcript, read_records
        from gitmem.memory.concepts.group import group
        from gitmem.memory.exchanges.offline import save_exchanges, turns_of
        from gitmem.memory.facts.learn import learn

        keep_transcript(self._store, session.name, session.transcript)
        turns = turns_of(read_records(session.transcript), session.name)
        save_exchanges(self._store, session.name, session.host, turns)
        learn(self._store, session.name, session.host, turns)
        group(self._store, session.name, session.host, turns)
        if turns and self._store.config.summary.provider in MODELS:
            from gitmem.memory.exchanges.model import wait_for_words

            wait_for_words(self._store, session.name, session.host, session.transcript)
        self._unmark(session)

    def improve(self, late: Callable[[], bool]) -> None:
        """Have the model of the settings sum up archives, sessions (R6, V1), sort concepts (V3), weigh facts (V6)."""
        from gitmem.memory.ask.ask import is_worth_asking
        from gitmem.memory.concepts.name import name_concepts
        from gitmem.memory.exchanges.model import improve_sessions
        from gitmem.memory.facts.judge import judge
        from gitmem.memory.summaries.model import improve
        from gitmem.memory.summaries.offline import pending_archives

        for why in improve_sessions(self._store, late):
            self._note("summarize", why)
        for archive in pending_archives(self._store):
            if not late() and is_worth_asking(self._store, archive) and (why := improve(self._store, archive).why):
                self._note("summarize", f"{archive} keeps its offline summary: {why}")
        for why in name_concepts(self._store, late):
            self._note("concept", why)
        for why in judge(self._store, late):
            self._note("contradiction", why)

    def _note(self, what: str, message: str) -> None:
        FailureLog(self._store.private).record(Failure(self._store.context.clock(), what, message))

    def consolidate(self, late: Callable[[], bool]) -> None:
        """Make weeks of old days and months of old weeks, on one machine where several share the memory."""
        from gitmem.memory.tiers.consolidate import consolidate_due, due
        from gitmem.store.sync.shared import on_one_machine

        if not due(self._store):
            return
        with on_one_machine(self._store, "consolidate") as mine:
            if not mine or late():
                self.finished = False
                return
            done = consolidate_due(self._store, late=late)
        self.finished = done.finished
        for notice in done.notices:
            self._note("consolidation", notice)

    def retain(self) -> None:
        """Take archives out of the tree that are older than configured."""
        from gitmem.memory.tiers.rotate import retain

        transact(self._store, partial(retain, config=self._store.config.rotation), purpose="retain")

    def _path(self, folder: str, session: Session) -> str:
        from gitmem.store.transcripts.transcripts import file_name

        return os.path.join(self._store.private, folder, file_name(session.name))

    def _unmark(self, session: Session) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(_MARKS, session))
