"""Save a finished session: its transcript, turns without events, lessons. Read turns back from the daily logs."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache
from itertools import chain

from gitmem.document.document import Document
from gitmem.document.entry import Entry, find_entries
from gitmem.document.ids import daily_path, scopes_in, session_tag
from gitmem.hosts.host import CLAUDE
from gitmem.hosts.registry import find_host, read_transcript, transcript_file, writer
from gitmem.learn.concepts import group
from gitmem.learn.episodes import save_episodes
from gitmem.learn.facts import keep_turn, learn
from gitmem.learn.left_out import note_left_out
from gitmem.learn.lessons import learn_bugs, learn_commands, learn_preferences
from gitmem.learn.noted import NoteFiles, adopt_notes
from gitmem.model.exchange import EXCHANGE, FIX_MARK, exchanges_in, split_fields
from gitmem.model.identity import is_copy, known_id, saved_in
from gitmem.model.transcript import Record, Role, Unread, hook_events, l1_lines
from gitmem.model.turns import Failure, Turn, fold
from gitmem.model.words import parse_words
from gitmem.record.capture import capture_recorded
from gitmem.record.exchanges import save_exchanges
from gitmem.record.read import (
    UserText,
    clean_fields,
    cleaner,
    forgotten,
    may_be_purged,
    noting_user_texts,
    redacted,
    turns_of,
)
from gitmem.record.tally import note_missing
from gitmem.redact.redact import change_strings
from gitmem.store.layers import is_private, was_paused
from gitmem.store.store import Store
from gitmem.store.transcripts import has_transcript, put
from gitmem.text.sentences import count
from gitmem.text.terminal import plain
from gitmem.values import Value

_RESULT_LENGTH = 2_000  # characters of a tool's result that a transcript keeps
_LONGEST_SESSION = timedelta(days=7)


def with_known_ids(store: Store, turns: Sequence[Turn]) -> list[Turn]:
    """Return a session's turns with the ids of their saved exchanges, without turns copied from another session.

    A fork or a copy begins with the turns of the session it was made from.
    """
    logs = cache(lambda path: saved_in((store.read(path) or b"").decode("utf-8", "replace")))
    own = []
    for turn in turns:
        saved = logs(daily_path(f"{turn.started:%Y-%m-%d}"))
        known = turn._replace(known=known_id(redacted(turn, store), saved))
        if not is_copy(known):
            own.append(known)
    return own


def logged_turns(store: Store, session: str, host: str) -> list[Turn]:
    """Return the turns of a session from last week's daily logs, for when no transcript can be read."""
    tag, now = session_tag(session), store.context.clock().astimezone()
    day = now - _LONGEST_SESSION
    turns = []
    while tag and day.date() <= now.date():
        name = day.strftime("%Y-%m-%d")
        text = (store.read(daily_path(name)) or b"").decode("utf-8", "replace")
        for entry in (place.entry for place in find_entries(text)):
            if entry.label == EXCHANGE and entry.tags[:1] == tag:
                at = datetime.fromisoformat(f"{name} {entry.time}").replace(tzinfo=now.tzinfo)
                turns.append(_turn(entry, at, session, host))
        day += timedelta(days=1)
    return turns


def turns_of_transcript(lines: Iterable[str], session: str, host: str) -> list[Turn]:
    """Return the turns of a stored transcript (L1), rebuilt from its messages."""
    parts = []
    for number, line in enumerate(lines):
        with contextlib.suppress(ValueError, TypeError, KeyError):
            part = json.loads(line)
            role, at = Role(part["role"]), datetime.fromisoformat(part["at"])
            if role in {Role.USER, Role.ASSISTANT} and isinstance(part["text"], str) and "agent" not in part:
                parts.append(Record(role, at, session, text=part["text"], turn=str(number)))
    return turns_of(parts, session, host)


