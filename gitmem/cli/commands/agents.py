"""Choose the agents of a command, and take gitmem out of their settings."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product

from gitmem.cli.app import OWN, App
from gitmem.cli.arguments import Args
from gitmem.errors import ExitCode, GitmemError, RefusedError, StoreNotFoundError, UsageError
from gitmem.git.layout import MEMORY_BRANCH, find_layout
from gitmem.hosts.edits import edits_of
from gitmem.hosts.host import FOLDER, Host, InstallPlace, Scope, script_path
from gitmem.hosts.install import (
    WHOLE,
    FileEdit,
    InstallRecord,
    Manifest,
    SettingsChange,
    carry_out,
    is_present,
    plan_file,
    plan_takes,
    record_of,
    remove_empty,
)
from gitmem.hosts.obstacles import noted_answers
from gitmem.hosts.plan import by_path, count_removed, diff_of, plan_excluded
from gitmem.hosts.registry import NAMES, find_host
from gitmem.hosts.script import (
    created_settings,
    drop_script,
    hooked_file,
    is_project,
    lock_settings,
    plan_removal,
    project_top,
    settings_with_hooks,
)
from gitmem.hosts.settings import HOOKS, MCP, Edit
from gitmem.platform.machine import MACHINE, SCRIPTS_TOO, find_program
from gitmem.store.acceptance import known_stores, recorded_place, recorded_store, recorded_stores
from gitmem.store.arrivals import check_hosts_untracked
from gitmem.store.forbids import MARKER
from gitmem.store.init import plan_unexclude
from gitmem.store.jobs import job_files
from gitmem.store.locate import HOME_HOSTS, HOME_PROJECTS, PRIVATE_FOLDER, find_project, find_store, user_store
from gitmem.store.merge_driver import uninstall_driver
from gitmem.store.settings import made_files, take_answer_back
from gitmem.text.sentences import count, listed
from gitmem.text.terminal import fields


def found_hosts(app: App) -> list[Host]:
    """Return the hosts on this machine: those with a program on the PATH, or a folder in the home."""
    return [
        host
        for host in map(find_host, NAMES)
        if any(find_program(name, app.environ, SCRIPTS_TOO) for name in host.programs or (host.name,))
        or os.path.isdir(os.path.join(app.home(), host.folder))
    ]


def chosen_hosts(args: Args, app: App) -> list[Host]:
    """Return the hosts that the command line names."""
    if args.all and args.host:
        raise UsageError(f"--all and {args.host} exclude each other.", "Give one of them.")
    return found_hosts(app) if args.all else [find_host(args.host)] if args.host else []


def own_program(app: App) -> str:
    """Return the path of the `gitmem` that hooks should start, "" if there is none."""
    beside = os.path.join(os.path.dirname(sys.executable), "gitmem.exe" if sys.platform == "win32" else "gitmem")
    program = find_program("gitmem", app.environ, SCRIPTS_TOO)
    return program or (beside if os.access(beside, os.X_OK) else "")


def chosen_scope(args: Args) -> Scope | None:
    """Return the scope that an option names, or None."""
    if args.project and args.user:  # `gitmem --user install claude --project`
        raise UsageError("--user and --project exclude each other.", "Give one of them.")
    return next((scope for scope in Scope if getattr(args, scope.value)), None)


def find_manifest(app: App, scope: Scope, host: Host) -> Manifest | None:
    """Return the manifest of a scope: in the user's store for their settings, else in the project's store, if any."""
    if scope is Scope.USER:
        root = user_store(app.home())
        check_hosts_untracked(root, app.environ)
        return Manifest(os.path.join(root, HOME_HOSTS, f"{host.label}.json"))
    try:
        return Manifest(os.path.join(app.open().private, HOME_HOSTS, f"{host.label}.json"))
    except StoreNotFoundError:
        return None


def place_of(app: App, scope: Scope) -> InstallPlace:
    """Return where a scope's settings are."""
    return InstallPlace(scope, project_top(app.folder(), app.home()), app.home(), app.environ)


