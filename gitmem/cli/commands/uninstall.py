"""`gitmem uninstall`: take hooks and MCP server out of the settings of a host."""

from __future__ import annotations

import argparse
import contextlib
import os

from gitmem.cli.app import MACHINE, App
from gitmem.cli.host import (
    by_path,
    chosen_hosts,
    chosen_scope,
    find_manifest,
    place_of,
    plan_excluded,
    project_top,
    report_changes,
    taken_lines,
)
from gitmem.errors import GitmemError, StoreNotFoundError, UsageError
from gitmem.hosts.host import NAMES, Host, Scope, find_host
from gitmem.hosts.install import (
    InstallRecord,
    Manifest,
    SettingsChange,
    Shipped,
    carry_out,
    is_present,
    plan_take,
    plan_takes,
    plan_whole,
)
from gitmem.hosts.script import drop_script, hooked_file, plan_removal, settings_with_hooks
from gitmem.hosts.settings import HOOKS, MCP
from gitmem.store.change_settings import made_files
from gitmem.store.init import plan_unexclude, uninstall_driver
from gitmem.store.locate import recorded_stores


def run_uninstall(args: argparse.Namespace, app: App) -> None:
    if args.everything:
        _run_everything(args, app)
        return
    chosen, hosts = chosen_scope(args), chosen_hosts(args, app)
    if not hosts:
        raise UsageError("No agent is named.", "For example: gitmem uninstall claude")
    changes: list[tuple[Scope, SettingsChange]] = []
    for host in hosts:
        for scope in (chosen,) if chosen else (Scope.PROJECT, Scope.LOCAL):
            if scope in host.scopes:
                taken = _take(args, app, host, scope)
                changes += [(scope, change) for change in taken.values()]
    lines = taken_lines(args, app, [one for _, one in changes if one.record is None])
    text = "\n".join(lines) or _nothing(args, app, hosts, chosen)
    report_changes(args, app, hosts, changes, text)


def _take(args: argparse.Namespace, app: App, host: Host, scope: Scope) -> dict[str, SettingsChange]:
    """Remove gitmem's files and then its entries from the settings of one scope."""
    manifest = find_manifest(args, app, scope, host)
    records = manifest.records() if manifest else {}
    items = host.edits(place_of(args, app, scope))
    shared = _still_needed(args, app, host, scope)
    whole = [item for item in items if isinstance(item, Shipped) and item.path not in shared]
    paths = {item.path for item in items}
    done: dict[str, SettingsChange] = {}
    # A file that an earlier version brought, and this one does not, is in the record only.
    old = [path for path, record in records.items() if record.digest and path not in paths]
    for path in (*(item.path for item in whole if item.path in records), *old):
        done[path] = _carried_out(args, plan_take(path, _record(manifest, path) or records[path]), manifest)
    kept = [path for path, change in done.items() if change.before is not None and not change.changes]
    app.notices(tuple(f"{path} was changed after gitmem wrote it, so it stays." for path in kept))
    for path, edits in by_path(item for item in items if item.part == HOOKS or item.path not in shared).items():
        if path in records or any(edit.part == HOOKS or is_present(edit) for edit in edits):
            done[path] = _carried_out(args, plan_takes(path, edits, _record(manifest, path)), manifest)
    gone = [item for item in items if item.path not in shared]
    if (passed_over := plan_excluded(place_of(args, app, scope), gone, installs=False)) is not None:
        done[passed_over.path] = _carried_out(args, passed_over, None)
    if not args.dry_run:
        for item in items:
            if item.part == HOOKS:
                drop_script(app.home(), item.path)
    return done


def _record(manifest: Manifest | None, path: str) -> InstallRecord | None:
    """Return a file's current record: when a file goes, the folders made for it pass to another file's record."""
    return manifest.records().get(path) if manifest else None


def _still_needed(args: argparse.Namespace, app: App, host: Host, scope: Scope) -> set[str]:
    """Return the files, and lists of MCP servers, that another scope or host with gitmem's hooks uses as well.

    With --everything these are its hooks alone, which go with their own scope.
    """
    needed = set()
    for other in (place_of(args, app, one) for one in host.scopes if one is not scope):
        if hooks := hooked_file(host, other):
            shipped = {item.path for item in host.edits(other) if isinstance(item, Shipped)}
            needed |= {hooks} if args.everything else {hooks} | shipped
    if args.everything:
        return needed
    here = place_of(args, app, scope)
    for host_beside in (find_host(name) for name in NAMES if name != host.name):
        if scope in host_beside.scopes and hooked_file(host_beside, here):
            needed |= {item.path for item in host_beside.edits(here) if item.part == MCP}
    return needed