def turns_of_file(data: bytes, session: str, host: str) -> list[Turn]:
    """Return the turns of a session from its file, for when there are neither logs nor a transcript."""
    created, turns = Document.parse(data).get("created"), []
    if not isinstance(created, datetime):
        return []
    for exchange in exchanges_in(data):
        entry = Entry(exchange.id, exchange.time, EXCHANGE, "\n".join(("", *exchange.failed)), exchange.tags)
        answer = "\n".join(filter(None, (exchange.summary, exchange.details)))
        turn = _turn(entry, created, session, host)
        turns.append(turn._replace(prompt=exchange.asked, answer=answer, files=exchange.files))
    return turns


def _turn(entry: Entry, at: datetime, session: str, host: str) -> Turn:
    fields = split_fields(entry.text)
    failures = []
    for error in fields.errors:
        command, _, message = error.removeprefix("`").partition("`: ")
        message, _, fixed = message.partition(FIX_MARK)
        failures.append(Failure(at, "Bash", command, message, explained=fixed))
    return Turn(
        session,
        host,
        entry.id,
        at,
        at,
        prompt=fields.request,
        answer=fields.answer,
        files=fields.files,
        failures=tuple(failures),
        tools=len(failures) + len(fields.files),
        closed=True,
        logged=entry.id,
        said=fields.said,
        scope="".join(scopes_in(entry.tags)[:1]),
        words=tuple(map(parse_words, fields.words)),
    )


def keep_transcript(store: Store, session: str, path: str) -> str | None:
    """Write a session's transcript to L1; returns the commit, None if nothing is new."""
    if not store.config.transcripts.enabled:
        return None
    # A subagent's transcript has the session's id as well, but is not the session's.
    started = next((part.at for part in read_transcript(path) if part.role is Role.USER and not part.sidechain), None)
    if started is None:
        return None
    records = read_transcript(path)
    records = _without_purged(store, session, records) if may_be_purged(store, started) else records
    lines = l1_lines(records, _RESULT_LENGTH, cleaner(store))
    first = next(lines, None)
    return None if first is None else put(store, session, started, chain([first], lines))


def _without_purged(store: Store, session: str, records: Iterable[Record]) -> Iterator[Record]:
    """Yield the records of a transcript without purged exchanges and purged texts."""
    asked = None
    for part in records:
        is_request = part.role is Role.USER and not (part.injected or part.sidechain)
        asked = part.at if asked is None or is_request else asked
        if forgotten(store, session, asked):
            continue
        clean = cleaner(store, asked)
        words = tuple(clean_fields(word, clean, "text", "about") for word in part.words)
        yield part._replace(text=clean(part.text), input=change_strings(part.input, clean), words=words)


def keep_session(store: Store, session: str, host: str, turns: Sequence[Turn], records: Iterable[Record]) -> None:
    """Save a session's exchanges and what is learned from them: facts, concepts, episodes, errors."""
    save_exchanges(store, session, host, turns)
    learn(store, session, host, turns)
    note_left_out(store, turns)
    group(store, session, host, turns)
    save_episodes(store, session, host, turns, records)
    learn_bugs(store, session, host, turns)
    learn_commands(store, session, host, turns)
    learn_preferences(store, session, host, turns)


_SUFFIX = ".jsonl"
_ENDINGS = (_SUFFIX, ".messages.json")  # the second of Cline
_NOT_SESSIONS = ("subagents", "tool-results", ".git")  # folders beside a session's transcript, and git's own
Close = Callable[[Store, str, Sequence[Turn]], None]


class Replayed(Value):
    """The result for one transcript: its turns, the new ones, whether L1 changed, archives, notices.

    `unread` counts its lines that could not be parsed, or were truncated.
    """

    path: str
    sessions: tuple[str, ...] = ()
    turns: int = 0
    unread: int = 0
    saved: int = 0
    transcript: bool = False
    archives: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def find_transcripts(path: str) -> list[str]:
    """Return the transcripts below a folder, the oldest first; of a file, the file."""
    if not os.path.isdir(path):
        return [path]
    paths = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if name not in _NOT_SESSIONS]
        paths += [path for name in names if name[:6] != "agent-" and _is_transcript(path := os.path.join(folder, name))]
    return sorted(paths, key=lambda path: (os.path.getmtime(path), path))


