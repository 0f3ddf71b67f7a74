"""Import recorded sessions, memories of older tools, and the memory files of agents."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from shlex import quote

from gitmem.cli.app import OWN, App
from gitmem.cli.arguments import Args, read_date
from gitmem.cli.commands.agents import place_of
from gitmem.cli.output import first_of, table
from gitmem.cli.progress import Progress
from gitmem.errors import ExitCode, NotFoundError, UsageError
from gitmem.hosts.claude_code import memory_folder
from gitmem.hosts.host import Scope
from gitmem.hosts.registry import NAMES, find_host, transcript_file
from gitmem.importers import entire
from gitmem.importers.migrate import TRANSCRIPT, Migrated, migrate
from gitmem.importers.read import DATABASE, Source, find_sources, kind_of, places_of
from gitmem.importers.sources import SourceKind
from gitmem.learn.end import Replayed, find_transcripts, replay
from gitmem.learn.facts import adopt
from gitmem.project.code import project_code
from gitmem.record.fact_edits import compare_arrivals
from gitmem.store.locate import find_project
from gitmem.store.store import Store
from gitmem.tell.outcome_counts import note_fixes
from gitmem.text.sentences import count
from gitmem.text.terminal import fields, plain


def run_import(args: Args, app: App) -> int:
    if not args.sources and args.kind is None:
        if args.since:
            raise UsageError("--since is about transcripts, and none is named.", "Name them, or --from and an agent.")
        _offer(app)
        return ExitCode.OK
    folder = app.path(args.sources[0]) if args.sources else ""
    known = os.path.basename(folder) == DATABASE or kind_of(folder) if folder and args.kind is None else None
    if args.kind in _KINDS or known:
        if len(args.sources) > 1 or args.since:
            raise UsageError("A memory is imported by itself, and as a whole.", "Give one folder, without --since.")
        args.source = folder
        run_migrate(args, app)
        return ExitCode.OK
    if args.kind == entire.NAME:
        return _import_entire(args, app)
    args.host, args.transcripts = args.kind, args.sources
    if os.path.isdir(folder) and not find_transcripts(folder):
        remedy = "If it holds a memory of another tool, say which with --from."
        raise NotFoundError(f"Neither transcripts nor a memory that gitmem knows are in {args.sources[0]}.", remedy)
    return run_replay(args, app, dry_run=args.dry_run)


def _import_entire(args: Args, app: App) -> int:
    """Import the sessions that Entire recorded on a branch of the project."""
    code = project_code(app.folder(), app.environ)
    snapshots = entire.snapshots(code) if code else []
    if code is None or not snapshots:
        raise NotFoundError(
            "The project has no branch entire/checkpoints/v1 with sessions.",
            "Fetch it: git fetch origin entire/checkpoints/v1:entire/checkpoints/v1",
        )
    with tempfile.TemporaryDirectory() as folder:
        args.host, args.transcripts = None, entire.write_transcripts(code, snapshots, folder)
        return run_replay(args, app, dry_run=args.dry_run)


def _offer(app: App) -> None:
    """List this machine's importable data of this project, each with the command that imports it."""
    project = find_project(app.folder(), app.home()).root
    offers = [
        (f"sessions of {host.title}", len(own), f"gitmem import --from {host.name}")
        for host in map(find_host, NAMES)
        if host.sessions and (own := host.sessions(place_of(app, Scope.PROJECT)))
    ]
    offers += [
        (f"a memory in {source.folder}", 1, f"gitmem import --from {source.kind.value}")
        for source in find_sources(project, app.home())
    ]
    code = project_code(app.folder(), app.environ)
    if code and (snapshots := entire.snapshots(code)):
        offers.append(("sessions on Entire's branch", len(snapshots), f"gitmem import --from {entire.NAME}"))
    notes = memory_folder(app.environ, app.home(), project)
    if os.path.isdir(notes):
        offers.append(("memory files of Claude Code", len(os.listdir(notes)), "gitmem import adopt"))
    values = [dict(zip(("what", "number", "command"), offer, strict=True)) for offer in offers]
    rows = table([(f"{number:,}", what, command) for what, number, command in offers]) if offers else ""
    nothing = "Nothing to import was found for this project. Give a transcript, a folder of them, or a memory's folder."
    app.answer(values, plain(rows) or nothing, "import" if rows else "")


