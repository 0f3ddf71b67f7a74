"""Show a session: who had it when, what is left of its code, and its file."""

from __future__ import annotations

from gitmem.cli.app import App
from gitmem.cli.history_output import MINUTES
from gitmem.document.entry import find_entries
from gitmem.history.sessions import SessionSummary
from gitmem.search.passages import session_text
from gitmem.store.store import Store
from gitmem.tell.written_code import code_left_of
from gitmem.text.sentences import count
from gitmem.text.terminal import fields, plain


def show_session(store: Store, session: SessionSummary, app: App) -> None:
    """Print a session, with the commits of the project that hold its code now."""
    text, gone = session_text(store, session)
    app.notices((gone,) if gone else ())
    body = text or f"It has no file; its commits: gitmem log --session {session.id}"
    left, left_lines = code_left_of(store, [entry.entry.id for entry in find_entries(text)])
    shown = plain("\n".join([_heading(session), *left_lines, "", body]).rstrip("\n"))
    app.answer({**session_value(session), "text": text, "code": left}, shown, f"session {session.id}")


def session_value(session: SessionSummary) -> dict[str, object]:
    return {**fields(session, "id host machine author first last requests about commits"), "file": session.file or None}


def _heading(session: SessionSummary) -> str:
    span = f"{session.first:{MINUTES}} to {session.last:{MINUTES}}"
    who = " on ".join(filter(None, (f"by {session.author} with {session.host}", session.machine)))
    numbers = f"{count(session.requests, 'request')}, {count(session.commits, 'commit')}"
    return "\n".join(filter(None, (f"session {session.id}", ", ".join(filter(None, (span, who))), numbers)))