def short_path(app: App, path: str) -> str:
    """Return a path relative to the project's top, or to the home as `~`."""
    top, home = (os.path.join(folder, "") for folder in (project_top(app.folder(), app.home()), app.home()))
    return (
        path.removeprefix(top) if path.startswith(top) else f"~/{path[len(home) :]}" if path.startswith(home) else path
    )


def _taken_lines(app: App, changes: Iterable[SettingsChange], *, dry_run: bool = False) -> str:
    """Return a line for each changed file, a project's files below its folder."""
    words = ("Would remove", "Would take gitmem out of") if dry_run else ("Removed", "Took gitmem out of")
    folders, files = dict[str, list[str]](), dict[str, list[SettingsChange]]()
    for change in (change for change in changes if change.changes):
        files.setdefault(change.path, []).append(change)
    home = os.path.realpath(app.home())
    for file, several in files.items():
        folder = _project_of(file, home)
        top = os.path.join(home if folder in {"", home} else folder, "")
        path = "~/" * (folder in {"", home} and file.startswith(top)) + file.removeprefix(top)
        lines = count(count_removed(several), "line")
        line = f"{words[0]} {path}." if several[-1].after is None else f"{words[1]} {path}: {lines}."
        folders.setdefault("" if folder == home else folder, []).append(line)
    heads = {folder: [f"In {folder}:"] * bool(folder) for folder in folders}
    return "\n".join(line for folder, lines in folders.items() for line in [*heads[folder], *lines])


def report_changes(
    args: Args, app: App, hosts: Sequence[Host], changes: Sequence[tuple[Scope, SettingsChange]], text: str
) -> None:
    """Print `text`; with --json the changed files, with --dry-run also their diff."""
    values = [
        {"scope": scope.value, **fields(change, "file=path changed=changes")}
        | {"removed": change.before is not None and change.after is None}
        for scope, change in changes
    ]
    value = {"host": " ".join(host.name for host in hosts), "dry_run": args.dry_run, "files": values}
    if args.dry_run:
        value["diff"] = diff_of(change for _, change in changes)
    app.answer(value, text, OWN)


def run_uninstall(args: Args, app: App) -> int:
    if args.everything:
        _run_everything(args, app)
        return ExitCode.OK
    chosen, hosts = chosen_scope(args), chosen_hosts(args, app)
    if not hosts:
        remedy = "'gitmem uninstall claude' takes it out of one agent here, 'gitmem uninstall --everything' out of all."
        raise UsageError("No agent is named.", remedy)
    changes: list[tuple[Scope, SettingsChange]] = []
    code, hooks = ExitCode.OK, set[str]()
    with contextlib.nullcontext() if args.dry_run else lock_settings(app.home()):
        for host, scope in product(hosts, (chosen,) if chosen else (Scope.PROJECT, Scope.LOCAL)):
            try:
                if scope in host.scopes:
                    changes += [(scope, change) for change in _take(args, app, host, scope)]
                    hooks.update(edit.path for edit in edits_of(host, place_of(app, scope)) if edit.part == HOOKS)
            except GitmemError as error:  # unreadable settings of one agent do not stop the others
                if len(hosts) == 1:
                    raise
                app.notices((error.sentences,))
                code = error.exit_code
        taken = hooks.union(change.path for _, change in changes)
        dropped = drop_script(app.home(), taken, dry_run=args.dry_run)
        script = script_path(app.home())
        is_last = not os.path.exists(script) or script in {change.path for change in dropped}
        dropped += _answer_back(args, app) if is_last else []
        changes += [(Scope.USER, change) for change in dropped]
    text = _taken_lines(app, [change for _, change in changes], dry_run=args.dry_run)
    lines = [text or ("" if code else _nothing(hosts)), _left_for_user(args, app, hosts) if chosen is None else ""]
    lines[1:1] = [line for host in hosts for line in noted_answers(host, place_of(app, Scope.PROJECT))]
    report_changes(args, app, hosts, changes, "\n".join(filter(None, lines)))
    if text and is_last and not args.dry_run:
        hint = "'gitmem uninstall --everything' shows what else gitmem left, and how to delete a memory."
        app.notices((f"That was the last agent with gitmem. {hint}",))
    return code


