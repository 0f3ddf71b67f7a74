"""Exchange commits with other machines, propose facts to them; write and read backups and exports."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict

from gitmem.cli.app import OWN, App, add_places, chosen_place, now
from gitmem.cli.output import Progress
from gitmem.errors import StoreNotFoundError, UnreachableError
from gitmem.git.remote import Connection
from gitmem.store.findings import Failure, FailureLog
from gitmem.sync.clone import back_up, merge_in, restore_into
from gitmem.sync.guard import Accept
from gitmem.sync.proposals import propose
from gitmem.sync.remotes import find_remote, remotes
from gitmem.sync.rounds import Options, Synced
from gitmem.sync.sync import sync_in_background, sync_remote
from gitmem.text.sentences import bytes_of, count
from gitmem.text.terminal import plain

_REVIEWED = 5  # documents that are named


def configure_sync(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("remote", nargs="?", help="a remote (default: all)")
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        choices=[accept.value for accept in Accept],
        help="go on where it would stop: most of the memory would be removed, the remote was rewritten or emptied, its "
        "memory is that of another project, or a purge from elsewhere affects most files here",
    )
    parser.add_argument("--background", action="store_true", help="ask nothing and print nothing, as hooks do")


def run_sync(args: argparse.Namespace, app: App) -> None:
    """Exchange commits with other machines: fetch, merge and push. It never leaves a conflict and never forces a push.

    Offline, everything waits for the next sync (exit code 10). Where both sides changed the same words, both versions
    are kept and marked; 'gitmem review' lists them.

    With --json: {remote, commit, came, went, review, rounds, notices}, or a list of these for several remotes.

    Examples:
      gitmem sync
      gitmem sync origin --json
      gitmem sync --accept deletions
      gitmem config sync.auto interval      sync by itself, every sync.minutes while sessions run

    """
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
            FailureLog(store.private).record(Failure(now(), "sync", error.sentences))


def _words(done: Synced) -> str:
    came, went = (count(number, "commit") if number else "nothing" for number in (done.came, done.went))
    text = f"Synced with {done.remote}: received {came}, sent {went}"
    if done.review:
        names = ", ".join(done.review[:_REVIEWED]) + (", ..." if len(done.review) > _REVIEWED else "")
        return plain(f"{text}; {count(len(done.review), 'document')} to review: {names}.")
    return plain(f"{text}.")


def configure_propose(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", metavar="FACT", help="facts (default: all that the remote has not)")
    parser.add_argument("--name", default="", help="the proposal's name (default: the words of its first fact)")
    parser.add_argument("--remote", metavar="NAME", help="where to (default: the first remote)")


def run_propose(args: argparse.Namespace, app: App) -> None:
    """Push facts, and nothing else, to the branch gitmem-proposals/NAME of a remote, for a pull request.

    For a team whose memory branch is protected, or which reviews what all are told. The branch is one commit on top of
    the remote's memory, so that a forge shows a short diff. Nothing changes here; once it is merged there, the next
    sync brings it to everybody. The same --name again replaces the proposal.

    With --json: {remote, branch, commit, paths}.

    Examples:
      gitmem propose
      gitmem propose d4f7k2m9q0x --name package-manager

    """
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


def configure_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jsonl", action="store_true", help="a JSON object a line (the only form)")
    parser.add_argument("--since", default="", metavar="COMMIT", help="what changed after the commit of an export")


def run_export(args: argparse.Namespace, app: App) -> None:
    """Print all memories as records, for engines that outgrow plain files: DuckDB, SQLite, LanceDB, PostgreSQL.

    Each line is {id, kind, text, date, status, session, branch, tags, files, path, author, layer}; a memory that is
    gone since COMMIT is {id, deleted: true}. The first line is {id: "", kind: "export", commit, since}; give its commit
    to the next --since. After a purge that commit is gone: the stream then has everything, after {id: "*", deleted:
    true}, at which all that came before is to be deleted. Applying a stream twice changes nothing.

    With --json: the same lines.

    Examples:
      gitmem export --jsonl > memory.jsonl
      gitmem export --jsonl --since 1f3a9c2b4d5e6f708192a3b4c5d6e7f8091a2b3c

    """
    from gitmem.history.export import export

    for line in export(app.settled(args), args.since):
        print(line, file=app.out)


_NOUNS = {"sessions": "session", "facts": "fact", "episodes": "task", "patterns": "known error"}


def configure_backup(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="a new file")
    parser.add_argument("--transcripts", action="store_true", help="with the raw transcripts of sessions")


def run_backup(args: argparse.Namespace, app: App) -> None:
    """Write the whole memory with its history to one file, a git bundle, and check it by reading it back.

    Your own settings are copied to FILE.settings.yaml. 'gitmem restore FILE' reads a backup; so does 'git clone'.

    With --json: {file, bytes, commit, transcripts, settings, records: {sessions, facts, episodes, patterns,
    knowledge}}.

    Examples:
      gitmem backup ~/memory.bundle
      gitmem backup --transcripts /media/stick/$(date +%F).bundle

    """
    store = app.settled(args)
    file = os.path.abspath(os.path.join(app.cwd, os.path.expanduser(args.file)))
    with Progress(app.err) as progress:
        progress.step("writing the memory to one file, and reading it back")
        done = back_up(store, file, transcripts=args.transcripts)
    held = (count(done.records[name], noun) for name, noun in _NOUNS.items())
    text = f"Backed up to {done.file} ({bytes_of(done.bytes)}), read back and found whole: {', '.join(held)}."
    app.answer(args, asdict(done), plain(text), OWN)


def configure_restore(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="a file that 'gitmem backup' wrote")
    add_places(parser)
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        choices=("deletions", "other-project"),
        help="merge although most of the memory here would be removed, or the backup is of another project",
    )


def run_restore(args: argparse.Namespace, app: App) -> None:
    """Read a backup: into this project's store, as a sync would merge it, or as its store where it has none.

    What was removed by a purge after the backup does not come back. Settings beside the backup are not applied; read
    them, and copy what you want.

    With --json: {store, commit, came, review}.

    Examples:
      gitmem restore ~/memory.bundle
      gitmem restore ~/memory.bundle --home
      gitmem restore ~/memory.bundle --accept deletions

    """
    commit: str | None
    came: int | None
    review: tuple[str, ...]
    file = os.path.abspath(os.path.join(app.cwd, os.path.expanduser(args.file)))
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
