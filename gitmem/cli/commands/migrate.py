"""`gitmem migrate`: import the memory of an older tool."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.cli.terminal import Bar
from gitmem.errors import ExitCode, NotFoundError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gitmem.cli.door import Door
    from gitmem.legacy.migrate import Migrated
    from gitmem.legacy.read import Source
    from gitmem.store.store import Store

_KINDS = ("rotation", "memory-keeper", "jikime")
_SHOWN = 40  # lines of one list for people; --json has all of them


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem migrate`."""
    parser.add_argument("source", nargs="?", metavar="SOURCE", help="a folder (default: all known ones of the project)")
    parser.add_argument("--from", dest="kind", choices=_KINDS, help="its layout (default: recognized by its files)")
    parser.add_argument("--dry-run", action="store_true", help="only list the files and their new places")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Import the memory of an older tool, each item as a commit with its own date.

    It reads .claude/memory/ and .crabshell/memory/ (rolling memory, archives, summaries, facts.json, transcripts),
    ~/.claude/memory-keeper/projects/NAME/, and .jikime/memory/. A rolling memory that is too large is split by its
    dates. The source stays as it is. A second run imports only what is new, and 'gitmem undo' takes any of it back.

    With --json: {dry_run, sources: [{kind, folder, session, migrated: [{source, to}], already, left: [{source,
    why}]}]}.

    Examples:
      gitmem migrate --dry-run
      gitmem migrate
      gitmem migrate ~/old/project/.claude/memory --from rotation

    """
    from gitmem.legacy.migrate import migrate

    named = _named(args, door)
    store = door.settled(args)
    done: list[Migrated] = []
    bar = Bar(door.err)
    for source in named or _found(args, door, store):
        done.append(migrate(store, source, dry_run=args.dry_run, progress=bar.show))
        bar.clear()
        door.notices(done[-1].notices)
    door.answer(args, _value(done, dry_run=args.dry_run), _text(done, dry_run=args.dry_run))
    if not args.dry_run:
        door.maintain_later(store, much=True)
    return ExitCode.OK


def _named(args: argparse.Namespace, door: Door) -> list[Source]:
    """Return the source that the arguments name, if any; also where there is no store to tell what is wrong with it."""
    from gitmem.legacy.plan import SourceKind
    from gitmem.legacy.read import Source, kind_of

    if not args.source:
        return []
    folder = os.path.join(door.folder(args), os.path.expanduser(args.source))
    if not os.path.isdir(folder):
        raise NotFoundError(f"There is no folder {args.source}.", "Give the folder that holds the memory.")
    kind = SourceKind(args.kind) if args.kind else kind_of(folder)
    if kind is None:
        raise NotFoundError(f"gitmem does not recognize the memory in {args.source}.", "Name its layout with --from.")
    return [Source(kind, folder)]


def _found(args: argparse.Namespace, door: Door, store: Store) -> list[Source]:
    from gitmem.legacy.read import find_sources
    from gitmem.store.config.locate import find_project

    project = store.root if args.user else find_project(door.folder(args), door.home()).root
    found = [one for one in find_sources(project, door.home()) if args.kind in (None, one.kind.value)]
    if not found:
        raise NotFoundError(
            "This project has no memory of an older tool.",
            "Looked for .claude/memory, .crabshell/memory, .jikime/memory and ~/.claude/memory-keeper/projects/NAME. "
            "Give a folder to import another one.",
        )
    return found


def _value(done: Sequence[Migrated], *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "sources": [
            {
                "kind": one.source.kind.value,
                "folder": one.source.folder,
                "session": one.session,
                "migrated": [{"source": item.source, "to": item.to} for item in one.brought],
                "already": one.there,
                "left": [{"source": item.source, "why": item.why} for item in one.left],
            }
            for one in done
        ],
    }


def _text(done: Sequence[Migrated], *, dry_run: bool) -> str:
    from gitmem.text.terminal import plain

    lines = []
    for one in done:
        verb = "would be imported" if dry_run else "imported"
        lines.append(
            f"{one.source.folder} ({one.source.kind.value}): {len(one.brought)} {verb}, {one.there} already here"
        )
        lines += _listed([f"  {item.source} -> {item.to}" for item in one.brought])
        if one.brought and not dry_run:
            lines.append(f"To take all of it back: gitmem undo --session {one.session}")
        lines += ["Not imported:"] if one.left else []
        lines += _listed([f"  {item.source}: {item.why}" for item in one.left])
    return plain("\n".join(lines))


def _listed(lines: list[str]) -> list[str]:
    more = len(lines) - _SHOWN
    return [*lines[:_SHOWN], f"  … and {more} more; --json lists all"] if more > 0 else lines