def _answer_back(args: Args, app: App) -> list[SettingsChange]:
    """Take back what the user answered about models during an installation."""
    return [SettingsChange(*change) for change in take_answer_back(app.context(), dry_run=args.dry_run)]


def _take(args: Args, app: App, host: Host, scope: Scope) -> list[SettingsChange]:
    """Take gitmem's files and entries out of the settings of one scope."""
    manifest = find_manifest(app, scope, host)
    records = manifest.records() if manifest else {}
    place = place_of(app, scope)
    edits = edits_of(host, place)
    made, paths = created_settings(app.home()), {edit.path for edit in edits}
    is_here = hooked_file(host, place) or not host.events or not made.isdisjoint(paths)
    lost = is_here and paths.isdisjoint(records)
    if lost:  # the store is gone with its record: assume what this version writes
        records |= _records_of_copy(place, edits, records, made)
    shared = _still_needed(args, app, host, scope)
    own = [edit for edit in edits if edit.part == HOOKS or edit.path not in shared]
    # Files that only an earlier version wrote are known by the record alone.
    whole = [path for path, record in records.items() if WHOLE in record.noted]
    top = os.path.join(place.project, "")
    whole_here = [path for path in whole if scope is Scope.USER or path in paths or path.startswith(top)]
    if scope is not Scope.LOCAL:  # both scopes of a project share one record
        _say_elsewhere(app, host, [path for path in whole if path not in whole_here])
    own += [FileEdit(path, "", b"") for path in whole_here if path not in paths]
    planned = []  # plan all before the first is carried out: unreadable settings stop it
    for path, there in by_path(own).items():
        is_whole = isinstance(there[0], FileEdit)
        if path in records or (not is_whole and any(edit.part == HOOKS or is_present(edit) for edit in there)):
            change = plan_takes(path, there, records.get(path))
            if path in whole_here and change.before is not None and not change.changes:
                app.notices((f"{path} was changed after gitmem wrote it, so it stays.",))
            planned.append(change)
    done = [_carried_out(args, change, manifest) for change in planned]
    gone = [edit for edit in edits if edit.path not in shared]
    if (
        passed_over := plan_excluded(place, gone, find_project(place.project, place.home).common_dir, installs=False)
    ) is not None:
        done.append(_carried_out(args, passed_over))
    if not args.dry_run:
        removed = [change.path for change in done if lost and change.after is None]
        remove_empty(around for path in removed for around in _folders(place, path))
    return done


def _records_of_copy(
    place: InstallPlace, edits: Iterable[Edit], records: Mapping[str, InstallRecord], made: Collection[str]
) -> dict[str, InstallRecord]:
    """Return records for files of a copied folder: those of the original's files, else by the files' content."""
    top, found = os.path.join(place.project, ""), {}
    for edit in edits:
        below = os.sep + edit.path.removeprefix(top) if edit.path.startswith(top) else ""
        same = next((record for path, record in records.items() if below and path.endswith(below)), None)
        if record := same or record_of(edit, made):
            found[edit.path] = record
    return found


def _say_elsewhere(app: App, host: Host, paths: Sequence[str]) -> None:
    """Print that these files stay: they were written for another work tree, or for the original of this copy."""
    if present := [path for path in paths if os.path.lexists(path)]:
        folder = project_top(os.path.dirname(present[0]), app.home())
        notice = f"{count(len(present), 'file')} of gitmem's in {folder} stay: they are not of this folder."
        app.notices((f"{notice} To take them out: gitmem -C {shlex.quote(folder)} uninstall {host.name}",))


