"""`gitmem sessions`: list sessions, or print one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import ExitCode
from gitmem.text.quantities import count
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.store.history.sessions import Session
    from gitmem.store.store import Store

LIMIT = 20
_SHORT = 8  # characters of a session's id
_MINUTES = "%Y-%m-%d %H:%M"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem sessions`."""
    from gitmem.cli.arguments import count as number

    parser.add_argument("session", nargs="?", metavar="SESSION", help="its id, or an unambiguous prefix: print it")
    parser.add_argument("-n", "--limit", type=number, metavar="N", help=f"at most N (default: {LIMIT}); 0 for all")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """List the sessions of which the store has entries, the newest first, or print the file of one.

    With --json: a list of {id, host, machine, first, last, requests, about, commits, file}, file null if the store has
    none; with a SESSION one of them, with {text}.

    Examples:
      gitmem sessions
      gitmem sessions 1b4e51f0
      gitmem log --session 1b4e51f0

    """
    from gitmem.store.headers.facts import marked
    from gitmem.store.history.sessions import find_session, sessions

    store = door.settled(args)
    if args.session is not None:
        found = find_session(store, args.session)
        data = store.read(found.file) if found.file else None
        text = "" if data is None else marked(store, data.decode("utf-8", "replace"))
        body = text or f"It has no file; its commits: gitmem log --session {found.id[:_SHORT]}"
        told = plain(f"{_heading(found)}\n\n{body}".rstrip("\n"))
        door.answer(args, {**_value(found), "text": text}, told, f"session {found.id}")
        return ExitCode.OK
    every = sessions(store)
    shown = every[: (LIMIT if args.limit is None else args.limit) or None]
    lines = [plain(_line(one, store)) for one in shown]
    door.answer(args, [_value(one) for one in shown], "\n".join(lines) or "No sessions yet.")
    if len(shown) < len(every) and args.limit is None and not args.json:
        door.notices((f"These are the newest {len(shown)} of {len(every)} sessions; -n 0 lists all.",))
    return ExitCode.OK


def _value(session: Session) -> dict[str, object]:
    return {
        "id": session.id,
        "host": session.host,
        "machine": session.machine,
        "author": session.author,
        "first": session.first.isoformat(),
        "last": session.last.isoformat(),
        "requests": session.requests,
        "about": session.about,
        "commits": session.commits,
        "file": session.file or None,
    }


def _line(session: Session, store: Store) -> str:
    author = "" if store.is_person(session.author, session.email) else f"by {session.author}: "
    requests = count(session.requests, "request")
    return f"{session.id[:_SHORT]:<{_SHORT}}  {session.last:{_MINUTES}}  {requests:<12}  {author}{session.about}"


def _heading(session: Session) -> str:
    span = f"{session.first:{_MINUTES}} to {session.last:{_MINUTES}}"
    who = " on ".join(filter(None, (f"by {session.author} with {session.host}", session.machine)))
    numbers = f"{count(session.requests, 'request')}, {count(session.commits, 'commit')}"
    return "\n".join(filter(None, (f"session {session.id}", ", ".join(filter(None, (span, who))), numbers)))
