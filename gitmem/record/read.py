"""Read a session from the hooks' spool and the end of its transcript, without secrets and noise."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gitmem.document.ids import PURGED
from gitmem.hosts.host import text_of
from gitmem.hosts.registry import find_host, host_name, read_payload, read_records
from gitmem.model.events import MAX_NAME, MAX_TEXT, HookEvent, HookKind, UserWords, WordKind, call_fields
from gitmem.model.turns import BOOT_FILES, Turn, content_lines, fold, is_same_turn
from gitmem.model.words import is_from_user, understood, with_words
from gitmem.platform.machine import datetime, is_running, timedelta
from gitmem.platform.safe_open import read_end, read_small
from gitmem.store.layers import divert, is_paused, pauses, was_paused
from gitmem.store.spool import Delivered, HookSpool
from gitmem.store.store import Store
from gitmem.values import TYPE_CHECKING, TypeVar, Value

if TYPE_CHECKING:
    from gitmem.model.transcript import Record


AnyValue = TypeVar("AnyValue", bound=Value)
_JUST_NOW = timedelta(seconds=5)
_WRITTEN_LATE, _PAUSE = 4.0, 0.05  # seconds that an answer may be written late, and between two looks
IDLE = timedelta(hours=1)  # after which a session counts as over
_ZONES = timedelta(days=2)  # tolerance for names that begin with a local time
_MAX_PAYLOADS, _MAX_BYTES = 1_000, 1 << 23  # of the spool that are read at a session's start
_TELLS_ALL = "claude-code"  # the host whose hooks bring each prompt and each answer
_BOUNDARIES = (HookKind.SESSION_START, HookKind.SESSION_END)


class PendingSession(Value):
    """A session with events in the spool; `over` if it, or the host's process, has ended."""

    name: str
    host: str
    over: bool
    transcript: str
    sources: tuple[str, ...]


class Pending(Value):
    """The spool: its events, their turns and sessions, compactions, and useless or unparsable files."""

    turns: tuple[Turn, ...]
    sessions: tuple[PendingSession, ...]
    compactions: tuple[HookEvent, ...]
    useless: tuple[str, ...]
    unreadable: tuple[str, ...]
    events: tuple[HookEvent, ...] = ()

    def over(self) -> frozenset[str]:
        """Return the names of finished sessions."""
        return frozenset(session.name for session in self.sessions if session.over)


def read_pending(store: Store, alive: Callable[[int], bool] = is_running) -> Pending:
    """Read the spool; `alive` returns whether the process with an id still runs.

    Events during a pause are dropped, and so is the transcript of a paused session, which has the same words.
    """
    context, stopped = store.context, pauses(store)

    def event_of(file: Delivered) -> tuple[str, int, HookEvent | None, bool]:
        """Return a payload's name, its host's process, its event (None if useless), and whether it can be parsed."""
        try:
            label, payload = read_payload(file.payload, file.host, file.event, (context.environ, context.home))
            event = None
            if payload is not None and not is_paused(stopped, file.at.timestamp()):
                event = parse_payload(payload, file.at, label)
        except ValueError:
            return file.name, file.owner, None, False
        if event is None or event.kind in {HookKind.SUBAGENT_STOP, HookKind.POST_COMPACT}:
            return file.name, file.owner, None, True
        return file.name, file.owner, event._replace(source=file.name), True

    # The spool calls `event_of` again if another process removes payloads meanwhile, so it keeps nothing itself.
    read = HookSpool(store.private).read(event_of)
    processes = {name: owner for name, owner, _, _ in read}
    events, now = tuple(event for _, _, event, _ in read if event), context.clock()
    sessions = []
    for name in sorted({event.session for event in events}):
        ours = sorted((event for event in events if event.session == name), key=lambda event: event.at)
        last, owner = max((event.at, processes[event.source]) for event in ours)
        boundaries = [event for event in ours if event.kind in _BOUNDARIES]
        ended = bool(boundaries) and boundaries[-1].kind is HookKind.SESSION_END and boundaries[-1].at >= ours[-1].at
        over = ended or now - last >= IDLE or (owner != 0 and not alive(owner))
        paths = () if was_paused(store, name) else (event.transcript for event in reversed(ours))
        transcript = next(filter(None, paths), "")
        sources = tuple(event.source for event in boundaries)
        sessions.append(PendingSession(name, ours[-1].host, over, transcript, sources))
    transcripts = {session.name: session.transcript for session in sessions}
    return Pending(
        tuple(_completed(turn, transcripts[turn.session]) for turn in fold(events)),
        tuple(sessions),
        tuple(event for event in events if event.kind is HookKind.PRE_COMPACT),
        tuple(sorted(name for name, _, event, is_read in read if is_read and not event)),
        tuple(sorted(name for name, _, _, is_read in read if not is_read)),
        events,
    )


