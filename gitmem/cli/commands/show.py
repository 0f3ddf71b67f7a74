"""Show documents, entries, facts and commits, as they are or were."""

from __future__ import annotations

import argparse
import os
import re
from datetime import timedelta

from gitmem.cli import output
from gitmem.cli.app import App
from gitmem.cli.document import FILES, named_path, refuse_folder, show_episode, show_fact, show_pattern
from gitmem.document.ids import ALPHABET, FACT_LETTERS, MEMORY, daily_path, is_fact_id, is_id, is_timed
from gitmem.errors import NotFoundError, RefusedError
from gitmem.facts.edit import find_fact
from gitmem.facts.fact import Fact
from gitmem.git.log import show
from gitmem.history.authors import People
from gitmem.history.named import named
from gitmem.history.origin import find_entry
from gitmem.history.records import difference, last_version, read_records, resolve
from gitmem.lessons.episode import LETTER as EPISODE_LETTER
from gitmem.lessons.pattern import LETTER as BUG_LETTER
from gitmem.store.known_facts import marked
from gitmem.store.store import Store
from gitmem.text.terminal import plain

_FACT = re.compile(rf"\^?[{FACT_LETTERS}][{ALPHABET}]+")
_SHOWN = {EPISODE_LETTER: show_episode, BUG_LETTER: show_pattern}
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"


def run_show(args: argparse.Namespace, app: App) -> None:
    store = app.settled(args)
    name = _day_path(store, args.what) or args.what
    if is_fact_id(name.removeprefix("^")) and (fact := _fact(store, name)) is not None:
        show_fact(store, fact, args, app)
    elif name.startswith("^"):
        if not is_id(name[1:]):
            raise NotFoundError(
                f"{name} is not the id of an entry, which has 20 or 11 letters and digits.",
                "'gitmem log --long' shows the ids.",
            )
        _show_id(args, app, store, name[1:])
    elif (file := _document(store, args, app, name)) is not None:
        path, data = file
        if ":" in args.what:
            value = {"path": path, "text": data.decode("utf-8", "replace")}
            output.answer_bytes(args, app, value, data, f"show {args.what}")
        else:
            now = named(store, data.decode("utf-8", "replace"), path)
            app.answer(args, {"path": path, "text": now}, plain(now).rstrip("\n"), path)
    elif name != args.what:
        raise NotFoundError(f"Nothing was saved on {name[-len('2026-11-21.md') : -len('.md')]}.", "See 'gitmem log'.")
    else:
        _show_named(args, app, store, name)


def _document(store: Store, args: argparse.Namespace, app: App, what: str) -> tuple[str, bytes] | None:
    """Return path and content of a file, of a day's log that was removed, or of `REV:PATH`; None for other names."""
    file = _readable(store, args, app, what)
    if file is not None:
        return file
    if what != args.what and (gone := last_version(store.repository, what)) is not None:
        app.notices((f"{what} was removed ('gitmem log' says why); this is its last version.",))
        return what, gone
    return _past_file(store, what)


def _show_named(args: argparse.Namespace, app: App, store: Store, what: str) -> None:
    """Print the commit, the entry (its `^` left out) or the fact (by the beginning of its id) that a text names."""
    try:
        commit = resolve(store, what)
    except NotFoundError:
        if is_id(what):
            _show_id(args, app, store, what)
        elif (fact := _fact(store, what)) is not None:
            show_fact(store, fact, args, app)
        else:
            raise NotFoundError(
                f"{what!r} is neither a file of the store nor a commit.", f"{FILES} 'gitmem log' lists the commits."
            ) from None
    else:
        _show_commit(args, app, store, commit)


def _fact(store: Store, text: str) -> Fact | None:
    """Return the fact with this id or an unambiguous beginning of it, None if no fact has it."""
    if not _FACT.fullmatch(text):
        return None
    try:
        return find_fact(store, text)
    except NotFoundError:
        return None


def _show_commit(args: argparse.Namespace, app: App, store: Store, commit: str) -> None:
    value: dict[str, object] = {}
    if args.json:
        value = output.commit_value(read_records(store, [commit])[commit])
        value |= output.difference_value(difference(store, None, commit))
    patch = show(store.repository.git, commit)
    output.answer_bytes(args, app, value, patch, f"show {commit[: output.SHORT]}")


def _day_path(store: Store, text: str) -> str:
    """Return the path of the log of the day that a text names, "" if it names none."""
    if re.fullmatch(_DAY, text):
        return daily_path(text)
    if text in {"today", "yesterday"}:
        day = store.context.clock() - timedelta(days=text == "yesterday")
        return daily_path(f"{day:%Y-%m-%d}")
    return ""


def _past_file(store: Store, text: str) -> tuple[str, bytes] | None:
    """Return path and content of the file that `REV:PATH` names, None if the text names none."""
    revision, colon, path = text.partition(":")
    if not (revision and colon and path):
        return None
    try:
        data = store.repository.read(resolve(store, revision), path)
    except NotFoundError:
        return None
    return None if data is None else (path, data)


def _show_id(args: argparse.Namespace, app: App, store: Store, identifier: str) -> None:
    """Print the episode, the bug pattern or the entry of an id."""
    if is_timed(identifier) or identifier[0] not in _SHOWN:
        _show_entry(args, app, store, identifier)
    else:
        _SHOWN[identifier[0]](store, identifier, args, app)


def _show_entry(args: argparse.Namespace, app: App, store: Store, identifier: str) -> None:
    entry = find_entry(store, identifier)
    whose = People(store).whose(identifier)
    words = marked(store, entry.entry.text, identifier)
    entry = entry._replace(entry=entry.entry._replace(text=words), text=marked(store, entry.text))
    app.answer(
        args,
        output.entry_value(entry),
        output.entry_text(entry) + (f"\nby      {plain(whose)}" if whose else ""),
        "entry",
    )


def _readable(store: Store, args: argparse.Namespace, app: App, text: str) -> tuple[str, bytes] | None:
    """Return path and content of the file of the work tree that `text` names, None if there is none."""
    try:
        path = named_path(store, args, app, text)
    except RefusedError:
        if ("/" in text or os.path.isabs(text)) and ":" not in text:
            raise
        return None  # `HEAD~2` is no name for a file, either
    refuse_folder(store, path)
    data = store.read(path)
    return None if data is None else (path, data)


def run_at(args: argparse.Namespace, app: App) -> None:
    store = app.settled(args)
    commit = resolve(store, args.when)
    record = read_records(store, [commit])[commit]
    about: dict[str, object] = {"commit": commit, "date": record.committed.isoformat()}
    path = named_path(store, args, app, args.path) if args.path else None
    if args.list:
        files = store.repository.files(commit, *([path] if path else []))
        listed = [{"path": file.path, "bytes": file.size} for file in files]
        if listed:
            app.answer(args, about | {"files": listed}, plain("\n".join(file.path for file in files)))
            return
    path = path or MEMORY
    data = None if args.list else store.repository.read(commit, path)
    if data is None:
        raise NotFoundError(
            f"There was no {path} at {args.when}.", f"'gitmem at {commit[: output.SHORT]} --list' lists the files."
        )
    value = about | {"path": path, "text": data.decode("utf-8", "replace")}
    output.answer_bytes(args, app, value, data, f"show {commit[: output.SHORT]}:{path}")
