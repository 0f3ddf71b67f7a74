"""Exchange commits with other machines, propose facts to them; write and read backups and exports."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from gitmem.cli.app import OWN, App, chosen_place, now
from gitmem.cli.output import Progress
from gitmem.errors import StoreNotFoundError, UnreachableError
from gitmem.git.remote import Connection
from gitmem.history.export import export
from gitmem.store.findings import FailureLog, LoggedFailure
from gitmem.sync.clone import back_up, merge_in, restore_into
from gitmem.sync.guard import Accept
from gitmem.sync.proposals import propose
from gitmem.sync.remotes import (
    find_remote,
    remotes,
)
from gitmem.sync.rounds import Options, Synced
from gitmem.sync.sync import sync_in_background, sync_remote
from gitmem.text.sentences import bytes_of, count
from gitmem.text.terminal import plain

_REVIEWED = 5  # documents that are named


def run_sync(args: argparse.Namespace, app: App) -> None:
    if args.background:
        _background(args, app)
        return
    store = app.settled(args)
    chosen = [find_remote(store, args.remote)] if args.remote else remotes(store) or [find_remote(store, None)]
    with Progress(app.err) as progress:
        options = Options(tuple(map(Accept, args.accept)), progress.step)
        done = [sync_remote(store, remote, options, asks=app.can_ask()) for remote in chosen]
    for one in done:
        app.notices(one.notices)
    value = [asdict(one) for one in done]
    source = None if any(one.review for one in done) else OWN  # names of documents
    app.answer(args, value[0] if len(value) == 1 else value, "\n".join(map(_words, done)), source)
    app.maintain_later(store)


def _background(args: argparse.Namespace, app: App) -> None:
    """Sync behind a hook: log failures, except being offline."""
    store = app.settled(args)
    for error in sync_in_background(store, Options()):
        if not isinstance(error, UnreachableError):
            FailureLog(store.private).record(LoggedFailure(now(), "sync", error.sentences))


def _words(done: Synced) -> str:
    came, went = (count(number, "commit") if number else "nothing" for number in (done.came, done.went))
    text = f"Synced with {done.remote}: received {came}, sent {went}"
    if done.review:
        names = ", ".join(done.review[:_REVIEWED]) + (", ..." if len(done.review) > _REVIEWED else "")
        return plain(f"{text}; {count(len(done.review), 'document')} to review: {names}.")
    return plain(f"{text}.")


def run_propose(args: argparse.Namespace, app: App) -> None:
    store = app.settled(args)
    store.check_writes()
    remote = find_remote(store, args.remote)
    environ = store.context.environ
    connection = Connection(store.repository.layout, environ, own=store.own_repository, asks=app.can_ask())
    with Progress(app.err) as progress:
        options = Options(progress=progress.step)
        done = propose(store, remote, connection, options, ids=args.ids, name=args.name)
    text = f"Proposed {count(len(done.paths), 'fact')} on the branch {done.branch} of {done.remote}."
    app.answer(args, done._asdict(), plain("\n".join((text, *(f"  {path}" for path in done.paths)))))


def run_export(args: argparse.Namespace, app: App) -> None:
    for line in export(app.settled(args), args.since):
        print(line, file=app.out)


_NOUNS = {"sessions": "session", "facts": "fact", "episodes": "task", "patterns": "known error"}


def run_backup(args: argparse.Namespace, app: App) -> None:
    store = app.settled(args)
    file = app.path(args, args.file)
    with Progress(app.err) as progress:
        progress.step("writing the memory to one file, and reading it back")
        done = back_up(store, file, transcripts=args.transcripts)
    held = (count(done.records[name], noun) for name, noun in _NOUNS.items())
    text = f"Backed up to {done.file} ({bytes_of(done.bytes)}), read back and found whole: {', '.join(held)}."
    app.answer(args, asdict(done), plain(text), OWN)


def run_restore(args: argparse.Namespace, app: App) -> None:
    commit: str | None
    came: int | None
    review: tuple[str, ...]
    file = app.path(args, args.file)
    with Progress(app.err) as progress:
        options = Options(tuple(map(Accept, args.accept)), progress.step)
        try:
            store = app.settled(args)
        except StoreNotFoundError:
            store = restore_into(app.folder(args), app.context(), chosen_place(args), file, options)
            commit, came, review = store.tip, None, ()
            text = f"Restored the memory to {store.root}."
        else:
            done = merge_in(store, file, options)
            app.notices(done.notices)
            commit, came, review = done.commit, done.came, done.review
            text = f"Merged {count(done.came, 'commit')} of the backup." if done.came else "The backup has nothing new."
    value = {"store": store.root, "commit": commit, "came": came, "review": list(review)}
    app.answer(args, value, plain(text), OWN)