_TEXT_OF = {
    HookKind.SESSION_START: ("source",),
    HookKind.PROMPT: ("prompt",),
    HookKind.TOOL: (),
    HookKind.TOOL_FAILED: ("error",),
    HookKind.STOP: ("last_assistant_message",),
    HookKind.SUBAGENT_STOP: ("last_assistant_message",),
    HookKind.PRE_COMPACT: ("trigger",),
    HookKind.POST_COMPACT: ("compact_summary",),
    HookKind.SESSION_END: ("reason",),
}


def parse_payload(payload: Mapping[str, object], at: datetime, host: str) -> HookEvent | None:
    """Return the event in a hook's JSON, in Claude Code's form; None for one that gitmem does not need.

    `at` is when it was delivered, `host` what entries call the host. The JSON is not trusted: a field of the wrong type
    counts as missing, and texts are bounded. Raises ValueError if it has no event name or no session.
    """

    def name(key: str) -> str:
        return text_of(payload, key)[:MAX_NAME]

    if not name("hook_event_name") or not name("session_id").strip():
        raise ValueError("the payload has no hook_event_name or no session_id")
    if name("hook_event_name") not in _TEXT_OF:
        return None
    kind, asked, result = HookKind(name("hook_event_name")), payload.get("tool_input"), payload.get("tool_response")
    turn = name("prompt_id") or name("turn_id")
    text = "" if payload.get("is_interrupt") is True else text_of(payload, *_TEXT_OF[kind])[:MAX_TEXT]
    event = HookEvent(kind, name("session_id"), at, host, name("cwd"), name("transcript_path"), turn, text)
    fields = call_fields(name("tool_name"), asked, result)
    event = event._replace(tool_id=name("tool_use_id"), agent=name("agent_id"), **fields)
    if kind is HookKind.PROMPT:
        return understood(event, vouched=is_from_user(payload))
    return with_words(event, asked, result, event.text)


def look_again(store: Store, alive: Callable[[int], bool]) -> Pending:
    """Return the content of the spool, once a turn that ended just now has its answer, or after a while.

    Copilot CLI writes an answer to its transcript a moment after the hook that says that the turn is over.
    """
    until = time.monotonic() + _WRITTEN_LATE
    while True:
        pending, now = look_apart(store, alive), store.context.clock()
        paths = {session.name: session.transcript for session in pending.sessions}
        if time.monotonic() > until or not any(lacks_answer(turn, paths[turn.session], now) for turn in pending.turns):
            return pending
        time.sleep(_PAUSE)


def look_apart(store: Store, alive: Callable[[int], bool]) -> Pending:
    """Return the content of the spool without private sessions and pauses, also those that began since the last look.

    A capture waits for the lock of the store for up to a minute, in which a private session may answer a whole turn.
    """
    while True:
        pending = read_pending(store, alive)
        if not store.has_layers:
            return pending

        divert(store)
        if {event.source for event in pending.events}.issubset(HookSpool(store.private).names()):
            return pending


def _completed(turn: Turn, transcript: str) -> Turn:
    """Return a turn with its prompt and answer from the transcript; hooks other than Claude Code's may omit them."""
    is_complete = turn.prompt and (turn.answer or not turn.closed)
    told_all = is_complete or not transcript or turn.host == _TELLS_ALL
    recorded = None if told_all else recorded_turn(transcript, turn)
    if recorded is None:
        return turn
    answer = turn.answer or (recorded.answer if turn.closed else "")
    return turn._replace(key=turn.key or recorded.key, prompt=turn.prompt or recorded.prompt, answer=answer)


