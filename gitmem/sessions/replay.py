"""Replay recorded sessions as if their hooks had delivered them, with their own times."""

from __future__ import annotations

import os
from datetime import datetime

from gitmem.hosts.host import file_of, find_host, writer
from gitmem.lessons.outcome_counts import note_mends
from gitmem.sessions.end import capture_recorded, keep_session, keep_transcript, read_lines, read_records
from gitmem.sessions.transcript import Unread, hook_events
from gitmem.sessions.turns import Turn, fold
from gitmem.store.store import Store
from gitmem.text.sentences import count
from gitmem.text.terminal import plain
from gitmem.values import Value

_SUFFIX = ".jsonl"
_ENDINGS = (_SUFFIX, ".messages.json")  # the second of Cline
_NOT_SESSIONS = ("subagents", "tool-results", ".git")  # folders beside a session's transcript, and git's own


class Replayed(Value):
    """The result for one transcript: its turns, how many were new, whether its L1 was, archives, notices.

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
        paths += [os.path.join(folder, name) for name in names if name.endswith(_ENDINGS) and name[:6] != "agent-"]
    return sorted(paths, key=lambda path: (os.path.getmtime(path), path))


def replay(store: Store, path: str, name: str = "", since: datetime | None = None) -> Replayed:
    """Save the turns of a transcript that are not saved yet, and its L1; a second call changes nothing.

    `name` is the host that wrote it; without it, the path or the first line says which. With `since`, turns that began
    before are left out, and so is the L1 of a session that has no others.

    Raises:
        GitmemError: it could not be committed.

    """
    name = name or writer(path, read_lines)
    replayed = _replay_turns(store, path, name, since)
    # The turns are freed by now: they hold all that was said, and so does L1.
    # The file of a resumed session may begin with the lines of the previous one: it belongs to the last.
    kept = [keep_transcript(store, session, path) for session in replayed.sessions[-1:]]
    return replayed._replace(transcript=any(kept))


def _turns(path: str, name: str) -> tuple[list[Turn], int]:
    """Return the turns of a transcript, and the number of lines that could not be parsed."""
    stem, unread = os.path.basename(path).removesuffix(_SUFFIX), Unread()
    turns = fold(hook_events(read_records(path, unread, name), None, find_host(name).label))
    return [turn._replace(closed=True, session=turn.session or stem) for turn in turns], unread.lines


def _notices(path: str, turns: int, unread: int) -> list[str]:
    """Return a notice about a file without turns or with unreadable lines; none about an empty file."""
    name = plain(path)
    lost = f"{count(unread, 'line')} could not be read" if unread else ""
    if turns:
        return [f"{name}: {lost}; everything else is saved."] if lost else []
    return [f"{name}: it has no turns of a session{lost and f'; {lost}'}."] if os.path.getsize(file_of(path)) else []


def _replay_turns(store: Store, path: str, name: str, since: datetime | None) -> Replayed:
    """Save the turns of a transcript, and learn from them."""
    turns, unread = _turns(path, name)
    if store.has_layers:
        from gitmem.store.layers import is_private, was_paused

        left = {turn.session for turn in turns if was_paused(store, turn.session)}
        left |= {turn.session for turn in turns if is_private(store, turn.session, turn.cwd)}
        turns = [turn for turn in turns if turn.session not in left]
        if left and not turns:
            return Replayed(path, unread=unread)
    if since is not None:
        turns = [turn for turn in turns if turn.started >= since]
        if not turns:
            return Replayed(path, unread=unread)
    recorded = capture_recorded(store, turns, "replay")
    notices = (*_notices(path, len(turns), unread), *recorded.notices)
    sessions = tuple(dict.fromkeys(turn.session for turn in turns))
    for session in sessions:
        own = [turn for turn in turns if turn.session == session]
        records = (record for record in read_records(path, None, name) if record.session in {session, ""})
        keep_session(store, session, own[0].host, own, records)
        note_mends(store, session, own)
    done = Replayed(path, sessions, len(turns), unread, recorded.saved, archives=recorded.archives)
    return done._replace(notices=tuple(dict.fromkeys(notices)))
