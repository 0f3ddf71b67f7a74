"""`gitmem uninstall`: take hooks and MCP server out of the settings of a host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli.host import (
    add_host_arguments,
    agent_files,
    chosen_scope,
    find_manifest,
    report_changes,
    servers_file,
    settings_file,
)
from gitmem.errors import ExitCode, StoreNotFoundError
from gitmem.hosts.claude_code import Scope
from gitmem.hosts.install import (
    Change,
    Manifest,
    carry_out,
    hooked_events,
    is_registered,
    plan_take,
    plan_uninstall,
    plan_unregister,
)

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem uninstall`."""
    add_host_arguments(parser)


def run(args: argparse.Namespace, door: Door) -> int:
    """Take gitmem's hooks and MCP server out of a host's settings again. The rest of the file and the store stay.

    Without an option, the project's shared settings and its local ones are cleaned.

    With --json: as 'gitmem install --json' prints it.

    Examples:
      gitmem uninstall claude
      gitmem uninstall claude --user
      gitmem uninstall claude --dry-run

    """
    chosen = chosen_scope(args)
    hooks: list[tuple[Scope, Change]] = []
    servers: list[tuple[Scope, Change]] = []
    files: list[tuple[Scope, Change]] = []
    for scope in (chosen,) if chosen else (Scope.PROJECT, Scope.LOCAL):
        path, manifest = settings_file(args, door, scope), find_manifest(args, door, scope)
        files += [(scope, change) for change in _take_files(args, door, scope, manifest)]
        records = manifest.records() if manifest else {}
        hooks.append((scope, plan_uninstall(path, records.get(path))))
        listing, place = servers_file(args, door, scope)
        if listing in records or is_registered(listing, place):
            servers.append((scope, plan_unregister(listing, place, records.get(listing))))
        for change in (hooks[-1][1], *(gone for its, gone in servers if its is scope)):
            if not args.dry_run:
                carry_out(change, manifest)
    driver = [] if args.dry_run or chosen is Scope.USER else _driver_taken(args, door)
    text = "\n".join((*_taken("hooks", hooks), *_taken("MCP server", servers), *driver))
    text = "\n".join((*filter(None, [text]), *(f"Removed {change.path}." for _, change in files if change.changes)))
    if not text:
        text = f"Nothing to do: {' and '.join(change.path for _, change in hooks)} have no hooks of gitmem's."
        user = settings_file(args, door, Scope.USER)
        if chosen is None and hooked_events(user):
            text += f"\nThere are hooks in {user}: 'gitmem uninstall claude --user' removes them."
    report_changes(args, door, [*hooks, *servers, *files], text)
    return ExitCode.OK


def _driver_taken(args: argparse.Namespace, door: Door) -> list[str]:
    """Take the merge driver out of the store's git configuration; `gitmem init` puts it back."""
    from gitmem.store.setup.merge_driver import uninstall_driver

    try:
        store = door.open(args)
    except StoreNotFoundError:
        return []
    return [f"Took gitmem's merge driver out of {store.root}."] if uninstall_driver(store) else []


def _take_files(args: argparse.Namespace, door: Door, scope: Scope, manifest: Manifest | None) -> list[Change]:
    """Remove the files beside the settings, before the hooks that share their folder."""
    records = manifest.records() if manifest else {}
    changes = [plan_take(path, records[path]) for path in agent_files(args, door, scope) if path in records]
    for change in changes:
        if not args.dry_run:
            carry_out(change, manifest)
    changed = [change.path for change in changes if change.before is not None and not change.changes]
    door.notices(tuple(f"{path} was changed after gitmem wrote it, so it stays." for path in changed))
    return changes


def _taken(what: str, changes: list[tuple[Scope, Change]]) -> list[str]:
    done = [change for _, change in changes if change.changes]
    return [
        f"Took gitmem's {what} out of {change.path}"
        + ("." if change.after is not None else ", and removed the file, which held nothing else.")
        for change in done
    ]
