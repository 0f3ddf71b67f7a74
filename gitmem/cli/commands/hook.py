"""`gitmem hook`, for an event of an agent's host.

A hook never makes its host fail or wait: whatever goes wrong, the exit code is 0, stdout has only
the answer, and the failure is in the log that `gitmem doctor` shows.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from functools import partial

from gitmem.cli.recall_hooks import help_for, said_kept, sign_of_use, tell, tell_refused
from gitmem.errors import ExitCode, GitmemError, RefusedError
from gitmem.hosts.host import text_of
from gitmem.hosts.registry import find_host, read_payload, sender
from gitmem.platform.machine import now, start_detached, time_limit
from gitmem.store.acceptance import NotAcceptedError, accepted_folder, disconnected_branch, private_folder
from gitmem.store.locate import find_project, find_store
from gitmem.store.spool import MAX_EVENT_BYTES, HookSpool, hold, may_answer, parse, release
from gitmem.store.store import HOOK_GIT_TIMEOUT, READ_ONLY, REMOTE, Store
from gitmem.text.terminal import fenced
from gitmem.values import TYPE_CHECKING, Value

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gitmem.cli.app import App
    from gitmem.project.code import ProjectQuestions
    from gitmem.record.read import Pending


SECONDS = 0.6  # after this time a session's start leaves out facts not yet read
LONGEST_SECONDS = 5.0  # after this time it ends without an answer: the disk or the machine hangs
ANSWER_SECONDS = 2.0  # after this time a prompt or an error gets no answer
OFF = "GITMEM_HOOKS"  # "off" disables hooks: gitmem asks models in sessions that are not to be remembered
JOIN_SECONDS = 3.0  # a session's start waits so long for the clone of a memory, which then continues
_ANSWERED = "SessionStart"
_PROMPT = "UserPromptSubmit"
_TOLD = (_PROMPT, "PostToolUseFailure")
_BEFORE, _AFTER = "PreToolUse", "PostToolUse"
_SETTLED_AFTER = ("Stop", "PreCompact", "SessionEnd")
_LOOK_EVERY = 5  # events, as in hooks/hook.sh; `save.interval` decides whether a long turn is then saved
_STILL_KNOWN = ("resume", "fork")
_COMPACTED = "compact"
_GOES_ON = (*_STILL_KNOWN, _COMPACTED)


class Call(Value):
    """The command line of a hook; `event` is gitmem's name of the event, "" if missing.

    `delivered` is the file into which the script wrote the payload, "" if it is on standard input. `joining` is the
    process id of the agent for which to clone the memory that the environment names.
    """

    host: str
    event: str
    directory: str
    delivered: str = ""
    joining: str = ""


class TakenEvent(Value):
    """A payload: the agent's process, its bytes, as sent and as read; `recorded` unless the disk is full."""

    owner: int
    data: bytes
    payload: dict[str, object]
    read: dict[str, object]
    started: float
    recorded: bool = True


def hook(argv: Sequence[str], app: App) -> int:
    """Run a hook, without a parser, which would take half of its time."""
    try:
        call = parse_call(argv)
        app = app._replace(cwd=os.path.join(app.cwd, call.directory))
        if call.joining:
            _join(app, int(call.joining))
        elif app.environ.get(OFF) != "off":
            _take(app, call)
    except Exception as error:  # noqa: BLE001  # the host must not feel it
        _log(app, error)
    return ExitCode.OK


def parse_call(argv: Sequence[str]) -> Call:
    """Parse a hook's command line and ignore unknown words."""
    options, named, option = {"-C": "", "--delivered": "", "--join": ""}, [], ""
    for place, word in enumerate(argv):
        if option:
            options[option], option = word, ""
        elif word in options and place + 1 < len(argv):
            option = word
        elif not word.startswith("-") and word != "hook":
            named.append(word)
    host, event, *_ = (*named, "claude", "") if len(named) != 1 else (*named, "")
    event = event.rstrip(";")  # cmd passes the `;` on
    return Call(host, event, *options.values())


