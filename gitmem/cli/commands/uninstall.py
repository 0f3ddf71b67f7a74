"""`gitmem uninstall`: take hooks and MCP server out of the settings of a host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli.host import (
    add_host_arguments,
    by_path,
    chosen_hosts,
    chosen_scope,
    find_manifest,
    hooked_file,
    place_of,
    report_changes,
)
from gitmem.errors import ExitCode, StoreNotFoundError, UsageError
from gitmem.hosts.host import Host, Scope
from gitmem.hosts.install import Change, Manifest, Record, carry_out, is_present, plan_take, plan_takes
from gitmem.hosts.script import drop_script
from gitmem.hosts.settings.edits import HOOKS, Shipped

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem uninstall`."""
    add_host_arguments(parser)


def run(args: argparse.Namespace, door: Door) -> int:
    """Remove everything that 'gitmem install' wrote from an agent's settings. The rest and the store stay.

    Without an option, the project's shared settings and its local ones are cleaned.

    With --json: as 'gitmem install --json' prints it.

    Examples:
      gitmem uninstall claude
      gitmem uninstall codex --user
      gitmem uninstall --all
      gitmem uninstall claude --dry-run

    """
    chosen, hosts = chosen_scope(args), chosen_hosts(args, door)
    if not hosts:
        raise UsageError("No agent is named.", "For example: gitmem uninstall claude")
    changes: list[tuple[Scope, Change]] = []
    lines: list[str] = []
    for host in hosts:
        for scope in (chosen,) if chosen else (Scope.PROJECT, Scope.LOCAL):
            if scope in host.scopes:
                taken = _take(args, door, host, scope)
                changes += [(scope, change) for change in taken.values()]
                lines += _report(taken)
    lines += [] if args.dry_run or chosen is Scope.USER else _remove_driver(args, door)
    text = "\n".join(lines) or _nothing(args, door, hosts, chosen)
    report_changes(args, door, hosts, changes, text)
    return ExitCode.OK


def _take(args: argparse.Namespace, door: Door, host: Host, scope: Scope) -> dict[str, Change]:
    """Remove gitmem's files and then its entries from the settings of one scope."""
    manifest = find_manifest(args, door, scope, host)
    records = manifest.records() if manifest else {}
    items = host.edits(place_of(args, door, scope))
    shared = _still_needed(args, door, host, scope)
    whole = [item for item in items if isinstance(item, Shipped) and item.path not in shared]
    paths = {item.path for item in items}
    done: dict[str, Change] = {}
    # A file that an earlier version brought, and this one does not, is in the record only.
    old = [path for path, record in records.items() if record.digest and path not in paths]
    for path in (*(item.path for item in whole if item.path in records), *old):
        done[path] = _carried_out(args, plan_take(path, _record(manifest, path) or records[path]), manifest)
    kept = [path for path, change in done.items() if change.before is not None and not change.changes]
    door.notices(tuple(f"{path} was changed after gitmem wrote it, so it stays." for path in kept))
    for path, edits in by_path(items).items():
        if path in records or any(edit.part == HOOKS or is_present(edit) for edit in edits):
            done[path] = _carried_out(args, plan_takes(path, edits, _record(manifest, path)), manifest)
    if not args.dry_run:
        for item in items:
            if item.part == HOOKS:
                drop_script(door.home(), item.path)
    return done


def _record(manifest: Manifest | None, path: str) -> Record | None:
    """Return a file's current record: when a file goes, the folders made for it pass to another file's record."""
    return manifest.records().get(path) if manifest else None


def _still_needed(args: argparse.Namespace, door: Door, host: Host, scope: Scope) -> set[str]:
    """Return the shipped files that another scope with gitmem's hooks uses as well."""
    others = [place_of(args, door, other) for other in host.scopes if other is not scope]
    return {
        item.path
        for place in others
        if hooked_file(host, place)
        for item in host.edits(place)
        if isinstance(item, Shipped)
    }


def _carried_out(args: argparse.Namespace, change: Change, manifest: Manifest | None) -> Change:
    if not args.dry_run:
        carry_out(change, manifest)
    return change


def _report(taken: dict[str, Change]) -> list[str]:
    lines = []
    for path, change in taken.items():
        if change.changes and change.record is None:
            gone = ", and removed the file, which held nothing else." if change.after is None else "."
            lines.append(f"Took gitmem out of {path}{gone}")
    return lines


def _nothing(args: argparse.Namespace, door: Door, hosts: list[Host], chosen: Scope | None) -> str:
    """Return the message for settings without anything of gitmem's."""
    text = f"Nothing to do: {' and '.join(host.title for host in hosts)} has nothing of gitmem's in these settings."
    for host in hosts:
        user = hooked_file(host, place_of(args, door, Scope.USER))
        if chosen is None and user:
            text += f"\nThere are hooks in {user}: 'gitmem uninstall {host.name} --user' removes them."
    return text


def _remove_driver(args: argparse.Namespace, door: Door) -> list[str]:
    """Take the merge driver out of the store's git configuration; `gitmem init` puts it back."""
    from gitmem.store.setup.merge_driver import uninstall_driver

    try:
        store = door.open(args)
    except StoreNotFoundError:
        return []
    return [f"Took gitmem's merge driver out of {store.root}."] if uninstall_driver(store) else []