def _carried_out(args: argparse.Namespace, change: SettingsChange, manifest: Manifest | None) -> SettingsChange:
    if not args.dry_run:
        carry_out(change, manifest)
    return change


def _nothing(args: argparse.Namespace, app: App, hosts: list[Host], chosen: Scope | None) -> str:
    """Return the message for settings without anything of gitmem's."""
    text = f"Nothing to do: {' and '.join(host.title for host in hosts)} has nothing of gitmem's in these settings."
    for host in hosts:
        user = hooked_file(host, place_of(args, app, Scope.USER))
        if chosen is None and user:
            text += f"\nThere are hooks in {user}: 'gitmem uninstall {host.name} --user' removes them."
    return text


def _run_everything(args: argparse.Namespace, app: App) -> None:
    """Show what gitmem left on this machine outside of its stores; remove it if the person agrees."""
    if args.host or args.all or chosen_scope(args):
        raise UsageError("--everything takes no agent and no scope.", "Try: gitmem uninstall --everything")
    planned = argparse.Namespace(**{**vars(args), "dry_run": True})
    if args.dry_run or not args.yes:
        changes = _take_everything(planned, app)
        report_changes(planned, app, [], changes, "Nothing to do: gitmem left nothing here.")
        if not changes:
            return
        if args.dry_run or args.json or not (app.can_ask() and app.ask("Remove all of this?")):
            app.notices(("Nothing was changed. To do it: gitmem uninstall --everything --yes",))
            return
    changes = _take_everything(args, app)
    lines = taken_lines(args, app, [one for _, one in changes])
    report_changes(args, app, [], changes, "\n".join(lines) or "Nothing to do.")
    app.notices(("The memories stay, in .gitmem of each project and in ~/.gitmem; remove these folders yourself.",))


def _take_everything(args: argparse.Namespace, app: App) -> list[tuple[Scope, SettingsChange]]:
    """Take gitmem out of all settings it is recorded in, then remove the files of its own."""
    changes: list[tuple[Scope, SettingsChange]] = []
    here, home = project_top(app.folder(args)), os.path.realpath(app.home())
    folders = dict.fromkeys([here, *map(_project_of, settings_with_hooks(home))])
    # The person's own first: in the home folder they are also found as a project's.
    places = [(here, Scope.USER)] + [(one, scope) for one in folders for scope in (Scope.PROJECT, Scope.LOCAL)]
    for folder, scope in places:
        there = argparse.Namespace(**{**vars(args), "directory": folder, "user": False})
        if folder and (folder != home or scope is Scope.USER):
            for host in (host for host in map(find_host, NAMES) if scope in host.scopes):
                try:
                    taken = _take(there, app, host, scope)
                    changes += [(scope, change) for change in taken.values() if change.changes]
                except GitmemError as error:  # settings that cannot be read keep nothing else from going
                    app.notices((error.sentences,))
        if folder and scope is Scope.PROJECT:
            changes += [(scope, change) for change in _take_from_git(there, app)]
    own = [plan_whole(path, b"")._replace(after=None) for path in made_files(app.context())]
    if own:
        own[-1] = own[-1]._replace(folders=(os.path.dirname(own[-1].path),))
    said = [plan_whole(path, b"")._replace(after=None, folders=made) for path, made in recorded_stores(home)]
    name = os.path.join(home, *MACHINE)
    named = [plan_whole(name, b"")._replace(after=None)] if os.path.lexists(name) else []
    for change in [*named, *plan_removal(home), *said, *own]:
        changes.append((Scope.USER, _carried_out(args, change, None)))
    return changes


def _project_of(path: str) -> str:
    """Return the project of recorded settings, "" if they are none of a project's."""
    folder = project_top(os.path.dirname(path))
    return folder if any(os.path.lexists(os.path.join(folder, name)) for name in (".git", ".gitmem")) else ""


def _take_from_git(args: argparse.Namespace, app: App) -> list[SettingsChange]:
    """Take the store's line out of the project's `info/exclude`, and the merge driver out of the store."""
    excluded = plan_unexclude(app.folder(args), app.home())
    done = [SettingsChange(*excluded, None)] if excluded else []
    for change in done:
        _carried_out(args, change, None)
    with contextlib.suppress(StoreNotFoundError):
        if not args.dry_run:
            uninstall_driver(app.open(args))
    return done