def _is_transcript(path: str) -> bool:
    """Return whether a file is a transcript, by its name or else by its JSON content."""
    return path.endswith(_ENDINGS) or (path.endswith(".json") and writer(path) != CLAUDE)


def replay(
    store: Store,
    path: str,
    name: str = "",
    since: datetime | None = None,
    close: Close = lambda *_: None,
    *,
    dry_run: bool = False,
) -> Replayed:
    """Save the turns of a transcript that are not saved yet, and its L1; a second call changes nothing.

    A dry run counts these turns alone. `name` is the host that wrote it; without it, the path or the first line says
    which. With `since`, earlier turns are left out, and so is the L1 of a session that has no others. `close` is called
    for each session once it is saved. Raises GitmemError if it could not be committed.
    """
    name = name or writer(path)
    replayed = _replay_turns(store, path, name, since, None if dry_run else close)
    if dry_run:
        return replayed
    # Only now, so that the turns are freed: they and L1 each hold the whole transcript in memory.
    # The file of a resumed session may begin with the previous session's lines; it belongs to the last session.
    stored = [keep_transcript(store, session, path) for session in replayed.sessions[-1:]]
    return replayed._replace(transcript=any(stored))


def _replay_turns(store: Store, path: str, name: str, since: datetime | None, close: Close | None) -> Replayed:
    """Save the turns of a transcript, and learn from them; count them alone where nothing is closed."""
    stem, unread = os.path.basename(path).removesuffix(_SUFFIX), Unread()
    user_texts: list[UserText] = []
    notes = NoteFiles()
    records = notes.watched(read_transcript(path, unread, name))
    turns = fold(noting_user_texts(hook_events(records, find_host(name).label), user_texts))
    turns = [turn._replace(closed=True, session=turn.session or stem) for turn in turns]
    begun = bool(turns)
    if store.has_layers:
        left = {turn.session for turn in turns if was_paused(store, turn.session)}
        left |= {turn.session for turn in turns if is_private(store, turn.session, turn.cwd)}
        turns = [turn for turn in turns if turn.session not in left]
    turns = [turn for turn in turns if since is None or turn.started >= since]
    if not turns and (begun or since is not None):
        return Replayed(path, unread=unread.lines)
    read, turns = turns, with_known_ids(store, turns)
    sessions = tuple(dict.fromkeys(turn.session for turn in read))
    is_subagents = not read and any(record.sidechain for record in read_transcript(path, None, name))
    if (read and not turns) or is_subagents:  # a subagent's records belong to its session's transcript
        return Replayed(path, sessions, len(read), unread.lines)
    saved, archives, more = capture_recorded(store, turns, keep_turn, "replay", dry_run=close is None)
    if close is None or (sessions and not saved and has_transcript(store, sessions[-1])):
        return Replayed(path, sessions, len(read), unread.lines, saved)  # what is stored last is there: all is
    note_missing(store, path, [turn for turn in user_texts if since is None or turn.at >= since], turns)
    adopt_notes(store, notes)
    lost = f"{count(unread.lines, 'line')} could not be read" if unread.lines else ""
    problems = (lost, "everything else is saved") if turns else ("it has no turns of a session", lost)
    shows_notice = lost if turns else os.path.getsize(transcript_file(path))
    notice = f"{plain(path)}: {'; '.join(filter(None, problems))}."
    for session in dict.fromkeys(turn.session for turn in turns):
        own = [turn for turn in turns if turn.session == session]
        records = (record for record in read_transcript(path, None, name) if record.session in {session, ""})
        keep_session(store, session, own[0].host, own, records)
        close(store, session, own)
    notices = tuple(dict.fromkeys((*([notice] if shows_notice else []), *more)))
    return Replayed(path, sessions, len(read), unread.lines, saved, archives=tuple(archives), notices=notices)