def with_recorded(turn: Turn, turns: Sequence[Turn]) -> Turn:
    """Return a turn with what only its transcript tells: texts between tool calls, and the failures of Codex.

    The end of the session would commit them apart. `turns` are the `last_turns` of the transcript; what these lack is
    left to it.
    """
    recorded = _same_turn(turns, turn) if turn.prompt else None
    if recorded is None:
        return turn
    if recorded.failures and not turn.failures:
        turn = turn._replace(failures=recorded.failures, runs=recorded.runs)
    return turn._replace(said=recorded.said or turn.said)


def lacks_answer(turn: Turn, transcript: str, now: datetime) -> bool:
    """Return whether a turn that just ended lacks its answer, although its host's transcript will contain it."""
    is_late = turn.closed and not turn.answer and turn.host != _TELLS_ALL and now - turn.ended < _JUST_NOW
    return is_late and os.path.isdir(os.path.dirname(transcript))


def glance(store: Store) -> Pending | None:
    """Return the content of the spool, None if it is too large to read at a session's start."""
    return read_pending(store) if HookSpool(store.private).fits(_MAX_PAYLOADS, _MAX_BYTES) else None


def with_last_answers(pending: Pending) -> tuple[Turn, ...]:
    """Return the pending turns, completing a killed session's last one from its transcript."""
    if not pending.turns:
        return ()
    transcripts = {session.name: session.transcript for session in pending.sessions if session.over}
    last = {turn.session: turn.key for turn in pending.turns}

    def completed(turn: Turn) -> Turn:
        path = transcripts.get(turn.session, "")
        if turn.answer or not path or last[turn.session] != turn.key:
            return turn
        recorded = recorded_turn(path, turn)
        answer, interrupted = (recorded.answer, recorded.interrupted) if recorded else ("", True)
        return turn._replace(answer=answer, closed=True, interrupted=interrupted)

    return tuple(map(completed, pending.turns))


def boot_lines(store: Store) -> frozenset[str]:
    """Return the lines of files such as CLAUDE.md, which the agent loads itself, so that memory omits them."""
    project = os.path.dirname(store.root)
    files = (read_small(os.path.join(project, name)) or b"" for name in BOOT_FILES)
    return content_lines(data.decode("utf-8", "replace") for data in files)


def may_be_purged(store: Store, said: datetime) -> bool:
    """Return whether something was purged since shortly before a moment, by the names of the purge records."""
    return max(store.names(PURGED), default="") >= f"{said - _ZONES:%Y%m%d}"


def cleaner(store: Store, said: datetime | None = None) -> Callable[[str], str]:
    """Return a function that removes secrets, except allowed ones, and text purged since `said`."""
    from gitmem.redact.redact import redact

    allow = store.config.redaction.allow
    if said is None or not may_be_purged(store, said):
        return lambda text: redact(text, allow=allow).text
    from gitmem.purge.again import purges_of

    return lambda text: purges_of(store).without_purged(redact(text, allow=allow).text, said)


def forgotten(store: Store, session: str, said: datetime) -> bool:
    """Return whether a session was forgotten for good since the time `said`."""
    if not may_be_purged(store, said):
        return False
    from gitmem.purge.again import purges_of

    return purges_of(store).is_forgotten(session, said)


def clean_fields(value: AnyValue, clean: Callable[[str], str], *names: str) -> AnyValue:
    """Return a value with these fields, each a text or texts, cleaned."""
    fields = {name: getattr(value, name) for name in names}
    return value._replace(
        **{name: clean(field) if isinstance(field, str) else tuple(map(clean, field)) for name, field in fields.items()}
    )


def redacted(turn: Turn, store: Store) -> Turn:
    """Return a turn without secrets and text purged since it began, with its part of the project.

    A turn whose session was forgotten since becomes empty. Call it before texts are shortened, which could cut off a
    secret's end.
    """
    if forgotten(store, turn.session, turn.started):
        return Turn(turn.session, turn.host, turn.key, turn.started, turn.ended, closed=turn.closed)
    clean, names = cleaner(store, turn.started), ("command", "error", "fixed_by", "meanwhile")
    failures = tuple(clean_fields(failure, clean, *names) for failure in turn.failures)
    runs = tuple(clean_fields(run, clean, "command", "after") for run in turn.runs)
    words = tuple(clean_fields(word, clean, "text", "about") for word in turn.words)
    turn = turn._replace(failures=failures, runs=runs, words=words, scope=turn.scope or store.scope_of(turn.cwd))
    return clean_fields(turn, clean, "prompt", "answer", "files", "said", "edits")