def _take(app: App, call: Call) -> None:
    """Put a payload into the spool unless it is there, and answer a session's start, a prompt or an error."""
    started = time.monotonic()
    data = _payload(app, call)
    payload = parse(data)
    if payload is None:
        if data.strip():
            _log(app, f"a payload of {len(data):,} bytes is not a JSON object, so it was dropped")
        return
    _, read = read_payload(payload, call.host, call.event, (app.environ, app.home()))
    name, folder = text_of(read or {}, "hook_event_name"), text_of(payload, "cwd")
    owner = os.getppid() if os.name == "posix" else 0
    root = _find(app, folder)
    if root is None and name == _ANSWERED:
        root = _connected(app, folder) or (_joined(app, folder, owner) if app.environ.get(REMOTE) else None)
        started = time.monotonic()
    if root is None or not name or read is None:
        return
    try:
        spool = _spool(app, root)
    except RefusedError as error:
        if not isinstance(error, NotAcceptedError):
            hold(app.home(), root, name, owner, data)
        if name == _ANSWERED:
            tell_refused(app.out, sender(payload, call.host), payload, error)
        return
    if name == _BEFORE:
        _answer_call(app, root, payload, read, sender(payload, call.host))
        return
    event = TakenEvent(owner, data, payload, read, started)
    recorded = not app.read_only and (bool(call.delivered) or _accept(app, call.host, root, spool, event))
    _respond(app, call, root, spool, event._replace(recorded=recorded))


def _joined(app: App, folder: str, owner: int) -> str | None:
    """Clone the memory that the environment names, return its store; None if that takes longer than `JOIN_SECONDS`."""
    start = folder if os.path.isabs(folder) else app.cwd
    if find_project(start, app.home()).common_dir is None:
        return None
    child = start_detached(app.environ, "-C", start, "hook", "claude", "--join", str(owner))
    until = time.monotonic() + JOIN_SECONDS
    while child.poll() is None:
        if time.monotonic() > until:
            child.returncode = 0  # keeps Popen from warning that nobody waited for it
            return None
        time.sleep(0.02)
    return _find(app, folder)


def _join(app: App, owner: int) -> None:
    """Clone the memory that the environment names, without history, and mark it to be shown to the agent."""
    from gitmem.record.fact_edits import compare_arrivals
    from gitmem.store.init import Place
    from gitmem.store.remotes import absolute_address
    from gitmem.sync.clone import clone_store
    from gitmem.sync.fetch import Options

    context = app._replace(environ={**app.environ, READ_ONLY: "0"}).context()
    url = absolute_address(app.environ[REMOTE].strip(), app.cwd)
    store = clone_store(app.cwd, context, Place.PROJECT, url, asks=False, options=Options(), shallow=True)
    compare_arrivals(store)
    store.acceptance.end_clone()
    HookSpool(store.private).set_memory_due(owner, due=True)


def _folders(app: App, *named: str) -> list[str]:
    """Return the folders that may have a store: those named, the host's project folder and the current one."""
    folders = (*named, app.environ.get("CLAUDE_PROJECT_DIR", ""), app.cwd)
    return [folder for folder in folders if os.path.isabs(folder) and "\0" not in folder]


def _find(app: App, *named: str) -> str | None:
    """Return the store of the first folder with one."""
    for folder in _folders(app, *named):
        with contextlib.suppress(RefusedError):
            if root := find_store(folder, app.home()):
                return root
    return None


def _connected(app: App, folder: str) -> str | None:
    """Reconnect an accepted memory on a branch whose folder is gone; return its folder, None if there is none."""
    for start in _folders(app, folder):
        with contextlib.suppress(GitmemError):
            if disconnected_branch(start, app.home(), app.environ):
                from gitmem.store.init import Place, init_store

                return init_store(start, app.context(), Place.BRANCH).store.root
    return None


def _accept(app: App, host: str, root: str, spool: HookSpool, event: TakenEvent) -> bool:
    """Put a payload into the spool, unless paused; return whether that worked. Memory can be shown in any case."""
    name = text_of(event.read, "hook_event_name")
    try:
        if spool.is_paused():
            from gitmem.store.layers import drops

            if drops(_open(app, root), text_of(event.read, "session_id")):
                return True
        spool.accept(name, event.owner, event.data, host)
    except OSError as error:  # a full or read-only disk
        _log(app, f"{name} was not recorded: {error}")
        return False
    return True