def _folders(place: InstallPlace, path: str) -> Iterator[str]:
    """Yield the folders of a file, the innermost first, up to the project or the home."""
    top = os.path.join(place.home if place.scope is Scope.USER else place.project, "")
    while (path := os.path.dirname(path)).startswith(top):
        yield path


def _still_needed(args: Args, app: App, host: Host, scope: Scope) -> set[str]:
    """Return the files and lists that another scope or host with hooks also uses; with --everything only hooks."""
    needed = set()
    for place in (place_of(app, elsewhere) for elsewhere in host.scopes if elsewhere is not scope):
        if hooks := hooked_file(host, place):
            shipped = {item.path for item in edits_of(host, place) if isinstance(item, FileEdit)}
            needed |= {hooks} if args.everything else {hooks} | shipped
    if args.everything:
        return needed
    here = place_of(app, scope)
    for host_beside in (find_host(name) for name in NAMES if name != host.name):
        if scope in host_beside.scopes and hooked_file(host_beside, here):
            needed |= {item.path for item in edits_of(host_beside, here) if item.part == MCP}
    return needed


def _carried_out(args: Args, change: SettingsChange, manifest: Manifest | None = None) -> SettingsChange:
    if not args.dry_run:
        carry_out(change, manifest)
    return change


def _nothing(hosts: list[Host]) -> str:
    """Return the message for settings without gitmem."""
    has = "have" if len(hosts) > 1 else "has"
    return f"Nothing to do: {listed([host.title for host in hosts])} {has} nothing of gitmem's in these settings."


def _left_for_user(args: Args, app: App, hosts: list[Host]) -> str:
    """Return which hosts stay installed for all projects, and the command to uninstall them; "" if none."""
    place = place_of(app, Scope.USER)
    files = [short_path(app, path) for host in hosts if (path := hooked_file(host, place))]
    named = "--all" if args.all else hosts[0].name
    notice = f"Still installed for all your projects, by hooks in {listed(files)}. To take that out"
    return f"{notice}: gitmem uninstall {named} --user" * bool(files)


def _run_everything(args: Args, app: App) -> None:
    """Show what gitmem wrote on this machine outside of its stores; remove it if the user agrees."""
    if args.host or args.all or chosen_scope(args):
        raise UsageError("--everything takes no agent and no scope.", "Try: gitmem uninstall --everything")
    planned = Args(**{**vars(args), "dry_run": True})
    if args.dry_run or not args.yes:
        changes = _take_everything(planned, app._replace(args=planned), set())
        text = _taken_lines(app, [change for _, change in changes], dry_run=True)
        report_changes(planned, app, [], changes, text or "Nothing to do: gitmem left nothing outside of the memories.")
        if not changes:
            app.notices(_stores_left(app))
            return
        if not args.dry_run and (args.json or not app.can_ask()):
            raise RefusedError("Nothing was changed, as nobody is at a terminal to be asked.", "Repeat it with --yes.")
        if args.dry_run or not app.ask("Remove all of this?"):
            app.notices(("Nothing was changed. To do it: gitmem uninstall --everything --yes",))
            return
    with lock_settings(app.home()) as folders:
        changes = _take_everything(args, app, folders)
    text = _taken_lines(app, [change for _, change in changes])
    report_changes(args, app, [], changes, text or "Nothing to do.")
    app.notices(_stores_left(app))


