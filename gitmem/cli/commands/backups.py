"""Write a backup, and read one."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict

from gitmem.cli.app import App, add_places, chosen_place
from gitmem.cli.output import Progress
from gitmem.errors import StoreNotFoundError
from gitmem.sync.clone import back_up, merge_in, restore_into
from gitmem.sync.guard import Accept
from gitmem.sync.rounds import Options
from gitmem.text.sentences import bytes_of, count
from gitmem.text.terminal import plain

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
    app.answer(args, asdict(done), plain(text))


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
    app.answer(args, value, plain(text))