def _answer_call(app: App, root: str, payload: dict[str, object], read: dict[str, object], host_name: str) -> None:
    """Answer an agent's imminent tool call if a rule in force forbids it; record nothing of it."""
    host, event = find_host(host_name), text_of(payload, "hook_event_name") or _BEFORE
    with _time_limit(ANSWER_SECONDS, lambda: _log(app, f"{_BEFORE} was ended after {ANSWER_SECONDS:g} s")):
        from gitmem.tell.forbidden import Decision, answer_call

        made = text_of(read, "hook_event_name") != _BEFORE
        store = _hurried(app, root, text_of(read, "cwd"))
        answered = answer_call(store, read, hears=host.context_before_tools, made=made)
        if answered.decision is Decision.TELL:
            tell(app.out, partial(host.answer, event), fenced(answered.text, "rule") if answered.text else "")
        else:
            tell(app.out, partial(host.decide, event, answered.decision.value), answered.text)


def _payload(app: App, call: Call) -> bytes:
    """Return the payload, from standard input or the file that the script wrote."""
    if not call.delivered:
        return app.stdin.buffer.read(MAX_EVENT_BYTES + 1)
    with contextlib.suppress(OSError), open(call.delivered, "rb") as file:
        return file.read(MAX_EVENT_BYTES + 1)
    return b""  # it was committed meanwhile


def _respond(app: App, call: Call, root: str, spool: HookSpool, event: TakenEvent) -> None:
    """Answer an event if the host should be shown something now; else start a drain if due."""
    host, owner = find_host(sender(event.payload, call.host)), event.owner
    read = host.recorded(event.read)
    name = str(read["hook_event_name"])
    if host.answers_late(name):
        with contextlib.suppress(OSError):
            spool.set_memory_due(owner, due=True)
    if name == _ANSWERED and host.answers_late(name):
        return
    # The event of the command line: a failed tool may have another name here.
    # If no mark can be written, each prompt is shown the memory until the transcript has it.
    due = spool.is_memory_due(owner) or (host.answers_late(_ANSWERED) and not event.recorded)
    starts = name == _ANSWERED or (host.sends_late_answers(call.event or name) and due)
    if not starts and name == _AFTER and not host.context_before_tools:
        _answer_call(app, root, event.payload, read, host.name)
    if not (starts or name in _TOLD):
        if name in _SETTLED_AFTER or len(spool.names()) % _LOOK_EVERY == 0:
            _open(app, root).start("hook", "claude", "--drain")
        return

    if starts:
        spool.set_memory_due(owner, due=False)
    if not may_answer(private_folder(root, app.environ), owner, event.data):
        return
    answer = partial(host.answer, text_of(event.payload, "hook_event_name") or name)
    seconds = LONGEST_SECONDS if starts else ANSWER_SECONDS
    folder = text_of(read, "cwd")
    folder = folder if os.path.isabs(folder) else app.cwd

    with _time_limit(seconds, lambda: _log(app, f"{name} was ended after {seconds:g} s")):
        if starts:
            _answer_start(app, root, folder, event._replace(read=read), partial(tell, app.out, answer), host.sign)
        else:
            store = _hurried(app, root, folder)
            notice = said_kept(store, name, read) if event.recorded and host.sign else ""
            tell(app.out, answer, help_for(store, name, read), {host.sign: notice} if notice else {})
            spool.follow_settings(store.config.recall)