def _take_everything(args: Args, app: App, folders: set[str]) -> list[tuple[Scope, SettingsChange]]:
    """Take gitmem out of all recorded settings and remove its own files; add the folders of both to `folders`."""
    changes: list[tuple[Scope, SettingsChange]] = []
    home = os.path.realpath(app.home())
    here = project_top(app.folder(), home)
    recorded = (os.path.join(recorded_place(path, home), "") for path, _ in recorded_stores(home))
    known = (*settings_with_hooks(home), *known_stores(home), *recorded)
    projects = dict.fromkeys([here, *(_project_of(path, home) for path in known)])
    # The user's own first, which in the home folder are also found as a project's.
    places = [(here, Scope.USER)] + [(project, scope) for project in projects for scope in (Scope.PROJECT, Scope.LOCAL)]
    for folder, scope in places:
        there = Args(**{**vars(args), "directory": folder, "user": False})
        at = app._replace(args=there)
        if folder and (folder != home or scope is Scope.USER):
            for host in (host for host in map(find_host, NAMES) if scope in host.scopes):
                try:
                    taken = _take(there, at, host, scope)
                    changes += [(scope, change) for change in taken if change.changes]
                except GitmemError as error:  # unreadable settings do not stop the rest
                    app.notices((error.sentences,))
        if folder and scope is Scope.PROJECT:
            changes += [(scope, change) for change in _take_from_git(there, at)]
    answered = _answer_back(args, app)  # first: what is left of the folders, and empty, was not made for it
    made, stores, jobs = made_files(app.context()), recorded_stores(home), job_files(home)
    gone = [path for path, _ in stores if not recorded_store(path, home)]  # keep the records of existing stores
    unused = [os.path.join(home, *name) for name in (MACHINE, MARKER) if not known_stores(home)]
    own = [*made, *gone, *jobs, *unused]
    folders.update(os.path.join(home, *FOLDER[:end]) for end in range(1, len(FOLDER) + 1))
    folders.update((user_store(home), os.path.join(user_store(home), HOME_PROJECTS)))
    folders.update(map(os.path.dirname, (*made, *jobs)), map(os.path.dirname, map(os.path.dirname, (*made, *jobs))))
    folders.update(*(around for _, around in stores))
    planned = [*plan_removal(home), *(plan_file(path, None) for path in own if os.path.lexists(path))]
    done = [_carried_out(args, change) for change in planned]
    listed_before = {change.path for change in done}
    done += [change for change in answered if change.path not in listed_before]
    return [*changes, *((Scope.USER, change) for change in done)]


def _stores_left(app: App) -> tuple[str, ...]:
    """Return the notice with the memories on this machine, and the commands that delete them."""
    stores = known_stores(os.path.realpath(app.home()))
    commands = [*map(_deletes, stores), "gitmem uninstall --everything --yes"]
    delete = "To delete them here, and last gitmem's list of them:"
    notice = f"The memories stay: {listed(stores)}, and their copies on remotes. {delete}"
    return ("\n  ".join([notice, *commands]),) if stores else ()


def _deletes(store: str) -> str:
    """Return the command that deletes a store, with its branch if it is in the project's repository."""
    layout = find_layout(store)
    if layout is None or layout.common_dir.startswith(os.path.join(os.path.realpath(store), "")):
        return f"rm -r {shlex.quote(store)}"
    git, private = f"git -C {shlex.quote(os.path.dirname(store))}", os.path.join(layout.common_dir, PRIVATE_FOLDER)
    gone = f"{git} worktree remove --force {shlex.quote(store)} && {git} branch -D {MEMORY_BRANCH}"
    return f"{gone} && rm -r {shlex.quote(private)}"


def _project_of(path: str, home: str) -> str:
    """Return the project of recorded settings or a store, "" if they belong to none."""
    folder = project_top(os.path.dirname(path), home)
    return folder if is_project(folder) else ""


def _take_from_git(args: Args, app: App) -> list[SettingsChange]:
    """Remove a missing store's line from the project's `info/exclude`, and the merge driver from an existing store."""
    excluded = None if find_store(app.folder(), app.home()) else plan_unexclude(app.folder(), app.home())
    done = [_carried_out(args, SettingsChange(*excluded))] if excluded else []
    with contextlib.suppress(StoreNotFoundError):
        if not args.dry_run:
            uninstall_driver(app.open())
    return done
