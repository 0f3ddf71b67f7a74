"""The files of hosts that `install`, `uninstall` and `doctor` read and write, and the options that choose them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence

from gitmem.cli.app import OWN, App
from gitmem.errors import StoreNotFoundError, UsageError
from gitmem.git.setup import excluded, unexcluded
from gitmem.hosts.host import NAMES, Host, InstallPlace, Scope, find_host
from gitmem.hosts.install import Manifest, SettingsChange, Shipped, plan_edits, plan_whole
from gitmem.hosts.script import content, is_there
from gitmem.hosts.settings import ALLOW, COMMANDS, SKILL, Edit
from gitmem.platform.machine import SCRIPTS_TOO, find_program
from gitmem.store.locate import HOME_HOSTS, find_project, user_store
from gitmem.sync.remotes import check_hosts_untracked
from gitmem.text.terminal import plain


def found_hosts(app: App) -> list[Host]:
    """Return the hosts that are on this machine: their program is on the PATH, or their folder in the home."""
    return [
        host
        for host in map(find_host, NAMES)
        if find_program(host.name, app.environ, SCRIPTS_TOO) or os.path.isdir(os.path.join(app.home(), host.folder))
    ]


def chosen_hosts(args: argparse.Namespace, app: App) -> list[Host]:
    """Return the hosts that the command line names."""
    if args.all and args.host:
        raise UsageError(f"--all and {args.host} exclude each other.", "Give one of them.")
    return found_hosts(app) if args.all else [find_host(args.host)] if args.host else []


def own_program(app: App) -> str:
    """Return the path of the `gitmem` that hooks are to start, "" if there is none."""
    beside = os.path.join(os.path.dirname(sys.executable), "gitmem.exe" if sys.platform == "win32" else "gitmem")
    found = find_program("gitmem", app.environ, SCRIPTS_TOO)
    return found or (beside if os.access(beside, os.X_OK) else "")


def chosen_scope(args: argparse.Namespace) -> Scope | None:
    """Return the scope that an option names, or None."""
    if args.project and args.user:  # `gitmem --user install claude --project`
        raise UsageError("--user and --project exclude each other.", "Give one of them.")
    return next((scope for scope in Scope if getattr(args, scope.value)), None)


def find_manifest(args: argparse.Namespace, app: App, scope: Scope, host: Host) -> Manifest | None:
    """Return the manifest of a scope: in the user's store for their settings, else in the project's, if it has one."""
    if scope is Scope.USER:
        root = user_store(app.home())
        check_hosts_untracked(root, app.environ)
        return Manifest(os.path.join(root, HOME_HOSTS, f"{host.label}.json"))
    try:
        return Manifest(os.path.join(app.open(args).private, HOME_HOSTS, f"{host.label}.json"))
    except StoreNotFoundError:
        return None


def place_of(args: argparse.Namespace, app: App, scope: Scope) -> InstallPlace:
    """Return where a scope's settings are."""
    return InstallPlace(scope, project_top(app.folder(args)), app.home(), app.environ)


def by_path(items: Iterable[Edit | Shipped]) -> dict[str, list[Edit]]:
    """Return the edits of each file."""
    found: dict[str, list[Edit]] = {}
    for item in items:
        if isinstance(item, Edit):
            found.setdefault(item.path, []).append(item)
    return found


def plan_excluded(place: InstallPlace, items: Iterable[Edit | Shipped], *, installs: bool) -> SettingsChange | None:
    """Plan which of an agent's files in a project git passes over: those of a person alone, while they are installed.

    None where that changes nothing, git has no say, or its list is a link, through which another file would be written.
    """
    common_dir = find_project(place.project, place.home).common_dir
    path = os.path.join(common_dir or "", "info", "exclude")
    if place.scope is Scope.USER or not common_dir or os.path.islink(path):
        return None
    change = plan_whole(path, b"")
    text = change.before or b""
    top = os.path.join(place.project, "")
    for item in (item for item in items if item.path.startswith(top)):
        whole = isinstance(item, Shipped) and item.part in {SKILL, COMMANDS}  # a folder of gitmem's
        name = (os.path.join(os.path.dirname(item.path), "") if whole else item.path).removeprefix(top)
        is_mine = installs and (place.scope is Scope.LOCAL or item.part == ALLOW)
        text = (excluded if is_mine else unexcluded)(text, f"/{name.replace(os.sep, '/')}")
    return None if text == (change.before or b"") else change._replace(after=text)


def is_of_other_version(item: Edit | Shipped) -> bool:
    """Return whether this version of gitmem would write the hooks otherwise."""
    if isinstance(item, Edit):
        return plan_edits(item.path, [item], None).changes
    return is_there(item) and content(item.path) != item.data


def project_top(start: str) -> str:
    """Return the top of the work tree around a folder, where the host is started."""
    folder = os.path.realpath(start)
    while os.path.basename(folder) == ".gitmem" or not any(
        os.path.lexists(os.path.join(folder, name)) for name in (".git", ".gitmem")
    ):
        above = os.path.dirname(folder)
        if above == folder:
            return os.path.realpath(start)
        folder = above
    return folder


def short_path(args: argparse.Namespace, app: App, path: str) -> str:
    """Return a path as seen from the project's top, or from the home as `~`."""
    top, home = (os.path.join(folder, "") for folder in (project_top(app.folder(args)), app.home()))
    return (
        path.removeprefix(top) if path.startswith(top) else f"~/{path[len(home) :]}" if path.startswith(home) else path
    )


def taken_lines(args: argparse.Namespace, app: App, changes: Iterable[SettingsChange]) -> list[str]:
    """Return what was taken out of which files, as lines."""
    paths = [(change.after is None, short_path(args, app, change.path)) for change in changes if change.changes]
    return [
        f"Removed {path}: nothing else was in it." if gone else f"Took gitmem out of {path}." for gone, path in paths
    ]


def report_changes(
    args: argparse.Namespace,
    app: App,
    hosts: Sequence[Host],
    changes: Sequence[tuple[Scope, SettingsChange]],
    text: str,
) -> None:
    """Print `text`, or with --dry-run the diff of each file; with --json the changed files."""
    values = [
        {
            "scope": scope.value,
            "file": change.path,
            "changed": change.changes,
            "removed": change.before is not None and change.after is None,
        }
        for scope, change in changes
    ]
    value = {"host": " ".join(host.name for host in hosts), "dry_run": args.dry_run, "files": values}
    if args.dry_run:
        value["diff"] = "".join(_diff(change) for _, change in changes)
        text = plain(str(value["diff"]).rstrip("\n")) or text
    app.answer(args, value, text, OWN)


def _diff(change: SettingsChange) -> str:
    from difflib import unified_diff

    before, after = (
        (data or b"").decode("utf-8", "replace").splitlines(keepends=True) for data in (change.before, change.after)
    )
    old, new = (change.path if data is not None else os.devnull for data in (change.before, change.after))
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in unified_diff(before, after, old, new)
    )