def _answer_start(app: App, root: str, folder: str, event: TakenEvent, say: Callable[..., None], sign: str) -> None:  # noqa: PLR0917
    """Print the memory for a new session unless its context has it; `sign` is the key of the user's line."""
    from gitmem.project.code import ProjectQuestions

    payload, session = event.read, text_of(event.read, "session_id")
    with ProjectQuestions(folder, app.environ) as questions:
        from gitmem.record.read import glance, in_context
        from gitmem.tell.start import MARKER, resumed_text

        store = _hurried(app, root, folder)
        if session and app.environ.get("GITMEM_PRIVATE", "0") not in {"", "0"}:
            from gitmem.store.layers import set_private

            set_private(store, session, on=True)
        pending = glance(store)
        transcript = text_of(payload, "transcript_path")
        is_known = payload.get("source") in _STILL_KNOWN or payload.get("hook_event_name") != _ANSWERED
        known = is_known and bool(transcript) and in_context(transcript, MARKER)
        stands = ""
        if session and payload.get("source") in _GOES_ON:
            from gitmem.record.working_memory import brief_session

            stands = brief_session(store, session, pending.events if pending else ())
        goes_on = (resumed_text(stands), ()) if known else None
        text, ids = goes_on or _start_text(app, store, questions, pending, stands, event=event)
        if text:  # for `gitmem stats`, and so that no prompt shows it again
            from gitmem.tell.usage_log import START, ShownText, record_shown

            record_shown(store, ShownText(store.context.clock(), session, START, ids), text)
        line = "" if known else sign_of_use(store, ids, text, session, recorded=event.recorded)
        _tell_with_help(store, partial(say, more={sign: line} if sign and line else {}), text, payload)
        from gitmem.sync.records import sync_later
        from gitmem.tell.forbidden import renew_forbids

        renew_forbids(store)  # behind the answer: files were edited by hand, or the store came as a folder
    if not pending or pending.turns or len(pending.sessions) > 1 or pending.useless or pending.unreadable:
        store.start("hook", "claude", "--drain")  # this also mirrors the agent's own memory
    sync_later(store, session=True)


def _start_text(
    app: App, store: Store, questions: ProjectQuestions, found: Pending | None, stands: str, *, event: TakenEvent
) -> tuple[str, tuple[str, ...]]:
    """Return the memory for a new session, and the ids in it; parts that take too long are left out."""
    from gitmem.archive.summary import ask_for_summaries
    from gitmem.record.read import with_last_answers
    from gitmem.tell.start import start_parts, start_text

    def late() -> bool:
        return time.monotonic() - event.started > SECONDS

    turns = (found.turns if late() else with_last_answers(found)) if found else ()
    pending, offer = ask_for_summaries(store) if found and not late() else ((), "")
    state = None if late() else questions.answer()
    compacted = text_of(event.read, "session_id") if event.read.get("source") == _COMPACTED else ""
    shown = start_parts(store, turns, state, pending, late, stands=stands, offer=offer, compacted=compacted)
    text = start_text(store, shown)
    if late() or not found:
        from gitmem.store.findings import SLOW

        _log(app, f"{_ANSWERED} {SLOW} {SECONDS:g} s; the agent may have got a part of the memory only")
    return text, tuple(identifier for part in shown for identifier in part.ids)


def _tell_with_help(store: Store, say: Callable[[str], None], text: str, payload: dict[str, object]) -> None:
    """Print the memory for a session, with help for the prompt or the error of the event unless that takes too long."""
    more = ""
    try:
        with _time_limit(ANSWER_SECONDS, lambda: say(text)):
            more = help_for(store, str(payload["hook_event_name"]), payload)
    finally:
        say("\n\n".join(filter(None, (text, more))))


def _time_limit(seconds: float, say: Callable[[], None]) -> AbstractContextManager[None]:
    """Call `say` and end this process if the block takes longer than this many seconds."""

    def end() -> None:
        say()
        os._exit(ExitCode.OK)

    return time_limit(seconds, end)


def _spool(app: App, root: str) -> HookSpool:
    """Return the spool of an accepted store, after moving into it the events held while git refused the store."""
    spool = HookSpool(accepted_folder(root, app.environ, app.home()))
    release(app.home(), root, spool)
    return spool


def _open(app: App, root: str) -> Store:
    return Store(root, app.context())


def _hurried(app: App, root: str, folder: str) -> Store:
    """Return a store for an answer that a host waits for."""
    store = _open(app, root)
    store.folder, store.git_timeout = folder, HOOK_GIT_TIMEOUT
    return store


def _log(app: App, problem: str | Exception) -> None:
    """Write a message or an unexpected error to the log of the store, if there is one; ignore failures."""
    try:
        from gitmem.store.findings import FailureLog, failure_of

        root = _find(app)
        if root is not None:
            FailureLog(accepted_folder(root, app.environ, app.home())).record(failure_of(now(), "hook", problem))
    except Exception:  # noqa: BLE001, S110  # the host must not feel this either
        pass