_USAGE_BYTES = 262_144  # at the end of a transcript, searched for the last message's token usage
_MARKER_BYTES = 8 * 1024 * 1024  # at the end of a transcript, searched for the start text
_WINDOW = 200_000  # tokens; a model with `[1m]` in its name has a million
_LARGE_WINDOW = 1_000_000


def context_used(path: str) -> float:
    """Return the share of the model's context window that the last message used, from 0 to 1."""
    tokens, window = context_tokens(path)
    return min(1.0, tokens / window)


def context_tokens(path: str) -> tuple[int, int]:
    """Return the tokens of the context that the last message used, 0 if unknown, and the size of the window."""
    from gitmem.model.transcript import records

    lines = read_end(path, _USAGE_BYTES)[0].decode("utf-8", "replace").split("\n") if path else []
    used = [(part.tokens, part.model) for part in records(lines) if part.tokens and not part.sidechain] or [(0, "")]
    large = "[1m]" in used[-1][1] or max(tokens for tokens, _ in used) > _WINDOW
    return used[-1][0], _LARGE_WINDOW if large else _WINDOW


def in_context(path: str, marker: str) -> bool:
    """Return whether a transcript contains `marker` after its last compaction.

    Only the end of a large transcript is read; if it has neither, the marker is assumed to be in the part before.
    """
    data, whole = read_end(path, _MARKER_BYTES)
    marked, compacted = data.rfind(marker.encode()), data.rfind(b'"compact_boundary"')
    return marked > compacted or (not whole and compacted < 0)


def recorded_turn(path: str, turn: Turn) -> Turn | None:
    """Return a turn from the end of its host's transcript, the last one for a turn without a prompt."""
    turns = last_turns(path, turn.host)
    # The end of the transcript may lack the prompt of a long turn.
    rest = turns[-1] if turns and not turns[-1].prompt and turns[-1].started >= turn.started else None
    return _same_turn(turns, turn) or rest


def last_turns(path: str, label: str) -> list[Turn]:
    """Return the turns at the end of the transcript of a host with this label."""
    from gitmem.model.transcript import hook_events

    name = host_name(label)
    host = find_host(name)
    lines: Iterable[str] | None = host.lines(path) if host.lines else None  # for a transcript that is no file of lines
    if lines is None:
        lines = read_end(path, _USAGE_BYTES)[0].decode("utf-8", "replace").splitlines(keepends=True)
    return fold(hook_events(read_records(lines, name=name), label))


def _same_turn(turns: Sequence[Turn], turn: Turn) -> Turn | None:
    """Return the newest of these turns with a prompt that is the same as a turn, or any for one without a prompt."""
    begun = (other for other in reversed(turns) if other.prompt and (not turn.prompt or is_same_turn(other, turn)))
    return next(begun, None)


class UserText(Value):
    """A text in the user's place in a transcript; "" for a notice, which the user did not write.

    A queued one may be repeated as a prompt.
    """

    at: datetime
    text: str
    is_queued: bool = False


def noting_user_texts(events: Iterable[HookEvent], user_texts: list[UserText]) -> Iterator[HookEvent]:
    """Yield the events of a transcript, and add their texts in the user's place to `user_texts`."""
    for event in events:
        if event.kind is HookKind.NOTICE:
            user_texts.append(UserText(event.at, ""))
        elif event.kind is HookKind.PROMPT:
            user_texts.append(UserText(event.at, event.text))
        added = WordKind.ADDITION
        user_texts += [
            UserText(event.at, bare, words.kind is added) for words in event.words if (bare := bare_words(words))
        ]
        yield event


def bare_words(words: UserWords) -> str:
    """Return the user's words, of a command its first line only, as its output may be recorded apart."""
    if words.kind is WordKind.COMMAND:
        return words.text.partition("\n")[0]
    return words.text or words.about


def turns_of(parts: Iterable[Record], session: str, host: str, user_texts: list[UserText] | None = None) -> list[Turn]:
    """Return the turns of a finished session's transcript; `user_texts` gets its texts in the user's place."""
    from gitmem.model.transcript import hook_events

    turns = fold(noting_user_texts(hook_events(parts, host), [] if user_texts is None else user_texts))
    return [turn._replace(closed=True) for turn in turns if turn.session in {session, ""}]
