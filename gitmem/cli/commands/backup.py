"""`gitmem backup`: the whole memory as one file."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from gitmem.errors import ExitCode
from gitmem.text.quantities import bytes_of, count
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door

_NOUNS = {"sessions": "session", "facts": "fact", "episodes": "task", "patterns": "known error"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem backup`."""
    parser.add_argument("file", help="a new file")
    parser.add_argument("--transcripts", action="store_true", help="with the raw transcripts of sessions")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Write the whole memory with its history to one file, a git bundle, and check it by reading it back.

    Your own settings are copied to FILE.settings.yaml. 'gitmem restore FILE' reads a backup; so does 'git clone'.

    With --json: {file, bytes, commit, transcripts, settings, records: {sessions, facts, episodes, patterns,
    knowledge}}.

    Examples:
      gitmem backup ~/memory.bundle
      gitmem backup --transcripts /media/stick/$(date +%F).bundle

    """
    from gitmem.cli.terminal import Progress
    from gitmem.store.sync.backup import back_up

    store = door.settled(args)
    file = os.path.abspath(os.path.join(door.cwd, os.path.expanduser(args.file)))
    with Progress(door.err) as progress:
        progress.step("writing the memory to one file, and reading it back")
        done = back_up(store, file, transcripts=args.transcripts)
    held = (count(done.records[name], noun) for name, noun in _NOUNS.items())
    text = f"Backed up to {done.file} ({bytes_of(done.bytes)}), read back and found whole: {', '.join(held)}."
    door.answer(args, asdict(done), plain(text))
    return ExitCode.OK