def run_replay(args: Args, app: App, *, dry_run: bool = False) -> int:
    paths, store = _transcripts(args, app), app.settled()
    span = read_date(store, args.since, "--since")
    transcripts = list(dict.fromkeys(transcript for path in paths for transcript in find_transcripts(path)))
    done: list[Replayed] = []
    with Progress(app.err) as bar:
        for path in transcripts:
            bar.show(len(done), len(transcripts), os.path.basename(path))
            first = span.first if span else None
            done.append(replay(store, path, args.host or "", first, note_fixes, dry_run=dry_run))
    for result in done:
        app.notices(result.notices)
    if dry_run:
        return _say_what_is_new(args, app, done)
    saved, turns = sum(replay.saved for replay in done), sum(replay.turns for replay in done)
    archives = [archive for replay in done for archive in replay.archives]
    value = {"files": [replay._asdict() for replay in done], "turns": turns, "saved": saved, "archives": archives}
    lines = [app.rotated(archive) for archive in archives]
    outcome = f"{saved} saved, {turns - saved} already there or empty"
    lines.append(f"{count(len(transcripts), 'transcript')}, {count(turns, 'turn')}: {outcome}.")
    app.answer(value, "\n".join(lines), OWN)
    store.maintain_later(much=True)
    # A file in a folder may be anything; a file that a user names should hold a transcript.
    failed = not turns and any(replay.notices and replay.path in paths for replay in done)
    return ExitCode.FAILURE if failed else ExitCode.OK


def _say_what_is_new(args: Args, app: App, done: Sequence[Replayed]) -> int:
    new = [replay for replay in done if replay.saved]
    files = [replay.sessions[-1] if args.kind == entire.NAME else replay.path for replay in new]
    turns = sum(replay.saved for replay in new)
    there = f"{len(done) - len(new)} already there or empty"
    outcome = f"{count(len(new), 'transcript')} would be imported ({count(turns, 'turn')}), {there}."
    value = {"dry_run": True, "files": files, "turns": turns}
    app.answer(value, "\n".join([*first_of(files, _SHOWN), outcome]), OWN)
    return ExitCode.OK


def _transcripts(args: Args, app: App) -> list[str]:
    """Return the named transcripts, or a host's transcripts of this project."""
    paths = [app.path(name) for name in args.transcripts]
    if not paths:
        if args.host is None:
            remedy = "Give a transcript, a folder of them, or --from and an agent."
            raise UsageError("There is nothing to import.", remedy)
        host = find_host(args.host)
        found = host.sessions(place_of(app, Scope.PROJECT)) if host.sessions else []
        if not found:
            remedy = "Give a transcript or a folder of them."
            raise NotFoundError(f"{host.title} keeps no sessions of this project.", remedy)
        paths = sorted(found, key=lambda path: (os.path.getmtime(transcript_file(path)), path))
    missing = [path for path in paths if not os.path.exists(path) and not os.path.exists(transcript_file(path))]
    if missing:
        raise NotFoundError(f"{missing[0]} does not exist.", "Give the transcript of a session, or a folder of them.")
    databases = [path for path in paths if path.endswith(".db")]
    if databases:
        remedy = "'gitmem import --from opencode' (or kilo) imports its sessions of this project."
        raise UsageError(f"{databases[0]} is a database with the sessions of many projects.", remedy)
    return paths


_KINDS = tuple(kind.value for kind in SourceKind)
_SHOWN = 40  # lines of one list for people; --json has all of them


