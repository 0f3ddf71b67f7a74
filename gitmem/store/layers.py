"""The layers of a project's memory: the user's own, private to the project, the team's.

What is private lies in a store of its own below the user's home, which takes no remote. So no merge, sync or backup
of the team's store can carry it, and its objects are in no repository that is pushed. Hooks deliver all events into the
spool of the project's store; before one is committed, `divert` moves those of private sessions.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatch

from gitmem.document.ids import slug
from gitmem.hosts.registry import read_payload
from gitmem.platform.machine import datetime
from gitmem.platform.safe_open import read_json, set_mark, write_json
from gitmem.store.last_event import note_event_arrival
from gitmem.store.locate import PRIVATE_SUFFIX, find_project, home_store, is_store
from gitmem.store.spool import Delivered, HookSpool
from gitmem.store.store import LAYERS, Store

_EVERY = "every"  # name of the mark that makes all sessions of the project private
_PAUSES = "pauses.json"
_FOR_EVER = 1e12


def store_for_session(store: Store, session: str, *, private: bool = False) -> Store:
    """Return the store for what a session saves: for a private session the private store, created if missing."""
    if not private and not (store.has_layers and is_private(store, session, store.folder)):
        return store
    return private_store(store, make=True) or store


def private_store(store: Store, *, make: bool = False) -> Store | None:
    """Return the private store of a store's project; if there is none, create it with `make`, else return None."""
    if store.is_private or store.is_user_store:
        return None
    home = store.context.home
    project = find_project(os.path.dirname(store.root), home)
    root = home_store(project, home) + PRIVATE_SUFFIX
    if os.path.dirname(root) == os.path.dirname(store.root):  # this store is kept below the home, too
        root = store.root + PRIVATE_SUFFIX
    if not is_store(root):
        if not make:
            return None
        from gitmem.store.init import Place, init_store  # late, as few saves make a store

        init_store(root, store.context, Place.PRIVATE)
    private = Store(root, store.context)
    private.folder, private.git_timeout, private.scopes = store.folder, store.git_timeout, store.scopes
    return private


def is_private(store: Store, session: str, folder: str = "") -> bool:
    """Return whether a session is private: it or all sessions are marked, or the settings list its folder."""
    if os.path.exists(_path(store, _EVERY)) or (session and os.path.exists(_path(store, _name(session)))):
        return True
    home, listed = store.context.home, store.config.private.folders if folder else ()
    globs = [glob.replace("~", home, 1) if glob.startswith("~/") else glob for glob in listed]
    return any(fnmatch(f"{folder}/", f"{glob.rstrip('/')}/*") or fnmatch(folder, glob) for glob in globs)


def set_private(store: Store, session: str, *, on: bool) -> None:
    """Mark a session as private, or remove the mark; "" stands for all sessions of the project."""
    set_mark(_path(store, _name(session) if session else _EVERY), on=on)


def _name(session: str) -> str:
    return f"session-{slug(session, length=100) or 'x'}"


def _path(store: Store, name: str) -> str:
    return os.path.join(store.private, LAYERS, name)


def pause(store: Store, seconds: float | None) -> None:
    """Stop recording sessions, for some seconds or until `resume`."""
    now = store.context.clock().timestamp()
    write_json(_path(store, _PAUSES), {"v": [*pauses(store), [now, now + (seconds or _FOR_EVER)]]})
    HookSpool(store.private).set_paused(paused=True)


def resume(store: Store) -> bool:
    """End the pause; return False if there was none."""
    now = store.context.clock().timestamp()
    before = pauses(store)
    write_json(_path(store, _PAUSES), {"v": [[begin, min(end, now)] for begin, end in before]})
    HookSpool(store.private).set_paused(paused=False)
    return any(end > now for _, end in before)


def paused_words(store: Store) -> str:
    """Return a sentence about the present pause and its end, or ""."""
    now = store.context.clock()
    end = max((end for begin, end in pauses(store) if begin <= now.timestamp() < end), default=0.0)
    until = "" if end >= _FOR_EVER else f" until {datetime.fromtimestamp(end, now.tzinfo):%Y-%m-%d %H:%M}"
    return f"paused{until}; 'gitmem resume' records again" if end else ""


def mode_words(store: Store, session: str) -> str:
    """Return a sentence about the pause or the private session, "" while the project's memory records all."""
    if not store.has_layers:
        return ""
    is_own = is_private(store, session, store.folder)
    return paused_words(store) or "private: kept on this machine alone ('gitmem private off' ends it)" * is_own


def pauses(store: Store) -> list[list[float]]:
    """Return begin and end of each pause, in seconds since 1970."""
    try:
        return [[float(begin), float(end)] for begin, end in read_json(_path(store, _PAUSES))["v"]]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def is_paused(spans: Sequence[Sequence[float]], at: float) -> bool:
    """Return whether a moment, in seconds since 1970, lies in one of these `pauses`."""
    return any(begin <= at <= end for begin, end in spans)


def was_paused(store: Store, session: str) -> bool:
    """Return whether a pause dropped events of a session: then part of its transcript must not be recorded."""
    return store.has_layers and os.path.exists(_path(store, f"paused-{_name(session)}"))


def drops(store: Store, session: str) -> bool:
    """Return whether a pause drops an event of this session now, and if so note the session.

    Once the pause is over, remove the mark that makes hooks/hook.sh ask.
    """
    if not is_paused(pauses(store), store.context.clock().timestamp()):
        HookSpool(store.private).set_paused(paused=False)
        return False
    set_mark(_path(store, f"paused-{_name(session)}"), on=True)
    return True


def divert(store: Store) -> Store | None:
    """Move events of private sessions into the private store's spool, and return that store; drop paused events."""
    if not store.has_layers or store.is_private:
        return private_store(store)
    spool = HookSpool(store.private)
    events = sorted(spool.read(_read), key=lambda event: event[1])
    stopped, private = pauses(store), private_store(store)
    folders = {session: folder for _, _, session, folder, _ in reversed(events) if folder}
    heard = set[str]()
    for name, at, session, _, host in events:
        if is_paused(stopped, at):
            set_mark(_path(store, f"paused-{_name(session)}"), on=True)
            spool.remove([name])
        elif is_private(store, session, folders.get(session, "")):
            if session:
                set_private(store, session, on=True)  # a session is never split between layers
            private = private or private_store(store, make=True)
            if private:
                spool.move(name, HookSpool(private.private))
                heard.add(host)
    note_event_arrival(store.private, heard)  # its hooks run
    return private


def _read(event: Delivered) -> tuple[str, float, str, str, str]:
    """Return an event's file, time, session, folder and agent, in the words of any host."""
    _, read = read_payload(dict(event.payload), event.host, event.event, ({}, ""))
    fields = {**event.payload, **(read or {})}
    session, folder = (fields.get(key) for key in ("session_id", "cwd"))
    return event.name, event.at.timestamp(), str(session or ""), str(folder or ""), event.host
