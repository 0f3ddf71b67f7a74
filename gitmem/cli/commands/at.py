"""`gitmem at`: print a document as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli import output
from gitmem.cli.document import named_path, print_document
from gitmem.errors import ExitCode, NotFoundError
from gitmem.model.paths import MEMORY
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem at`."""
    parser.add_argument("when", metavar="REV|DATE", help="a commit, or a date (the end of that day)")
    parser.add_argument("path", nargs="?", metavar="PATH", help=f"the file (default: {MEMORY})")
    parser.add_argument("--list", action="store_true", help="list the files of that time instead")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Print a file as it was at a revision or a date, byte for byte.

    A date stands for the last commit made by then; a day or a minute for its end. It is written as 2026-11-21,
    '2026-11-21 14:03' (in your time zone; or with an offset, '2026-11-21 14:03+09:00'), today, yesterday, '3 days ago',
    '2 weeks ago', '5 hours ago'.

    With --json: {commit, date, path, text}, or with --list {commit, date, files: [{path, bytes}]}.

    Examples:
      gitmem at yesterday
      gitmem at 2026-11-21 daily/2026/11/2026-11-21.md
      gitmem at HEAD~3 --list
      gitmem at '3 days ago' > memory-then.md

    """
    from gitmem.store.history.records import read_at, read_records, resolve

    store = door.settled(args)
    commit = resolve(store, args.when)
    record = read_records(store, [commit])[commit]
    about: dict[str, object] = {"commit": commit, "date": record.committed.isoformat()}
    path = named_path(store, args, door, args.path) if args.path else None
    if args.list:
        files = store.repository.files(commit, *([path] if path else []))
        listed = [{"path": file.path, "bytes": file.size} for file in files]
        if listed:
            door.answer(args, about | {"files": listed}, plain("\n".join(file.path for file in files)))
            return ExitCode.OK
    path = path or MEMORY
    data = None if args.list else read_at(store, commit, path)
    if data is None:
        raise NotFoundError(
            f"There was no {path} at {args.when}.", f"'gitmem at {commit[: output.SHORT]} --list' lists the files."
        )
    print_document(args, door, about | {"path": path, "text": data.decode("utf-8", "replace")}, data)
    return ExitCode.OK