def run_migrate(args: Args, app: App) -> None:
    named = _named(args, app)
    store = app.settled()
    done: list[Migrated] = []
    for source in named or _found(args, app, store):
        with Progress(app.err) as bar:
            done.append(migrate(store, source, dry_run=args.dry_run, progress=bar.show))
        app.notices(done[-1].notices)
    if not args.dry_run:
        compare_arrivals(store)
    value = {"dry_run": args.dry_run, "sources": [*map(_value, done)]}
    app.answer(value, _text(done, dry_run=args.dry_run))
    if not args.dry_run:
        store.maintain_later(much=True)


def _named(args: Args, app: App) -> list[Source]:
    """Return the source in the arguments, if any; report a wrong one even without a store."""
    if not args.source:
        return []
    folder = app.path(args.source)
    folder = os.path.dirname(folder) if os.path.basename(folder) == DATABASE else folder
    if not os.path.isdir(folder):
        raise NotFoundError(f"There is no folder {args.source}.", "Give the folder that holds the memory.")
    kind = SourceKind(args.kind) if args.kind else kind_of(folder)
    if kind is None:
        raise NotFoundError(f"gitmem does not recognize the memory in {args.source}.", "Name its layout with --from.")
    return [Source(kind, folder, os.path.basename(find_project(app.folder(), app.home()).root))]


def _found(args: Args, app: App, store: Store) -> list[Source]:
    project = store.root if args.user else find_project(app.folder(), app.home()).root
    sources = [source for source in find_sources(project, app.home()) if args.kind in (None, source.kind.value)]
    if not sources:
        places = places_of(SourceKind(args.kind) if args.kind else None)
        looked = f"Looked for {', '.join(places)}. " if places else ""
        raise NotFoundError(
            f"This project has no memory of {args.kind or 'another tool'}.", f"{looked}Give the folder that holds it."
        )
    return sources


def _value(migrated: Migrated) -> dict[str, object]:
    return {
        **fields(migrated.source, "kind folder"),
        "session": migrated.session,
        "migrated": migrated.brought,
        "already": migrated.there,
        "left": migrated.left,
    }


def _text(done: Sequence[Migrated], *, dry_run: bool) -> str:
    lines = []
    for migrated in done:
        verb = "would be imported" if dry_run else "imported"
        brought = f"{len(migrated.brought)} {verb}, {migrated.there} already here"
        lines.append(f"{migrated.source.folder} ({migrated.source.kind.value}): {brought}")
        lines += first_of([f"{item.source} -> {item.to}" for item in migrated.brought], _SHOWN)
        lines += [] if dry_run else _ways_back(migrated)
        lines += ["Not imported:"] if migrated.left else []
        lines += first_of([f"{item.source}: {item.why}" for item in migrated.left], _SHOWN)
    return plain("\n".join(lines))


def _ways_back(done: Migrated) -> list[str]:
    """Return how to undo an import: `gitmem undo` does not cover transcripts, which are in no commit of the memory."""
    sessions = [item.to.removeprefix(TRANSCRIPT).strip() for item in done.brought if item.to.startswith(TRANSCRIPT)]
    back = f"To take all of it back: gitmem undo --session {done.session}"
    lines = [back if not sessions else f"{back} (sessions apart)"] if len(done.brought) > len(sessions) else []
    names = quote(sessions[0]) if len(sessions) == 1 else "SESSION"
    return [*lines, *[f"To take a session back: gitmem forget --session {names}"] * bool(sessions)]


def run_adopt(args: Args, app: App) -> None:
    store = app.settled()
    own = memory_folder(app.environ, app.home(), os.path.dirname(store.root))
    folder = app.path(args.folder) if args.folder else own
    if not os.path.isdir(folder):
        raise NotFoundError(
            f"There is no folder {folder}.", "The agent has no memory of this project yet, or give its folder."
        )
    done = adopt(store, folder)
    compare_arrivals(store)
    counts = f"{count(len(done.new), 'new fact')}, {len(done.changed)} changed, {len(done.retired)} retired"
    app.answer({"folder": folder, **done._asdict()}, f"{folder}: {counts}.", OWN)
